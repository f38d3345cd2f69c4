"""The entries that are in force: of every ConfigMap the last good version of each entry.

Frozen: a change makes a new catalog, which its owner swaps in as one value, so that a reader always sees whole ConfigMaps.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import attrs

from webhook.sidecars.entry import Entry


@attrs.frozen
class EntryFault:
    """Why one key of a ConfigMap gives no entry. Lines count from 1 within the key's text."""

    entry: str  # its name
    key: str
    line: int
    column: int
    path: str  # "containers[0].ports[1].containerPort", "" for the text as a whole
    message: str


@attrs.frozen
class Reading:
    """What one version of a ConfigMap gives: `source.read` makes it."""

    namespace: str
    config_map: str
    uid: str
    version: str  # metadata.resourceVersion
    entries: tuple[Entry, ...] = ()
    faults: tuple[EntryFault, ...] = ()

    @property
    def source(self) -> str:
        """Namespace and name, as "shop/envoy"."""
        return f"{self.namespace}/{self.config_map}"


@attrs.frozen
class State:
    """One entry of one ConfigMap. At least one of *entry* and *faults* is there."""

    name: str
    entry: Entry | None  # in force; None when no version of it was ever good
    faults: tuple[EntryFault, ...] = ()  # of the newest version; () = the newest is in force


@attrs.frozen
class Catalog:
    """All of them."""

    # "namespace/name" of a ConfigMap -> name of an entry -> its state
    sources: Mapping[str, Mapping[str, State]] = attrs.field(factory=dict)
    _places: Mapping[str, Mapping[str, State]] = attrs.field(init=False, repr=False, eq=False)  # namespace -> name -> state

    @_places.default
    def _by_namespace(self) -> Mapping[str, Mapping[str, State]]:
        places: dict[str, dict[str, State]] = {}
        for source in sorted(self.sources, reverse=True):  # so that the first in the alphabet is written last
            places.setdefault(source.partition("/")[0], {}).update(self.sources[source])
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

        Within a namespace the ConfigMap first in the alphabet wins. None when nobody defines it. O(1).
        """
        return self._places.get(namespace, {}).get(name) or self._places.get(home, {}).get(name)

    def names(self, namespace: str, home: str) -> Sequence[str]:
        """What pods of *namespace* may ask for, sorted."""
        return sorted({*self._places.get(namespace, {}), *self._places.get(home, {})})
