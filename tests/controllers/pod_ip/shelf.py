"""Objects of fixed addresses as the API server has them, and a scripted API server that knows their kinds."""

from __future__ import annotations

import json
from typing import Any

from controllers.pod_ip.calico import GROUP, GROUP_PATH
from controllers.testing import FakeApi
from controllers.testing.answers import Answer, Exchange
from webhook.objects.meta import Json

KEY = "11111111-2222-5333-8444-555555555555"


def fake_api() -> FakeApi:
    """One that serves our kinds and Calico's; that Calico's exist it says only after `calico_appears`."""
    api = FakeApi()
    ours = "gatehouse.dev/v1alpha1"
    api.objects.register(f"/apis/{ours}", "addressreservations", ours, "AddressReservation")
    api.objects.register(f"/apis/{ours}", "addresspools", ours, "AddressPool")
    api.objects.register("/apis/apps/v1", "statefulsets", "apps/v1", "StatefulSet")
    api.objects.register(GROUP_PATH, "ippools", GROUP, "IPPool")
    api.objects.register(GROUP_PATH, "ipamblocks", GROUP, "IPAMBlock")
    api.always("get", discovery(api, ()))
    api.always("list", discovery(api, ()))
    return api


def calico_appears(api: FakeApi, *resources: str) -> None:
    """From now on the API server says that Calico's group has *resources* (default: those that are read)."""
    for verb in ("get", "list"):
        api.always(verb, discovery(api, resources or ("ippools", "ipamblocks", "blockaffinities")))


def discovery(api: FakeApi, resources: tuple[str, ...]) -> Answer:
    def answer(exchange: Exchange) -> None:
        if exchange.request.path != GROUP_PATH or not resources:
            api.ordinary(exchange)
            return
        listed = {"kind": "APIResourceList", "groupVersion": GROUP, "resources": [{"name": name} for name in resources]}
        exchange.respond(200, json.dumps(listed).encode())

    return answer


def reservation(name: str = "10.0.0.1", *, status: Json | None = None, uid: str | None = None, **spec: Any) -> Json:
    """An AddressReservation of shop/web-0, ordinal 0 of a StatefulSet."""
    given: Json = {
        "ip": name,
        "reservationKey": KEY,
        "requestUID": "r1",
        "namespace": "shop",
        "owner": {"kind": "StatefulSet", "name": "web", "uid": "set-1"},
        "ordinal": 0,
        "podName": "web-0",
        "holder": "replica-a",
    }
    metadata = {"name": name, "creationTimestamp": "2026-01-01T00:00:00Z", **({"uid": uid} if uid else {})}
    return {
        "apiVersion": "gatehouse.dev/v1alpha1",
        "kind": "AddressReservation",
        "metadata": metadata,
        "spec": {**given, **spec},
        **({"status": status} if status else {}),
    }


def address_pool(name: str = "web", *, adopted: bool = True, **spec: Any) -> Json:
    """An AddressPool of four addresses."""
    return {
        "apiVersion": "gatehouse.dev/v1alpha1",
        "kind": "AddressPool",
        "metadata": {"name": name, "generation": 3},
        "spec": {"addresses": ["10.0.0.1-10.0.0.4"], **spec},
        "status": {"adopted": adopted},
    }


def ip_pool(name: str = "default", cidr: str = "10.0.0.0/24", **changes: Any) -> Json:
    """An IPPool of Calico's."""
    spec = {"cidr": cidr, **changes.pop("spec", {})}
    return {
        "apiVersion": GROUP,
        "kind": "IPPool",
        "metadata": {"name": name, **changes.pop("metadata", {})},
        "spec": spec,
        **changes,
    }


def block(cidr: str = "10.0.0.0/26", *used: int, size: int = 64, **spec: Any) -> Json:
    """An IPAMBlock of Calico's with the places *used* in use."""
    allocations = [0 if place in used else None for place in range(size)]
    return {
        "apiVersion": GROUP,
        "kind": "IPAMBlock",
        "metadata": {"name": cidr.replace(".", "-").replace(":", "-").replace("/", "-")},
        "spec": {"cidr": cidr, "allocations": allocations, "unallocated": [], "attributes": [{}], **spec},
    }


def pod(name: str = "web-0", *addresses: str, key: str = KEY, uid: str = "", phase: str = "Running", **metadata: Any) -> Json:
    """A pod that carries *addresses*."""
    annotations = {"cni.projectcalico.org/ipAddrs": json.dumps(addresses), "gatehouse.dev/reservation-key": key}
    labels = {"allocated-ip": addresses[0], "gatehouse.dev/ip-pool": "web"} if addresses else {}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": "shop",
            "labels": labels,
            "annotations": annotations if addresses else {},
            **({"uid": uid} if uid else {}),
            **metadata,
        },
        "spec": {"nodeName": "edge-1"},
        "status": {"phase": phase},
    }
