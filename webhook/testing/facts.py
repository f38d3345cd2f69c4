"""A cluster of facts given by hand, for tests and for golden cases."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

import attrs

from webhook.clock import Deadline
from webhook.cluster import (
    Addresses,
    CapacityFacts,
    Cluster,
    Databases,
    NamespaceFacts,
    NoAddresses,
    NoDatabases,
    NodeFacts,
    PodFacts,
    Status,
    Vote,
)
from webhook.names import Reason
from webhook.objects.databases import ClaimFacts, InstanceFacts, Owner
from webhook.objects.limit_ranges import LimitRange
from webhook.objects.resource_quotas import ResourceQuota
from webhook.objects.versions import oldest
from webhook.sidecars.entries.catalog import Catalog, Reading
from webhook.sidecars.wish import NO_WISH, Wish


@attrs.define
class StaticNodes:
    """Nodes that stand still. *live* is what `confirm` finds; names that it lacks get no answer."""

    nodes: Mapping[str, NodeFacts]
    live: Mapping[str, NodeFacts] = attrs.field(factory=dict)
    confirmed: list[str] = attrs.field(factory=list)  # names that were asked for, in order

    def get(self, name: str) -> NodeFacts | None:
        return self.nodes.get(name)

    def oldest_kubelet(self) -> tuple[int, int] | None:
        return oldest(node.kubelet_version for node in self.nodes.values() if not node.unschedulable)

    def confirm(self, name: str, deadline: Deadline) -> NodeFacts | None:
        self.confirmed.append(name)
        return self.live.get(name)


@attrs.frozen
class StaticPods:
    """Pods that stand still."""

    pods: Mapping[str, PodFacts]

    def get(self, key: str) -> PodFacts | None:
        return self.pods.get(key)

    def on_node(self, node: str) -> Sequence[PodFacts]:
        return [pod for pod in self.pods.values() if pod.node == node]


@attrs.define
class StaticNamespaces:
    """Namespaces that stand still. *live* is what `confirm` finds; names that it lacks get no answer."""

    namespaces: Mapping[str, NamespaceFacts] = attrs.field(factory=dict)
    live: Mapping[str, NamespaceFacts] = attrs.field(factory=dict)
    confirmed: list[str] = attrs.field(factory=list)  # names that were asked for, in order

    def get(self, name: str) -> NamespaceFacts | None:
        return self.namespaces.get(name)

    def confirm(self, name: str, deadline: Deadline) -> NamespaceFacts | None:
        self.confirmed.append(name)
        return self.live.get(name)


@attrs.frozen
class StaticSidecars:
    """One catalog."""

    value: Catalog = Catalog()

    def catalog(self) -> Catalog:
        return self.value

    def awaited(self, names: Iterable[str], namespace: str, home: str, deadline: Deadline) -> Catalog:
        return self.value


@attrs.frozen
class StaticLimitRanges:
    """LimitRanges that stand still."""

    limit_ranges: Sequence[LimitRange] = ()

    def of(self, namespace: str) -> Sequence[LimitRange]:
        return sorted((one for one in self.limit_ranges if one.namespace == namespace), key=lambda one: one.name)


@attrs.frozen
class StaticQuotas:
    """ResourceQuotas that stand still."""

    quotas: Sequence[ResourceQuota] = ()

    def of(self, namespace: str) -> Sequence[ResourceQuota]:
        return sorted((one for one in self.quotas if one.namespace == namespace), key=lambda one: one.name)


@attrs.define
class StaticConfigMaps:
    """An API server that has every ConfigMap but *missing*, "namespace/name" each. None: it gives no answer."""

    missing: Collection[str] | None = None
    asked: list[str] = attrs.field(factory=list)  # in order

    def exists(self, namespace: str, name: str, deadline: Deadline) -> bool | None:
        key = f"{namespace}/{name}"
        self.asked.append(key)
        return None if self.missing is None else key not in self.missing


@attrs.frozen
class StaticCapacity:
    """A cluster as full as it is. None: nobody has counted."""

    facts: CapacityFacts | None = None

    def capacity(self) -> CapacityFacts | None:
        return self.facts


def node_facts(
    name: str = "edge-1",
    *,
    ready: Status | None = Status.UNKNOWN,
    ready_since_s: float | None = 0.0,
    vote: Vote = Vote.HEALTHY,
    vote_time_s: float | None = None,
    labels: Mapping[str, str] | None = None,
    kubelet: str = "v1.37.2",
    unschedulable: bool = False,
) -> NodeFacts:
    """A silent node that its peers vouch for, unless told otherwise."""
    return NodeFacts(name, f"uid-{name}", labels or {}, ready, ready_since_s, vote, vote_time_s, (), kubelet, unschedulable)


def namespace_facts(
    name: str = "shop",
    *,
    labels: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
    deleting: bool = False,
) -> NamespaceFacts:
    """A namespace that says nothing, unless told otherwise."""
    return NamespaceFacts(name, f"uid-{name}", labels or {}, annotations or {}, deleting)


def pod_facts(
    name: str = "web-1",
    *,
    namespace: str = "shop",
    node: str = "edge-1",
    uid: str = "",
    phase: str = "Running",
    deleting: bool = False,
    ready: Status | None = Status.FALSE,
    ready_reason: str = "",
    containers_ready: Status | None = Status.TRUE,
    gates_met: bool = True,
    owner: str = "ReplicaSet/web",
    owner_api_version: str = "apps/v1",
    owner_uid: str = "uid-web",
    wish: Wish = NO_WISH,
    obstacle: Reason | None = None,
    injected: tuple[str, ...] = (),
    revisions: tuple[str, ...] = (),
    created_s: float = 0.0,
) -> PodFacts:
    """A pod that the node controller marked not Ready, unless told otherwise."""
    return PodFacts(
        uid or f"uid-{name}",
        namespace,
        name,
        node,
        phase,
        deleting,
        ready,
        ready_reason,
        containers_ready,
        gates_met,
        owner,
        owner_api_version,
        owner_uid,
        wish,
        obstacle,
        injected,
        revisions,
        created_s,
    )


@attrs.frozen
class StatefulSet:
    """A StatefulSet as far as claims go: `objects.databases.ClaimMaker`."""

    name: str
    uid: str
    owners: tuple[Owner, ...] = ()
    templates: tuple[str, ...] = ("data",)


@attrs.frozen
class StaticDatabases:
    """DatabaseInstances and claims as they are. *ready*: whether the caches have synced."""

    instances: Sequence[InstanceFacts] = ()
    claims: Sequence[ClaimFacts] = ()
    ready: bool = True
    sets: Mapping[str, Sequence[StatefulSet]] = attrs.field(factory=dict)  # by namespace

    def synced(self) -> bool:
        return self.ready

    def instances_in(self, namespace: str) -> Sequence[InstanceFacts]:
        return [one for one in self.instances if one.namespace == namespace]

    def claims_in(self, namespace: str) -> Sequence[ClaimFacts]:
        return [one for one in self.claims if one.namespace == namespace]

    def makers_in(self, namespace: str) -> Sequence[StatefulSet]:
        return self.sets.get(namespace, ())


def cluster(
    nodes: Iterable[NodeFacts] = (),
    pods: Iterable[PodFacts] = (),
    live: Iterable[NodeFacts] = (),
    *,
    namespaces: Iterable[NamespaceFacts] = (),
    live_namespaces: Iterable[NamespaceFacts] = (),
    sidecars: Catalog | Iterable[Reading] = (),
    limit_ranges: Iterable[LimitRange] = (),
    quotas: Iterable[ResourceQuota] = (),
    missing_config_maps: Collection[str] | None = None,
    capacity: CapacityFacts | None = None,
    databases: Databases = NoDatabases(),
    addresses: Addresses = NoAddresses(),
) -> Cluster:
    """A cluster of these facts; *live* and *live_namespaces* are what the API server would answer now.

    sidecars: the catalog, or the readings that make it. missing_config_maps: "namespace/name" of those that do not exist, where
    all others do; None = nobody knows.
    """
    return Cluster(
        StaticNodes({node.name: node for node in nodes}, {node.name: node for node in live}),
        StaticPods({f"{pod.namespace}/{pod.name}": pod for pod in pods}),
        StaticNamespaces({one.name: one for one in namespaces}, {one.name: one for one in live_namespaces}),
        StaticSidecars(sidecars if isinstance(sidecars, Catalog) else _catalog(sidecars)),
        StaticLimitRanges(tuple(limit_ranges)),
        StaticQuotas(tuple(quotas)),
        StaticConfigMaps(missing_config_maps),
        StaticCapacity(capacity),
        databases,
        addresses,
    )


def _catalog(readings: Iterable[Reading]) -> Catalog:
    catalog = Catalog()
    for reading in readings:
        catalog = catalog.absorb(reading)
    return catalog
