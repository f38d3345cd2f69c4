"""All files of --local together, as one frozen value, and the look-ups in the newest one.

Implements the Protocols of `webhook.cluster`. Threads: any; a look-up takes the value that stands at that moment.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain
from typing import Protocol, TypeVar

import attrs

from controllers.database_instance.values import Workload
from controllers.local.files import File
from controllers.pod_ip.plan import StatefulSetFacts
from controllers.runtime.capacity import capacity_of
from webhook.addresses.address import Address
from webhook.addresses.facts import POOLS, RESERVATIONS, PoolFacts, ReservationFacts
from webhook.admission.service import (
    LIMIT_RANGES_CACHE,
    NAMESPACES_CACHE,
    NODES_CACHE,
    PODS_CACHE,
    QUOTAS_CACHE,
    SIDECARS_CACHE,
)
from webhook.clock import Deadline
from webhook.cluster import CapacityFacts, Cluster, NamespaceFacts, NodeFacts, PodFacts
from webhook.logs import get_log
from webhook.objects.databases import PLURAL, ClaimFacts, InstanceFacts
from webhook.objects.limit_ranges import LimitRange
from webhook.objects.resource_quotas import ResourceQuota
from webhook.objects.versions import Minor, oldest
from webhook.sidecars.entries.catalog import Catalog, Reading

log = get_log("local")

T = TypeVar("T")


@attrs.frozen
class Snapshot:
    """All files together. Never changed, only replaced."""

    nodes: Mapping[str, NodeFacts] = attrs.field(factory=dict)
    pods: Mapping[str, PodFacts] = attrs.field(factory=dict)
    pods_by_node: Mapping[str, tuple[PodFacts, ...]] = attrs.field(factory=dict)
    namespaces: Mapping[str, NamespaceFacts] = attrs.field(factory=dict)
    limit_ranges: Mapping[str, tuple[LimitRange, ...]] = attrs.field(factory=dict)  # by namespace
    quotas: Mapping[str, tuple[ResourceQuota, ...]] = attrs.field(factory=dict)
    readings: Mapping[str, tuple[str, Reading]] = attrs.field(factory=dict)  # of every ConfigMap, by key, with "file:line"
    catalog: Catalog = Catalog()
    oldest_kubelet: Minor | None = None
    capacity: CapacityFacts | None = None
    instances: Mapping[str, tuple[InstanceFacts, ...]] = attrs.field(factory=dict)  # by namespace, and so are
    claims: Mapping[str, tuple[ClaimFacts, ...]] = attrs.field(factory=dict)
    stateful_sets: Mapping[str, tuple[Workload, ...]] = attrs.field(factory=dict)
    ordinals: Mapping[str, StatefulSetFacts] = attrs.field(factory=dict)  # of StatefulSets, by key
    address_pools: Mapping[str, PoolFacts] = attrs.field(factory=dict)
    reservations: Mapping[Address, ReservationFacts] = attrs.field(factory=dict)

    def database_instances(self) -> Iterable[InstanceFacts]:
        """Those of every namespace."""
        return chain.from_iterable(self.instances.values())

    def counts(self) -> Mapping[str, int]:
        """How many objects there are, by the name of the cache that stands for them in a cluster."""
        return {
            NODES_CACHE: len(self.nodes),
            PODS_CACHE: len(self.pods),
            NAMESPACES_CACHE: len(self.namespaces),
            SIDECARS_CACHE: len(self.catalog.sources),
            LIMIT_RANGES_CACHE: sum(map(len, self.limit_ranges.values())),
            QUOTAS_CACHE: sum(map(len, self.quotas.values())),
            PLURAL: sum(map(len, self.instances.values())),
            "persistentvolumeclaims": sum(map(len, self.claims.values())),
            "statefulsets": sum(map(len, self.stateful_sets.values())),
            POOLS: len(self.address_pools),
            RESERVATIONS: len(self.reservations),
        }


def combine(files: Sequence[File], before: Catalog) -> Snapshot:
    """The snapshot of *files*, in order. *before*: where the last good version of a broken entry comes from."""
    nodes = _unique(files, NodeFacts, "node", lambda node: node.name)
    pods = _unique(files, PodFacts, "pod", lambda pod: f"{pod.namespace}/{pod.name}")
    ranges = _unique(files, LimitRange, "limitrange", lambda one: f"{one.namespace}/{one.name}")
    quotas = _unique(files, ResourceQuota, "resourcequota", lambda one: f"{one.namespace}/{one.name}")
    readings = _unique(files, Reading, "configmap", lambda reading: reading.source)
    instances = _unique(files, InstanceFacts, "databaseinstance", lambda one: one.key)
    claims = _unique(files, ClaimFacts, "persistentvolumeclaim", lambda one: f"{one.namespace}/{one.name}")
    stateful_sets = _unique(files, Workload, "statefulset", lambda one: f"{one.namespace}/{one.name}")
    reservations = _unique(files, ReservationFacts, "addressreservation", lambda one: one.address.name)
    ordinals = _unique(files, StatefulSetFacts, "", lambda one: f"{one.namespace}/{one.name}", warn=False)
    return Snapshot(
        nodes=_facts(nodes),
        pods=_facts(pods),
        pods_by_node=_grouped((pod for pod in _facts(pods).values() if pod.node), lambda pod: pod.node),
        namespaces=_facts(_unique(files, NamespaceFacts, "namespace", lambda one: one.name)),
        limit_ranges=_grouped(sorted(_facts(ranges).values(), key=lambda one: one.name), lambda one: one.namespace),
        quotas=_grouped(sorted(_facts(quotas).values(), key=lambda one: one.name), lambda one: one.namespace),
        readings=readings,
        catalog=_catalog(_facts(readings), before),
        oldest_kubelet=oldest(node.kubelet_version for node in _facts(nodes).values() if not node.unschedulable),
        capacity=capacity_of(_facts(nodes).values(), _facts(pods).values()),
        instances=_grouped(_facts(instances).values(), lambda one: one.namespace),
        claims=_grouped(_facts(claims).values(), lambda one: one.namespace),
        stateful_sets=_grouped(_facts(stateful_sets).values(), lambda one: one.namespace),
        ordinals=_facts(ordinals),
        address_pools=_facts(_unique(files, PoolFacts, "addresspool", lambda one: one.name)),
        reservations={one.address: one for one in _facts(reservations).values()},
    )


def _catalog(readings: Mapping[str, Reading], before: Catalog) -> Catalog:
    sources = {}
    for key, reading in readings.items():
        if reading.entries or reading.faults:  # a ConfigMap of another trade has neither
            sources[key] = Catalog({key: before.sources.get(key, {})}).absorb(reading).sources[key]
    return Catalog(sources)


Found = dict[str, tuple[str, T]]  # key -> place, facts


def _facts(found: Found[T]) -> dict[str, T]:
    return {key: facts for key, (_, facts) in found.items()}


def _grouped(values: Iterable[T], group_of: Callable[[T], str]) -> dict[str, tuple[T, ...]]:
    groups: dict[str, list[T]] = {}
    for value in values:
        groups.setdefault(group_of(value), []).append(value)
    return {group: tuple(members) for group, members in groups.items()}


def _unique(files: Sequence[File], kind: type[T], word: str, key_of: Callable[[T], str], *, warn: bool = True) -> Found[T]:
    """The objects of one kind by key; of two with the same key the later one, and a line in the log unless not *warn*."""
    kept: Found[T] = {}
    for where, facts in (pair for file in files for pair in file.of(kind)):
        key = key_of(facts)
        if key in kept and warn:
            log.warning("object is written twice, the second counts", kind=word, key=key, first=kept[key][0], second=where)
        kept[key] = (where, facts)
    return kept


# -- look-ups


class Source(Protocol):
    """Who has the newest snapshot (`local.LocalCluster`)."""

    @property
    def snapshot(self) -> Snapshot: ...


def cluster_of(source: Source) -> Cluster:
    """What rules may ask, answered from the newest snapshot of *source*."""
    return Cluster(
        LocalNodes(source),
        LocalPods(source),
        LocalNamespaces(source),
        LocalSidecars(source),
        LocalLimitRanges(source),
        LocalQuotas(source),
        LocalConfigMaps(source),
        LocalCapacity(source),
        LocalDatabases(source),
    )


@attrs.frozen
class LocalNodes:
    """Nodes from files."""

    source: Source

    def get(self, name: str) -> NodeFacts | None:
        """The node as its file has it."""
        return self.source.snapshot.nodes.get(name)

    def oldest_kubelet(self) -> Minor | None:
        """Of the files' nodes."""
        return self.source.snapshot.oldest_kubelet

    def confirm(self, name: str, deadline: Deadline) -> NodeFacts | None:
        """Nothing: there is no API server to ask."""
        return None


@attrs.frozen
class LocalPods:
    """Pods from files."""

    source: Source

    def get(self, key: str) -> PodFacts | None:
        """The pod as its file has it; *key* is "namespace/name"."""
        return self.source.snapshot.pods.get(key)

    def on_node(self, node: str) -> Sequence[PodFacts]:
        """The pods bound to *node*."""
        return self.source.snapshot.pods_by_node.get(node, ())


@attrs.frozen
class LocalNamespaces:
    """Namespaces from files."""

    source: Source

    def get(self, name: str) -> NamespaceFacts | None:
        """The namespace as its file has it."""
        return self.source.snapshot.namespaces.get(name)

    def confirm(self, name: str, deadline: Deadline) -> NamespaceFacts | None:
        """Nothing: there is no API server to ask."""
        return None


@attrs.frozen
class LocalSidecars:
    """Entries from ConfigMaps in files."""

    source: Source

    def catalog(self) -> Catalog:
        """Of the files' ConfigMaps."""
        return self.source.snapshot.catalog

    def awaited(self, names: Iterable[str], namespace: str, home: str, deadline: Deadline) -> Catalog:
        """The same: nobody is about to write another file."""
        return self.source.snapshot.catalog


@attrs.frozen
class LocalLimitRanges:
    """LimitRanges from files."""

    source: Source

    def of(self, namespace: str) -> Sequence[LimitRange]:
        """Those of *namespace*, by name."""
        return self.source.snapshot.limit_ranges.get(namespace, ())


@attrs.frozen
class LocalQuotas:
    """ResourceQuotas from files."""

    source: Source

    def of(self, namespace: str) -> Sequence[ResourceQuota]:
        """Those of *namespace*, by name."""
        return self.source.snapshot.quotas.get(namespace, ())


@attrs.frozen
class LocalCapacity:
    """How full the cluster of the files is."""

    source: Source

    def capacity(self) -> CapacityFacts | None:
        """Of the files' nodes and pods."""
        return self.source.snapshot.capacity


@attrs.frozen
class LocalConfigMaps:
    """ConfigMaps in files: what they lack may well exist where the pods will run."""

    source: Source

    def exists(self, namespace: str, name: str, deadline: Deadline) -> bool | None:
        """True of those in files, None of all others."""
        return f"{namespace}/{name}" in self.source.snapshot.readings or None


@attrs.frozen
class LocalDatabases:
    """DatabaseInstances, claims and StatefulSets from files."""

    source: Source

    def synced(self) -> bool:
        """Always: files are read before anybody is served."""
        return True

    def instances_in(self, namespace: str) -> Sequence[InstanceFacts]:
        """The instances of *namespace*."""
        return self.source.snapshot.instances.get(namespace, ())

    def claims_in(self, namespace: str) -> Sequence[ClaimFacts]:
        """The claims of *namespace*."""
        return self.source.snapshot.claims.get(namespace, ())

    def makers_in(self, namespace: str) -> Sequence[Workload]:
        """The StatefulSets of *namespace*."""
        return self.source.snapshot.stateful_sets.get(namespace, ())
