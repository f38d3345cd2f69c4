"""A clock that only moves when told to.

    clock = FakeClock()                    # waits block until `advance` reaches them, or their event is set
    clock = FakeClock(auto_advance=True)   # waits return at once and move the clock: an hour of backoff in a millisecond

`until_waiting` lets a test meet a thread in its sleep, so that nothing has to be slept for real.
Any thread may call anything.
"""

from __future__ import annotations

import threading
import time

_POLL_S = 0.002  # how often a wait looks at its event in real time: a threading.Event cannot be waited on together with us


class FakeClock:
    """Implements `webhook.clock.Clock`. `waits` holds the seconds asked for by every wait so far."""

    def __init__(self, monotonic_s: float = 1000.0, wall_s: float = 1_800_000_000.0, *, auto_advance: bool = False) -> None:
        self._changed = threading.Condition()  # guards all below
        self._monotonic_s = monotonic_s
        self._wall_s = wall_s
        self._auto_advance = auto_advance
        self._ends: dict[int, float] = {}  # wait number -> monotonic time at which it ends
        self.waits: list[float] = []

    # -- called by the code under test

    def monotonic_s(self) -> float:
        with self._changed:
            return self._monotonic_s

    def wall_s(self) -> float:
        with self._changed:
            return self._wall_s

    def wait(self, event: threading.Event, timeout_s: float) -> bool:
        if event.is_set():
            return True
        with self._changed:
            number, end_s = len(self.waits), self._monotonic_s + timeout_s
            self.waits.append(timeout_s)
            if self._auto_advance:
                self._move(timeout_s)
                return event.is_set()
            self._ends[number] = end_s
            self._changed.notify_all()
        try:
            while not event.wait(_POLL_S):
                if self.monotonic_s() >= end_s:
                    return event.is_set()
            return True
        finally:
            with self._changed:
                del self._ends[number]
                self._changed.notify_all()

    # -- called by tests

    def advance(self, seconds: float) -> None:
        """Move both times; every wait that ends by then returns."""
        with self._changed:
            self._move(seconds)

    def step_wall(self, seconds: float) -> None:
        """Move only the wall clock, as an administrator or NTP does."""
        with self._changed:
            self._wall_s += seconds

    def until_waiting(self, count: int = 1, *, longer_than_s: float = 0.0, within_s: float = 5.0) -> list[float]:
        """Block until *count* waits longer than *longer_than_s* are open; the seconds that each has left, sorted.

        Raises TimeoutError after *within_s* real seconds.
        """
        limit_s = time.monotonic() + within_s
        with self._changed:
            while len(left := self._left(longer_than_s)) < count:
                if not self._changed.wait(limit_s - time.monotonic()):
                    raise TimeoutError(f"{len(left)} of {count} waits after {within_s} s")
            return left

    def _left(self, longer_than_s: float) -> list[float]:
        left = (round(end_s - self._monotonic_s, 9) for end_s in self._ends.values())  # 1000.8 - 1000.0 is not 0.8
        return sorted(seconds for seconds in left if seconds > longer_than_s)

    def _move(self, seconds: float) -> None:
        self._monotonic_s += seconds
        self._wall_s += seconds
        self._changed.notify_all()
