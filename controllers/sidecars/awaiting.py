"""The catalog for reviews: an entry that nobody knows yet is waited for, shortly.

A pod that is created right after the ConfigMap of its entry may be here before the cache has heard of it. The caches cannot be
asked by name (a ConfigMap's keys are what they are), so that a review waits until the catalog changes.
A flood of pods that name what does not exist must not take all seats: at most MOST_WAITING reviews wait, each for at most
WAIT_S, and what was waited for in vain counts as missing for KNOWN_S.

Threads: any; `awaited` blocks its caller. Errors: none.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable
from typing import Final, Protocol

from webhook.clock import Clock, Deadline
from webhook.sidecars.entries.catalog import Catalog

WAIT_S: Final = 0.3  # as for live reads
KNOWN_S: Final = 1.0
MOST_WAITING: Final = 4
KEPT: Final = 1024  # names that are known to be missing

_Name = tuple[str, str]  # namespace of the pod, entry


class Entries(Protocol):
    """The catalog, and who hears of its changes."""

    def catalog(self) -> Catalog: ...

    def subscribe(self, listener: Callable[[], None]) -> Callable[[], None]: ...


class AwaitedEntries:
    """Implements `webhook.cluster.Sidecars`."""

    def __init__(self, entries: Entries, clock: Clock) -> None:
        self._entries = entries
        self._clock = clock
        self._lock = threading.Lock()  # guards everything below; nobody waits under it
        self._waiting = 0
        self._missing: OrderedDict[_Name, float] = OrderedDict()  # until when, monotonic

    def catalog(self) -> Catalog:
        """See `webhook.cluster.Sidecars`."""
        return self._entries.catalog()

    def awaited(self, names: Iterable[str], namespace: str, home: str, deadline: Deadline) -> Catalog:
        """See `webhook.cluster.Sidecars`."""
        lacking = self._lacking(names, namespace, home)
        wait_s = min(WAIT_S, deadline.remaining_s())
        if not lacking or wait_s <= 0 or not self._take_seat(namespace, lacking):
            return self._entries.catalog()
        try:
            lacking = self._wait(lacking, namespace, home, Deadline.after(wait_s, self._clock))
        finally:
            self._leave_seat(namespace, lacking if wait_s >= WAIT_S else [])  # a hurried review's failure is nobody else's
        return self._entries.catalog()

    # -- inside

    def _lacking(self, names: Iterable[str], namespace: str, home: str) -> list[str]:
        catalog = self._entries.catalog()
        return [name for name in names if catalog.find(name, namespace, home) is None]

    def _wait(self, names: list[str], namespace: str, home: str, deadline: Deadline) -> list[str]:
        """What of *names* is still missing in the end."""
        changed = threading.Event()
        end = self._entries.subscribe(changed.set)
        try:
            while (lacking := self._lacking(names, namespace, home)) and self._clock.wait(changed, deadline.remaining_s()):
                changed.clear()
        finally:
            end()
        return lacking

    def _take_seat(self, namespace: str, names: list[str]) -> bool:
        """Whether this review may wait."""
        now_s = self._clock.monotonic_s()
        with self._lock:
            are_known = all(self._missing.get((namespace, name), 0.0) > now_s for name in names)
            if are_known or self._waiting >= MOST_WAITING:
                return False
            self._waiting += 1
            return True

    def _leave_seat(self, namespace: str, missing: list[str]) -> None:
        until_s = self._clock.monotonic_s() + KNOWN_S
        with self._lock:
            self._waiting -= 1
            for name in missing:
                self._missing[namespace, name] = until_s
                self._missing.move_to_end((namespace, name))
            while len(self._missing) > KEPT:
                self._missing.popitem(last=False)
