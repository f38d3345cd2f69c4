"""Where the one file starts: puts right what PyInstaller's launcher leaves behind, then carries out the command line.

The launcher (the process that was started) unpacks the shared libraries to a folder of its own below TMPDIR, runs this as its
child, passes signals on, and deletes the folder when the child has ended. Runs in the main thread, before any other.
Source: PyInstaller manual, "The Bootstrap Process in Detail" and "LD_LIBRARY_PATH / LIBPATH considerations".
"""

from __future__ import annotations

import ctypes
import fcntl
import os
import shutil
import signal
import sys
from contextlib import suppress
from pathlib import Path
from typing import Final

PR_SET_PDEATHSIG: Final = 1  # prctl(2)
HELD: Final = "held"  # locked as long as the process lives whose folder it is in
PREFIX: Final = "_MEI"  # of the launcher's folders


def give_back_the_environment() -> None:
    """Let programs that we start (exec plugins of a kubeconfig) find the system's libraries instead of ours."""
    original = os.environ.pop("LD_LIBRARY_PATH_ORIG", None)
    if original is not None:
        os.environ["LD_LIBRARY_PATH"] = original
    else:
        os.environ.pop("LD_LIBRARY_PATH", None)


def end_with_the_launcher() -> None:
    """End when the launcher is killed: otherwise a replica that nobody knows of would go on serving and leading."""
    launcher = os.getppid()
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != launcher:  # it was killed before that call
        os.kill(os.getpid(), signal.SIGKILL)


def sweep(own: Path) -> int | None:
    """Delete the folders of processes that were killed, launcher and all; the lock on *own*, to be kept open.

    Else each kill would leave 30 MiB in the pod's emptyDir until its limit evicts the pod. Folders of another user, or without
    our lock (still being unpacked, or another program's), are left alone.
    """
    try:
        lock = os.open(own / HELD, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        fcntl.flock(lock, fcntl.LOCK_SH)
    except OSError:
        return None
    for folder in own.parent.glob(f"{PREFIX}*"):
        if folder != own and not folder.is_symlink():
            with suppress(OSError):
                _delete_if_dead(folder)
    return lock


def _delete_if_dead(folder: Path) -> None:
    """Raises OSError when somebody holds *folder* or it is not ours."""
    if folder.stat().st_uid != os.geteuid():
        return
    lock = os.open(folder / HELD, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        shutil.rmtree(folder, ignore_errors=True)
    finally:
        os.close(lock)


def main() -> int:
    """The exit code."""
    held = None
    if getattr(sys, "frozen", False):
        give_back_the_environment()
        end_with_the_launcher()
        held = sweep(Path(sys._MEIPASS))  # type: ignore[attr-defined]
    from controllers.__main__ import main as run

    code = run()
    if held is not None:
        os.close(held)
    return code


if __name__ == "__main__":
    sys.exit(main())
