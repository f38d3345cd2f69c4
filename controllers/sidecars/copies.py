"""ConfigMaps that say the same in many namespaces are read once, and share what they say.

The usual case: a ConfigMap copied into every namespace that injects. Reading one takes the better part of a millisecond and its
entries several KiB, which 5,000 copies would multiply.
Threads: one at a time; the owner's lock sees to that. Reading is pure, and is done without it.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from typing import Final

import attrs
import msgspec

from controllers.runtime.projection_cluster import ConfigMapFacts
from webhook.names import SIDECARS_LABEL
from webhook.sidecars.entries import source
from webhook.sidecars.entries.catalog import Reading

# Different texts, and their size together; beyond them the ones unused for longest are read anew.
KEPT: Final = 256
KEPT_SIZE: Final = 16 * 2**20


def read(facts: ConfigMapFacts) -> Reading:
    """The entries and faults of a ConfigMap. Pure."""
    return source.read(facts.namespace, facts.name, facts.labels, facts.data, uid=facts.uid, version=facts.version)


Key = tuple[str, str, bytes]


def key_of(facts: ConfigMapFacts) -> Key:
    """What copies have in common."""
    digest = hashlib.sha256(msgspec.json.encode(sorted(facts.data.items()))).digest()
    return facts.name, facts.labels.get(SIDECARS_LABEL, ""), digest


def as_of(facts: ConfigMapFacts, reading: Reading) -> Reading:
    """*reading*, which is that of a copy, as that of *facts*."""
    namespace = facts.namespace
    entries = tuple(attrs.evolve(entry, namespace=namespace) for entry in reading.entries)
    return attrs.evolve(reading, namespace=namespace, uid=facts.uid, version=facts.version, entries=entries)


class Copies:
    """A memory of readings."""

    def __init__(self) -> None:
        self._known: OrderedDict[Key, Reading] = OrderedDict()
        self._size = 0

    def get(self, key: Key) -> Reading | None:
        """What `keep` was told; None when it is forgotten."""
        return self._known.get(key)

    def keep(self, key: Key, reading: Reading) -> None:
        """Remember *reading*, which was used just now."""
        before = self._known.pop(key, None)
        self._known[key] = reading
        self._size += reading.size - (before.size if before is not None else 0)
        while len(self._known) > KEPT or (self._size > KEPT_SIZE and len(self._known) > 1):
            _, oldest = self._known.popitem(last=False)
            self._size -= oldest.size
