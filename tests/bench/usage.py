"""What a process and its descendants have used, from /proc.

Processor time counts in ticks of 10 ms, so that a run should last at least half a second.
Source: proc_pid_stat(5), proc_pid_status(5), proc_tid_children(5).
"""

from __future__ import annotations

import os
from pathlib import Path

import attrs

_TICK_S = 1.0 / os.sysconf("SC_CLK_TCK")


@attrs.frozen
class Usage:
    """Sums over the process and its descendants."""

    user_s: float
    system_s: float
    resident_mib: float

    @classmethod
    def of(cls, pid: int) -> Usage:
        """Now. Raises ProcessLookupError or FileNotFoundError when the process has ended."""
        user = system = resident = 0.0
        for each in _family(pid):
            fields = Path(f"/proc/{each}/stat").read_text().rpartition(")")[2].split()
            user += int(fields[11]) * _TICK_S
            system += int(fields[12]) * _TICK_S
            resident += int(fields[21]) * os.sysconf("SC_PAGE_SIZE") / 2**20
        return cls(user, system, resident)

    @property
    def processor_s(self) -> float:
        """User and system time."""
        return self.user_s + self.system_s


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
