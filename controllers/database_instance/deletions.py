"""The deletions under way, and the instances whose last pass failed: for the metrics and the status page.

Nothing is decided from it. It is memory of the leader, as this replica has seen them: `clear` forgets it all.
Threads: any; the lock guards memory only.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import Final

from controllers.database_instance.values import Plan, Wait
from controllers.runtime.errors import Cancelled, LeaseLost
from controllers.runtime.reconcile import Context, Key, Outcome, Reconcile
from webhook.clock import Clock
from webhook.objects.databases import InstanceFacts
from webhook.telemetry import Telemetry

_ERROR_LENGTH: Final = 300


class Deletions:
    """What is being deleted, since when, what it waits for; and of all instances what fails."""

    def __init__(self, telemetry: Telemetry, clock: Clock) -> None:
        self._clock = clock
        self._lock = threading.Lock()  # guards _since_s, _waits, _errors
        self._since_s: dict[Key, float] = {}
        self._waits: dict[Key, Wait] = {}
        self._errors: dict[Key, str] = {}
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

    def watching(self, reconcile: Reconcile, known: Callable[[Key], InstanceFacts | None]) -> Reconcile:
        """*reconcile*, and what comes of it is remembered. known: an instance, as far as it can be seen without a request."""

        def watched(key: Key, context: Context, /) -> Outcome:
            try:
                outcome = reconcile(key, context)
            except (Cancelled, LeaseLost):  # no fault: the pass had to end
                raise
            except Exception as error:
                self._failed(key, known(key), f"{type(error).__name__}: {error}"[:_ERROR_LENGTH])
                raise
            with self._lock:
                self._errors.pop(key, None)
            return outcome

        return watched

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
            self._errors.clear()
            self._show()

    def waits(self) -> Mapping[Key, Wait]:
        """What each of them waits for."""
        with self._lock:
            return dict(self._waits)

    def errors(self) -> Mapping[Key, str]:
        """Why the last pass over each of them failed, whether it is being deleted or not."""
        with self._lock:
            return dict(self._errors)

    def told(self) -> Mapping[Key, tuple[str, str]]:
        """Both, each "" where there is nothing: what it waits for, and why the last pass failed."""
        with self._lock:
            waits, errors = dict(self._waits), dict(self._errors)
        return {key: (waits[key].value if key in waits else "", errors.get(key, "")) for key in waits.keys() | errors.keys()}

    def oldest_age_s(self) -> float:
        """The age of the oldest deletion under way, in seconds."""
        with self._lock:
            oldest_s = min(self._since_s.values(), default=None)
        return 0.0 if oldest_s is None else max(0.0, self._clock.wall_s() - oldest_s)

    def _failed(self, key: Key, instance: InstanceFacts | None, error: str) -> None:
        with self._lock:
            self._errors[key] = error
            if instance is not None and instance.deleting_s is not None:
                self._since_s[key] = instance.deleting_s
            if key in self._since_s:
                self._waits[key] = Wait.FAILING
                self._show()

    def _show(self) -> None:
        counts = list(self._waits.values())
        for reason in set(Wait) - {Wait.DONE}:
            self._waiting.labels(reason.value).set(counts.count(reason))
