"""zsh and fish of this machine's Debian, unpacked into the cache of the tests: nothing is installed.

Needs apt-get, as `make image` does. `terminal` is a shell behind a real pseudo-terminal, into which a test types.
"""

from __future__ import annotations

import fcntl
import os
import pty
import select
import shutil
import signal
import struct
import subprocess
import termios
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

CACHE: Final = Path.home() / ".cache" / "gatehouse-tests" / "shells"
PACKAGES: Final = ("zsh", "zsh-common", "fish", "fish-common", "libpcre2-32-0")
LIMIT_S: Final = 20.0
_READY: Final = ".ready"


def unpacked() -> Path:
    """The folder that stands for / of both shells. Downloads them once."""
    assert shutil.which("apt-get"), "the tests of completion need apt-get, to unpack zsh and fish into their cache"
    with _locked():
        root = CACHE / "root"
        if not (root / _READY).exists():
            shutil.rmtree(root, ignore_errors=True)
            root.mkdir(parents=True)
            _download(root)
            (root / _READY).touch()
        return root


def _download(root: Path) -> None:
    command = ["apt-get", "-qq", "-o", "APT::Sandbox::User=root", "download", *PACKAGES]
    done = subprocess.run(command, cwd=CACHE, capture_output=True, timeout=120)
    if done.returncode:  # lists missing, or older than the archive
        subprocess.run(["apt-get", "-qq", "update"], capture_output=True, timeout=120, check=True)
        subprocess.run(command, cwd=CACHE, capture_output=True, timeout=120, check=True)
    for package in sorted(CACHE.glob("*.deb")):
        subprocess.run(["dpkg", "-x", str(package), str(root)], check=True, timeout=60)
        package.unlink()


@contextmanager
def _locked() -> Iterator[None]:
    CACHE.mkdir(parents=True, exist_ok=True)
    with (CACHE / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def zsh() -> tuple[list[str], dict[str, str]]:
    """Command and environment of a zsh that reads no files of the user; its modules and functions are where `setup` says."""
    root = unpacked()
    return [str(root / "bin" / "zsh"), "-f"], {"ROOT": str(root)}


def fish() -> tuple[list[str], dict[str, str]]:
    """Command and environment of a fish that reads no files of the user; its own functions are in $FUNCTIONS."""
    root = unpacked()
    (library,) = {str(path.parent) for path in root.rglob("libpcre2-32.so.0")}
    return [str(root / "usr" / "bin" / "fish"), "--no-config"], {
        "LD_LIBRARY_PATH": library,
        "FUNCTIONS": str(root / "usr" / "share" / "fish" / "functions"),
    }


class Terminal:
    """A shell that thinks somebody sits before it."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self.seen = ""

    def types(self, text: str) -> None:
        """Press these keys."""
        os.write(self._descriptor, text.encode())

    def until(self, text: str) -> str:
        """What is on the screen once *text* is. Raises AssertionError when it does not come."""
        limit_s = time.monotonic() + LIMIT_S
        while text not in self.seen:
            left_s = limit_s - time.monotonic()
            ready = select.select([self._descriptor], [], [], max(0.0, left_s))[0]
            assert ready, f"{text!r} does not appear: {self.seen[-2000:]!r}"
            self.seen += os.read(self._descriptor, 65536).decode(errors="replace")
        shown, _, self.seen = self.seen.partition(text)
        return shown + text


@contextmanager
def terminal(command: Sequence[str], environ: Mapping[str, str], folder: Path) -> Iterator[Terminal]:
    """*command* in *folder* behind a pseudo-terminal; it is ended afterwards."""
    pid, descriptor = pty.fork()
    if pid == 0:
        os.chdir(folder)
        plain = {"PATH": os.environ["PATH"], "HOME": str(folder), "TERM": "dumb", "LC_ALL": "C.UTF-8", "INPUTRC": "/dev/null"}
        os.execve(command[0], list(command), {**plain, **environ})
    fcntl.ioctl(descriptor, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 200, 0, 0))
    try:
        yield Terminal(descriptor)
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        os.close(descriptor)
