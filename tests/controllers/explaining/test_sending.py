"""Whether a registration brings a review to its service is told as the API server would decide it."""

from __future__ import annotations

from typing import Any

import pytest

from controllers.explaining.questions import ANYBODY, NODES, PODS, Question
from controllers.explaining.sending import Sent, sent
from webhook.admission.registry import by_name
from webhook.admission.review import Operations
from webhook.admission.service import Entry, Match
from webhook.objects.meta import Json
from webhook.testing.given import Given

POD: Json = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web", "namespace": "shop"}, "spec": {}}


def ask(service: str, obj: Json, namespace: str = "shop", *, labels: dict[str, str] | None = None, known: bool = True) -> Any:
    entries = by_name(service).entries
    assert isinstance(entries, tuple)
    given: Json = {"namespaces": [{"name": namespace, "labels": labels or {}}] if known else []}
    question = Question("", PODS, Operations.CREATE, ANYBODY, obj, namespace=namespace)
    return sent(entries, question, Given.read(given).cluster().namespaces)


@pytest.mark.parametrize(
    ("labels", "is_sent"),
    [
        ({}, False),
        ({"sidecar-injector": "enabled"}, True),
        ({"pod-admission-webhook-injection": "enabled"}, True),
        ({"sidecar-injector": "enabled", "gatehouse.dev/mutate": "disabled"}, False),
    ],
)
def test_the_labels_of_the_namespace_decide(labels: dict[str, str], is_sent: bool) -> None:
    found = ask("mutate", POD, labels=labels)

    assert found.is_sent is is_sent
    assert bool(found.why) is not is_sent


def test_what_is_lacking_is_named() -> None:
    why = ask("mutate", POD).why

    assert why == ("the namespace's labels do not match sidecar-injector=enabled or pod-admission-webhook-injection=enabled")


def test_our_own_objects_are_brought_to_nobody() -> None:
    own = {**POD, "metadata": {"name": "gatehouse", "labels": {"app.kubernetes.io/name": "gatehouse"}}}

    assert "its labels do not match" in ask("mutate", own, labels={"sidecar-injector": "enabled"}).why


def test_of_an_unknown_namespace_it_cannot_be_told() -> None:
    found = ask("mutate", POD, known=False)

    assert (found.is_sent, found.why) == (True, "nobody knows namespace shop: its labels decide whether it is asked")


def test_another_resource_or_operation_is_not_its_business() -> None:
    assert ask("node-taint", POD) is None


def test_conditions_are_named_and_a_cluster_scoped_object_has_no_namespace_to_match() -> None:
    entries = by_name("node-taint").entries
    assert isinstance(entries, tuple)
    question = Question("", NODES, Operations.UPDATE, ANYBODY, {"metadata": {"name": "a"}})

    assert sent(entries, question, Given.read({}).cluster().namespaces) == Sent(True, "", ("not-a-kubelet",))


def test_a_selector_of_namespaces_says_nothing_about_a_node() -> None:
    match = Match("", "v1", "nodes", (Operations.UPDATE,))
    entry = Entry((match,), namespace_selector={"matchLabels": {"a": "b"}})
    question = Question("", NODES, Operations.UPDATE, ANYBODY, {"metadata": {"name": "a"}})

    assert sent((entry,), question, Given.read({}).cluster().namespaces) == Sent(True)
