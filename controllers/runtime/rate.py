"""Our own limit on requests to the API server: a token bucket, so that a bug of ours cannot become its outage.

Any thread. The lock guards the level; nobody sleeps under it.
Source: client-go util/flowcontrol.
"""

from __future__ import annotations

import threading

from webhook.clock import Clock


class RateLimit:
    """At most *burst* requests at once and *per_second* on average."""

    def __init__(self, per_second: float, burst: int, clock: Clock) -> None:
        self._per_second = per_second
        self._burst = float(burst)
        self._clock = clock
        self._lock = threading.Lock()  # guards _level and _filled_s together
        self._level = float(burst)
        self._filled_s = clock.monotonic_s()

    def reserve(self, longest_s: float) -> float | None:
        """Take one token: the seconds to wait before it may be used. None, and no token, when that is over *longest_s*."""
        with self._lock:
            now_s = self._clock.monotonic_s()
            self._level = min(self._burst, self._level + (now_s - self._filled_s) * self._per_second)
            self._filled_s = now_s
            wait_s = max(0.0, (1.0 - self._level) / self._per_second)
            if wait_s > longest_s:
                return None
            self._level -= 1.0
            return wait_s
