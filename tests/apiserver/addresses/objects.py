"""Pods that ask for fixed addresses, their pools, and what is to be seen of both afterwards."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from tests.apiserver.waiting import wait_for
from tests.apiserver.workloads import pods_path
from tests.cluster import Api, ApiError, Json
from tests.cluster.kinds import apply

API_VERSION = "gatehouse.dev/v1alpha1"
RESERVATIONS = f"/apis/{API_VERSION}/addressreservations"
POOLS = f"/apis/{API_VERSION}/addresspools"
POOL_LABEL = "gatehouse.dev/ip-pool"
LIST_LABEL = "allocatable-ips"
ALLOCATED = "allocated-ip"
CALICO = "cni.projectcalico.org/ipAddrs"
KEY = "gatehouse.dev/reservation-key"
GATE = "gatehouse.dev/pod-ip"
LEAST_EXPIRY_S = 60


def make_pool(api: Api, name: str, *addresses: str, **spec: object) -> Json:
    """An AddressPool with the least expiry; *spec* adds to it or replaces."""
    body = {
        "apiVersion": API_VERSION,
        "kind": "AddressPool",
        "metadata": {"name": name},
        "spec": {"addresses": list(addresses), "expiry": f"{LEAST_EXPIRY_S}s"} | spec,
    }
    return apply(api, body)


def from_pool(pool: str) -> dict[str, str]:
    """Labels of a pod that asks for an address of *pool*."""
    return {POOL_LABEL: pool}


def from_list(addresses: str) -> dict[str, str]:
    """Labels of a pod that asks for one of *addresses*, which are written as a label takes them."""
    return {LIST_LABEL: addresses}


def template(labels: Mapping[str, str], annotations: Mapping[str, str] | None = None, **spec: object) -> Json:
    """A pod's metadata and spec, without a name."""
    container = {"name": "app", "image": "app:1"}
    metadata = {"labels": dict(labels), "annotations": dict(annotations or {})}
    return {"metadata": metadata, "spec": {"containers": [container], "terminationGracePeriodSeconds": 1} | spec}


def pod(name: str, labels: Mapping[str, str], annotations: Mapping[str, str] | None = None, **spec: object) -> Json:
    """A pod; *name* ends with "-" where the API server is to complete it."""
    body = {"apiVersion": "v1", "kind": "Pod", **template(labels, annotations, **spec)}
    body["metadata"]["generateName" if name.endswith("-") else "name"] = name
    return body


def create(api: Api, namespace: str, body: Json, query: str = "") -> Json:
    """The pod as it is stored."""
    return api.create(pods_path(namespace) + query, body)


def refusal(api: Api, namespace: str, body: Json, query: str = "") -> str:
    """What the API server says against *body*. Fails the test when it takes it."""
    try:
        made = create(api, namespace, body, query)
    except ApiError as refused:
        return str(refused)
    raise AssertionError(f"created: {made['metadata']}")


def pods(api: Api, namespace: str, selector: str = "") -> list[Json]:
    """The pods of the namespace, those that end too."""
    found: list[Json] = api.get(f"{pods_path(namespace)}{'?labelSelector=' if selector else ''}{selector}")["items"]
    return found


def addresses(made: Json) -> list[str]:
    """What Calico will give the pod; [] without the annotation."""
    return list(json.loads(made["metadata"].get("annotations", {}).get(CALICO, "[]")))


def address(made: Json) -> str:
    """The one address of a pod, whose label says the same. Fails the test when it has another number of them."""
    (only,) = addresses(made)
    assert made["metadata"]["labels"][ALLOCATED] == only
    return str(only)


def key(made: Json) -> str:
    """The pod's reservation key."""
    return str(made["metadata"]["annotations"][KEY])


def reservation(api: Api, address: str) -> Json | None:
    """The reservation of an IPv4 address."""
    return api.find(f"{RESERVATIONS}/{address}")


def reservations(api: Api, namespace: str) -> list[Json]:
    """Those made for pods of *namespace*."""
    return [one for one in api.get(RESERVATIONS)["items"] if one["spec"]["namespace"] == namespace]


def phase(api: Api, address: str) -> str:
    """Where the reservation stands; "" without one."""
    found = reservation(api, address)
    return "" if found is None else str(found.get("status", {}).get("phase", "Reserved"))


def wait_bound(api: Api, made: Json, within_s: float = 20.0) -> None:
    """Until the reservation of the pod's address names this very pod."""

    def bound() -> bool:
        status = (reservation(api, address(made)) or {}).get("status", {})
        return bool(status.get("phase") == "Bound" and status.get("podUID") == made["metadata"]["uid"])

    wait_for(bound, within_s, f"the reservation of {address(made)} bound to {made['metadata']['name']}")


def wait_released(api: Api, held: Sequence[str], within_s: float = 20.0) -> None:
    """Until none of the addresses *held* has a reservation."""
    wait_for(lambda: not any(reservation(api, one) for one in held), within_s, f"{', '.join(held)} given back")


def set_status(api: Api, made: Json, **status: object) -> Json:
    """Write a pod's status, as its kubelet does."""
    meta = made["metadata"]
    return api.patch(f"{pods_path(meta['namespace'])}/{meta['name']}/status", {"status": status})


def delete(api: Api, made: Json) -> None:
    """Delete a pod; one without a node is gone at once."""
    meta = made["metadata"]
    api.delete(f"{pods_path(meta['namespace'])}/{meta['name']}", {"preconditions": {"uid": meta["uid"]}})
