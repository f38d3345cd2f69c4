"""Addresses of Endpoints (core/v1) and of EndpointSlices (discovery.k8s.io/v1), one shape for both. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from webhook.objects import meta


class Address(msgspec.Struct, frozen=True, gc=False):
    """One published address: equal when it is the same address of the same pod.

    A struct and not an attrs class: one is made for each of up to thousands of addresses, in an eighth of the time.
    """

    ip: str  # of an EndpointSlice the first of addresses, which are interchangeable
    node: str  # "" when it has none
    pod: str  # "namespace/name", "" when it does not stand for a pod
    uid: str  # of that pod, "" when not given


def subset_address(item: Mapping[str, Any], path: str) -> Address:
    """An element of Endpoints' addresses or notReadyAddresses."""
    return _address(meta.text(item, "ip", path), item, path)


def slice_address(endpoint: Mapping[str, Any], path: str) -> Address:
    """An element of an EndpointSlice's endpoints."""
    addresses = meta.sequence(endpoint, "addresses", path)
    first = addresses[0] if addresses and isinstance(addresses[0], str) else ""
    return _address(first, endpoint, path)


def ready_in_endpoints(endpoints: Mapping[str, Any]) -> frozenset[Address]:
    """The addresses that *endpoints* lists as ready. O(addresses)."""
    return frozenset(
        subset_address(item, f"subsets[{index}].addresses[]")
        for index, subset in enumerate(meta.objects(endpoints, "subsets", ""))
        for item in meta.objects(subset, "addresses", f"subsets[{index}]")
    )


def ready_in_slice(endpoint_slice: Mapping[str, Any]) -> frozenset[Address]:
    """The endpoints that *endpoint_slice* lists as serving. O(endpoints)."""
    ready = set()
    for index, endpoint in enumerate(meta.objects(endpoint_slice, "endpoints", "")):
        path = f"endpoints[{index}]"
        conditions, where = meta.mapping(endpoint, "conditions", path), f"{path}.conditions"
        if meta.boolean(conditions, "terminating", where):
            continue
        serving = meta.boolean(conditions, "serving", where)
        # With publishNotReadyAddresses `ready` says nothing about the pod; `serving` does, and follows ready when absent.
        if (serving if serving is not None else meta.boolean(conditions, "ready", where)) is not False:
            ready.add(slice_address(endpoint, path))
    return frozenset(ready)


def _address(ip: str, item: Mapping[str, Any], path: str) -> Address:
    node, target = item.get("nodeName"), item.get("targetRef")
    if type(node) is str and type(target) is dict and target.get("kind") == "Pod":
        namespace, name, uid = target.get("namespace"), target.get("name"), target.get("uid")
        if type(namespace) is type(name) is type(uid) is str and name:
            return Address(ip, node, f"{namespace}/{name}", uid)
    return _address_in_part(ip, item, path)


def _address_in_part(ip: str, item: Mapping[str, Any], path: str) -> Address:
    """What there is of an address that is not plainly a pod's. Raises MalformedObject."""
    target = meta.mapping(item, "targetRef", path)
    is_pod = bool(target) and target.get("kind") == "Pod"
    where = f"{path}.targetRef"
    name = meta.text(target, "name", where) if is_pod else ""
    return Address(
        ip,
        meta.text(item, "nodeName", path),
        f"{meta.text(target, 'namespace', where)}/{name}" if name else "",
        meta.text(target, "uid", where) if is_pod else "",
    )
