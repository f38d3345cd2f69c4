"""Namespaces, pods bound to nodes, and Services, whose Endpoints and EndpointSlices the real controllers then write."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tests.apiserver import nodes
from tests.apiserver.waiting import wait_for
from tests.cluster import Api, Json

UNREACHABLE = "node.kubernetes.io/unreachable"
NOT_READY = "node.kubernetes.io/not-ready"
TOLERATES_S = 5


def pods_path(namespace: str) -> str:
    """The collection of the namespace's pods."""
    return f"/api/v1/namespaces/{namespace}/pods"


def endpoints_path(namespace: str) -> str:
    """The collection of the namespace's Endpoints."""
    return f"/api/v1/namespaces/{namespace}/endpoints"


def slices_path(namespace: str) -> str:
    """The collection of the namespace's EndpointSlices."""
    return f"/apis/discovery.k8s.io/v1/namespaces/{namespace}/endpointslices"


def create_namespace(api: Api, name: str, labels: Mapping[str, str] | None = None) -> None:
    """A namespace in which pods can be created (its default ServiceAccount exists)."""
    api.create(
        "/api/v1/namespaces",
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": dict(labels or {})}},
    )
    account = f"/api/v1/namespaces/{name}/serviceaccounts/default"
    wait_for(lambda: api.find(account) is not None, 20.0, f"the default ServiceAccount of {name}")


def create_pod(
    api: Api,
    namespace: str,
    name: str,
    node: str,
    address: str,
    labels: dict[str, str],
    *,
    ready: str = "True",
    tolerates_s: int = TOLERATES_S,
) -> Json:
    """A running pod on *node* whose containers are ready, evicted *tolerates_s* after a NoExecute taint.

    ready: status of its Ready condition. "False" with ready containers is what the node controller leaves behind.
    """
    tolerations = [
        {"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": tolerates_s}
        for key in (UNREACHABLE, NOT_READY)
    ]
    container = {"name": "app", "image": "app:1", "ports": [{"containerPort": 8080}]}
    spec = {"nodeName": node, "containers": [container], "tolerations": tolerations}
    metadata = {"name": name, "labels": labels}
    api.create(pods_path(namespace), {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec})
    now = nodes.time()
    conditions = [
        {"type": kind, "status": status, "lastTransitionTime": now}
        for kind, status in (
            ("PodScheduled", "True"),
            ("Initialized", "True"),
            ("ContainersReady", "True"),
            ("Ready", ready),
        )
    ]
    running = {"name": "app", "ready": True, "restartCount": 0, "image": "app:1", "imageID": "app"}
    running |= {"state": {"running": {"startedAt": now}}, "started": True}
    status: Json = {"phase": "Running", "conditions": conditions, "containerStatuses": [running]}
    status |= {"podIP": address, "podIPs": [{"ip": address}], "startTime": now}
    return api.patch(f"{pods_path(namespace)}/{name}/status", {"status": status})


def create_service(api: Api, namespace: str, name: str, selector: dict[str, str]) -> None:
    """A Service over the pods that match *selector*."""
    spec = {"selector": selector, "ports": [{"name": "http", "port": 80, "targetPort": 8080}]}
    service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": name}, "spec": spec}
    api.create(f"/api/v1/namespaces/{namespace}/services", service)


def delete_pods(api: Api, namespace: str) -> None:
    """Delete all pods at once: no kubelet will confirm their end."""
    api.delete(f"{pods_path(namespace)}?gracePeriodSeconds=0")


def ready_in_endpoints(endpoints: Iterable[Json], service: str) -> set[str]:
    """The addresses that the Endpoints object of *service* lists as ready."""
    return {
        address["ip"]
        for item in endpoints
        if item["metadata"]["name"] == service
        for subset in item.get("subsets") or []
        for address in subset.get("addresses") or []
    }


def service_of_slice(item: Json) -> str:
    """The Service whose addresses the EndpointSlice *item* holds."""
    name: str = item["metadata"].get("labels", {}).get("kubernetes.io/service-name", "")
    return name


def ready_in_slices(slices: Iterable[Json], service: str) -> set[str]:
    """The addresses that the slices of *service* give as ready, as kube-proxy reads them (absent counts as true)."""
    return {
        address
        for item in slices
        if service_of_slice(item) == service
        for endpoint in item.get("endpoints") or []
        if endpoint.get("conditions", {}).get("ready", True)
        for address in endpoint["addresses"]
    }
