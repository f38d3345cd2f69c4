"""Where the facts of a process come from: watch caches of a cluster, or files.

Both give a `webhook.cluster.Cluster` and say which caches have synced. What not every process follows is imported where it
is. Threads: `start` and `stop` by the supervisor, the rest by anyone.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import attrs

from controllers.certificates.wanted import Followed
from controllers.compatibility.cluster_version import ClusterVersion
from controllers.compatibility.requirements import Requirement
from controllers.config.election import ClientConnectionSection
from controllers.runtime.capacity import CountedCapacity
from controllers.runtime.errors import OnDeath
from controllers.runtime.informer import Informer
from controllers.runtime.lister import (
    LimitRangeLister,
    LiveConfigMaps,
    NamespaceLister,
    NodeLister,
    PodLister,
    QuotaLister,
)
from controllers.runtime.projection import nodes_resource, pods_resource
from controllers.runtime.rest import Limits, RestClient
from controllers.sidecars.awaiting import AwaitedEntries
from controllers.sidecars.caches import SidecarCaches
from webhook.addresses.policy import AddressPolicy
from webhook.admission.service import NODES_CACHE, PODS_CACHE
from webhook.clock import Clock, Deadline
from webhook.cluster import NONE_ON_FILES, Cluster, NoAddresses, NoCapacity, NoDatabases, NodeFacts
from webhook.objects.databases import InstanceFacts
from webhook.objects.meta import Json
from webhook.objects.votes import VotePolicy
from webhook.telemetry import Telemetry

if TYPE_CHECKING:
    from controllers.certificates.following import FollowedCertificate
    from controllers.database_instance.caches import DatabaseCaches
    from controllers.plugins.running import PluginControllers
    from controllers.plugins.using import ControllerInUse
    from controllers.pod_ip.caches import AddressCaches

# Each admission of a pod with a fixed address is one write or two; a burst of them must not wait for our own limit.
ADDRESS_LIMITS = Limits(per_second=500.0, burst=500)


class ClusterFacts(Protocol):
    """Facts, and whether they can be relied on."""

    cluster: Cluster

    def start(self) -> None:
        """Begin to follow. Raises OSError with what an operator can mend."""

    def stop(self, deadline: Deadline) -> None:
        """End every thread."""

    def alive(self) -> bool:
        """Whether every thread runs."""

    def has_synced(self, cache: str) -> bool:
        """Whether the cache of that name has its first list; stays true."""

    def nodes(self) -> Iterable[NodeFacts]:
        """Every node."""

    def databases_known(self) -> Iterable[InstanceFacts]:
        """Every DatabaseInstance; none unless somebody asks for them."""

    def kubernetes(self) -> Json | None:
        """The API server's version, and what it is too old for; None where there is none."""

    def caches(self) -> Json:
        """Each cache: synced, objects, seconds since the API server was last heard, what keeps it from following."""


class WatchedFacts:
    """Caches that follow the API server; those that nobody asks stand still.

    injects: whether anything asks for sidecars, namespaces or LimitRanges, as injection, defaults and tuning do.
    counts: whether anything asks how full the cluster is. databases: whether anything asks for DatabaseInstances.
    addresses: what holds of fixed addresses, None when nobody gives any; identity: of this replica, which reserves them.
    certificate: what is followed of the serving certificate, None when that is nothing. plugins: controllers of others.
    """

    def __init__(
        self,
        connection: ClientConnectionSection,
        policy: VotePolicy,
        telemetry: Telemetry,
        clock: Clock,
        on_death: OnDeath,
        *,
        injects: bool = True,
        counts: bool = False,
        databases: bool = False,
        addresses: AddressPolicy | None = None,
        identity: str = "",
        certificate: Followed | None = None,
        plugins: Sequence[ControllerInUse] = (),
        requirements: Sequence[Requirement] = (),
    ) -> None:
        limits = Limits(per_second=connection.qps, burst=connection.burst)
        self._client = client = RestClient.auto(connection.kubeconfig, telemetry, clock, limits)
        self._version = ClusterVersion(client, requirements, telemetry, clock)
        self.node_informer = nodes = Informer(nodes_resource(policy), client, telemetry, clock, on_death)
        self.pod_informer = pods = Informer(
            pods_resource(counted=counts, addressed=addresses is not None), client, telemetry, clock, on_death
        )
        self.sidecars = sidecars = SidecarCaches(client, telemetry, clock, on_death)
        self._caches: dict[str, tuple[Informer[Any], ...]] = {NODES_CACHE: (nodes,), PODS_CACHE: (pods,)}
        if injects:
            self._caches |= sidecars.by_cache()
        self._informers = [informer for group in self._caches.values() for informer in group]
        self._follow_what_is_asked_for(databases, certificate, plugins, telemetry, clock, on_death)
        self.addresses: AddressCaches | None = None
        if addresses is not None:
            from controllers.pod_ip.caches import AddressCaches

            writes = RestClient.auto(connection.kubeconfig, telemetry, clock, ADDRESS_LIMITS)
            self.addresses = AddressCaches(client, writes, pods, addresses, identity, telemetry, clock, on_death)
        self.cluster = Cluster(
            NodeLister(nodes, client, policy, clock, telemetry),
            PodLister(pods),
            NamespaceLister(sidecars.namespaces, client, clock, telemetry),
            AwaitedEntries(sidecars.catalog, clock),
            LimitRangeLister(sidecars.limit_ranges),
            QuotaLister(sidecars.quotas),
            LiveConfigMaps(client, clock, telemetry),
            CountedCapacity(nodes, pods) if counts else NoCapacity(),
            self.databases or NoDatabases(),
            self.addresses or NoAddresses(),
        )

    def _follow_what_is_asked_for(
        self,
        databases: bool,
        certificate: Followed | None,
        plugins: Sequence[ControllerInUse],
        telemetry: Telemetry,
        clock: Clock,
        on_death: OnDeath,
    ) -> None:
        """Caches that no service waits for."""
        self.databases: DatabaseCaches | None = None
        self.certificate: FollowedCertificate | None = None
        self.plugins: PluginControllers | None = None
        if databases:
            from controllers.database_instance.caches import DatabaseCaches

            self.databases = DatabaseCaches(self._client, telemetry, clock, on_death)
            self._informers += self.databases.informers()
        if certificate is not None:
            from controllers.certificates.following import FollowedCertificate

            self.certificate = FollowedCertificate(certificate, self._client, telemetry, clock, on_death)
            self._informers += self.certificate.caches.informers()
        if plugins:
            from controllers.plugins.running import PluginControllers

            self.plugins = PluginControllers(plugins, self._client, telemetry, clock, on_death)
            self._informers += self.plugins.informers()

    def start(self) -> None:
        self._version.start()
        for informer in self._informers:
            informer.start()
        if self.addresses is not None:
            self.addresses.start()

    def stop(self, deadline: Deadline) -> None:
        for informer in self._informers:
            informer.signal_stop()
        self._version.signal_stop()
        if self.addresses is not None:
            self.addresses.signal_stop()
        for informer in self._informers:
            informer.stop(deadline)
        if self.addresses is not None:
            self.addresses.stop(deadline)
        self._version.stop(deadline)
        self._client.close()

    def alive(self) -> bool:
        return all(informer.alive() for informer in self._informers) and (self.addresses is None or self.addresses.alive())

    def has_synced(self, cache: str) -> bool:
        return all(informer.has_synced() for informer in self._caches[cache])

    def nodes(self) -> Iterable[NodeFacts]:
        return [item.facts for item in self.node_informer.store.items()]

    def databases_known(self) -> Iterable[InstanceFacts]:
        return () if self.databases is None else [item.facts for item in self.databases.instances.store.items()]

    def kubernetes(self) -> Json | None:
        return self._version.status()

    def caches(self) -> Json:
        return {
            informer.resource.name: {
                "synced": informer.has_synced(),
                "objects": len(informer.store),
                "silenceSeconds": round(informer.silence_s(), 1),
                "trouble": None if (trouble := informer.trouble()) is None else str(trouble) or type(trouble).__name__,
            }
            for informer in (*self._informers, *(self.addresses.informers() if self.addresses else ()))
        }


class FileFacts:
    """Facts from the files of --local."""

    def __init__(self, folder: Path, policy: VotePolicy, clock: Clock, on_death: OnDeath) -> None:
        from controllers.local.cluster import LocalCluster

        self._local = LocalCluster(folder, policy, clock, on_death)
        self.cluster = attrs.evolve(self._local.cluster, addresses=NoAddresses(NONE_ON_FILES))

    def start(self) -> None:
        self._local.start()

    def stop(self, deadline: Deadline) -> None:
        self._local.stop(deadline)

    def alive(self) -> bool:
        return True  # its thread tells on_death

    def has_synced(self, cache: str) -> bool:
        return True

    def nodes(self) -> Iterable[NodeFacts]:
        return self._local.snapshot.nodes.values()

    def databases_known(self) -> Iterable[InstanceFacts]:
        return self._local.snapshot.database_instances()

    def kubernetes(self) -> Json | None:
        return None

    def caches(self) -> Json:
        return {name: {"synced": True, "objects": count} for name, count in self._local.snapshot.counts().items()}
