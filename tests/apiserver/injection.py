"""Namespaces that take part in injection, sidecar ConfigMaps, and pods as the API server stores them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from tests.apiserver.gatehouse import Gatehouse
from tests.apiserver.waiting import wait_for
from tests.apiserver.workloads import pods_path
from tests.cluster import Api, Cluster, Json
from tests.cluster.kinds import apply
from tests.webhook.sidecars.entries import article

ASKING = {"sidecar-injector": "enabled"}  # its pods may ask
EVERY_POD = {"pod-admission-webhook-injection": "enabled"}  # each of its pods gets the default entries
SIDECARS = {"gatehouse.dev/sidecars": "true"}
ASKS = {"sidecar-injector/inject": "true"}
ENVOY = article.ENVOY


def namespace(api: Api, name: str, labels: Mapping[str, str] = ASKING, annotations: Mapping[str, str] | None = None) -> None:
    """A namespace in which pods can be created."""
    metadata = {"name": name, "labels": dict(labels), "annotations": dict(annotations or {})}
    apply(api, {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata})
    account = f"/api/v1/namespaces/{name}/serviceaccounts/default"
    wait_for(lambda: api.find(account) is not None, 20.0, f"the default ServiceAccount of {name}")


def config_map(namespace: str, name: str, data: Mapping[str, str], labels: Mapping[str, str] | None = None) -> Json:
    """A ConfigMap, not applied yet."""
    metadata = {"name": name, "namespace": namespace, "labels": dict(labels or {})}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": dict(data)}


def pod(name: str = "demo-pod", *, annotations: Mapping[str, str] | None = None, **spec: object) -> Json:
    """A pod of one container that nobody will run; *spec* adds to its spec."""
    container = {"name": "demo-container", "image": "busybox", "command": ["sh", "-c", "echo Hello Kubernetes! && sleep 3600"]}
    metadata = {"name": name, "labels": {"app": "demo"}, "annotations": dict(annotations or {})}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"containers": [container]} | spec}


def create(api: Api, namespace: str, body: Json, query: str = "") -> tuple[Json, list[str]]:
    """The pod as it is stored, and the warnings."""
    return api.told("POST", pods_path(namespace) + query, body)


def containers(pod: Json) -> list[str]:
    """The names of its app containers."""
    return [container["name"] for container in pod["spec"]["containers"]]


@contextmanager
def injecting(cluster: Cluster, admin: Api, folder: Path, config: Json | None = None) -> Iterator[Gatehouse]:
    """A Gatehouse that the API server calls; led controllers are off unless *config* says otherwise."""
    with Gatehouse(cluster, folder, config=config) as gatehouse, gatehouse.registration().applied(admin):
        gatehouse.wait_until_called(admin)
        yield gatehouse
