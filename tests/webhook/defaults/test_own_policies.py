"""Defaults and tuning never make a pod one that our own policies refuse."""

from __future__ import annotations

from tests.webhook.defaults.defaulting import Done, amounts, call, capacity, container, default_set, pod
from webhook.defaults.sets import PodDefaults
from webhook.defaults.tuning import Scale, Step, Tuning
from webhook.features.pod_defaults import SetPodDefaults
from webhook.features.resource_tuning import TuneResources
from webhook.names import Reason
from webhook.objects.enforcement import Namespaces
from webhook.objects.meta import Json
from webhook.objects.quantity import parse
from webhook.objects.resource_policies import Absent, Bounds, ResourcePolicy, Span
from webhook.testing import facts

HALF = container(requests={"cpu": "500m"})
FROM_400M_TO_1 = {"cpu": Bounds(Span(parse("400m"), parse("1")))}


def policy(*only: str, **which: dict[str, Bounds]) -> ResourcePolicy:
    bounds = which or {"container": FROM_400M_TO_1}
    return ResourcePolicy(
        "small", Namespaces(only), absent=Absent.PASSES, container=bounds.get("container", {}), pod=bounds.get("pod", {})
    )


def tuned(before: Json, factor_percent: int, held_to: ResourcePolicy) -> Done:
    tuning = Tuning({"cpu": Scale((Step(0, factor_percent),))}, enabled=True, policies=(held_to,))
    known = facts.cluster(namespaces=[facts.namespace_facts()], capacity=capacity(10))
    return call(TuneResources(tuning, known), before)


def defaulted(before: Json, requests: dict[str, str], held_to: ResourcePolicy) -> Done:
    settings = PodDefaults((default_set(app=amounts(requests)),), policies=(held_to,))
    return call(SetPodDefaults(settings, facts.cluster(namespaces=[facts.namespace_facts()])), before)


def test_no_request_is_lowered_below_the_minimum_of_a_policy() -> None:
    done = tuned(pod(HALF), 60, policy())

    assert done.patch == []
    assert done.verdict.warnings == (
        "pod shop/web-1: cpu requests stay as they are, the pod would be refused otherwise: "
        'container "app": cpu request 300m is below the minimum of 400m (policy small)',
    )


def test_no_request_is_raised_above_the_maximum_of_a_policy() -> None:
    assert tuned(pod(HALF), 300, policy()).patch == []
    assert tuned(pod(HALF, container("b", {"cpu": "500m"})), 150, policy(pod=FROM_400M_TO_1)).patch == []


def test_within_a_policy_and_in_other_namespaces_requests_are_scaled() -> None:
    assert tuned(pod(HALF), 80, policy()).resources() == {"requests": {"cpu": "400m"}}
    assert tuned(pod(HALF), 60, policy("prod")).resources() == {"requests": {"cpu": "300m"}}


def test_a_pod_that_is_refused_anyway_is_scaled_all_the_same() -> None:
    assert tuned(pod(container(requests={"cpu": "3"})), 60, policy()).resources() == {"requests": {"cpu": "1800m"}}


def test_a_default_that_a_policy_would_refuse_is_left_out_and_told() -> None:
    done = defaulted(pod(), {"cpu": "2", "memory": "64Mi"}, policy())

    assert done.resources() == {"requests": {"memory": "64Mi"}}
    (warning,) = done.verdict.warnings
    assert "no default cpu, with which the pod would be refused" in warning
    assert "cpu request 2 exceeds the maximum of 1 (policy small)" in warning
    assert done.verdict.reason is Reason.DEFAULTED


def test_defaults_of_all_containers_together_must_not_break_a_bound_of_the_pod() -> None:
    assert defaulted(pod(container("a"), container("b")), {"cpu": "600m"}, policy(pod=FROM_400M_TO_1)).patch == []


def test_a_default_within_a_policy_is_given() -> None:
    assert defaulted(pod(), {"cpu": "1"}, policy()).resources() == {"requests": {"cpu": "1"}}
