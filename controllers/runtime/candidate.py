"""Who wants which Lease, its timing, and a point in time on a machine's clocks.

Pure.
Source: client-go tools/leaderelection (the three durations and their defaults).
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import attrs

from controllers.runtime.leases import Record

MOST_LEASE_DURATIONS = 10  # that a holder's silence, and settling, may take, whatever somebody wrote into the record


@attrs.frozen
class Timing:
    """Seconds; lease > renew deadline > 1.2 times retry period (held by the configuration)."""

    lease_duration_s: float = 15.0
    renew_deadline_s: float = 10.0
    retry_period_s: float = 2.0

    @property
    def record_duration_s(self) -> int:
        """What the record says: whole seconds, never less than we count on."""
        return math.ceil(self.lease_duration_s)

    @property
    def patience_s(self) -> float:
        """The longest that anybody's record is waited for."""
        return MOST_LEASE_DURATIONS * self.lease_duration_s

    def settle_s(self, record: Record) -> float:
        """How long the holder of *record* may go on believing that it leads, without a word from it."""
        return min(self.patience_s, max(self.lease_duration_s, record.duration_s))

    def valid_s(self, record: Record) -> float:
        """How long after its last change *record* keeps others from taking it."""
        return min(self.patience_s, record.duration_s)


@attrs.frozen
class Candidate:
    """Who wants which Lease."""

    identity: str
    namespace: str
    name: str
    timing: Timing = Timing()
    labels: Mapping[str, str] = attrs.field(factory=dict)


@attrs.frozen
class Moment:
    """One point in time on the three clocks of a process."""

    monotonic_s: float
    boottime_s: float
    wall_s: float

    def at_least_since(self, earlier: Moment) -> float:
        """Seconds that have surely passed since *earlier*."""
        return min(self.monotonic_s - earlier.monotonic_s, self.boottime_s - earlier.boottime_s)

    def at_most_since(self, earlier: Moment) -> float:
        """Seconds that may have passed since *earlier*."""
        return max(self.monotonic_s - earlier.monotonic_s, self.boottime_s - earlier.boottime_s)
