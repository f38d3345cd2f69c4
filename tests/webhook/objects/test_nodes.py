"""What a review says of a node."""

from __future__ import annotations

from typing import Any

import pytest

from webhook.cluster import Status, Taint, Vote
from webhook.errors import MalformedObject
from webhook.objects.meta import Json
from webhook.objects.nodes import facts, is_unreachable_no_execute, taints
from webhook.objects.votes import VotePolicy

VOTES = VotePolicy()
NODE: Json = {
    "metadata": {
        "name": "edge-1",
        "uid": "u1",
        "labels": {"zone": "north"},
        "annotations": {"superedgehealth/node-health": "true"},
    },
    "spec": {"taints": [{"key": "a", "effect": "NoSchedule"}, {"key": "b", "value": "c", "effect": "NoExecute"}]},
    "status": {"conditions": [{"type": "Ready", "status": "Unknown", "lastTransitionTime": "2026-01-01T00:00:00Z"}]},
}


def test_a_node_is_its_facts() -> None:
    found = facts(NODE, NODE, VOTES)

    assert (found.name, found.uid, found.labels, found.vote) == ("edge-1", "u1", {"zone": "north"}, Vote.HEALTHY)
    assert (found.ready, found.ready_since_s) == (Status.UNKNOWN, 1767225600.0)
    assert found.taints == (Taint("a", "", "NoSchedule"), Taint("b", "c", "NoExecute"))
    assert not found.unschedulable


def test_readiness_is_that_of_the_stored_object_and_all_else_of_the_new_one() -> None:
    sent = {**NODE, "spec": {"unschedulable": True}, "status": {"conditions": [{"type": "Ready", "status": "True"}]}}

    found = facts(sent, NODE, VOTES)

    assert (found.ready, found.taints, found.unschedulable) == (Status.UNKNOWN, (), True)


@pytest.mark.parametrize("node", [{}, {"metadata": None, "spec": None, "status": None}, {"spec": {"taints": None}}])
def test_a_node_that_says_nothing_is_no_error(node: Json) -> None:
    found = facts(node, node, VOTES)

    assert (found.name, found.ready, found.ready_since_s, found.vote, found.taints) == ("", None, None, Vote.UNKNOWN, ())


@pytest.mark.parametrize(
    ("node", "message"),
    [
        ({"metadata": []}, "metadata: expected an object"),
        ({"metadata": {"name": 1}}, "metadata.name: expected a string"),
        ({"metadata": {"labels": {"a": 1}}}, "metadata.labels.a: expected a string"),
        ({"spec": {"taints": {}}}, "spec.taints: expected a list"),
        ({"spec": {"taints": [None]}}, r"spec.taints\[0\]: expected an object"),
        ({"spec": {"taints": [{"key": 1}]}}, "spec.taints.key: expected a string"),
        ({"spec": {"unschedulable": "yes"}}, "spec.unschedulable: expected true or false"),
        ({"status": {"conditions": [1]}}, r"status.conditions\[0\]: expected an object"),
    ],
)
def test_a_field_of_a_type_that_the_api_forbids_is_named(node: Json, message: str) -> None:
    with pytest.raises(MalformedObject, match=message):
        facts(node, node, VOTES)


def test_taints_keep_their_order() -> None:
    assert [taint["key"] for taint in taints(NODE)] == ["a", "b"]


@pytest.mark.parametrize(
    ("taint", "evicts"),
    [
        ({"key": "node.kubernetes.io/unreachable", "effect": "NoExecute", "timeAdded": "2026-01-01T00:00:00Z"}, True),
        ({"key": "node.kubernetes.io/unreachable", "effect": "NoSchedule"}, False),
        ({"key": "node.kubernetes.io/not-ready", "effect": "NoExecute"}, False),
        ({"key": "node.kubernetes.io/unreachable"}, False),
        ({"key": ["node.kubernetes.io/unreachable"], "effect": {}}, False),
        ({}, False),
    ],
)
def test_only_one_taint_is_that_of_a_silent_node(taint: dict[str, Any], evicts: bool) -> None:
    assert is_unreachable_no_execute(taint) is evicts
