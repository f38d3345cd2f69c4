"""Explanations inside rules of plug-ins: each takes a place as a review does, and one that does not return is known by name.

One explanation at a time is in a rule: the next is told that the rule is not asked, and since when. So a rule that hangs costs
one thread and the answers about itself, and whoever looks at reviews (SharedPlaces: /readyz, metric, log) sees it.
Any thread. Errors: Overloaded.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from webhook.admission.places import SharedPlaces
from webhook.clock import Clock
from webhook.errors import Overloaded


class Calls:
    """Which explanation is in which rule."""

    def __init__(self, shared: SharedPlaces, clock: Clock) -> None:
        self._shared = shared
        self._clock = clock
        self._lock = threading.Lock()  # guards _inside
        self._inside: dict[str, tuple[int, float]] = {}  # rule -> thread, and since when, monotonic

    @contextmanager
    def inside(self, name: str) -> Iterator[None]:
        """Hold a place of the rule *name*. Raises Overloaded when another explanation is in it, or no place is left."""
        now_s = self._clock.monotonic_s()
        with self._lock:
            found = self._inside.get(name)
            if found is None:
                self._inside[name] = (threading.get_ident(), now_s)
        if found is not None:
            since_s = now_s - found[1]
            raise Overloaded(
                f"the rule {name} has not answered an explanation for {since_s:.0f} s: it is asked again once it has"
            )
        try:
            ticket = self._shared.enter(name)
            try:
                yield
            finally:
                self._shared.leave(name, ticket)
        finally:
            with self._lock:
                del self._inside[name]

    def of(self, thread: int | None) -> tuple[str, float] | None:
        """The rule that *thread* is in, and for how many seconds; None when it is in none."""
        with self._lock:
            found = [(name, since_s) for name, (ident, since_s) in self._inside.items() if ident == thread]
        return next(((name, self._clock.monotonic_s() - since_s) for name, since_s in found), None)
