"""The node controller marks a silent node's pods milliseconds after the node: reviews may come before the cache knows.

Here the cache knows nothing of what happens to the node, for as long as the test lasts: the watches are held back.
Source: kubernetes/pkg/controller/nodelifecycle monitorNodeHealth, which calls MarkPodsNotReady right after its node update.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.apiserver import nodes, workloads
from tests.apiserver.audit import AuditLog
from tests.apiserver.gatehouse import Gatehouse
from tests.apiserver.registration import USER
from tests.apiserver.relay import Relay
from tests.apiserver.waiting import wait_for
from tests.cluster import Api, Cluster, Json
from tests.cluster.api import STRATEGIC_MERGE_PATCH, impersonating

NAMESPACE = "lagging"
NODE_CONTROLLER = impersonating("system:serviceaccount:kube-system:node-controller")


@pytest.fixture(scope="module")
def api(quiet_cluster: Cluster) -> Iterator[Api]:
    """The administrator, in whose cluster the namespace exists."""
    with quiet_cluster.api() as api:
        workloads.create_namespace(api, NAMESPACE)
        yield api


@pytest.fixture(scope="module")
def relay(quiet_cluster: Cluster) -> Iterator[Relay]:
    """What Gatehouse takes for its API server."""
    with Relay(quiet_cluster) as relay:
        yield relay


@pytest.fixture(scope="module", autouse=True)
def gatehouse(quiet_cluster: Cluster, api: Api, relay: Relay, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gatehouse]:
    """Gatehouse behind the relay, registered, with two nodes in its caches that are well and vouched for."""
    for number, name in enumerate(("silent", "unwell", "published"), 1):
        nodes.create_node(api, name, NAMESPACE, "true")
        workloads.create_pod(api, NAMESPACE, name, name, f"10.220.0.{number}", {})
    with (
        Gatehouse(quiet_cluster, tmp_path_factory.mktemp("lagging"), server=relay.url) as gatehouse,
        gatehouse.registration().applied(api),
    ):
        gatehouse.wait_until_called(api)
        yield gatehouse


def test_a_pod_stays_ready_though_the_cache_takes_its_silent_node_for_well(
    quiet_cluster: Cluster, api: Api, relay: Relay
) -> None:
    log = AuditLog(quiet_cluster.audit_log).from_now()

    with relay.holding():
        _set_ready(api, "silent", "Unknown")
        pod = _mark_not_ready(api, "silent")

    assert nodes.ready_status(pod) == "True"
    wait_for(lambda: _read_live(log, "silent"), 5.0, "the one live read of the node")


def test_a_pod_of_a_node_whose_kubelet_is_unwell_is_not_kept_ready(api: Api, relay: Relay, gatehouse: Gatehouse) -> None:
    before = _found_live(gatehouse)

    with relay.holding():
        _set_ready(api, "unwell", "False")
        pod = _mark_not_ready(api, "unwell")

    assert nodes.ready_status(pod) == "False"
    assert _found_live(gatehouse) > before, "which it is also when nobody answers"


def test_a_new_endpoint_slice_keeps_the_address_too(api: Api, relay: Relay) -> None:
    endpoint = {"addresses": ["10.220.0.3"], "nodeName": "published", "conditions": {"ready": False, "serving": False}}
    endpoint["targetRef"] = {"kind": "Pod", "namespace": NAMESPACE, "name": "published"}
    metadata = {"name": "shop-1", "namespace": NAMESPACE, "labels": {"kubernetes.io/service-name": "shop"}}
    body: Json = {"apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "metadata": metadata}

    with relay.holding():
        _set_ready(api, "published", "Unknown")
        created = api.create(
            f"{workloads.slices_path(NAMESPACE)}?dryRun=All", {**body, "addressType": "IPv4", "endpoints": [endpoint]}
        )

    assert workloads.ready_in_slices([created], "shop") == {"10.220.0.3"}


def _set_ready(api: Api, node: str, status: str) -> None:
    condition = {"type": "Ready", "status": status, "reason": "Test", "lastTransitionTime": nodes.time()}
    patch: Json = {"status": {"conditions": [condition]}}
    api.patch(f"{nodes.NODES}/{node}/status", patch, STRATEGIC_MERGE_PATCH, NODE_CONTROLLER)


def _mark_not_ready(api: Api, pod: str) -> Json:
    """What MarkPodsNotReady does, as the node controller; the pod as it is then."""
    condition = {"type": "Ready", "status": "False", "lastTransitionTime": nodes.time()}
    patch: Json = {"status": {"conditions": [condition]}}
    path = f"{workloads.pods_path(NAMESPACE)}/{pod}/status"
    return api.patch(path, patch, STRATEGIC_MERGE_PATCH, NODE_CONTROLLER)


def _found_live(gatehouse: Gatehouse) -> float:
    return gatehouse.total("gatehouse_confirmations_total", resource="nodes", result="found")


def _read_live(log: AuditLog, node: str) -> bool:
    return any(
        event["verb"] == "get" and event["objectRef"]["resource"] == "nodes" and event["objectRef"]["name"] == node
        for event in log.events(USER)
        if "objectRef" in event
    )
