"""Pods that ask for too much or too little are refused or warned about, with every figure; what nobody can change passes."""

from __future__ import annotations

from typing import Any

import pytest

from tests.webhook.features.asking import Asked
from webhook.admission.review import Operations, User
from webhook.features.resource_limits import KeepResourcesInBounds, ResourceLimits
from webhook.names import Reason
from webhook.objects.enforcement import Mode, Namespaces
from webhook.objects.meta import Json
from webhook.objects.quantity import parse
from webhook.objects.resource_policies import Bounds, ResourcePolicy, Span

ONE_CORE = {"cpu": Bounds(requests=Span(max=parse("1"))), "memory": Bounds(requests=Span(max=parse("1Gi")))}


def rule(*policies: ResourcePolicy, **settings: Any) -> KeepResourcesInBounds:
    return KeepResourcesInBounds(ResourceLimits(policies or (ResourcePolicy("small", container=ONE_CORE),), **settings))


def pod(*sizes: str, metadata: Json | None = None, **amounts: str) -> Json:
    containers = [{"name": f"c{index}", "resources": {"requests": {"cpu": size} | amounts}} for index, size in enumerate(sizes)]
    return {"metadata": {"name": "web", **(metadata or {})}, "spec": {"containers": containers}}


def test_a_pod_that_asks_for_too_much_is_refused_with_every_field_and_figure() -> None:
    verdict = Asked(object=pod("2", "500m", "3")).of(rule())

    assert verdict.reason is Reason.OUT_OF_LIMITS
    assert verdict.denial is not None
    assert (verdict.denial.code, verdict.denial.reason) == (403, "OutOfLimits")
    assert verdict.denial.message == (
        'pod shop/web: container "c0": cpu request 2 exceeds the maximum of 1 '
        "(spec.containers[0].resources.requests.cpu, policy small); "
        'container "c2": cpu request 3 exceeds the maximum of 1 (spec.containers[2].resources.requests.cpu, policy small)'
    )


def test_a_pod_within_its_bounds_passes_without_a_word() -> None:
    verdict = Asked(object=pod("1", memory="1Gi")).of(rule())

    assert (verdict.reason, verdict.denial, verdict.warnings) == (Reason.WITHIN_LIMITS, None, ())


def test_a_policy_may_only_warn() -> None:
    verdict = Asked(object=pod("2")).of(rule(ResourcePolicy("soft", mode=Mode.WARN, container=ONE_CORE)))

    assert verdict.denial is None
    assert verdict.warnings == (
        'pod shop/web: container "c0": cpu request 2 exceeds the maximum of 1 '
        "(spec.containers[0].resources.requests.cpu, policy soft)",
    )


def test_what_is_refused_is_told_with_the_warnings_of_other_policies() -> None:
    memory = ResourcePolicy("soft", mode=Mode.WARN, pod={"memory": Bounds(requests=Span(min=parse("64Mi")))})
    verdict = Asked(object=pod("2")).of(rule(ResourcePolicy("hard", container=ONE_CORE), memory))

    assert verdict.denial is not None and "policy hard" in verdict.denial.message and "soft" not in verdict.denial.message
    assert verdict.warnings == (
        "pod shop/web: the pod as a whole: no memory request, against the minimum of 64Mi (spec, policy soft)",
    )


def test_a_policy_is_for_its_namespaces_only() -> None:
    strict = ResourcePolicy("strict", Namespaces(only=("prod-*",), never=("prod-lab",)), container=ONE_CORE)

    refused = {
        namespace: Asked(object=pod("2"), namespace=namespace).of(rule(strict)).denial is not None
        for namespace in ("prod-a", "prod-lab", "shop")
    }

    assert refused == {"prod-a": True, "prod-lab": False, "shop": False}


def test_every_policy_of_a_namespace_counts() -> None:
    half = ResourcePolicy("half", container={"cpu": Bounds(requests=Span(max=parse("500m")))})

    verdict = Asked(object=pod("2")).of(rule(ResourcePolicy("small", container=ONE_CORE), half))

    assert verdict.denial is not None and "policy small" in verdict.denial.message and "policy half" in verdict.denial.message


def test_likely_typos_are_warned_about_whatever_the_policies() -> None:
    told = (
        'pod shop/web: container "c0": memory 400m means 0.4 bytes: 400Mi or 400M was probably meant '
        "(spec.containers[0].resources.requests.memory)"
    )

    assert Asked(object=pod("1", memory="400m")).of(rule()).warnings == (told,)
    assert Asked(object=pod("1", memory="400m")).of(rule(hints=False)).warnings == ()


# -- updates -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("operation", "subresource"),
    [
        (Operations.UPDATE, ""),
        (Operations.UPDATE, "ephemeralcontainers"),
        (Operations.UPDATE, "status"),
        (Operations.CREATE, "binding"),
        (Operations.CREATE, "eviction"),
        (Operations.DELETE, ""),
    ],
)
def test_what_cannot_change_resources_passes(operation: Operations, subresource: str) -> None:
    asked = Asked(operation=operation, subresource=subresource, object=pod("9"), old_object=pod("9"))

    assert asked.of(rule()).reason is Reason.NOT_APPLICABLE


def test_other_resources_pass() -> None:
    assert Asked(resource="replicationcontrollers", object=pod("9")).of(rule()).reason is Reason.NOT_APPLICABLE


def resized(before: Json, after: Json) -> Asked:
    return Asked(operation=Operations.UPDATE, subresource="resize", object=after, old_object=before)


def test_a_resize_beyond_the_bound_is_refused() -> None:
    verdict = resized(pod("1"), pod("2")).of(rule())

    assert verdict.denial is not None and "cpu request 2 exceeds the maximum of 1" in verdict.denial.message


def test_a_resize_of_one_container_is_not_refused_for_another() -> None:
    assert resized(pod("4", "500m"), pod("4", "1")).of(rule()).denial is None
    assert resized(pod("4", "500m"), pod("3", "500m")).of(rule()).denial is None
    assert resized(pod("4", "500m"), pod("5", "500m")).of(rule()).denial is not None


def test_a_resize_is_not_warned_about_old_typos() -> None:
    assert resized(pod("1", memory="400m"), pod("500m", memory="400m")).of(rule()).warnings == ()
    assert len(resized(pod("1", memory="400Mi"), pod("1", memory="400m")).of(rule()).warnings) == 1


def test_a_mirror_pod_passes_for_its_kubelet_only() -> None:
    mirror = pod("9", metadata={"annotations": {"kubernetes.io/config.mirror": "x"}})

    assert Asked(object=mirror, user=User("system:node:a", ("system:nodes",))).of(rule()).reason is Reason.MIRROR_POD
    assert Asked(object=mirror).of(rule()).denial is not None


def test_a_template_is_judged_as_its_pods_would_be() -> None:
    assert [breach.field for breach in rule().judge({"spec": pod("2")["spec"]}, "shop")] == [
        "spec.containers[0].resources.requests.cpu"
    ]
