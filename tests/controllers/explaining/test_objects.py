"""What is known of an object, and what its kind may be called. What the command shows of it: cli/test_explain_kinds."""

from __future__ import annotations

from typing import Any

import attrs
import pytest

from controllers.explaining.asking import Panel
from controllers.explaining.objects import Memory, Target, report_of, resources_of, workload_questions
from controllers.explaining.report import Report
from webhook.admission.registry import SERVICES
from webhook.admission.review import Operations
from webhook.admission.service import ANY, Entry, Match, Service
from webhook.admission.settings import Settings
from webhook.clock import Deadline
from webhook.errors import MalformedObject
from webhook.objects import nodes
from webhook.objects.databases import FINALIZER
from webhook.objects.meta import Json
from webhook.objects.votes import VotePolicy
from webhook.objects.workloads import workload_of
from webhook.testing.facts import cluster as cluster_of
from webhook.testing.given import NOW, Given
from webhook.testing.golden import FixedClock

SILENT = {"type": "Ready", "status": "Unknown", "lastTransitionTime": "2026-11-29T09:59:00Z"}


def panel(services: tuple[Service, ...] = SERVICES, cached: Json | None = None, **given: Any) -> Panel:
    facts = Given.read({"now": NOW, **given})
    cluster = facts.cluster()
    if cached is not None:  # a Node that the cache has
        cluster = attrs.evolve(cluster, nodes=cluster_of([nodes.facts(cached, cached, VotePolicy())]).nodes)
    bound = [one.bind(Settings(), cluster) for one in services]
    return Panel(bound, cluster, facts.now_s, Deadline.after(5.0, FixedClock(facts.now_s)))


def looking_at(*resources: str) -> tuple[Service, ...]:
    """A service without rules that is asked about these."""
    entry = Entry(tuple(Match("", "v1", one, (Operations.CREATE,)) for one in resources))
    return (Service("whim", "/whim", (entry,), lambda settings, cluster: (), False),)


def report(kind: str, obj: Json, namespace: str = "", memory: Memory | None = None, **given: Any) -> Report:
    return report_of(Target(kind, obj, namespace), panel(**given), VotePolicy(), memory)


def known(found: Report) -> dict[str, str]:
    return dict(found.facts)


def node(**status: Any) -> Json:
    vote = {"superedgehealth/node-health": "true"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": "edge-1", "uid": "u1", "annotations": vote},
        "status": {"conditions": [{**SILENT, **status}]},
    }


# -- the words for an object


@pytest.mark.parametrize(
    ("obj", "namespace", "subject"),
    [
        ({"kind": "Node", "metadata": {"name": "edge-1"}}, "", "Node edge-1"),
        ({"kind": "Pod", "metadata": {"generateName": "web-"}}, "shop", "Pod shop/web-…"),
        ({}, "", "object (no name)"),
        ({"kind": ["Pod"], "metadata": {"name": "a"}}, "", "object a"),
    ],
)
def test_the_subject_is_kind_and_name(obj: Json, namespace: str, subject: str) -> None:
    assert Target("object", obj, namespace).subject == subject


# -- nodes


def test_a_node_that_the_cache_lacks_is_said_to_be_missing_there() -> None:
    found = report("node", node())

    assert known(found)["cache"] == "has no such node"
    assert (found.details["cached"], found.details["cacheDiffers"]) == (False, None)


def test_a_node_that_is_as_the_cache_has_it_needs_no_word_about_it() -> None:
    found = report("node", node(), cached=node())

    assert "cache" not in known(found)
    assert (found.details["cached"], found.details["cacheDiffers"]) == (True, "")


@pytest.mark.parametrize(
    ("cached", "difference"),
    [
        (node(status="True"), "Ready is True there"),
        ({**node(), "metadata": {"name": "edge-1", "uid": "u1"}}, "vote is unknown there"),
        ({**node(), "metadata": {**node()["metadata"], "uid": "u2"}}, "uid is u2 there"),
        ({**node(), "spec": {"taints": [{"key": "a", "effect": "NoExecute"}]}}, "other taints there"),
    ],
)
def test_what_the_cache_believes_otherwise_is_named(cached: Json, difference: str) -> None:
    found = report("node", node(), cached=cached)

    assert known(found)["cache"] == f"differs: {difference}"
    assert found.details["cacheDiffers"] == difference


def test_pods_of_a_node_are_counted_with_those_that_are_ready() -> None:
    pods = [
        {"name": "a", "node": "edge-1", "ready": "True"},
        {"name": "b", "node": "edge-1", "ready": "False"},
        {"name": "c", "node": "edge-2", "ready": "True"},
    ]

    found = report("node", node(), pods=pods)

    assert known(found)["pods"] == "2 on it, 1 ready"
    assert found.details["pods"] == 2


def test_a_node_that_says_nothing_has_null_where_nothing_is_known() -> None:
    found = report("node", {"kind": "Node", "metadata": {"name": "a"}}).details

    assert (found["ready"], found["readySince"], found["voteTime"]) == (None, None, None)


# -- endpoints


def test_an_address_without_pod_or_node_has_dashes() -> None:
    obj = {"kind": "Endpoints", "metadata": {"name": "web"}, "subsets": [{"addresses": [{"ip": "10.0.0.1"}]}]}

    found = report("endpoint", obj, "shop")

    assert found.parts is not None
    assert [row[:4] for row in found.parts.rows] == [("10.0.0.1", "–", "–", "yes")]
    assert (found.details["addresses"], found.details["ready"], found.details["kept"]) == (1, 1, 0)


def test_the_silent_nodes_under_an_endpoint_are_named_once() -> None:
    items = [{"ip": f"10.0.0.{number}", "nodeName": on} for number, on in enumerate(("b", "a", "b", "well", "gone"))]
    facts = [{"name": "a", "ready": "Unknown"}, {"name": "b", "ready": "Unknown"}, {"name": "well", "ready": "True"}]

    found = report("endpoint", {"kind": "Endpoints", "subsets": [{"notReadyAddresses": items}]}, "shop", nodes=facts)

    assert found.details["silentNodes"] == ["a", "b"]
    assert known(found)["silent nodes"] == "a, b"


# -- instances


def instance(**metadata: Any) -> Json:
    return {
        "apiVersion": "gatehouse.dev/v1",
        "kind": "DatabaseInstance",
        "metadata": {"name": "db", "namespace": "shop", **metadata},
        "spec": {"deletionPolicy": "Delete"},
        "status": {"conditions": [{"type": "Ready", "status": "True", "message": "well"}, {"type": "Odd"}]},
    }


@pytest.mark.parametrize(
    ("metadata", "verdict"),
    [
        ({}, "not protected"),
        ({"finalizers": ["another.example.com/one"]}, "not protected"),
        ({"finalizers": [FINALIZER]}, "protected"),
        ({"finalizers": [FINALIZER], "deletionTimestamp": NOW}, "being deleted"),
    ],
)
def test_an_instance_is_protected_by_our_finalizer_alone(metadata: Json, verdict: str) -> None:
    assert report("databaseinstance", instance(**metadata), "shop").verdict == verdict


def test_conditions_of_an_instance_are_told_with_what_they_have() -> None:
    found = report("databaseinstance", instance(), "shop")

    assert (known(found)["status Ready"], known(found)["status Odd"]) == ("True, well", "")
    assert found.details["conditions"] == [{"type": "Ready", "text": "True, well"}, {"type": "Odd", "text": ""}]


def test_what_the_leader_remembers_of_an_instance_is_told_under_its_own_key_only() -> None:
    memory = {"shop/db": ("pods", "no answer in time"), "bank/db": ("", "else")}
    deleting = instance(finalizers=[FINALIZER], deletionTimestamp=NOW)

    found = report("databaseinstance", deleting, "shop", memory)
    of_another = report("databaseinstance", deleting, "elsewhere", memory)

    assert "waits: pods" in known(found)["deleted"]
    assert "no answer in time" in known(found)["last pass"]
    assert (found.details["waitsFor"], found.details["failure"]) == ("pods", "no answer in time")
    assert (of_another.details["waitsFor"], of_another.details["failure"]) == (None, None)


# -- anything else


@pytest.mark.parametrize(
    ("kind", "registered", "plurals"),
    [
        ("Pod", ("pods",), ["pods"]),
        ("Pod", ("pods/status",), ["pods"]),
        ("Ingress", ("ingresses",), ["ingresses"]),
        ("NetworkPolicy", ("networkpolicies",), ["networkpolicies"]),
        ("Gateway", ("gateways",), ["gateways"]),
        ("Endpoints", ("endpoints",), ["endpoints"]),
        ("Foo", ("foos", "foo"), ["foo", "foos"]),
        ("Pod", ("nodes",), []),
        ("Pod", (ANY,), ["pods"]),
        ("Policy", (ANY,), ["policies"]),
        ("Class", (ANY,), ["classes"]),
    ],
)
def test_a_kind_is_called_as_a_registration_calls_it(kind: str, registered: tuple[str, ...], plurals: list[str]) -> None:
    obj = {"apiVersion": "example.com/v1", "kind": kind}

    found = resources_of(obj, panel(looking_at(*registered)))

    assert [(one.group, one.version, one.resource) for one in found] == [("example.com", "v1", plural) for plural in plurals]


@pytest.mark.parametrize(
    "obj", [{}, {"apiVersion": "v1"}, {"kind": "Pod"}, {"apiVersion": "v1", "kind": ""}, {"apiVersion": ["v1"], "kind": {}}]
)
def test_what_has_no_kind_is_called_nothing(obj: Json) -> None:
    assert list(resources_of(obj, panel(looking_at(ANY)))) == []


def test_an_object_of_the_core_group_has_no_group() -> None:
    (found,) = resources_of({"apiVersion": "v1", "kind": "Secret"}, panel(looking_at("secrets")))

    assert (found.group, found.version) == ("", "v1")


@pytest.mark.parametrize(
    ("kind", "version", "resources"), [("Pod", "v1", ["pods"]), ("Deployment", "apps/v1", ["pods", "deployments"])]
)
def test_of_a_workload_its_pod_and_itself_are_asked_about(kind: str, version: str, resources: list[str]) -> None:
    obj = {"apiVersion": version, "kind": kind, "metadata": {"name": "web"}}
    workload = workload_of(obj)
    assert workload is not None

    asked = workload_questions(workload, workload.pod(obj), Target("workload", obj, "shop"))

    assert [question.plural for question in asked] == resources


@pytest.mark.parametrize(
    ("kind", "obj", "message"),
    [
        ("node", {"spec": {"taints": "a"}}, "spec.taints: expected a list, found a string"),
        ("endpoint", {"kind": "Endpoints", "subsets": {}}, "subsets: expected a list"),
        ("databaseinstance", {"metadata": {"finalizers": 1}}, "metadata.finalizers: expected a list"),
        ("databaseinstance", {"status": {"conditions": [1]}}, r"status.conditions\[0\]: expected an object"),
        ("object", {"metadata": []}, "metadata: expected an object"),
    ],
)
def test_a_field_of_a_type_that_the_api_forbids_is_named(kind: str, obj: Json, message: str) -> None:
    with pytest.raises(MalformedObject, match=message):
        report(kind, obj)
