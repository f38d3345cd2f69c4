"""What admission rules ask of the cluster, answered from the caches, and the live reads that they may do.

Threads: any. Look-ups are O(1) (in one namespace: O(found)) and never IO. `confirm` and `exists` block their caller for at most
300 ms.
Errors:  none; what cannot be known is None.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Generic
from urllib.parse import quote

from controllers.runtime.api import ReadsBytes
from controllers.runtime.informer import Informer
from controllers.runtime.live import METADATA_ONLY, Keep, LiveReads
from controllers.runtime.projection import BY_KUBELET, BY_NODE, nodes_resource
from controllers.runtime.projection_cluster import BY_NAMESPACE, name_in, namespaces_resource
from controllers.runtime.resource import F, Resource
from webhook.clock import Clock, Deadline
from webhook.cluster import NamespaceFacts, NodeFacts, PodFacts
from webhook.objects.limit_ranges import LimitRange
from webhook.objects.resource_quotas import ResourceQuota
from webhook.objects.versions import oldest
from webhook.objects.votes import VotePolicy
from webhook.telemetry import Telemetry

# A ConfigMap that a pod mounts is rarely deleted, and its absence is mended by those who wait for the pod.
CONFIG_MAP_KEPT = Keep(found_s=10.0, other_s=1.0)


class PodLister:
    """Implements `webhook.cluster.Pods`."""

    def __init__(self, informer: Informer[PodFacts]) -> None:
        self._store = informer.store

    def get(self, key: str) -> PodFacts | None:
        return self._store.get(key)

    def on_node(self, node: str) -> Sequence[PodFacts]:
        return self._store.by_index(BY_NODE, node)


class NodeLister:
    """Implements `webhook.cluster.Nodes`."""

    def __init__(
        self, informer: Informer[NodeFacts], client: ReadsBytes, policy: VotePolicy, clock: Clock, telemetry: Telemetry
    ) -> None:
        self._store = informer.store
        self._live = LiveObjects(nodes_resource(policy), client, clock, telemetry)

    def get(self, name: str) -> NodeFacts | None:
        return self._store.get(name)

    def oldest_kubelet(self) -> tuple[int, int] | None:
        return oldest(self._store.values(BY_KUBELET))  # a handful of versions, however many nodes

    def confirm(self, name: str, deadline: Deadline) -> NodeFacts | None:
        return self._live.read(name, deadline)


class NamespaceLister:
    """Implements `webhook.cluster.Namespaces`."""

    def __init__(self, informer: Informer[NamespaceFacts], client: ReadsBytes, clock: Clock, telemetry: Telemetry) -> None:
        self._store = informer.store
        self._live = LiveObjects(namespaces_resource(), client, clock, telemetry)

    def get(self, name: str) -> NamespaceFacts | None:
        return self._store.get(name)

    def confirm(self, name: str, deadline: Deadline) -> NamespaceFacts | None:
        return self._live.read(name, deadline)


class LimitRangeLister:
    """Implements `webhook.cluster.LimitRanges`."""

    def __init__(self, informer: Informer[LimitRange]) -> None:
        self._store = informer.store

    def of(self, namespace: str) -> Sequence[LimitRange]:
        return sorted(self._store.by_index(BY_NAMESPACE, namespace), key=lambda one: one.name)


class QuotaLister:
    """Implements `webhook.cluster.ResourceQuotas`."""

    def __init__(self, informer: Informer[ResourceQuota]) -> None:
        self._store = informer.store

    def of(self, namespace: str) -> Sequence[ResourceQuota]:
        return sorted(self._store.by_index(BY_NAMESPACE, namespace), key=lambda one: one.name)


class LiveConfigMaps:
    """Implements `webhook.cluster.ConfigMaps`: asks for the metadata only."""

    def __init__(self, client: ReadsBytes, clock: Clock, telemetry: Telemetry) -> None:
        self._live = LiveReads("configmaps", name_in, client, clock, telemetry, accept=METADATA_ONLY, keep=CONFIG_MAP_KEPT)

    def exists(self, namespace: str, name: str, deadline: Deadline) -> bool | None:
        if not namespace or not name:
            return None  # the path would be that of a collection
        answer = self._live.read(f"/api/v1/namespaces/{quote(namespace, safe='')}/configmaps/{quote(name, safe='')}", deadline)
        return None if answer is None else answer.facts is not None


class LiveObjects(Generic[F]):
    """Live reads of one kind of cluster-scoped objects, by name."""

    def __init__(self, resource: Resource[F], client: ReadsBytes, clock: Clock, telemetry: Telemetry) -> None:
        self._path = resource.path
        self._reads = LiveReads(resource.name, lambda body: resource.projection.item(body).facts, client, clock, telemetry)

    def read(self, name: str, deadline: Deadline) -> F | None:
        """The object now; None when it does not exist or there was no answer in time."""
        if not name:
            return None  # the path would be that of the collection
        answer = self._reads.read(f"{self._path}/{quote(name, safe='')}", deadline)
        return None if answer is None else answer.facts
