"""Programs started in the background, each known by its pid and the moment it was started.

A pid alone may have been given to somebody else since; with its start time it is the program or nobody. The pair is kept
in a file, so that another run of this driver, or one after a crash, ends exactly what was started. Thread-safe as far as
two threads do not handle the same name at once.
Source: proc_pid_stat(5), field 22.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

import attrs

STOP_S = 10.0  # asked with SIGTERM; then SIGKILL
_POLL_S = 0.05


@attrs.define
class Process:
    """One running or ended program."""

    pid: int
    started_ticks: int
    exit_code: int | None = attrs.field(default=None, eq=False)  # of a child of ours that has ended; minus a signal's number

    @classmethod
    def of(cls, pid: int) -> Process:
        """The process that has *pid* now (0 ticks when there is none)."""
        return cls(pid, _state(pid)[1])

    @classmethod
    def parse(cls, text: str) -> Process:
        """From what `str` gave."""
        pid, ticks = text.split()
        return cls(int(pid), int(ticks))

    def __str__(self) -> str:
        return f"{self.pid} {self.started_ticks}"

    def alive(self) -> bool:
        """Whether it still runs (a child of ours that has ended is reaped on the way)."""
        with contextlib.suppress(ChildProcessError):
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.exit_code = os.waitstatus_to_exitcode(status)
        state, ticks = _state(self.pid)
        return ticks == self.started_ticks and state not in "ZX"

    def signal(self, number: signal.Signals) -> bool:
        """Send it a signal; False when it has ended."""
        if not self.alive():
            return False
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, number)
        return True

    def wait(self, timeout_s: float) -> bool:
        """Wait for its end; False when it still runs after *timeout_s*."""
        end_s = time.monotonic() + timeout_s
        while self.alive():
            if time.monotonic() > end_s:
                return False
            time.sleep(_POLL_S)
        return True

    def end(self, timeout_s: float = STOP_S) -> None:
        """Ask it to end, wake it if it is stopped, and insist after *timeout_s*."""
        self.signal(signal.SIGTERM)
        self.signal(signal.SIGCONT)
        if not self.wait(timeout_s):
            self.signal(signal.SIGKILL)
            self.wait(timeout_s)


@attrs.frozen
class Processes:
    """The programs of one cluster: NAME.pid and NAME.log in *folder*."""

    folder: Path
    _children: dict[str, Process] = attrs.field(factory=dict, init=False, repr=False)

    def start(self, name: str, argv: Sequence[str], folder: Path | None = None) -> Process:
        """Start *argv* in a session of its own (a Ctrl-C on the terminal is ours alone), output appended to NAME.log.

        folder: its working directory; ours when None.
        """
        with (self.folder / f"{name}.log").open("ab") as log:
            child = subprocess.Popen(
                argv,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                cwd=folder,
                start_new_session=True,
            )
        process = self._children[name] = Process.of(child.pid)
        (self.folder / f"{name}.pid").write_text(str(process))
        child.returncode = 0  # reaped by Process.alive; keeps Popen from warning that it was left running
        return process

    def get(self, name: str) -> Process | None:
        """The program started under *name*; None when there is none or it has been ended by `stop`."""
        if name in self._children:
            return self._children[name]
        try:
            return Process.parse((self.folder / f"{name}.pid").read_text())
        except (FileNotFoundError, ValueError):
            return None

    def running(self, name: str) -> bool:
        """Whether *name* was started and still runs."""
        process = self.get(name)
        return process is not None and process.alive()

    def stop(self, name: str, timeout_s: float = STOP_S) -> None:
        """End *name*; no error when it is not running."""
        process = self.get(name)
        if process is not None:
            process.end(timeout_s)
            self._children.pop(name, None)
            (self.folder / f"{name}.pid").unlink(missing_ok=True)

    def names(self) -> list[str]:
        """Everything started and not stopped, by this run or an earlier one."""
        return sorted(path.stem for path in self.folder.glob("*.pid"))

    def log_tail(self, name: str, lines: int = 20) -> str:
        """The last lines of NAME.log."""
        try:
            text = (self.folder / f"{name}.log").read_text(errors="replace")
        except FileNotFoundError:
            return ""
        return "\n".join(text.splitlines()[-lines:])


def _state(pid: int) -> tuple[str, int]:
    """State letter and start time in clock ticks since boot; ("X", 0) when there is no such process."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return "X", 0
    fields = stat.rpartition(")")[2].split()  # the name in parentheses may contain spaces
    return fields[0], int(fields[19])
