"""Whoever undoes what we do is not answered at his own speed: the same deed, done to the same object again and again, waits.

FREE deeds in a row are done at once. Each further one waits twice as long as the one before, from FIRST_S up to what its kind
may wait: a taint never as long as the shortest tolerationSeconds that make sense, for its pods are evicted meanwhile. Another
deed on the object, or a while of quiet, and all is forgotten. The other objects of a node do not wait with it.
It is memory of the leader: `clear` forgets it all. Bounded.
Threads: any; the lock guards everything, memory only.
"""

from __future__ import annotations

import threading
from collections import OrderedDict

import attrs

from webhook.clock import Clock
from webhook.telemetry import Telemetry

FREE = 5  # an ordinary race is over by then
FIRST_S = 1.0
QUIET_S = 120.0  # four times the longest wait
SLACK_S = 0.001  # a queue wakes up a little early: what is left then must not be waited for once more
KEPT = 65536  # objects; at 50 writes a second 6,000 are not yet quiet


@attrs.define(eq=False)
class _Deeds:
    deed: str
    done: int
    last_s: float
    until_s: float


class Damper:
    """What was done to each object, how often in a row."""

    def __init__(self, telemetry: Telemetry, clock: Clock, metric: str) -> None:
        """metric: the name of the counter of deeds that have to wait, by deed."""
        self._clock = clock
        self._lock = threading.Lock()  # guards _deeds and what is in it
        self._deeds: OrderedDict[str, _Deeds] = OrderedDict()  # by uid, the one done last at the end
        self._damped = telemetry.counter(
            metric, "Deeds that somebody keeps undoing, and that wait before the next time.", ("deed",)
        )

    def wait_s(self, uid: str, deed: str) -> float:
        """Seconds before *deed* may be done to the object *uid* again; 0 when it may be done now."""
        now_s = self._clock.monotonic_s()
        with self._lock:
            known = self._deeds.get(uid)
            left_s = known.until_s - now_s if known is not None and known.deed == deed else 0.0
            return left_s if left_s > SLACK_S else 0.0

    def did(self, uid: str, deed: str, most_s: float, *, label: str = "") -> float:
        """*deed* has been done to the object *uid*: the seconds that the next one alike waits, at most *most_s*.

        label: in the metric, where the deed itself says more than a label may.
        """
        now_s = self._clock.monotonic_s()
        with self._lock:
            known = self._deeds.get(uid)
            alike = known is not None and known.deed == deed and now_s - known.last_s < QUIET_S
            done = known.done + 1 if known is not None and alike else 1
            over = done - FREE
            wait_s = min(most_s, FIRST_S * 2.0 ** min(over, 32)) if over >= 0 else 0.0
            self._deeds[uid] = _Deeds(deed, done, now_s, now_s + wait_s)
            self._deeds.move_to_end(uid)
            self._forget_quiet(now_s)
        if wait_s > 0:
            self._damped.labels(label or deed).inc()
        return wait_s

    def clear(self) -> None:
        """Forget every object: this replica does not lead any more."""
        with self._lock:
            self._deeds.clear()

    def _forget_quiet(self, now_s: float) -> None:
        while self._deeds and (len(self._deeds) > KEPT or now_s - next(iter(self._deeds.values())).last_s >= QUIET_S):
            self._deeds.popitem(last=False)
