"""What a process and its descendants have used, from /proc.

Processor time is that of each process's own clock, in nanoseconds, threads that have ended included; what children used that
have ended and been waited for is in /proc alone, in ticks of 10 ms.
Source: clock_getcpuclockid(3) and Linux's include/linux/posix-timers.h (how a pid makes a clock's number); proc_pid_stat(5),
proc_tid_children(5).
"""

from __future__ import annotations

import os
import time
from pathlib import Path

import attrs

_TICK_S = 1.0 / os.sysconf("SC_CLK_TCK")
_SCHEDULED = 2  # CPUCLOCK_SCHED of a process: user and system time as the scheduler counts it


@attrs.frozen
class Usage:
    """Sums over the process and its descendants."""

    processor_s: float  # user and system time
    resident_mib: float

    @classmethod
    def of(cls, pid: int) -> Usage:
        """Now. Raises ProcessLookupError or FileNotFoundError when the process has ended."""
        processor = resident = 0.0
        for each in _family(pid):
            fields = Path(f"/proc/{each}/stat").read_text().rpartition(")")[2].split()
            processor += clock_s(each) + (int(fields[13]) + int(fields[14])) * _TICK_S
            resident += int(fields[21]) * os.sysconf("SC_PAGE_SIZE") / 2**20
        return cls(processor, resident)


def clock_s(pid: int) -> float:
    """What the process itself has used, without its children. Raises ProcessLookupError when it has ended."""
    try:
        return time.clock_gettime((~pid << 3) | _SCHEDULED)
    except OSError as error:
        raise ProcessLookupError(f"process {pid}: {error}") from error


def proportional_mib(pid: int) -> float:
    """Memory of the process and its descendants, what they share counted once (PSS); takes milliseconds."""
    total = 0.0
    for each in _family(pid):
        for line in Path(f"/proc/{each}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                total += int(line.split()[1]) / 1024
    return total


def _family(pid: int) -> list[int]:
    found = [pid]
    for each in found:  # grows while it is walked
        for task in Path(f"/proc/{each}/task").iterdir():
            found.extend(int(child) for child in (task / "children").read_text().split())
    return found
