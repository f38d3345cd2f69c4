"""Which nodes are guarded at the moment, as this replica has seen it: for the age metric and for the moments of change.

Nothing is decided from it but one thing, how long a silent node has been without anybody's word. It is memory of the leader:
`clear` forgets it all, and a new leader starts with an empty one.
Threads: any; one node is reported by one thread at a time (the work queue sees to that).
"""

from __future__ import annotations

import threading
from enum import Enum

import attrs

from controllers.edge_health.plan import Plan
from webhook.clock import Clock
from webhook.names import Reason
from webhook.telemetry import Telemetry

# A guard that is older than this when it is first seen, and holds, was begun under another leader, which has said so.
NEWS_FOR_S = 60.0


class Turn(Enum):
    """What has just happened to a node's guard."""

    NONE = "none"
    BEGUN = "begun"
    ENDED = "ended"
    ANEW = "anew"  # the node came back and went silent again between two passes: one guard has ended, another begun


@attrs.define
class _Node:
    guarded: bool = False
    silent_since_s: float | None = None  # of the guard
    unvouched_since_s: float | None = None  # monotonic


class Guards:
    """The guards that hold."""

    def __init__(self, telemetry: Telemetry, clock: Clock) -> None:
        self._clock = clock
        self._lock = threading.Lock()  # guards _nodes
        self._nodes: dict[str, _Node] = {}
        self._ages = telemetry.gauge(
            "gatehouse_edge_guard_age_seconds", "How long a guarded node has been silent; absent without a guard.", ("node",)
        )
        self._ended = telemetry.counter("gatehouse_edge_guards_ended", "Guards that ended, by reason.", ("reason",))
        self._begun = telemetry.counter("gatehouse_edge_guards_begun", "Guards that began.")

    def unvouched_s(self, name: str) -> float:
        """For how long the node *name* has been silent without anybody's word; 0 when it is not, as far as is known."""
        with self._lock:
            known = self._nodes.get(name)
            since_s = known.unvouched_since_s if known else None
        return 0.0 if since_s is None else self._clock.monotonic_s() - since_s

    def report(self, name: str, plan: Plan) -> Turn:
        """What *plan*, the newest of the node *name*, makes of its guard."""
        active, since_s = plan.guard.active, plan.silent_since_s
        with self._lock:
            first_sight = name not in self._nodes
            known = self._nodes.setdefault(name, _Node())
            before, known.guarded = known.guarded, active
            before_since_s, known.silent_since_s = known.silent_since_s, since_s
            if not plan.unvouched:
                known.unvouched_since_s = None
            elif known.unvouched_since_s is None:
                known.unvouched_since_s = self._clock.monotonic_s()
        anew = active and before and since_s != before_since_s
        if active == before and not anew:
            return Turn.NONE
        if not active:
            self._ages.remove(name)
            self._ended.labels(plan.guard.reason.value).inc()
            return Turn.ENDED
        self._show(name, since_s)
        held = not plan.steps and since_s is not None and self._clock.wall_s() - since_s > NEWS_FOR_S
        if first_sight and held:
            return Turn.NONE
        self._begun.inc()
        if anew:
            self._ended.labels(Reason.NODE_NOT_SILENT.value).inc()
            return Turn.ANEW
        return Turn.BEGUN

    def forget(self, name: str) -> None:
        """The node *name* is gone."""
        with self._lock:
            known = self._nodes.pop(name, None)
        if known is not None and known.guarded:
            self._ages.remove(name)

    def clear(self) -> None:
        """Forget every node: this replica does not lead any more."""
        with self._lock:
            names = list(self._nodes)
        for name in names:
            self.forget(name)

    def _show(self, name: str, silent_since_s: float | None) -> None:
        # Without a known beginning the silence counts from now on.
        since_s = self._clock.wall_s() if silent_since_s is None else silent_since_s
        self._ages.labels(name).set_function(lambda: max(0.0, self._clock.wall_s() - since_s))
