"""Namespaces that stand in the very files that are injected: a bundle often brings its own.

They count as if they had been applied: their labels and annotations beside those that --local knows, theirs winning. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import attrs

from controllers.cli.offline import Offline
from controllers.local.files import namespace_of
from controllers.runtime.errors import UndecodableObject
from webhook.clock import Deadline
from webhook.cluster import NamespaceFacts, Namespaces
from webhook.objects.documents import DocumentError, objects, read_documents


@attrs.frozen
class BundledNamespaces:
    """The cluster's namespaces, and those of the files."""

    cluster: Namespaces
    files: Mapping[str, NamespaceFacts]

    def get(self, name: str) -> NamespaceFacts | None:
        """The namespace as it will be."""
        return self._merged(self.cluster.get(name), self.files.get(name))

    def confirm(self, name: str, deadline: Deadline) -> NamespaceFacts | None:
        """The same; what the API server has is asked of the cluster."""
        return self._merged(self.cluster.confirm(name, deadline), self.files.get(name))

    def _merged(self, known: NamespaceFacts | None, own: NamespaceFacts | None) -> NamespaceFacts | None:
        if known is None or own is None:
            return own if known is None else known
        return attrs.evolve(known, labels={**known.labels, **own.labels}, annotations={**known.annotations, **own.annotations})


def beside(setup: Offline, sources: Iterable[bytes]) -> Offline:
    """*setup* with the namespaces in *sources*; one that cannot be read has none."""
    found = {facts.name: facts for source in sources for facts in _namespaces(source)}
    if not found:
        return setup
    cluster = attrs.evolve(setup.cluster, namespaces=BundledNamespaces(setup.cluster.namespaces, found))
    return attrs.evolve(setup, cluster=cluster)


def _namespaces(source: bytes) -> Iterator[NamespaceFacts]:
    if b"Namespace" not in source and not source.startswith((b"\xff\xfe", b"\xfe\xff")):
        return  # most files bring none, and need not be read twice
    try:
        documents = read_documents(source, "")
    except DocumentError:
        return
    for document in objects(documents):
        value = document.value
        if isinstance(value, dict) and (value.get("apiVersion"), value.get("kind")) == ("v1", "Namespace"):
            try:
                yield namespace_of(value)
            except UndecodableObject:
                continue  # the API server refuses it, too
