"""The deletions under way, as this replica has seen them: for the metrics.

Nothing is decided from it. It is memory of the leader: `clear` forgets it all.
Threads: any; the lock guards memory only.
"""

from __future__ import annotations

import threading

from controllers.database_instance.values import Plan, Wait
from controllers.runtime.reconcile import Key
from webhook.clock import Clock
from webhook.objects.databases import InstanceFacts
from webhook.telemetry import Telemetry


class Deletions:
    """What is being deleted, since when, and what it waits for."""

    def __init__(self, telemetry: Telemetry, clock: Clock) -> None:
        self._clock = clock
        self._lock = threading.Lock()  # guards _since_s, _waits
        self._since_s: dict[Key, float] = {}
        self._waits: dict[Key, Wait] = {}
        oldest = telemetry.gauge(
            "gatehouse_database_oldest_deletion_age_seconds",
            "Since the oldest deletion of a DatabaseInstance under way was asked for; 0 without one. Of the leader.",
        )
        oldest.set_function(self.oldest_age_s)
        self._waiting = telemetry.gauge(
            "gatehouse_database_deletions", "Deletions of DatabaseInstances under way, by what they wait for.", ("reason",)
        )
        self._done = telemetry.counter(
            "gatehouse_database_deletions_done", "Instances that were let go, by policy.", ("policy",)
        )
        self._late = telemetry.counter(
            "gatehouse_database_deletions_timed_out", "Deletions that took longer than their timeout."
        )

    def report(self, key: Key, instance: InstanceFacts, made: Plan) -> None:
        """*made* is the newest plan of *key*."""
        if instance.deleting_s is None or made.waiting is None:
            self.forget(key)
            return
        with self._lock:
            self._since_s[key] = instance.deleting_s
            self._waits[key] = made.waiting.reason
            self._show()

    def forget(self, key: Key) -> None:
        """*key* is gone, or not being deleted."""
        with self._lock:
            if self._since_s.pop(key, None) is not None:
                self._waits.pop(key, None)
                self._show()

    def let_go(self, policy: str) -> None:
        """Our finalizer was dropped."""
        self._done.labels(policy).inc()

    def timed_out(self) -> None:
        """A deletion has passed its timeout."""
        self._late.inc()

    def clear(self) -> None:
        """Forget everything: this replica does not lead any more."""
        with self._lock:
            self._since_s.clear()
            self._waits.clear()
            self._show()

    def oldest_age_s(self) -> float:
        """The age of the oldest deletion under way, in seconds."""
        with self._lock:
            oldest_s = min(self._since_s.values(), default=None)
        return 0.0 if oldest_s is None else max(0.0, self._clock.wall_s() - oldest_s)

    def _show(self) -> None:
        counts = list(self._waits.values())
        for reason in set(Wait) - {Wait.NOTHING}:
            self._waiting.labels(reason.value).set(counts.count(reason))
