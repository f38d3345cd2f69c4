"""A second real kubelet loses its network: its pods stay published and alive for as long as its peers vouch for it.

On the local cluster it has a network namespace of its own, a containerd and control groups of its own, and one cable, which is
pulled. Its pods run on; nobody can tell the API server so. On kind it is a worker that is taken off its network.
"""

from __future__ import annotations

from collections.abc import Iterator

import attrs
import pytest

from tests.apiserver.nodes import NODES, VOTE, ZONE, no_execute_taints, ready_status
from tests.apiserver.recorder import Recorder
from tests.apiserver.waiting import stays, wait_for
from tests.apiserver.workloads import (
    create_service,
    endpoints_path,
    pods_path,
    ready_in_endpoints,
    ready_in_slices,
    slices_path,
)
from tests.cluster import Api
from tests.e2e import pods
from tests.e2e.grounds import Ground
from tests.e2e.installed import Installed

NAMESPACE = "edge"
SERVICE = "shop"
NOTICED_S = 60.0  # the grace period of tests.e2e.grounds, and the load of a small machine
LOOK_ON_S = 8.0
TOLERATES_S = 3


@attrs.frozen
class Edge:
    """A node with two pods of a Service on it."""

    api: Api
    node: str
    addresses: set[str]

    def ready(self) -> str | None:
        """Ready of the node, as the node controller has it."""
        return ready_status(self.api.get(f"{NODES}/{self.node}"))

    def published(self) -> list[set[str]]:
        """The ready addresses of the Service: by Endpoints, by EndpointSlices."""
        endpoints, slices = (self.api.get(path(NAMESPACE))["items"] for path in (endpoints_path, slices_path))
        return [ready_in_endpoints(endpoints, SERVICE), ready_in_slices(slices, SERVICE)]

    def all_published(self) -> bool:
        """Whether both have every one of them."""
        return self.published() == [self.addresses, self.addresses]

    def vote(self, healthy: str) -> None:
        """What the node's peers say."""
        self.api.patch(f"{NODES}/{self.node}", {"metadata": {"annotations": {VOTE: healthy}}})


@pytest.fixture(scope="module")
def edge(gatehouse: Installed, ground: Ground, api: Api) -> Iterator[Edge]:
    node = ground.add_edge_node()
    # A zone of its own: where most nodes of a zone are silent the node controller stops evicting.
    api.patch(f"{NODES}/{node}", {"metadata": {"labels": {ZONE: "edge"}, "annotations": {VOTE: "true"}}})
    pods.make_namespace(api, NAMESPACE)
    soon = [
        {"key": f"node.kubernetes.io/{key}", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": TOLERATES_S}
        for key in ("unreachable", "not-ready")
    ]
    for name in ("web-1", "web-2"):
        body = pods.pod(name, pods.sleeper(), labels={"app": SERVICE}, nodeName=node, tolerations=soon)
        api.create(pods_path(NAMESPACE), body)
    create_service(api, NAMESPACE, SERVICE, {"app": SERVICE})
    made = [pods.wait_phase(api, NAMESPACE, name, "Running") for name in ("web-1", "web-2")]
    found = Edge(api, node, {one["status"]["podIP"] for one in made})
    wait_for(found.all_published, NOTICED_S, "both pods in Endpoints and EndpointSlices")
    yield found
    ground.heal(node)


def test_what_runs_on_a_node_that_is_cut_off_stays_published_while_its_peers_vouch_for_it(edge: Edge, ground: Ground) -> None:
    with Recorder(edge.api, NODES) as nodes, Recorder(edge.api, slices_path(NAMESPACE)) as slices:
        ground.cut(edge.node)
        wait_for(lambda: edge.ready() == "Unknown", NOTICED_S, "a silent node")
        stays(edge.all_published, LOOK_ON_S, "both pods published")
        tainted = nodes.states(lambda items: [one["metadata"]["name"] for one in items if no_execute_taints(one)])
        published = [members for _, members in slices.states(lambda items: ready_in_slices(items, SERVICE))]

    assert [names for _, names in tainted if names] == []
    assert published[1:] != []
    assert all(members == edge.addresses for members in published[1:])
    assert [pods.phase(edge.api, NAMESPACE, name) for name in ("web-1", "web-2")] == ["Running", "Running"]


def test_when_they_no_longer_do_it_goes_the_usual_way(edge: Edge) -> None:
    assert edge.ready() == "Unknown"

    edge.vote("false")
    wait_for(lambda: edge.published() == [set(), set()], NOTICED_S, "no address published")
    wait_for(lambda: _evicted(edge.api, "web-1") and _evicted(edge.api, "web-2"), NOTICED_S, "both pods evicted")


def test_a_node_that_is_heard_again_is_a_node_like_any_other(edge: Edge, ground: Ground) -> None:
    ground.heal(edge.node)
    wait_for(lambda: edge.ready() == "True", NOTICED_S, "a Ready node")
    wait_for(lambda: no_execute_taints(edge.api.get(f"{NODES}/{edge.node}")) == [], NOTICED_S, "no taint")
    wait_for(lambda: edge.api.get(pods_path(NAMESPACE))["items"] == [], NOTICED_S, "evicted pods that are gone")


def _evicted(api: Api, name: str) -> bool:
    found = api.find(f"{pods_path(NAMESPACE)}/{name}")
    return found is None or "deletionTimestamp" in found["metadata"]
