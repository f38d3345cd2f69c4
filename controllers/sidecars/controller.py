"""The led controller `sidecar-entries`: catalog -> keys of ConfigMaps -> Events on them.

It writes nothing but Events. A leader tells once what is broken when it begins, and then what breaks, what breaks in another
way, and what is mended; what it has told is forgotten when it stops, for then another replica may lead.
Threads: `Controller`'s one worker; the source runs on the caches' threads and only looks into memory.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from controllers.runtime.controller import AddKey, Controller, Detach, memory_source
from controllers.runtime.errors import OnDeath
from controllers.runtime.events import Announcer, Reference
from controllers.runtime.reconcile import Context, Done, Key, Leadership
from controllers.runtime.workqueue import FIRST_LIST, LIVE
from controllers.sidecars.news import News
from webhook.clock import Clock
from webhook.sidecars.entries.catalog import Catalog, EntryFault, State
from webhook.telemetry import Telemetry

NAME = "sidecar-entries"


class Entries(Protocol):
    """What the controller needs of `catalog.SidecarCatalog`."""

    def catalog(self) -> Catalog: ...

    def uid(self, key: str) -> str: ...

    def subscribe(self, listener: Callable[[], None]) -> Detach: ...


def sidecar_entries(
    entries: Entries,
    announcer: Announcer,
    telemetry: Telemetry,
    clock: Clock,
    on_death: OnDeath,
    *,
    leadership: Leadership,
    waits_for: Sequence[threading.Event] = (),
) -> Controller:
    """The controller, not started. To be started while *leadership* is ours, and stopped before it is given up.

    waits_for: the `synced_event`s of the caches behind *entries*.
    """
    reports = Reports(entries, News(announcer))
    return Controller(
        NAME,
        reports,
        [memory_source(reports.forget), _changes_of(entries)],
        telemetry,
        clock,
        on_death,
        leadership=leadership,
        waits_for=waits_for,
    )


class Reports:
    """What was told of each ConfigMap; one pass tells the difference. Implements `reconcile.Reconcile`."""

    def __init__(self, entries: Entries, news: News) -> None:
        self._entries = entries
        self._news = news
        self._told: dict[Key, dict[str, tuple[EntryFault, ...]]] = {}  # the worker's alone; of entries that are broken

    def __call__(self, key: Key, context: Context, /) -> Done:
        states = self._entries.catalog().sources.get(key, {})
        told = self._told.get(key, {})
        namespace, _, name = key.partition("/")
        config_map = Reference("ConfigMap", name, namespace, uid=self._entries.uid(key))
        for state in states.values():
            if state.faults and told.get(state.name) != state.faults:
                self._news.entry_broken(config_map, state)
            elif not state.faults and state.name in told:
                self._news.entry_mended(config_map, state)
        self._remember(key, states)
        return Done()

    def forget(self) -> None:
        """Begin anew: the next leader tells for itself."""
        self._told.clear()

    def _remember(self, key: Key, states: Mapping[str, State]) -> None:
        broken = {name: state.faults for name, state in states.items() if state.faults}
        if broken:
            self._told[key] = broken
        else:
            self._told.pop(key, None)


def _changes_of(entries: Entries) -> Callable[[AddKey], Detach]:
    """A key for each ConfigMap whose entries change; first of each that has any."""

    def attach(add: AddKey) -> Detach:
        lock = threading.Lock()  # guards seen
        seen = Catalog()

        def look(priority: int = LIVE) -> None:
            nonlocal seen
            with lock:
                now = entries.catalog()
                before, seen = seen.sources, now
            for key in before.keys() | now.sources.keys():
                if before.get(key) is not now.sources.get(key):
                    add(key, priority)

        detach = entries.subscribe(look)
        look(FIRST_LIST)
        return detach

    return attach
