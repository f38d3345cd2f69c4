"""Reviews in flight of services that share one limit: rules of plug-ins, any of which may hang.

Each has an equal part of the limit, so that one that hangs leaves the others theirs, and all together have no more than it, so
that threads are left for what does not share. A call that has been running for OVERDUE_S is overdue: its caller has long gone
(the API server waits at most 30 s), and nothing can end it but the process's end. Any thread.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from functools import partial
from typing import Any, Final

from webhook.clock import Clock
from webhook.errors import Overloaded
from webhook.logs import get_log
from webhook.telemetry import Telemetry

log = get_log("admission")

OVERDUE_S: Final = 30.0


class SharedPlaces:
    """Who is inside, and since when."""

    def __init__(self, names: Sequence[str], limit: int, telemetry: Telemetry, clock: Clock) -> None:
        """names: of the services that share *limit*."""
        self._limit = limit
        self._each = max(1, limit // max(1, len(names)))
        self._clock = clock
        self._lock = threading.Lock()  # guards _since
        self._since: dict[str, dict[object, float]] = {name: {} for name in names}  # ticket -> when it came in, monotonic
        self._told: set[str] = set()  # main thread
        gauge = telemetry.gauge(
            "gatehouse_rule_overdue_reviews", "Calls of a plug-in's rule that have been running for over 30 s", ["rule"]
        )
        for name in names:
            gauge.labels(name).set_function(partial(self._late, name))

    def enter(self, name: str) -> object:
        """A ticket for one review of *name*. Raises Overloaded, which says whose reviews are in the way."""
        ticket = object()
        with self._lock:
            mine, all_together = len(self._since[name]), sum(map(len, self._since.values()))
            if mine < self._each and all_together < self._limit:
                self._since[name][ticket] = self._clock.monotonic_s()
                return ticket
            fullest = max(self._since, key=lambda one: len(self._since[one]))
        if mine >= self._each:
            what = f"{mine} reviews of the rule {name} are being answered, its share of webhook.limits.maxInFlight"
        else:
            what = f"{all_together} reviews of rules of plug-ins are being answered, their limit (webhook.limits.maxInFlight)"
        late = self.why_late(name if mine >= self._each else fullest)
        raise Overloaded(f"{what}; {late}" if late else what)

    def leave(self, name: str, ticket: object) -> None:
        """Give back what `enter` gave."""
        with self._lock:
            del self._since[name][ticket]

    def count(self) -> int:
        """Reviews inside."""
        with self._lock:
            return sum(map(len, self._since.values()))

    def names(self) -> list[str]:
        """Of the services that share."""
        return list(self._since)

    def why_late(self, name: str) -> str | None:
        """That calls of the rule *name* are overdue, for /readyz/NAME; None when none is."""
        count, longest_s = self._overdue(name)
        if not count:
            return None
        return f"{count} of the rule {name} {'have' if count > 1 else 'has'} been running for up to {longest_s:.0f} s"

    def look(self) -> None:
        """Log once when calls of a rule become overdue, and once when they have ended. Main thread."""
        for name in self._since:
            count, longest_s = self._overdue(name)
            if count and name not in self._told:
                self._told.add(name)
                facts: dict[str, Any] = {"calls": count, "share": self._each, "seconds": round(longest_s)}
                log.error("a rule hangs: its calls are overdue", rule=name, **facts)
            elif not count and name in self._told:
                self._told.discard(name)
                log.info("no call of the rule is overdue any more", rule=name)

    def _late(self, name: str) -> float:
        return float(self._overdue(name)[0])

    def _overdue(self, name: str) -> tuple[int, float]:
        """How many are, and the age of the oldest in seconds."""
        now_s = self._clock.monotonic_s()
        with self._lock:
            ages = [now_s - since_s for since_s in self._since[name].values()]
        late = [age for age in ages if age >= OVERDUE_S]
        return len(late), max(late, default=0.0)
