"""The scenario: a site of three nodes loses the cloud. Two are vouched for by their peers, one is voted unhealthy.

The site has a zone of its own, because the node controller stops evicting in a zone that is mostly gone, and two live nodes
elsewhere, because it stops everywhere when no node is left. From the last heartbeat on, the real node controller, taint
eviction controller and both endpoint controllers act; every version of every object that they write is recorded.
Source: kubernetes/pkg/controller/nodelifecycle; kubernetes.io/docs: Nodes, rate limits on eviction.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator

import attrs

from tests.apiserver import nodes, workloads
from tests.apiserver.nodes import Heartbeats
from tests.apiserver.recorder import Recorder
from tests.apiserver.waiting import wait_for
from tests.cluster import Api, Json

SERVICE = "shop"
LATE_SERVICE = "late"  # created during the partition, where a test asks for it
PODS_PER_NODE = 2
# Grace period of the node controller in these tests, its rounds, and the load of a small machine.
NOTICED_WITHIN_S = 45.0


@attrs.frozen
class Site:
    """Three nodes, their pods and their Services. *number* keeps pod addresses of sites apart.

    tolerates_s: for how long its pods bear a NoExecute taint.
    """

    name: str
    number: int
    tolerates_s: int = workloads.TOLERATES_S

    @property
    def vouched(self) -> tuple[str, str]:
        """The nodes that are voted healthy."""
        return f"{self.name}-1", f"{self.name}-2"

    @property
    def unhealthy(self) -> str:
        """The node that is voted unhealthy."""
        return f"{self.name}-3"

    @property
    def nodes(self) -> tuple[str, ...]:
        """All of them."""
        return (*self.vouched, self.unhealthy)

    def addresses(self, *names: str) -> set[str]:
        """The addresses of the pods on the nodes *names*."""
        return {self._address(node, index) for node in names for index in range(PODS_PER_NODE)}

    def pods(self, *names: str) -> set[str]:
        """The pods on the nodes *names*."""
        return {f"{node}-{index}" for node in names for index in range(PODS_PER_NODE)}

    def create(self, api: Api, heartbeats: Heartbeats) -> None:
        """Make all of it, and wait until both endpoint controllers have published every pod."""
        workloads.create_namespace(api, self.name)
        for node in self.nodes:
            heartbeats.add(node)
            nodes.create_node(api, node, self.name, "false" if node == self.unhealthy else "true")
        for node in self.nodes:
            for index in range(PODS_PER_NODE):
                address = self._address(node, index)
                labels = {"app": SERVICE}
                workloads.create_pod(api, self.name, f"{node}-{index}", node, address, labels, tolerates_s=self.tolerates_s)
        workloads.create_service(api, self.name, SERVICE, {"app": SERVICE})
        wait_for(lambda: self._published(api), 30.0, f"all pods of {self.name} in Endpoints and EndpointSlices")

    def delete(self, api: Api, heartbeats: Heartbeats) -> None:
        """Remove it, as far as there is something to remove."""
        heartbeats.silence(*self.nodes)
        workloads.delete_pods(api, self.name)
        api.delete(f"/api/v1/namespaces/{self.name}")
        for node in self.nodes:
            api.delete(f"{nodes.NODES}/{node}")
            api.delete(f"{nodes.LEASES}/{node}")

    def _address(self, node: str, index: int) -> str:
        return f"10.{200 + self.number}.{node.rpartition('-')[2]}.{index + 1}"

    def _published(self, api: Api) -> bool:
        everything = self.addresses(*self.nodes)
        endpoints = api.get(workloads.endpoints_path(self.name))["items"]
        slices = api.get(workloads.slices_path(self.name))["items"]
        return (
            workloads.ready_in_endpoints(endpoints, SERVICE) == everything
            and workloads.ready_in_slices(slices, SERVICE) == everything
        )


@attrs.frozen
class Record:
    """What happened to a site from the moment its nodes fell silent."""

    site: Site
    silent_s: float  # monotonic, the last heartbeat
    nodes: Recorder
    pods: Recorder
    endpoints: Recorder
    slices: Recorder

    def tainted(self) -> list[tuple[float, set[str]]]:
        """Over time: the nodes with a NoExecute taint."""
        return self.nodes.states(_tainted, self.silent_s)

    def silent(self) -> set[str]:
        """Now: the nodes that the node controller has not heard of."""
        return self.nodes.now(lambda items: {n["metadata"]["name"] for n in items if nodes.ready_status(n) == "Unknown"})

    def ready_pods(self) -> list[tuple[float, set[str]]]:
        """Over time: the pods whose Ready condition is True."""
        return self.pods.states(_ready_pods, self.silent_s)

    def evicted(self) -> list[tuple[float, set[str]]]:
        """Over time: the pods with a deletionTimestamp."""
        return self.pods.states(_evicted, self.silent_s)

    def in_endpoints(self, service: str = SERVICE) -> list[tuple[float, set[str]]]:
        """Over time: the ready addresses in the Endpoints of *service*."""
        return self.endpoints.states(lambda items: workloads.ready_in_endpoints(items, service), self.silent_s)

    def in_slices(self, service: str = SERVICE) -> list[tuple[float, set[str]]]:
        """Over time: the ready addresses in the EndpointSlices of *service*."""
        return self.slices.states(lambda items: workloads.ready_in_slices(items, service), self.silent_s)

    def published(self, service: str) -> list[set[str]]:
        """The ready addresses in every version of every Endpoints object and EndpointSlice of *service*."""
        of_endpoints = [
            workloads.ready_in_endpoints([event.object], service)
            for event in self.endpoints.events()
            if event.object is not None and event.name == service
        ]
        of_slices = [
            workloads.ready_in_slices([event.object], service)
            for event in self.slices.events()
            if event.object is not None and workloads.service_of_slice(event.object) == service
        ]
        return of_endpoints + of_slices


@contextlib.contextmanager
def silence(api: Api, heartbeats: Heartbeats, site: Site) -> Iterator[Record]:
    """The site exists, goes silent, and the node controller has noticed; recording goes on until the block ends."""
    try:
        site.create(api, heartbeats)
        with (
            Recorder(api, nodes.NODES) as of_nodes,
            Recorder(api, workloads.pods_path(site.name)) as of_pods,
            Recorder(api, workloads.endpoints_path(site.name)) as of_endpoints,
            Recorder(api, workloads.slices_path(site.name)) as of_slices,
        ):
            record = Record(site, time.monotonic(), of_nodes, of_pods, of_endpoints, of_slices)
            heartbeats.silence(*site.nodes)
            wait_for(lambda: record.silent() >= set(site.nodes), NOTICED_WITHIN_S, f"all nodes of {site.name} Unknown")
            yield record
    finally:
        site.delete(api, heartbeats)


def ever(history: list[tuple[float, set[str]]]) -> set[str]:
    """Everything that was a member at some time."""
    return set().union(*(members for _, members in history))


def always(history: list[tuple[float, set[str]]]) -> set[str]:
    """Everything that was a member all the time."""
    return set.intersection(*(members for _, members in history))


def last(history: list[tuple[float, set[str]]]) -> set[str]:
    """The members at the end."""
    return history[-1][1]


def reached(condition: Callable[[], bool], what: str) -> None:
    """Wait for a step that the controllers take within their grace periods; fail the test if it does not come."""
    wait_for(condition, NOTICED_WITHIN_S, what)


def _tainted(items: list[Json]) -> set[str]:
    return {item["metadata"]["name"] for item in items if nodes.no_execute_taints(item)}


def _ready_pods(items: list[Json]) -> set[str]:
    return {item["metadata"]["name"] for item in items if nodes.ready_status(item) == "True"}


def _evicted(items: list[Json]) -> set[str]:
    return {item["metadata"]["name"] for item in items if "deletionTimestamp" in item["metadata"]}
