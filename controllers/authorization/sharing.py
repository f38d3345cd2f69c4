"""How the few questions that may be asked are shared among those who cause them, so that nobody has them all.

A party is an address, or a user whose token was good before. Threads: any. Errors: none.
"""

from __future__ import annotations

import ipaddress
import threading
from collections import Counter

from controllers.authorization.kept import Kept
from controllers.runtime.rate import RateLimit
from webhook.clock import Clock


class Seats:
    """At most *total* questions are open at once, at most *each* of them for one party."""

    def __init__(self, total: int, each: int) -> None:
        self._total = total
        self._each = each
        self._lock = threading.Lock()
        self._taken: Counter[bytes] = Counter()  # guarded by the lock; no zeros in it

    def take(self, party: bytes) -> bool:
        """Whether there was one. Never waits."""
        with self._lock:
            if self._taken.total() >= self._total or self._taken[party] >= self._each:
                return False
            self._taken[party] += 1
            return True

    def give_back(self, party: bytes) -> None:
        """End a question of *party*."""
        with self._lock:
            self._taken[party] -= 1
            if not self._taken[party]:
                del self._taken[party]


class Allowances:
    """Each party may cause *per_second* questions on average, *burst* at once."""

    def __init__(self, per_second: float, burst: int, clock: Clock, *, kept: int) -> None:
        """kept: parties; one that is forgotten for another begins anew."""
        self._per_second = per_second
        self._burst = burst
        self._clock = clock
        self._lock = threading.Lock()
        self._limits: Kept[RateLimit] = Kept(kept)  # guarded by the lock

    def take(self, party: bytes) -> bool:
        """Whether *party* may cause one more. Never waits."""
        with self._lock:
            now_s = self._clock.monotonic_s()
            limit = self._limits.get(party, now_s) or RateLimit(self._per_second, self._burst, self._clock)
            self._limits.put(party, limit, now_s + self._burst / self._per_second)  # it is full again then
        return limit.reserve(0.0) is not None


def party_at(peer: str) -> bytes:
    """The party of whoever calls from the IP address *peer*. A network's 64 bits are one: IPv6 gives hosts 2**64 addresses."""
    try:
        address = ipaddress.ip_address(peer.partition("%")[0])
    except ValueError:
        return b"nowhere"
    if isinstance(address, ipaddress.IPv6Address):
        if address.ipv4_mapped is None:
            return address.packed[:8]
        address = address.ipv4_mapped
    return address.packed
