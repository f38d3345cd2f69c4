"""Who gets which defaults, and what may not be configured."""

from __future__ import annotations

from typing import Any

import pytest

from tests.webhook.defaults.defaulting import amounts, call, container, default_set, pod, rule
from webhook.admission.review import Operations
from webhook.defaults.sets import faults
from webhook.errors import MalformedObject, Unavailable
from webhook.names import Reason
from webhook.objects.faults import dotted
from webhook.objects.meta import Json
from webhook.objects.pods import MIRROR_ANNOTATION
from webhook.objects.selectors import Selector
from webhook.testing import facts

LABEL = default_set(labels={"team": "core"})


def test_sets_choose_pods_and_namespaces_by_their_labels() -> None:
    sets = (
        default_set("namespace", namespace_selector=Selector.parse("team=core"), annotations={"a": "1"}),
        default_set("other", namespace_selector=Selector.parse("team!=core"), annotations={"b": "1"}),
        default_set("pod", pod_selector=Selector.parse("app=web"), annotations={"c": "1"}),
        default_set("no pod", pod_selector=Selector.parse("app=db"), annotations={"d": "1"}),
    )

    done = call(rule(*sets), pod(metadata={"labels": {"app": "web"}}))

    assert done.pod["metadata"]["annotations"] == {"a": "1", "c": "1"}


@pytest.mark.parametrize(
    ("namespace", "metadata", "reason"),
    [
        ("kube-system", {}, Reason.SYSTEM_NAMESPACE),
        ("shop", {"annotations": {MIRROR_ANNOTATION: "x"}}, Reason.MIRROR_POD),
        ("shop", {"labels": {"app.kubernetes.io/name": "gatehouse"}}, Reason.OWN_OBJECT),
    ],
)
def test_what_is_not_ours_to_change_stays_as_it_is(namespace: str, metadata: Json, reason: Reason) -> None:
    done = call(rule(LABEL), pod(metadata=metadata), namespace)

    assert (done.patch, done.verdict.reason) == ([], reason)


@pytest.mark.parametrize("spec", [{"hostNetwork": True}, {"os": {"name": "windows"}}])
def test_pods_that_get_no_sidecar_get_defaults(spec: Json) -> None:
    assert call(rule(LABEL), pod(**spec)).patch


@pytest.mark.parametrize("operation", [Operations.UPDATE, Operations.DELETE])
def test_only_pods_that_are_created_are_changed(operation: Operations) -> None:
    assert call(rule(LABEL), pod(), operation=operation).verdict.reason is Reason.NOT_APPLICABLE


def test_a_namespace_that_the_cache_lacks_is_asked_of_the_api_server() -> None:
    known = facts.cluster(live_namespaces=[facts.namespace_facts(labels={"team": "core"})])

    done = call(rule(default_set(annotations={"team": "${namespace.labels['team']}"}), cluster=known), pod())

    assert done.pod["metadata"]["annotations"] == {"team": "core"}


def test_where_a_set_asks_for_a_namespace_that_nobody_knows_nothing_is_decided() -> None:
    asks = rule(default_set(namespace_selector=Selector.parse("team=core"), labels={"a": "b"}), cluster=facts.cluster())

    with pytest.raises(Unavailable, match='pod shop/web-1: namespace "shop" is not known'):
        call(asks, pod())


def test_where_no_set_asks_for_the_namespace_nobody_has_to_know_it() -> None:
    assert call(rule(LABEL, cluster=facts.cluster()), pod()).patch


def test_a_pod_of_wrong_types_is_refused_before_anything_is_edited() -> None:
    given = rule(default_set(labels={"a": "b"}, app=amounts({"cpu": "1"})))

    with pytest.raises(MalformedObject, match=r"spec.containers\[0\].resources.requests.cpu"):
        call(given, pod(container(requests={"cpu": "1x"})))


def test_without_sets_nothing_is_done() -> None:
    assert call(rule(), pod()).verdict.reason is Reason.NOTHING_TO_DO


FAULTS: list[tuple[dict[str, Any], str, str]] = [
    ({"labels": {"a b": "x"}}, "[0].labels.a b", "label key"),
    ({"labels": {"a": "x y"}}, "[0].labels.a", "label value"),
    ({"labels": {"a": "${image.digest}"}}, "[0].labels.a", "of image there are"),
    ({"labels": {"a": "${pod.phase}"}}, "[0].labels.a", "is not a placeholder"),
    ({"labels": {"app.kubernetes.io/name": "gatehouse"}}, "[0].labels.app.kubernetes.io/name", "is no default"),
    ({"labels": {"sidecar-injector/inject": "true"}}, "[0].labels.sidecar-injector/inject", "is no default"),
    ({"annotations": {"gatehouse.dev/inject": "a"}}, "[0].annotations.gatehouse.dev/inject", "is no default"),
    ({"annotations": {MIRROR_ANNOTATION: "a"}}, f"[0].annotations.{MIRROR_ANNOTATION}", "is no default"),
    ({"annotations": {"A b": "x"}}, "[0].annotations.A b", "annotation key"),
    (
        {"labels": {"a": "x"}, "pod_selector": Selector.parse("!a")},
        "[0].podSelector",
        "a is a label that a set gives",
    ),
    ({"labels": {"a": "x", "b": "${pod.labels['a']:-y}"}}, "[0].labels.b", "asks for pod.labels['a'], which a set gives"),
    (
        {"annotations": {"a": "x", "b": "${pod.annotations['a']}"}},
        "[0].annotations.b",
        "asks for pod.annotations['a'], which a set gives",
    ),
    ({"app": amounts({"cpu": "-1"})}, "[0].resources.app.requests.cpu", "negative"),
    ({"app": amounts({"cpu": "2"}, {"cpu": "1"})}, "[0].resources.app.requests.cpu", "above the limit"),
    ({"init": amounts({"gpu": "1"})}, "[0].resources.init.requests.gpu", "is no resource of a container"),
    ({"init": amounts({"kubernetes.io/gpu": "1"})}, "[0].resources.init.requests.kubernetes.io/gpu", "no resource"),
    ({"init": amounts({"e.com/gpu": "1.5"})}, "[0].resources.init.requests.e.com/gpu", "no whole number"),
    ({"app": amounts({"e.com/gpu": "1"}, {"e.com/gpu": "2"})}, "[0].resources.app.requests.e.com/gpu", "has to be equal"),
    ({"app": amounts({"hugepages-2Mi": "3Mi"})}, "[0].resources.app.requests.hugepages-2Mi", "whole number of pages"),
    ({"containers": {"x": amounts({"cpus": "1"})}}, "[0].containers.x.requests.cpus", "is no resource of a container"),
]


@pytest.mark.parametrize(("given", "path", "message"), FAULTS, ids=[f"{path}: {message}" for _, path, message in FAULTS])
def test_what_would_be_refused_or_change_its_mind_cannot_be_configured(given: dict[str, Any], path: str, message: str) -> None:
    found = [(dotted(where), text) for where, text in faults([default_set(**given)])]

    assert [where for where, _ in found] == [path]
    assert message in found[0][1]


def test_a_sound_configuration_has_no_fault() -> None:
    sound = default_set(
        labels={"team": "${namespace.labels['team']:-none}", "app.kubernetes.io/name": "${image.name}"},
        annotations={"Owner": "${pod.labels['team']}"},
        app=amounts({"cpu": "100m", "ephemeral-storage": "1Gi", "hugepages-2Mi": "2Mi"}, {"example.com/gpu": "1"}),
        pod_selector=Selector.parse("app in (a,b)"),
    )

    assert list(faults([sound])) == []
