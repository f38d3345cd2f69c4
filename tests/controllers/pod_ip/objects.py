"""Pods, reservations, pools and StatefulSets as the API server has them: 10.0.0.1 for a pod of the ReplicaSet "web"."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from controllers.pod_ip.resources import pools_resource
from webhook.addresses.address import Address
from webhook.addresses.facts import PodOwner, PoolFacts
from webhook.addresses.keys import key_of, ordinal_of
from webhook.objects.meta import Json, format_time

WALL_S = 1_800_000_000.0  # FakeClock's
API_VERSION = "gatehouse.dev/v1alpha1"
ONE, TWO = "10.0.0.1", "10.0.0.2"


def at(age_s: float) -> str:
    """The API's Time, *age_s* before the clock's beginning."""
    return format_time(WALL_S - age_s)


def pod(
    name: str = "web-1",
    *addresses: str,
    key: str = "key-1",
    owner: str = "ReplicaSet/web",
    namespace: str = "shop",
    phase: str = "Running",
    age_s: float = 600.0,
    **metadata: Any,
) -> Json:
    """A pod that carries *addresses*, 10.0.0.1 unless told otherwise."""
    found = [Address.parse(one) for one in addresses or (ONE,)]
    kind, _, owner_name = owner.partition("/")
    marks: Json = {"cni.projectcalico.org/ipAddrs": json.dumps([one.text for one in found])}
    if key:
        marks["gatehouse.dev/reservation-key"] = key
    labels = {"allocatable-ips": "10.0.0.1-9", "allocated-ip": min(found).name}
    meta: Json = {"name": name, "namespace": namespace, "annotations": marks, "labels": labels, "creationTimestamp": at(age_s)}
    if kind:
        reference = {"apiVersion": "apps/v1", "kind": kind, "name": owner_name, "uid": f"uid-{owner_name}", "controller": True}
        meta["ownerReferences"] = [reference]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": meta | metadata,
        "spec": {"nodeName": "n"},
        "status": {"phase": phase},
    }


def db_pod(number: int = 0, *addresses: str, **fields: Any) -> Json:
    """A pod of the StatefulSet "db"."""
    name = f"db-{number}"
    return pod(name, *addresses, **({"key": key_of("shop", "uid-db", name), "owner": "StatefulSet/db"} | fields))


def waiting_pod(name: str = "web-1", *, asks: str = "10.0.0.1-9", age_s: float = 60.0, **metadata: Any) -> Json:
    """A pod behind our gate."""
    meta: Json = {"name": name, "namespace": "shop", "labels": {"allocatable-ips": asks}, "creationTimestamp": at(age_s)}
    reference = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": "uid-web", "controller": True}
    meta["ownerReferences"] = [reference]
    spec: Json = {"schedulingGates": [{"name": "example.com/other"}, {"name": "gatehouse.dev/pod-ip"}], "containers": []}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta | metadata, "spec": spec, "status": {"phase": "Pending"}}


def reservation(
    address: str = ONE,
    *,
    key: str = "key-1",
    pod_name: str = "",
    owner: str = "ReplicaSet/web",
    age_s: float = 600.0,
    **status: Any,
) -> Json:
    """An AddressReservation."""
    found = Address.parse(address)
    kind, _, owner_name = owner.partition("/")
    ordinal = ordinal_of(PodOwner(kind, owner_name, ""), pod_name)
    spec: Json = {"ip": found.text, "reservationKey": key, "requestUID": "request-1", "namespace": "shop", "holder": "other"}
    spec |= {"podName": pod_name}
    spec |= {"owner": {"kind": kind, "name": owner_name, "uid": f"uid-{owner_name}"}} if kind else {}
    spec |= {} if ordinal is None else {"ordinal": ordinal}
    metadata = {"name": found.name, "creationTimestamp": at(age_s)}
    return {"apiVersion": API_VERSION, "kind": "AddressReservation", "metadata": metadata, "spec": spec, "status": status}


def bound(of: Json, address: str = ONE, **status: Any) -> Json:
    """The reservation of *of* (as stored), bound to it."""
    meta = of["metadata"]
    owner = meta["ownerReferences"][0]
    named = meta["name"] if owner["kind"] == "StatefulSet" else ""
    said = {"phase": "Bound", "podName": meta["name"], "podUID": meta["uid"], "node": "n"} | status
    key = meta["annotations"]["gatehouse.dev/reservation-key"]
    return reservation(address, key=key, pod_name=named, owner=f"{owner['kind']}/{owner['name']}", **said)


def pool(name: str = "edge", addresses: Sequence[str] = ("10.0.0.0-9",), **spec: Any) -> Json:
    """An AddressPool of ten addresses."""
    body = {"addresses": list(addresses), **spec}
    return {"apiVersion": API_VERSION, "kind": "AddressPool", "metadata": {"name": name, "generation": 1}, "spec": body}


def pool_facts(obj: Json) -> PoolFacts:
    """What the caches keep of an AddressPool."""
    return pools_resource().projection.convert(obj).facts


def stateful_set(replicas: int = 1, **fields: Any) -> Json:
    """The StatefulSet "db"."""
    metadata = {"name": "db", "namespace": "shop", "uid": "uid-db"} | fields
    return {"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": metadata, "spec": {"replicas": replicas}}
