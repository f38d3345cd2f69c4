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
import time
from contextlib import suppress
from pathlib import Path
from typing import Final

PR_SET_PDEATHSIG: Final = 1  # prctl(2)
HELD: Final = "held"  # locked as long as the process lives whose folder it is in
PREFIX: Final = "_MEI"  # of the launcher's folders
UNPACKED_WITHIN_S: Final = 3600.0  # takes a second; an hour is for a machine that was suspended


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

    Else each kill would leave 36 MiB in the pod's emptyDir until its limit evicts the pod. Folders of another user, of a living
    process, being unpacked, or of another program are left alone.
    """
    lock = hold(own)
    for folder in own.parent.glob(f"{PREFIX}*"):
        if folder != own and not folder.is_symlink():
            with suppress(OSError):
                _delete_if_dead(folder, own)
    return lock


def hold(own: Path) -> int | None:
    """Mark *own* as that of a living process: the lock, to be kept open; None where nothing can be written."""
    unnamed = own / f"{HELD}.new"
    try:
        lock = os.open(unnamed, os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_CLOEXEC, 0o600)
        fcntl.flock(lock, fcntl.LOCK_SH)
        os.write(lock, _name_of(os.getppid()).encode())
        unnamed.rename(own / HELD)  # whoever sees the name finds it locked
    except OSError:
        return None
    return lock


def _delete_if_dead(folder: Path, own: Path) -> None:
    """Raises OSError when somebody holds *folder*."""
    found = folder.stat()
    if found.st_uid != os.geteuid():
        return
    try:
        lock = os.open(folder / HELD, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
    except FileNotFoundError:
        # Killed while it unpacked, unless it still does so, could not write the mark, or is another program's.
        if time.time() - found.st_mtime > UNPACKED_WITHIN_S and _is_like(folder, own) and not _is_mapped(folder):
            shutil.rmtree(folder, ignore_errors=True)
        return
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        launcher = os.read(lock, 64).decode()
        if not launcher or _name_of(int(launcher.split()[0])) != launcher:  # else it is just about to delete it itself
            shutil.rmtree(folder, ignore_errors=True)
    except ValueError:  # not written by us
        pass
    finally:
        os.close(lock)


def _name_of(pid: int) -> str:
    """A process so that its successor with the same number is another one; "" when there is none. Source: proc_pid_stat(5)."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return ""
    return f"{pid} {fields[19]}" if fields[0] not in "ZX" else ""


def _is_like(folder: Path, own: Path) -> bool:
    """Whether all that is in *folder* is in *own* too: what a launcher of ours has unpacked, or a part of it."""
    return all((own / path.relative_to(folder)).exists() for path in folder.rglob("*") if path.name != f"{HELD}.new")


def _is_mapped(folder: Path) -> bool:
    """Whether a process runs libraries of *folder*. Those of other users cannot be read, and have folders of their own."""
    for maps in Path("/proc").glob("[0-9]*/maps"):
        with suppress(OSError):
            if f"{folder}/".encode() in maps.read_bytes():
                return True
    return False


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
