"""What the cache of pods keeps of fixed addresses."""

from __future__ import annotations

from typing import Any

import pytest

from controllers.runtime.fixed import BY_ADDRESS, BY_RESERVATION
from controllers.runtime.projection import BY_NODE, pod_facts_from_object, pods_resource
from tests.controllers.runtime.builders import Json, pod
from webhook.addresses.address import Address
from webhook.addresses.marks import Marks
from webhook.cluster import PodFacts
from webhook.names import ALLOCATABLE_IPS, ALLOCATED_IP, CALICO_ADDRESSES, IP_GATE, IP_POOL, RESERVATION_KEY


def pod_facts(**changes: Any) -> PodFacts:
    return pod_facts_from_object({**pod(), **changes})


def test_a_pod_that_says_nothing_of_addresses_keeps_nothing_of_them() -> None:
    facts = pod_facts(metadata={"name": "web-1", "labels": {"app": "web"}, "annotations": {"other": "x"}})

    assert facts.fixed is None


def test_a_pod_keeps_what_it_says_of_addresses() -> None:
    facts = pod_facts(
        metadata={
            "name": "web-1",
            "labels": {IP_POOL: "web", ALLOCATED_IP: "10.0.0.1"},
            "annotations": {CALICO_ADDRESSES: '["10.0.0.1","fd00::1"]', RESERVATION_KEY: "k"},
        },
        spec={"schedulingGates": [{"name": "other"}, {"name": IP_GATE}]},
    )

    addresses = (Address.parse("10.0.0.1"), Address.parse("fd00::1"))
    assert facts.fixed == Marks(key="k", addresses=addresses, label="10.0.0.1", gated=True, asks=True)


@pytest.mark.parametrize(
    ("metadata", "spec", "marks"),
    [
        ({"labels": {ALLOCATABLE_IPS: ""}}, {}, Marks(asks=True)),
        ({"labels": {ALLOCATABLE_IPS: None}}, {}, Marks(asks=True)),
        ({"labels": {ALLOCATED_IP: "10.0.0.1"}}, {}, Marks(label="10.0.0.1")),
        ({"annotations": {RESERVATION_KEY: "k"}}, {}, Marks(key="k")),
        ({}, {"schedulingGates": [{"name": IP_GATE}]}, Marks(gated=True)),
        ({}, {"schedulingGates": [{"name": "other"}, {}]}, None),
    ],
)
def test_one_word_is_enough(metadata: Json, spec: Json, marks: Marks | None) -> None:
    assert pod_facts(metadata={"name": "web-1", **metadata}, spec=spec).fixed == marks


def test_an_annotation_that_calico_would_not_take_does_not_cost_the_pod() -> None:
    facts = pod_facts(metadata={"name": "web-1", "annotations": {CALICO_ADDRESSES: "10.0.0.1"}})

    assert facts.fixed is not None
    assert (facts.fixed.addresses, bool(facts.fixed.fault)) == ((), True)


def test_pods_are_found_by_address_and_key_where_it_is_asked_for() -> None:
    metadata = {
        "name": "web-1",
        "labels": {ALLOCATED_IP: "10.0.0.9"},
        "annotations": {CALICO_ADDRESSES: '["10.0.0.1","fd00::1"]', RESERVATION_KEY: "k"},
    }
    indexes = pods_resource(addressed=True).indexes
    facts, other = pod_facts(metadata=metadata), pod_facts(metadata={"name": "web-2"})

    names = {"10.0.0.1", "10.0.0.9", "fd00-0000-0000-0000-0000-0000-0000-0001"}
    assert (set(indexes[BY_ADDRESS](facts)), set(indexes[BY_RESERVATION](facts))) == (names, {"k"})
    assert (set(indexes[BY_ADDRESS](other)), set(indexes[BY_RESERVATION](other))) == (set(), set())
    assert set(pods_resource().indexes) == {BY_NODE}
