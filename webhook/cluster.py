"""What a rule may ask of the cluster: Protocols over frozen facts.

Implemented by the listers in `controllers.runtime.lister` (watch caches) and `controllers.local` (files). Every method
but `confirm` is a look-up in memory, never IO, and may be called by any thread.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Final, Protocol

import attrs

from webhook.addresses.network import Network
from webhook.clock import Deadline
from webhook.errors import Unavailable
from webhook.names import Reason
from webhook.objects.databases import ClaimFacts, ClaimMaker, InstanceFacts
from webhook.objects.limit_ranges import LimitRange
from webhook.objects.resource_quotas import ResourceQuota
from webhook.sidecars.entries.catalog import Catalog
from webhook.sidecars.wish import Wish

if TYPE_CHECKING:
    from webhook.addresses.address import Address
    from webhook.addresses.effects import Outcome
    from webhook.addresses.facts import Asked, PoolFacts, ReservationFacts
    from webhook.addresses.marks import Marks


class Status(StrEnum):
    """A condition's status. Absent conditions are UNKNOWN only where the API says so; facts use None for absent."""

    TRUE = "True"
    FALSE = "False"
    UNKNOWN = "Unknown"


class Vote(StrEnum):
    """What a node's peers say of it."""

    HEALTHY = "healthy"
    UNHEALTHY = "unhealthy"
    UNKNOWN = "unknown"


@attrs.frozen
class Taint:
    """One taint of a node."""

    key: str
    value: str
    effect: str


@attrs.frozen
class NodeFacts:
    """What rules know of a node."""

    name: str
    uid: str
    labels: Mapping[str, str]
    ready: Status | None  # status of the Ready condition; None when the node has none
    ready_since_s: float | None  # its lastTransitionTime, seconds since the epoch
    vote: Vote
    vote_time_s: float | None  # from the time annotation; None when there is none or none is configured
    taints: tuple[Taint, ...]
    kubelet_version: str
    unschedulable: bool
    allocatable_cpu_m: int = 0  # thousandths of a core
    allocatable_memory: int = 0  # bytes


@attrs.frozen
class PodFacts:
    """What rules know of a pod."""

    uid: str
    namespace: str
    name: str
    node: str  # spec.nodeName, "" while unscheduled
    phase: str
    deleting: bool  # metadata.deletionTimestamp is set
    ready: Status | None
    ready_reason: str  # "" when the Ready condition gives none
    containers_ready: Status | None
    gates_met: bool  # every readiness gate's condition is True; True when there are no gates
    owner: str  # "Kind/name" of the controlling owner, "" when there is none
    owner_api_version: str  # "apps/v1"; "" when there is none, or in files that leave it out
    owner_uid: str
    wish: Wish  # what it says about injection
    obstacle: Reason | None  # why it is left alone whatever it says
    injected: tuple[str, ...]  # the entries that its status annotation names
    revisions: tuple[str, ...]  # of these, in the same order; "" where the annotation gives none
    created_s: float  # metadata.creationTimestamp, seconds since the epoch; 0 when it has none
    requested_cpu_m: int = 0  # of the effective pod, thousandths of a core; 0 when nobody asked for it to be read
    requested_memory: int = 0  # bytes
    left_out: tuple[tuple[str, str], ...] = ()  # entry and revision of what the status annotation says was left out on purpose
    fixed: Marks | None = None  # what it says of fixed addresses; None for nearly every pod
    on_host_network: bool = False  # whatever else is an obstacle

    @property
    def is_marked(self) -> bool:
        """Whether Ready bears the node controller's signature: False although nothing speaks against it.

        MarkPodsNotReady changes only the status. A kubelet that says False gives its reason (ContainersNotReady,
        ReadinessGatesNotReady, PodCompleted), which stays when the node goes silent, even if a gate is met later.
        Source: kubernetes pkg/controller/util/node, pkg/kubelet/status/generate.go.
        """
        return self.ready is Status.FALSE and not self.ready_reason and self.containers_ready is Status.TRUE and self.gates_met


@attrs.frozen
class NamespaceFacts:
    """What rules know of a namespace."""

    name: str
    uid: str
    labels: Mapping[str, str]
    annotations: Mapping[str, str]  # all but kubectl's last-applied-configuration
    deleting: bool


class Nodes(Protocol):
    """The nodes of the cluster."""

    def get(self, name: str) -> NodeFacts | None:
        """The node as the cache has it; None when it has none."""

    def oldest_kubelet(self) -> tuple[int, int] | None:
        """Major and minor version of the oldest kubelet of the nodes that take pods; None when there is no such node. O(1)."""

    def confirm(self, name: str, deadline: Deadline) -> NodeFacts | None:
        """The node as the API server has it now, for decisions that the cache is too late for.

        The one live read a rule may do: single-flight per node, at most 300 ms and never beyond *deadline*, answers kept
        for 1 s. None when there was no answer in time, or there is no API server (local mode).
        """


class Pods(Protocol):
    """The pods of the cluster. A key is "namespace/name"."""

    def get(self, key: str) -> PodFacts | None:
        """The pod as the cache has it; None when it has none."""

    def on_node(self, node: str) -> Sequence[PodFacts]:
        """The pods bound to *node*, in no order."""


class Namespaces(Protocol):
    """The namespaces of the cluster."""

    def get(self, name: str) -> NamespaceFacts | None:
        """The namespace as the cache has it; None when it has none."""

    def confirm(self, name: str, deadline: Deadline) -> NamespaceFacts | None:
        """The namespace as the API server has it now; costs, and is bounded, as `Nodes.confirm`."""


class Sidecars(Protocol):
    """What may be injected."""

    def catalog(self) -> Catalog:
        """The entries in force now. The same value until one of them changes."""

    def awaited(self, names: Iterable[str], namespace: str, home: str, deadline: Deadline) -> Catalog:
        """The same, once pods of *namespace* find *names* there: waits shortly for what the cache may not have heard of yet.

        At most 300 ms, never beyond *deadline*, for few callers at a time, and not again for what was just waited for in vain.
        """


class LimitRanges(Protocol):
    """The LimitRanges of the cluster."""

    def of(self, namespace: str) -> Sequence[LimitRange]:
        """Those of *namespace*, by name."""


class ResourceQuotas(Protocol):
    """The ResourceQuotas of the cluster."""

    def of(self, namespace: str) -> Sequence[ResourceQuota]:
        """Those of *namespace*, by name."""


class ConfigMaps(Protocol):
    """Whether a ConfigMap exists, of all that nobody caches."""

    def exists(self, namespace: str, name: str, deadline: Deadline) -> bool | None:
        """As the API server has it; None when there was no answer in time, or there is no API server. Bounded as `confirm`."""


@attrs.frozen
class CapacityFacts:
    """What the nodes that take ordinary pods have, and what the pods bound to them ask for.

    Such nodes are ready, not cordoned, and have no taint that keeps pods away. Finished pods ask for nothing.
    """

    allocatable_cpu_m: int  # thousandths of a core
    allocatable_memory: int  # bytes
    requested_cpu_m: int
    requested_memory: int
    nodes: int


class Capacity(Protocol):
    """How full the cluster is."""

    def capacity(self) -> CapacityFacts | None:
        """As the caches have it; None while they do not have all of it, or when nobody asked them to count. O(1)."""


@attrs.frozen
class NoCapacity:
    """Nobody counts."""

    def capacity(self) -> None:
        return None


class Databases(Protocol):
    """The DatabaseInstances, the claims, and the StatefulSets that make claims."""

    def synced(self) -> bool:
        """Whether the caches behind the others have their first list."""

    def instances_in(self, namespace: str) -> Sequence[InstanceFacts]:
        """The instances of *namespace*, in no order."""

    def claims_in(self, namespace: str) -> Sequence[ClaimFacts]:
        """The PersistentVolumeClaims of *namespace*, in no order."""

    def makers_in(self, namespace: str) -> Sequence[ClaimMaker]:
        """The StatefulSets of *namespace*, in no order."""


@attrs.frozen
class NoDatabases:
    """Nobody follows them."""

    def synced(self) -> bool:
        return False

    def instances_in(self, namespace: str) -> Sequence[InstanceFacts]:
        return ()

    def claims_in(self, namespace: str) -> Sequence[ClaimFacts]:
        return ()

    def makers_in(self, namespace: str) -> Sequence[ClaimMaker]:
        return ()


class Addresses(Protocol):
    """Fixed addresses: the pools, the reservations, and the one write that a rule may cause."""

    def synced(self) -> bool:
        """Whether pools, reservations and pods have their first list, and the network's own pools where there are any.

        Raises Unavailable where nobody will ever know them.
        """

    def pool(self, name: str) -> PoolFacts | None:
        """The AddressPool as the cache has it."""

    def pool_exists(self, name: str, deadline: Deadline) -> bool:
        """Whether the API server has it, which may be as new as the pod. Raises Unavailable when nobody can say."""

    def pools(self) -> Sequence[PoolFacts]:
        """Every AddressPool, in no order."""

    def network(self) -> Network:
        """What the network itself takes."""

    def reservation(self, address: Address, deadline: Deadline) -> ReservationFacts | None:
        """The reservation of *address*: from the cache, else live (at most 1 s and never beyond *deadline*).

        None when there is none. Raises Unavailable when nobody can say.
        """

    def confirmed(self, address: Address, deadline: Deadline) -> ReservationFacts | None:
        """The same, always live: for what the cache contradicts."""

    def allocate(self, asked: Asked, marks: Marks, deadline: Deadline, *, dry_run: bool) -> Outcome:
        """Reserve what *asked* asks for, or find what its key has already. *marks*: what the pod bears when it comes.

        Usually one POST. A dry run writes nothing. Raises Unavailable when the API server cannot be asked in time: what
        was reserved is withdrawn, or expires.
        """


NONE_ON_FILES: Final = "a process on files gives no fixed addresses: there is no API server to reserve them"


@attrs.frozen
class NoAddresses:
    """Nobody follows them."""

    why: str = ""  # "": they may be known later

    def synced(self) -> bool:
        if self.why:
            raise Unavailable(self.why)
        return False

    def pool(self, name: str) -> PoolFacts | None:
        return None

    def pool_exists(self, name: str, deadline: Deadline) -> bool:
        raise Unavailable("nobody follows the pools of addresses")

    def pools(self) -> Sequence[PoolFacts]:
        return ()

    def network(self) -> Network:
        return Network()

    def reservation(self, address: Address, deadline: Deadline) -> ReservationFacts | None:
        raise Unavailable("nobody follows the reservations of addresses")

    def confirmed(self, address: Address, deadline: Deadline) -> ReservationFacts | None:
        raise Unavailable("nobody follows the reservations of addresses")

    def allocate(self, asked: Asked, marks: Marks, deadline: Deadline, *, dry_run: bool) -> Outcome:
        raise Unavailable("nobody follows the reservations of addresses")


@attrs.frozen
class Cluster:
    """Everything a rule may ask."""

    nodes: Nodes
    pods: Pods
    namespaces: Namespaces
    sidecars: Sidecars
    limit_ranges: LimitRanges
    resource_quotas: ResourceQuotas
    config_maps: ConfigMaps
    capacity: Capacity = NoCapacity()
    databases: Databases = NoDatabases()
    addresses: Addresses = NoAddresses()
