"""Time as an argument: the clock that threads wait on, and one budget shared by several steps.

Pure code takes seconds as plain floats; only doers hold a Clock.
"""

from __future__ import annotations

import threading
import time
from typing import Protocol

import attrs


class Clock(Protocol):
    """What a thread may ask of time. All figures are seconds."""

    def monotonic_s(self) -> float:
        """Seconds that never go back; for durations and deadlines."""

    def wall_s(self) -> float:
        """Seconds since the epoch; for timestamps that leave the process."""

    def wait(self, event: threading.Event, timeout_s: float) -> bool:
        """Wait until *event* is set (True) or *timeout_s* has passed (False)."""


class SystemClock:
    """The real clock."""

    def monotonic_s(self) -> float:
        return time.monotonic()

    def wall_s(self) -> float:
        return time.time()

    def wait(self, event: threading.Event, timeout_s: float) -> bool:
        return event.wait(max(0.0, timeout_s))


@attrs.frozen
class Deadline:
    """One point in monotonic time that several steps share."""

    at_s: float
    clock: Clock

    @classmethod
    def after(cls, seconds: float, clock: Clock) -> Deadline:
        """The deadline *seconds* from now."""
        return cls(clock.monotonic_s() + seconds, clock)

    def remaining_s(self) -> float:
        """Seconds left, never below zero."""
        return max(0.0, self.at_s - self.clock.monotonic_s())

    def expired(self) -> bool:
        """Whether nothing is left."""
        return self.clock.monotonic_s() >= self.at_s
