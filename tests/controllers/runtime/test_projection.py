"""From the API server's bytes to facts."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from controllers.runtime import errors
from controllers.runtime.errors import UndecodableObject
from controllers.runtime.projection import (
    node_facts_from_object,
    nodes_resource,
    pod_facts_from_object,
    pods_resource,
)
from controllers.runtime.resource import Added, Bookmark, Removed, Skipped
from tests.controllers.runtime.builders import NODES, PODS, Json, bookmark, event, node, pod
from webhook.cluster import NodeFacts, PodFacts, Status, Taint, Vote
from webhook.names import APP_LABEL, INJECT, INJECT_ENTRIES, INJECTED, VOTE_ANNOTATION, Reason
from webhook.objects.pods import MIRROR_ANNOTATION
from webhook.objects.votes import Protocol, VotePolicy
from webhook.sidecars.wish import NO_WISH, Wish


def node_facts(policy: VotePolicy = VotePolicy(), **changes: Any) -> NodeFacts:
    return node_facts_from_object({**node(), **changes}, policy)


def pod_facts(**changes: Any) -> PodFacts:
    return pod_facts_from_object({**pod(), **changes})


def listed(*objects: Json, kind: str = "NodeList", version: str = "5", **metadata: str) -> bytes:
    return json.dumps({"kind": kind, "metadata": {"resourceVersion": version, **metadata}, "items": objects}).encode()


def sent(kind: str, obj: Json) -> bytes:
    return json.dumps(event(kind, obj)).encode()


# -- nodes


def test_a_node_keeps_what_rules_read() -> None:
    facts = node_facts(
        VotePolicy(time_annotation="votes/time"),
        metadata={
            "name": "edge-1",
            "uid": "u1",
            "labels": {"zone": "a"},
            "annotations": {VOTE_ANNOTATION: "true", "votes/time": "2026-01-01T00:00:10Z", "other": "x" * 5000},
            "managedFields": [{"fieldsV1": {"f:spec": {}}}],
        },
        spec={"unschedulable": True, "taints": [{"key": "k", "effect": "NoExecute", "timeAdded": "2026-01-01T00:00:00Z"}]},
    )

    assert facts == NodeFacts(
        name="edge-1",
        uid="u1",
        labels={"zone": "a"},
        ready=Status.TRUE,
        ready_since_s=1767225600.0,
        vote=Vote.HEALTHY,
        vote_time_s=1767225610.0,
        taints=(Taint("k", "", "NoExecute"),),
        kubelet_version="v1.37.2",
        unschedulable=True,
    )


@pytest.mark.parametrize("status", [None, {}, {"conditions": None}, {"conditions": [{"type": "DiskPressure"}]}])
def test_a_node_without_a_ready_condition_has_no_status(status: Json | None) -> None:
    assert node_facts(status=status).ready is None


def test_a_status_that_the_api_does_not_know_is_none() -> None:
    assert node_facts(status={"conditions": [{"type": "Ready", "status": "Maybe"}]}).ready is None


def test_a_time_that_cannot_be_read_is_none() -> None:
    condition = {"type": "Ready", "status": "True", "lastTransitionTime": "yesterday"}

    assert node_facts(status={"conditions": [condition]}).ready_since_s is None


def test_only_the_annotations_of_the_vote_are_looked_at() -> None:
    annotations = {VOTE_ANNOTATION: "false", "broken": 5}

    facts = node_facts(metadata={"name": "a", "annotations": annotations})

    assert facts.vote is Vote.UNHEALTHY


def test_the_other_dialect_of_votes_is_read_by_its_own_key() -> None:
    policy = VotePolicy(protocol=Protocol.SUPEREDGE)

    assert node_facts(policy).vote is Vote.HEALTHY
    assert node_facts(policy, metadata={"name": "a", "annotations": {"nodeunhealth": "yes"}}).vote is Vote.UNHEALTHY


def test_null_reads_as_absent_everywhere() -> None:
    facts = node_facts(metadata={"name": "a", "labels": {"x": None}, "annotations": None}, spec=None, status=None)

    assert (facts.labels, facts.taints, facts.vote) == ({"x": ""}, (), Vote.UNKNOWN)


# -- pods


def test_a_pod_keeps_what_rules_read() -> None:
    facts = pod_facts(
        metadata={
            "name": "web-1",
            "namespace": "shop",
            "uid": "u1",
            "creationTimestamp": "2025-12-31T23:00:00Z",
            "deletionTimestamp": "2026-01-01T00:00:00Z",
            "labels": {INJECT_ENTRIES: "logs"},
            "annotations": {
                INJECT: "true",
                INJECTED: '[{"entry":"mesh","source":"shop/x","revision":"1a"},{"entry":"logs"}]',
                "other": "x" * 5000,
            },
            "ownerReferences": [
                {"kind": "Policy", "name": "p"},
                {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": "u2", "controller": True},
            ],
        }
    )

    assert facts == PodFacts(
        uid="u1",
        namespace="shop",
        name="web-1",
        node="edge-1",
        phase="Running",
        deleting=True,
        ready=Status.TRUE,
        ready_reason="",
        containers_ready=Status.TRUE,
        gates_met=True,
        owner="ReplicaSet/web",
        owner_api_version="apps/v1",
        owner_uid="u2",
        wish=Wish(annotation="true", labelled_entries="logs"),
        obstacle=None,
        injected=("mesh", "logs"),
        revisions=("1a", ""),
        created_s=1767222000.0,
    )


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"spec": {"hostNetwork": True}}, Reason.HOST_NETWORK),
        ({"spec": {"os": {"name": "windows"}}}, Reason.WINDOWS_POD),
        ({"metadata": {"name": "a", "namespace": "kube-system"}}, Reason.SYSTEM_NAMESPACE),
        ({"metadata": {"name": "a", "labels": {APP_LABEL: "gatehouse"}}}, Reason.OWN_OBJECT),
        ({"metadata": {"name": "a", "annotations": {MIRROR_ANNOTATION: None}}}, Reason.MIRROR_POD),
    ],
)
def test_a_pod_keeps_what_stands_in_the_way_of_injection(changes: Json, reason: Reason) -> None:
    assert pod_facts(**changes).obstacle is reason


def test_pods_that_say_nothing_share_one_wish() -> None:
    assert pod_facts().wish is pod_facts(metadata={"name": "b", "annotations": {"other": "x"}}).wish is NO_WISH


@pytest.mark.parametrize("status", ["", "[", "{}", '[{"source":"shop/x"}]', "[1]", "\ud800"])
def test_a_status_annotation_that_is_not_ours_names_no_entry(status: str) -> None:
    assert pod_facts(metadata={"name": "a", "annotations": {INJECTED: status}}).injected == ()


@pytest.mark.parametrize(
    ("conditions", "met"),
    [([], False), ([{"type": "lb", "status": "False"}], False), ([{"type": "lb", "status": "True"}], True)],
)
def test_every_readiness_gate_needs_its_condition(conditions: list[Json], met: bool) -> None:
    spec = {"readinessGates": [{"conditionType": "lb"}]}

    assert pod_facts(spec=spec, status={"conditions": conditions}).gates_met is met


def test_a_bare_pod_has_no_node_owner_or_phase() -> None:
    facts = pod_facts_from_object({"metadata": {"name": "a"}})

    assert (facts.namespace, facts.node, facts.owner, facts.phase, facts.gates_met) == ("default", "", "", "", True)


# -- files


@pytest.mark.parametrize(
    ("obj", "message"),
    [
        ({**node(), "spec": {"taints": {}}}, r'Node "edge-1": Expected `array | null`, got `object` - at `\$.spec.taints`'),
        ({**node(), "metadata": {"name": 5}}, r'Node "": Expected `str | null`, got `int` - at `\$.metadata.name`'),
        ({"kind": "Node", "metadata": {}}, r'Node "": metadata.name is missing'),
        ({"kind": "Node", "metadata": []}, r'Node "": Expected `object`, got `array` - at `\$.metadata`'),
    ],
)
def test_an_object_of_a_file_with_wrong_types_is_named(obj: Json, message: str) -> None:
    with pytest.raises(UndecodableObject, match=message.replace("|", r"\|")):
        node_facts_from_object(obj, VotePolicy())


# -- pages


def test_a_page_has_items_version_and_token() -> None:
    page = NODES.projection.page(listed(node("a", uid="u", resourceVersion="3"), version="9", **{"continue": "t"}))

    assert [(item.key, item.uid, item.version) for item in page.items] == [("a", "u", "3")]
    assert (page.version, page.token) == ("9", "t")


def test_an_empty_list_has_no_items() -> None:
    assert NODES.projection.page(b'{"kind":"NodeList","metadata":{"resourceVersion":"5"},"items":null}').items == ()


def test_pods_are_keyed_by_namespace_and_name() -> None:
    assert [item.key for item in PODS.projection.page(listed(pod(), kind="PodList")).items] == ["shop/web-1"]


@pytest.mark.parametrize(
    "broken",
    [
        {"metadata": {"name": "b", "labels": 5}},
        {"metadata": {"name": "b"}, "spec": []},
        {"metadata": {"uid": "nameless"}},
        [],
        None,
    ],
)
def test_broken_objects_of_a_page_do_not_lose_the_others(broken: Any) -> None:
    page = NODES.projection.page(listed(node("a"), broken, node("c"), version="9", **{"continue": "t"}))

    assert [item.key for item in page.items] == ["a", "c"]
    assert [one.key for one in page.broken] in (["b"], [""])
    assert (page.version, page.token) == ("9", "t")


@pytest.mark.parametrize(
    "body",
    [b"", b"[]", b"null", b'{"kind":"Table"}', b'{"kind":"NodeList","items":5}', b'{"items":[]}', listed(node())[:-9]],
)
def test_what_is_no_list_of_the_kind_is_undecodable(body: bytes) -> None:
    with pytest.raises(errors.UndecodableAnswer):
        NODES.projection.page(body)


# -- events


def test_events_say_what_happened() -> None:
    projection = NODES.projection
    item = projection.convert(node("a"))

    assert projection.event(sent("ADDED", node("a"))) == Added(item)
    assert projection.event(sent("MODIFIED", node("a"))) == Added(item)
    assert projection.event(sent("DELETED", node("a"))) == Removed(item)


def test_bookmarks_may_end_the_initial_events() -> None:
    assert NODES.projection.event(json.dumps(bookmark(7)).encode()) == Bookmark("7")
    assert NODES.projection.event(json.dumps(bookmark(7, end=True)).encode()) == Bookmark("7", initial_events_end=True)


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        (sent("ADDED", pod()), "wrong-type"),
        (sent("ADDED", {**node(), "apiVersion": "v2"}), "wrong-type"),
        (sent("ADDED", {"kind": "Pod", "apiVersion": "v1", "metadata": 5}), "wrong-type"),
        (sent("ADDED", {**node(), "spec": 5}), "undecodable"),
        (sent("ADDED", {"kind": "Node", "apiVersion": "v1", "metadata": {}}), "undecodable"),
        (sent("EXPLODED", node()), "unknown-event"),
        (sent("BOOKMARK", pod(resourceVersion="5")), "wrong-type"),
        (sent("BOOKMARK", node()), "wrong-type"),
        (sent("BOOKMARK", {"metadata": 5}), "undecodable"),
        (b'{"type":"ADDED","object":{"kind":"Node","apiVersion":"v1","metadata":{"name":"\xff"}}}', "undecodable"),
        (b'{"type":"ADDED","object":null}', "wrong-type"),
    ],
)
def test_an_unusable_event_is_skipped(line: bytes, kind: str) -> None:
    skipped = NODES.projection.event(line)

    assert isinstance(skipped, Skipped)
    assert skipped.kind == kind


@pytest.mark.parametrize("line", [b"<html>", b"{}", b"[]", b'{"type":"ADDED"}', b'{"type":"ADDED","object":{}', b"\xff"])
def test_a_line_that_is_no_event_is_undecodable(line: bytes) -> None:
    with pytest.raises(errors.UndecodableAnswer):
        NODES.projection.event(line)


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        ({"code": 410, "reason": "Expired"}, errors.Gone),
        ({"reason": "Expired"}, errors.Gone),
        ({"code": 410}, errors.Gone),
        ({"code": 500, "reason": "InternalError"}, errors.ServerError),
        ({"code": 429}, errors.Throttled),
        ({}, errors.ServerError),
        ({"code": "x"}, errors.ServerError),
    ],
)
def test_an_error_event_is_its_error(status: Json, kind: type[Exception]) -> None:
    with pytest.raises(kind):
        NODES.projection.event(sent("ERROR", {"kind": "Status", **status}))


def test_a_single_object_is_read_like_one_of_a_list() -> None:
    body = msgspec.json.encode(node("a", uid="u", resourceVersion="3"))

    assert NODES.projection.item(body) == NODES.projection.convert(node("a", uid="u", resourceVersion="3"))


def test_label_values_are_shared_between_nodes() -> None:
    one, two = (NODES.projection.item(msgspec.json.encode(node(name, labels={"zone": "a-b"}))) for name in "ab")

    assert one.facts.labels["zone"] is two.facts.labels["zone"]


def test_page_event_single_object_and_file_give_the_same_facts() -> None:
    whole = node("a", uid="u", resourceVersion="3", labels={"zone": "z"}, annotations={VOTE_ANNOTATION: "true"})
    projection = NODES.projection

    page = projection.page(listed(whole)).items[0]
    streamed = projection.event(sent("ADDED", whole))

    assert streamed == Added(page)
    assert page == projection.item(msgspec.json.encode(whole)) == projection.convert(whole)


def test_resources_name_their_collections() -> None:
    assert (nodes_resource(VotePolicy()).path, pods_resource().path) == ("/api/v1/nodes", "/api/v1/pods")
