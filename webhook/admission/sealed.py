"""What a rule of somebody else's may ask, so that it can change nothing of it: the caches are shared with every other rule.

Mappings are read through a proxy, lists come as tuples. Neither copies what is behind it: a look-up costs some microseconds,
and only where such a rule makes it. Of `Cluster` it has what `plugin.Facts` names and no more. Any thread.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import MappingProxyType
from typing import Any, TypeVar

import attrs

from webhook.clock import Deadline
from webhook.cluster import (
    Capacity,
    Cluster,
    LimitRanges,
    NamespaceFacts,
    Namespaces,
    NodeFacts,
    Nodes,
    PodFacts,
    Pods,
    ResourceQuotas,
)
from webhook.objects.limit_ranges import LimitRange
from webhook.objects.resource_quotas import ResourceQuota

T = TypeVar("T")


@attrs.frozen
class SealedFacts:
    """See `webhook.admission.Facts`."""

    nodes: Nodes
    pods: Pods
    namespaces: Namespaces
    limit_ranges: LimitRanges
    resource_quotas: ResourceQuotas
    capacity: Capacity


def sealed(cluster: Cluster) -> SealedFacts:
    """*cluster* as a rule of somebody else's gets it."""
    return SealedFacts(
        _Nodes(cluster.nodes),
        _Pods(cluster.pods),
        _Namespaces(cluster.namespaces),
        _LimitRanges(cluster.limit_ranges),
        _Quotas(cluster.resource_quotas),
        cluster.capacity,
    )


def _read_only(facts: T, *fields: str) -> T:
    """*facts*, an attrs value, with its mappings *fields* behind proxies."""
    changed: dict[str, Any] = {field: MappingProxyType(getattr(facts, field)) for field in fields}
    return attrs.evolve(facts, **changed)  # type: ignore[misc]


def _node(facts: NodeFacts | None) -> NodeFacts | None:
    return None if facts is None else _read_only(facts, "labels")


def _namespace(facts: NamespaceFacts | None) -> NamespaceFacts | None:
    return None if facts is None else _read_only(facts, "labels", "annotations")


@attrs.frozen
class _Nodes:
    _nodes: Nodes

    def get(self, name: str) -> NodeFacts | None:
        return _node(self._nodes.get(name))

    def oldest_kubelet(self) -> tuple[int, int] | None:
        return self._nodes.oldest_kubelet()

    def confirm(self, name: str, deadline: Deadline) -> NodeFacts | None:
        return _node(self._nodes.confirm(name, deadline))


@attrs.frozen
class _Pods:
    _pods: Pods

    def get(self, key: str) -> PodFacts | None:
        return self._pods.get(key)

    def on_node(self, node: str) -> Sequence[PodFacts]:
        return tuple(self._pods.on_node(node))


@attrs.frozen
class _Namespaces:
    _namespaces: Namespaces

    def get(self, name: str) -> NamespaceFacts | None:
        return _namespace(self._namespaces.get(name))

    def confirm(self, name: str, deadline: Deadline) -> NamespaceFacts | None:
        return _namespace(self._namespaces.confirm(name, deadline))


@attrs.frozen
class _LimitRanges:
    _limit_ranges: LimitRanges

    def of(self, namespace: str) -> Sequence[LimitRange]:
        amounts = ("min", "max", "default", "default_request", "max_ratio")
        found = self._limit_ranges.of(namespace)
        return tuple(attrs.evolve(one, items=tuple(_read_only(item, *amounts) for item in one.items)) for one in found)


@attrs.frozen
class _Quotas:
    _quotas: ResourceQuotas

    def of(self, namespace: str) -> Sequence[ResourceQuota]:
        return tuple(_read_only(one, "hard", "used") for one in self._quotas.of(namespace))
