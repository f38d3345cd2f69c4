"""The entries that are in force: of every ConfigMap the last good version of each entry.

Frozen: a change makes a new catalog, which its owner swaps in as one value, so that a reader always sees whole ConfigMaps.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import attrs

from webhook.sidecars.entries.entry import Entry

NO_NAMES: Final = ("true", "false")  # what `gatehouse.dev/inject` says instead of names


@attrs.frozen
class EntryFault:
    """Why one key of a ConfigMap gives no entry. Lines count from 1 within the key's text."""

    entry: str  # its name
    key: str
    line: int
    column: int
    path: str  # "containers[0].ports[1].containerPort", "" for the text as a whole
    message: str

    @property
    def size(self) -> int:
        """About the bytes that it takes."""
        return len(self.path) + len(self.message) + 200

    def told(self) -> str:
        """The fault and its place in the key's text: line 3, containers[0].image: is required."""
        return f"line {self.line}{f', {self.path}' if self.path else ''}: {self.message}"


@attrs.frozen
class Reading:
    """What one version of a ConfigMap gives: `source.read` makes it."""

    namespace: str
    config_map: str
    uid: str
    version: str  # metadata.resourceVersion
    entries: tuple[Entry, ...] = ()
    faults: tuple[EntryFault, ...] = ()
    size: int = 0  # of its text and of what the entries became: about the bytes that it takes

    @property
    def source(self) -> str:
        """Namespace and name, as "shop/envoy"."""
        return f"{self.namespace}/{self.config_map}"


@attrs.frozen
class State:
    """One entry of one ConfigMap. At least one of *entry* and *faults* is there."""

    name: str
    entry: Entry | None  # in force; None when no version of it was good since the catalog began
    faults: tuple[EntryFault, ...] = ()  # of the newest version; () = the newest is in force

    @property
    def size(self) -> int:
        """About the bytes that it takes."""
        return (self.entry.size if self.entry is not None else 0) + sum([fault.size for fault in self.faults])


@attrs.frozen
class Catalog:
    """All of them."""

    # "namespace/name" of a ConfigMap -> name of an entry -> its state
    sources: Mapping[str, Mapping[str, State]] = attrs.field(factory=dict)
    _places: Mapping[str, Mapping[str, str]] = attrs.field(init=False, repr=False, eq=False)  # namespace -> name -> source

    @_places.default
    def _by_namespace(self) -> Mapping[str, Mapping[str, str]]:
        places: dict[str, dict[str, str]] = {}
        for source in sorted(self.sources, reverse=True):  # so that the first in the alphabet is written last
            places.setdefault(source.partition("/")[0], {}).update(dict.fromkeys(self.sources[source], source))
        return places

    def absorb(self, reading: Reading) -> Catalog:
        """The catalog after this version of a ConfigMap: good entries replace, broken ones keep what was good, others go."""
        before = self.sources.get(reading.source, {})
        states = {entry.name: State(entry.name, entry) for entry in reading.entries}
        for fault in reading.faults:
            known = states.get(fault.entry)
            if known is None:
                old = before.get(fault.entry)
                known = State(fault.entry, old.entry if old is not None else None)
            states[fault.entry] = attrs.evolve(known, faults=(*known.faults, fault))
        return Catalog({**self.sources, reading.source: states})

    def forget(self, source: str) -> Catalog:
        """The catalog without the ConfigMap "namespace/name"."""
        return Catalog({key: states for key, states in self.sources.items() if key != source})

    def find(self, name: str, namespace: str, home: str) -> State | None:
        """The entry *name* for a pod of *namespace*: from that namespace, else from *home*, where the operator's stand.

        Within a namespace the ConfigMap first in the alphabet wins. A namespace's own counts even when it was never good:
        whoever replaces the operator's entry does not want that one instead. None when nobody defines it. O(1).
        """
        for place in (namespace, home):
            source = self._places.get(place, {}).get(name)
            if source is not None:
                return self.sources[source][name]
        return None

    def names(self, namespace: str, home: str) -> Sequence[str]:
        """The entries that pods of *namespace* get when they ask for them, sorted."""
        places = {**self._places.get(home, {}), **self._places.get(namespace, {})}
        return sorted([name for name, source in places.items() if self.sources[source][name].entry is not None])

    def shadowed_by(self, source: str, name: str) -> str | None:
        """Which other ConfigMap's entry *name* counts instead of that of *source*; None when that one's does. O(1)."""
        first = self._places.get(source.partition("/")[0], {}).get(name, source)
        return first if first != source else None
