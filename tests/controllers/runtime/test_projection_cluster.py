"""From the API server's bytes to the facts of namespaces, sidecar ConfigMaps, LimitRanges and ResourceQuotas."""

from __future__ import annotations

import json

import pytest

from controllers.runtime.errors import UndecodableAnswer, UndecodableObject
from controllers.runtime.projection_cluster import (
    ConfigMapFacts,
    config_map_facts_from_object,
    labelled_config_maps_resource,
    limit_range_from_object,
    name_in,
    named_config_maps_resource,
    namespace_facts_from_object,
    quota_from_object,
    resource_quotas_resource,
)
from tests.controllers.runtime.builders import Json, config_map, limit_range, namespace, quota
from webhook.cluster import NamespaceFacts
from webhook.objects.quantity import parse


def test_a_namespace_keeps_what_rules_read() -> None:
    facts = namespace_facts_from_object(
        namespace(
            uid="u1",
            labels={"team": "a", "empty": None},
            annotations={"gatehouse.dev/inject": "mesh", "kubectl.kubernetes.io/last-applied-configuration": "x" * 5000},
            deletionTimestamp="2026-01-01T00:00:00Z",
        )
    )

    assert facts == NamespaceFacts("shop", "u1", {"team": "a", "empty": ""}, {"gatehouse.dev/inject": "mesh"}, True)


def test_a_bare_namespace_says_nothing() -> None:
    assert namespace_facts_from_object(namespace()) == NamespaceFacts("shop", "", {}, {}, False)


def test_a_config_map_keeps_its_texts() -> None:
    made = config_map(data={"config": "containers: []", "none": None}, labels={"a": "b"})
    made["metadata"] |= {"uid": "u1", "resourceVersion": "7"}
    made["binaryData"] = {"x": "AA=="}

    facts = config_map_facts_from_object(made)

    data = {"config": "containers: []", "none": ""}
    assert facts == ConfigMapFacts("shop", "envoy-initializer", "u1", "7", {"a": "b"}, data)


def test_only_config_maps_that_hold_sidecars_are_asked_for() -> None:
    assert labelled_config_maps_resource().params == {"labelSelector": "gatehouse.dev/sidecars=true"}
    assert named_config_maps_resource().params == {"fieldSelector": "metadata.name=envoy-initializer"}


def test_a_limit_range_is_read() -> None:
    facts = limit_range_from_object(limit_range(maximum="1Gi"))

    assert (facts.namespace, facts.name) == ("shop", "limits")
    assert facts.items[0].max == {"memory": parse("1Gi")}


def test_a_quota_counts_as_its_status_says() -> None:
    facts = quota_from_object(quota(hard="10", used="3"))

    assert (facts.hard, facts.used) == ({"pods": parse("10")}, {"pods": parse("3")})


def test_a_quota_without_a_status_counts_as_its_spec_says() -> None:
    facts = quota_from_object({**quota(hard="10"), "status": None})

    assert (facts.hard, facts.used) == ({"pods": parse("10")}, {})


@pytest.mark.parametrize(
    ("obj", "message"),
    [
        (
            {**quota(), "status": {"hard": {"pods": "many"}}},
            'ResourceQuota "quota": status.hard.pods: "many" is not a quantity',
        ),
        ({**quota(), "spec": []}, 'ResourceQuota "quota": spec: expected an object, found a list'),
        ({"metadata": {}}, "metadata.name is missing"),
    ],
)
def test_what_the_api_forbids_is_named(obj: Json, message: str) -> None:
    with pytest.raises(UndecodableObject) as caught:
        quota_from_object(obj)
    assert message in str(caught.value)


def test_one_quota_that_cannot_be_read_costs_itself_only() -> None:
    items = [quota("a"), {**quota("b"), "status": {"hard": {"pods": "many"}}}]
    page = resource_quotas_resource().projection.page(
        json.dumps({"kind": "ResourceQuotaList", "metadata": {"resourceVersion": "5"}, "items": items}).encode()
    )

    assert [item.key for item in page.items] == ["shop/a"]
    assert [broken.key for broken in page.broken] == ["shop/b"]


def test_the_name_is_all_that_is_read_of_metadata_alone() -> None:
    assert name_in(b'{"kind":"PartialObjectMetadata","metadata":{"name":"settings"}}') == "settings"


@pytest.mark.parametrize("body", [b"<html>", b"{}", b'{"metadata":{"name":3}}'])
def test_an_answer_without_a_name_is_none(body: bytes) -> None:
    with pytest.raises(UndecodableAnswer):
        name_in(body)
