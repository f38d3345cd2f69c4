"""ConfigMaps that say the same in many namespaces are read once, and share what they say.

The usual case: a ConfigMap copied into every namespace that injects. Reading one takes the better part of a millisecond and its
entries several KiB, which 5,000 copies would multiply.
Threads: one at a time; the owner's lock sees to that.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from typing import Final

import attrs
import msgspec

from controllers.runtime.projection_cluster import ConfigMapFacts
from webhook.names import SIDECARS_LABEL
from webhook.sidecars import source
from webhook.sidecars.catalog import Reading

KEPT: Final = 256  # different texts; beyond them the ones unused for longest are read anew


def read(facts: ConfigMapFacts) -> Reading:
    """The entries and faults of a ConfigMap. Pure."""
    return source.read(facts.namespace, facts.name, facts.labels, facts.data, uid=facts.uid, version=facts.version)


class Copies:
    """`read`, with a memory."""

    def __init__(self) -> None:
        self._known: OrderedDict[tuple[str, str, bytes], Reading] = OrderedDict()

    def read(self, facts: ConfigMapFacts) -> Reading:
        """As `read`."""
        digest = hashlib.sha256(msgspec.json.encode(sorted(facts.data.items()))).digest()
        key = (facts.name, facts.labels.get(SIDECARS_LABEL, ""), digest)
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = read(facts)
            if len(self._known) > KEPT:
                self._known.popitem(last=False)
        self._known.move_to_end(key)
        namespace = facts.namespace
        entries = tuple(attrs.evolve(entry, namespace=namespace) for entry in known.entries)
        return attrs.evolve(known, namespace=namespace, uid=facts.uid, version=facts.version, entries=entries)
