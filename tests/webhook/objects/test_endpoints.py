"""Addresses of Endpoints and of EndpointSlices: the same address of the same pod is the same in both."""

from __future__ import annotations

from typing import Any

import pytest

from webhook.errors import MalformedObject
from webhook.objects.endpoints import Address, ready_in_endpoints, ready_in_slice, slice_address, subset_address
from webhook.objects.meta import Json

TARGET: Json = {"kind": "Pod", "namespace": "shop", "name": "web-1", "uid": "u1"}
REST: Json = {"nodeName": "edge-1", "targetRef": TARGET}
FULL = Address("10.0.0.1", "edge-1", "shop/web-1", "u1")


def test_both_shapes_of_one_address_are_equal() -> None:
    assert subset_address({"ip": "10.0.0.1", **REST}, "") == FULL
    assert slice_address({"addresses": ["10.0.0.1"], **REST}, "") == FULL


@pytest.mark.parametrize(
    ("rest", "expected"),
    [
        ({}, ("", "", "")),
        ({"nodeName": None, "targetRef": None}, ("", "", "")),
        ({"nodeName": "edge-1"}, ("edge-1", "", "")),
        ({"targetRef": TARGET}, ("", "shop/web-1", "u1")),
        ({"nodeName": "edge-1", "targetRef": {**TARGET, "kind": "Node"}}, ("edge-1", "", "")),
        ({"nodeName": "edge-1", "targetRef": {**TARGET, "uid": None}}, ("edge-1", "shop/web-1", "")),
        ({"nodeName": "edge-1", "targetRef": {**TARGET, "namespace": None}}, ("edge-1", "/web-1", "u1")),
        ({"nodeName": "edge-1", "targetRef": {**TARGET, "name": ""}}, ("edge-1", "", "u1")),
        ({"nodeName": "edge-1", "targetRef": {"kind": ["Pod"], "name": 5}}, ("edge-1", "", "")),
    ],
)
def test_what_an_address_does_not_say_is_empty(rest: Json, expected: tuple[str, str, str]) -> None:
    assert subset_address({"ip": "10.0.0.1", **rest}, "") == Address("10.0.0.1", *expected)


@pytest.mark.parametrize(
    ("addresses", "ip"), [(["10.0.0.1", "10.0.0.2"], "10.0.0.1"), ([], ""), (None, ""), ([None], ""), ([5], "")]
)
def test_of_interchangeable_addresses_the_first_counts(addresses: Any, ip: str) -> None:
    assert slice_address({"addresses": addresses}, "").ip == ip


@pytest.mark.parametrize(
    ("item", "message"),
    [
        ({"ip": 5}, "subsets.ip: expected a string"),
        ({"nodeName": 5}, "subsets.nodeName: expected a string"),
        ({"targetRef": []}, "subsets.targetRef: expected an object"),
        ({"targetRef": {**TARGET, "name": 5}}, "subsets.targetRef.name: expected a string"),
        ({"targetRef": {**TARGET, "namespace": {}}}, "subsets.targetRef.namespace: expected a string"),
        ({"nodeName": "edge-1", "targetRef": {**TARGET, "uid": 5}}, "subsets.targetRef.uid: expected a string"),
    ],
)
def test_a_field_of_a_type_that_the_api_forbids_is_named(item: Json, message: str) -> None:
    with pytest.raises(MalformedObject, match=message):
        subset_address(item, "subsets")


def test_ready_addresses_are_those_of_every_subset() -> None:
    subsets = [
        {"addresses": [{"ip": "10.0.0.1"}], "notReadyAddresses": [{"ip": "10.0.0.2"}]},
        {"addresses": [{"ip": "10.0.0.3"}, {"ip": "10.0.0.1"}]},
        {"addresses": None},
        {},
    ]

    assert {one.ip for one in ready_in_endpoints({"subsets": subsets})} == {"10.0.0.1", "10.0.0.3"}
    assert ready_in_endpoints({}) == frozenset()


@pytest.mark.parametrize(
    ("conditions", "is_ready"),
    [
        (None, True),  # absent: ready, and serving as ready (discovery/v1 EndpointConditions)
        ({}, True),
        ({"ready": None, "serving": None}, True),
        ({"ready": True}, True),
        ({"ready": False}, False),
        ({"ready": False, "serving": True}, True),
        ({"ready": True, "serving": False}, False),  # publishNotReadyAddresses
        ({"ready": True, "terminating": True}, False),
        ({"ready": False, "serving": True, "terminating": True}, False),
        ({"ready": True, "terminating": False}, True),
    ],
)
def test_an_endpoint_is_ready_when_it_serves_and_does_not_terminate(conditions: Json | None, is_ready: bool) -> None:
    endpoint = {"addresses": ["10.0.0.1"], "conditions": conditions, **REST}

    assert ready_in_slice({"endpoints": [endpoint]}) == (frozenset([FULL]) if is_ready else frozenset())


@pytest.mark.parametrize(
    ("endpoints", "message"),
    [
        ({}, "endpoints: expected a list"),
        ([None], r"endpoints\[0\]: expected an object"),
        ([{}, {"conditions": []}], r"endpoints\[1\].conditions: expected an object"),
        ([{"conditions": {"ready": "yes"}}], r"endpoints\[0\].conditions.ready: expected true or false"),
        ([{"conditions": {"terminating": 1}}], r"endpoints\[0\].conditions.terminating: expected true or false"),
        ([{"addresses": "10.0.0.1"}], r"endpoints\[0\].addresses: expected a list"),
    ],
)
def test_a_slice_of_the_wrong_shape_is_named(endpoints: Any, message: str) -> None:
    with pytest.raises(MalformedObject, match=message):
        ready_in_slice({"endpoints": endpoints})
