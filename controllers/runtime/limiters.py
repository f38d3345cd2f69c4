"""How long a key that failed waits before its next turn.

Any thread; each limiter has its own lock, memory only.
Source: client-go util/workqueue (default typed controller rate limiter: 5 ms x2 up to 1000 s per item, 10 per second and
a burst of 100 over all, the longer of both).
"""

from __future__ import annotations

import math
import threading
from collections.abc import Hashable
from typing import Generic, Protocol, TypeVar

from controllers.runtime.rate import RateLimit
from webhook.clock import Clock

K = TypeVar("K", bound=Hashable)
K_contra = TypeVar("K_contra", bound=Hashable, contravariant=True)


class Limiter(Protocol[K_contra]):
    """Counts failures and makes them wait."""

    def delay_s(self, key: K_contra) -> float:
        """Count one more failure of *key*: the seconds it waits."""

    def forget(self, key: K_contra) -> None:
        """*key* is well again: its next failure counts as the first."""

    def failures(self, key: K_contra) -> int:
        """Failures of *key* in a row."""


class ExponentialPerKey(Generic[K]):
    """*base_s*, then twice as long after each failure in a row, at most *most_s*."""

    def __init__(self, base_s: float = 0.005, most_s: float = 1000.0) -> None:
        self._base_s = base_s
        self._most_s = most_s
        # 2.0 ** 1024 overflows, and a key may fail for weeks: beyond this exponent the answer is most_s anyway.
        self._last_exponent = max(0, math.ceil(math.log2(most_s / base_s)))
        self._lock = threading.Lock()  # guards _failures
        self._failures: dict[K, int] = {}

    def delay_s(self, key: K) -> float:
        with self._lock:
            before = self._failures.get(key, 0)
            self._failures[key] = before + 1
        return min(self._most_s, self._base_s * 2.0 ** min(before, self._last_exponent))

    def forget(self, key: K) -> None:
        with self._lock:
            self._failures.pop(key, None)

    def failures(self, key: K) -> int:
        return self._failures.get(key, 0)


class Overall:
    """At most *burst* retries at once and *per_second* on average, whatever their keys: a bug must not become a storm.

    Nobody waits longer than *longest_s*. Whose turn would come later takes none, and waits between half of it and all of it,
    each key its own time, so that they do not all come at once.
    """

    def __init__(self, clock: Clock, per_second: float = 10.0, burst: int = 100, longest_s: float = math.inf) -> None:
        self._rate = RateLimit(per_second, burst, clock)
        self._longest_s = longest_s

    def delay_s(self, key: Hashable) -> float:
        wait_s = self._rate.reserve(self._longest_s)
        return self._longest_s * _share(key) if wait_s is None else wait_s

    def forget(self, key: Hashable) -> None:
        """Nothing: keys are all alike here."""

    def failures(self, key: Hashable) -> int:
        return 0


def _share(key: Hashable) -> float:
    """Of *key*, from 0.5 up to 1.0."""
    return 0.5 + hash(key) % 1000 / 2000


class LongestOf(Generic[K]):
    """Every limiter counts, the longest wait holds."""

    def __init__(self, *limiters: Limiter[K]) -> None:
        self._limiters = limiters

    def delay_s(self, key: K) -> float:
        return max(limiter.delay_s(key) for limiter in self._limiters)

    def forget(self, key: K) -> None:
        for limiter in self._limiters:
            limiter.forget(key)

    def failures(self, key: K) -> int:
        return max(limiter.failures(key) for limiter in self._limiters)


def default_limiter(clock: Clock) -> Limiter[Hashable]:
    """The limiter of a controller's queue."""
    return LongestOf(ExponentialPerKey[Hashable](), Overall(clock))


def limiter_up_to(longest_s: float, clock: Clock) -> Limiter[Hashable]:
    """As `default_limiter`; no key waits longer than *longest_s*."""
    return LongestOf(ExponentialPerKey[Hashable](most_s=longest_s), Overall(clock, longest_s=longest_s))
