"""The catalog of sidecar entries, kept up to date by the caches of ConfigMaps.

A ConfigMap may be in two caches, one by its label and one by its name, and they are never at the same point of time: what
counts is the newest version that any of them holds. It is gone when none of them holds it. A cache that cannot reach the API
server keeps what it has, and so the catalog does; a version with faults replaces only the entries that are sound in it.

What one tenant can make of it is bounded: all entries of a namespace together have NAMESPACE_SIZE, as they are kept, with the
last good versions of broken ones. ConfigMaps that come when there is no room for them are not read; they are when there is.

Threads: handlers run on the caches' threads. They read texts without the lock, which guards only what comes of it; `catalog` is
         read by anyone, without it but for the first time after a change: a first list of thousands of ConfigMaps makes one
         catalog, not thousands.
Errors:  none; faults of entries are values in the catalog, a line in the log and a count.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import Final

from controllers.runtime.informer import Informer
from controllers.runtime.projection_cluster import ConfigMapFacts
from controllers.runtime.store import Change, Deletion
from controllers.sidecars import copies
from controllers.sidecars.accounts import NAMESPACE_SIZE, Accounts
from controllers.sidecars.copies import Copies
from webhook.logs import get_log
from webhook.sidecars.entries import source
from webhook.sidecars.entries.catalog import Catalog, Reading, State
from webhook.telemetry import Telemetry

log = get_log("sidecars")

GOOD: Final = "good"  # the newest version is in force
STALE: Final = "stale"  # it has faults: the last good one is in force
BROKEN: Final = "broken"  # it has faults, and no version was good since the process started
STATES: Final = (GOOD, STALE, BROKEN)

NO_ROOM: Final = f"it was not read: the sidecar entries of its namespace have more than {NAMESPACE_SIZE // 2**20} MiB together"

Detach = Callable[[], None]


def condition_of(state: State) -> str:
    """One word of STATES for an entry."""
    if not state.faults:
        return GOOD
    return BROKEN if state.entry is None else STALE


class SidecarCatalog:
    """Implements `webhook.cluster.Sidecars`."""

    def __init__(self, telemetry: Telemetry) -> None:
        # Guards everything below; no IO under it. _catalog is replaced as one value and read without it, and so is what
        # _absorbed has of one key.
        self._lock = threading.Lock()
        self._held: dict[str, dict[str, ConfigMapFacts]] = {}  # "namespace/name" -> cache -> what that one has
        self._absorbed: dict[str, ConfigMapFacts] = {}  # what _sources was made from
        self._sources: dict[str, Mapping[str, State]] = {}
        self._accounts = Accounts()
        self._copies = Copies()
        self._catalog: Catalog | None = Catalog()  # of _sources, replaced as one value; None = has to be made
        self._listeners: tuple[Callable[[], None], ...] = ()
        self._counts = dict.fromkeys(STATES, 0)
        self._entries = telemetry.gauge(
            "gatehouse_sidecar_entries",
            "Sidecar entries: good; stale = faulty, the last good version is in force; broken = no good one since the start.",
            ("state",),
        )
        for state in STATES:
            self._entries.labels(state).set(0)

    # -- called by anyone

    def catalog(self) -> Catalog:
        """See `webhook.cluster.Sidecars`."""
        catalog = self._catalog
        if catalog is None:
            with self._lock:
                catalog = self._catalog = self._catalog or Catalog(dict(self._sources))
        return catalog

    def uid(self, key: str) -> str:
        """The uid of the ConfigMap "namespace/name"; "" when there is none."""
        facts = self._absorbed.get(key)
        return "" if facts is None else facts.uid

    def subscribe(self, listener: Callable[[], None]) -> Detach:
        """Call *listener* after each change of the catalog, on a cache's thread: it must not block. The answer ends that."""
        with self._lock:
            self._listeners = (*self._listeners, listener)

        def detach() -> None:
            with self._lock:
                self._listeners = tuple(one for one in self._listeners if one is not listener)

        return detach

    def follow(self, cache: Informer[ConfigMapFacts]) -> None:
        """Take entries from *cache* too. Before it is started."""
        name = cache.resource.name
        cache.add_handler(lambda change: self._hear(name, change))

    # -- called by the caches' threads

    def _hear(self, cache: str, change: Change[ConfigMapFacts]) -> None:
        facts = change.item.facts
        with self._lock:
            held = self._held.setdefault(facts.key, {})
            if isinstance(change, Deletion):
                held.pop(cache, None)
            else:
                held[cache] = facts
            if not held:
                del self._held[facts.key]
        changed = self._renew(facts.key)
        with self._lock:
            waiting = self._accounts.waiting(facts.namespace)
        for key in waiting:
            changed = self._renew(key) or changed
        for listener in self._listeners if changed else ():
            listener()

    def _renew(self, key: str) -> bool:
        """Make the entries agree with what the caches hold of *key*: whether they change by it."""
        while True:
            with self._lock:
                newest = self._newest(key)
                if newest is None:
                    return self._forget(key)
                if not self._is_news(newest):
                    self._absorbed[key] = newest
                    return False
                fits = source.text_size(newest.data) <= self._accounts.room(key)
            reading = self._read(newest) if fits else None
            with self._lock:
                if self._newest(key) is not newest:
                    continue  # a cache has heard of another version while this one was read
                if not self._is_news(newest):
                    return False  # the other cache's thread was faster
                before, now = self._absorb(newest, reading)
            _tell(key, before, now)
            return True

    def _read(self, facts: ConfigMapFacts) -> Reading:
        key = copies.key_of(facts)
        with self._lock:
            known = self._copies.get(key)
        reading = known or copies.read(facts)
        with self._lock:
            self._copies.keep(key, reading)
        return copies.as_of(facts, reading)

    # -- under the lock

    def _newest(self, key: str) -> ConfigMapFacts | None:
        return max(self._held.get(key, {}).values(), key=_age, default=None)

    def _is_news(self, newest: ConfigMapFacts) -> bool:
        known = self._absorbed.get(newest.key)
        if known is None or _content(known) != _content(newest):
            return True
        return self._accounts.fits_now(newest.key)

    def _forget(self, key: str) -> bool:
        if self._absorbed.pop(key, None) is None:
            return False
        self._accounts.book(key, 0)
        self._put(key, {})
        log.info("sidecar entries gone", configmap=key)
        return True

    def _absorb(self, newest: ConfigMapFacts, reading: Reading | None) -> tuple[Mapping[str, State], Mapping[str, State]]:
        """The entries of a ConfigMap before, and after this version of it. reading: None when there is no room for its text."""
        key, known = newest.key, self._absorbed.get(newest.key)
        self._absorbed[key] = newest
        # What was good of a ConfigMap that is another one now is nobody's any more.
        before = self._sources.get(key, {}) if known is not None and known.uid == newest.uid else {}
        needed = source.text_size(newest.data)
        if reading is not None:
            now = Catalog({key: before}).absorb(reading).sources[key]
            needed = _size(now)
        is_left_out = reading is None or needed > self._accounts.room(key)
        if is_left_out:
            now = Catalog({key: before}).absorb(_unread(newest)).sources[key]
        self._accounts.book(key, _size(now), needed if is_left_out else None)
        self._put(key, now)
        return before, now

    def _put(self, key: str, states: Mapping[str, State]) -> None:
        for state in self._sources.pop(key, {}).values():
            self._counts[condition_of(state)] -= 1
        for state in states.values():
            self._counts[condition_of(state)] += 1
        if states:
            self._sources[key] = states
        self._catalog = None
        for condition, number in self._counts.items():
            self._entries.labels(condition).set(number)


def _size(states: Mapping[str, State]) -> int:
    return sum([state.size for state in states.values()])


def _unread(facts: ConfigMapFacts) -> Reading:
    return source.refused(facts.namespace, facts.name, facts.labels, facts.data, facts.uid, facts.version, NO_ROOM)


def _content(facts: ConfigMapFacts) -> object:
    return facts.uid, facts.labels, facts.data


def _age(facts: ConfigMapFacts) -> int:
    # Versions of the built-in kinds are numbers that grow over all objects of the server (Kubernetes API concepts).
    return int(facts.version) if facts.version.isdecimal() else 0


def _tell(key: str, before: Mapping[str, State], now: Mapping[str, State]) -> None:
    """A line in the log for each entry of *key* that became sound, became faulty, or has other faults."""
    for name, state in now.items():
        old = before.get(name)
        if state.faults and (old is None or old.faults != state.faults):
            first = state.faults[0]
            log.warning(
                "sidecar entry is broken",
                configmap=key,
                entry=name,
                in_force=state.entry.revision if state.entry else "none",
                faults=len(state.faults),
                line=first.line,
                path=first.path,
                fault=first.message,
            )
        elif not state.faults and state != old and state.entry is not None:
            if old is not None and old.faults:
                log.info("sidecar entry mended", configmap=key, entry=name, revision=state.entry.revision)
            else:
                log.info("sidecar entry in force", configmap=key, entry=name, revision=state.entry.revision)
    for name in before.keys() - now.keys():
        log.info("sidecar entry gone", configmap=key, entry=name)
