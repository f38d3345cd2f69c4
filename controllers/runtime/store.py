"""Facts in memory, indexed: the one copy that admission reads.

Threads: one writer (the reflector's thread); any number of readers. The lock guards the maps together and is held only for
look-ups and single changes: a replacement is prepared outside of it and swapped in. No IO, no callbacks under it.
Errors:  StoreError when an index function fails; the store is then unchanged.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Generic

import attrs

from controllers.runtime.errors import StoreError
from controllers.runtime.resource import F, Index, Item


@attrs.frozen
class Addition(Generic[F]):
    """An object that was not there before. *initial*: part of the first list, so nothing has happened to it just now."""

    item: Item[F]
    initial: bool = False


@attrs.frozen
class Update(Generic[F]):
    """The same object (same uid) in a new version. The facts may be equal: a field that we do not keep has changed."""

    old: Item[F]
    item: Item[F]


@attrs.frozen
class Deletion(Generic[F]):
    """An object that is gone. *final*: `item` is its last state; False: it went while we were away, `item` is the last seen."""

    item: Item[F]
    final: bool = True


Change = Addition[F] | Update[F] | Deletion[F]
_Buckets = dict[str, dict[str, set[str]]]  # index -> value -> keys


class Store(Generic[F]):
    """Items by key and by the values of index functions."""

    def __init__(self, indexes: Mapping[str, Index[F]]) -> None:
        self._indexes = dict(indexes)
        self._lock = threading.Lock()  # guards _items, _buckets and _version together
        self._items: dict[str, Item[F]] = {}
        self._buckets: _Buckets = {name: {} for name in self._indexes}
        self._version = ""

    # -- called by anyone

    def get(self, key: str) -> F | None:
        """The facts of *key*. O(1)."""
        item = self.item(key)
        return None if item is None else item.facts

    def item(self, key: str) -> Item[F] | None:
        """The item of *key*. O(1)."""
        with self._lock:
            return self._items.get(key)

    def by_index(self, index: str, value: str) -> list[F]:
        """The facts that *index* files under *value*, in no order. O(found). Raises KeyError for an unknown index."""
        with self._lock:
            return [self._items[key].facts for key in self._buckets[index].get(value, ())]

    def values(self, index: str) -> list[str]:
        """The values under which *index* files anything, in no order. O(values). Raises KeyError for an unknown index."""
        with self._lock:
            return list(self._buckets[index])

    def items(self) -> list[Item[F]]:
        """Everything, in no order. O(n)."""
        with self._lock:
            return list(self._items.values())

    def __len__(self) -> int:
        return len(self._items)

    @property
    def version(self) -> str:
        """The resource version up to which the store has seen everything; "" before the first list."""
        return self._version

    # -- called by the writer

    def put(self, item: Item[F], version: str = "") -> list[Change[F]]:
        """Add or update *item*: the changes that this makes; none when the store has this very version already.

        A changed uid is a deletion that was missed, then an addition.
        """
        old = self._items.get(item.key)
        if old is not None and _same(old, item):
            self.advance(version)
            return []
        values, old_values = self._values(item), self._values(old)
        with self._lock:
            _unfile(self._buckets, item.key, old_values)
            _file(self._buckets, item.key, values)
            self._items[item.key] = item
            self._version = version or self._version
        return _difference(old, item)

    def remove(self, item: Item[F], version: str = "") -> list[Change[F]]:
        """Remove the object whose last state is *item*."""
        old = self._items.get(item.key)
        if old is None:
            self.advance(version)
            return []
        old_values = self._values(old)
        with self._lock:
            _unfile(self._buckets, item.key, old_values)
            del self._items[item.key]
            self._version = version or self._version
        return [Deletion(item)] if old.uid == item.uid else [Deletion(old, final=False)]

    def replace(
        self, items: Iterable[Item[F]], version: str, *, keep: Collection[str] = (), initial: bool = False
    ) -> list[Change[F]]:
        """Make the content equal to *items*: only true differences come back, deletions first.

        keep: keys that exist but could not be decoded; what the store had for them stays.
        """
        old = self._items
        new: dict[str, Item[F]] = {}
        for item in items:
            before = old.get(item.key)
            new[item.key] = before if before is not None and _same(before, item) else item
        for key in keep:
            if key in old and key not in new:
                new[key] = old[key]
        buckets: _Buckets = {name: {} for name in self._indexes}
        for item in new.values():
            _file(buckets, item.key, self._values(item))
        gone: list[Change[F]] = [Deletion(item, final=False) for key, item in old.items() if key not in new]
        with self._lock:
            self._items, self._buckets, self._version = new, buckets, version
        return gone + [
            change
            for key, item in new.items()
            if old.get(key) is not item
            for change in _difference(old.get(key), item, initial=initial)
        ]

    def advance(self, version: str) -> None:
        """Everything up to *version* has been seen (a bookmark). "" changes nothing."""
        self._version = version or self._version

    def _values(self, item: Item[F] | None) -> dict[str, frozenset[str]]:
        if item is None or not self._indexes:
            return {}
        return {name: _index(name, function, item) for name, function in self._indexes.items()}


def _index(name: str, function: Callable[[F], Iterable[str]], item: Item[F]) -> frozenset[str]:
    try:
        return frozenset(function(item.facts))
    except Exception as error:  # the crash guard of code that its author plugs in
        raise StoreError(f"index {name} of {item.key}: {type(error).__name__}: {error}") from error


def _same(old: Item[F], new: Item[F]) -> bool:
    # Without a version (only files lack one) two items are the same when their facts are.
    return old.uid == new.uid and old.version == new.version and (bool(old.version) or old.facts == new.facts)


def _difference(old: Item[F] | None, new: Item[F], *, initial: bool = False) -> list[Change[F]]:
    if old is None:
        return [Addition(new, initial)]
    if old.uid != new.uid:
        return [Deletion(old, final=False), Addition(new)]
    return [Update(old, new)]


def _file(buckets: _Buckets, key: str, values: Mapping[str, Iterable[str]]) -> None:
    for name, filed in values.items():
        for value in filed:
            buckets[name].setdefault(value, set()).add(key)


def _unfile(buckets: _Buckets, key: str, values: Mapping[str, Iterable[str]]) -> None:
    for name, filed in values.items():
        for value in filed:
            keys = buckets[name].get(value)
            if keys is not None:
                keys.discard(key)
                if not keys:
                    del buckets[name][value]
