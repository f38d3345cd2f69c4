"""Requests are scaled by steps of utilisation, within every bound, once; and the pod's author is told why."""

from __future__ import annotations

from typing import Any

import pytest

from tests.webhook.defaults.defaulting import Done, call, capacity, container, limit_range, pod
from webhook.admission.review import Operations
from webhook.cluster import CapacityFacts
from webhook.defaults.tuning import Scale, Step, Tuning
from webhook.features.resource_tuning import TuneResources
from webhook.names import TUNED, Reason
from webhook.objects.limit_ranges import LimitRange
from webhook.objects.meta import Json
from webhook.objects.pods import MIRROR_ANNOTATION
from webhook.objects.quantity import parse
from webhook.objects.selectors import Selector
from webhook.testing import facts

BOTH = {"cpu": Scale(), "memory": Scale()}
HALF = container(requests={"cpu": "500m"})


def tuned(before: Json, full: CapacityFacts | None, *ranges: LimitRange, namespace: str = "shop", **settings: Any) -> Done:
    shop = facts.namespace_facts(labels={"team": "core"})
    known = facts.cluster(namespaces=[shop], limit_ranges=ranges, capacity=full)
    return call(TuneResources(Tuning(**({"scales": BOTH, "enabled": True} | settings)), known), before, namespace)


def request_at(percent: int, **settings: Any) -> str:
    """What becomes of a request of 500m at this utilisation."""
    found = tuned(pod(HALF), capacity(percent), **settings).resources()
    assert found is not None
    return str(found["requests"]["cpu"])


def test_a_request_is_lowered_where_room_is_scarce_and_its_author_is_told() -> None:
    done = tuned(pod(HALF), capacity(82))

    assert done.resources() == {"requests": {"cpu": "300m"}}
    assert done.verdict.reason is Reason.TUNED
    assert done.verdict.warnings == (
        'pod shop/web-1: container "app": cpu request 500m → 300m: 82% of 40 schedulable cores are requested',
    )
    assert done.pod["metadata"]["annotations"] == {TUNED: '{"app":{"cpu":["500m","300m"]}}'}


@pytest.mark.parametrize(
    ("percent", "request_"), [(0, "500m"), (69, "500m"), (70, "400m"), (79, "400m"), (80, "300m"), (90, "200m"), (130, "200m")]
)
def test_the_factor_goes_by_steps(percent: int, request_: str) -> None:
    assert request_at(percent) == request_


def test_memory_goes_by_its_own_utilisation_and_in_whole_mebibytes() -> None:
    one = container(requests={"cpu": "500m", "memory": "1Gi"})

    done = tuned(pod(one), capacity(10, memory_percent=75))

    assert done.resources() == {"requests": {"cpu": "500m", "memory": "820Mi"}}
    assert done.verdict.warnings == (
        'pod shop/web-1: container "app": memory request 1Gi → 820Mi: 75% of 160Gi of schedulable memory is requested',
    )


def test_no_request_is_lowered_below_the_minimum_and_none_that_is_below_is_raised() -> None:
    scales = {"cpu": Scale(min=parse("450m"))}

    assert request_at(95, scales=scales) == "450m"
    assert tuned(pod(container(requests={"cpu": "100m"})), capacity(95), scales=scales).patch == []


def test_a_request_may_be_raised_up_to_maximum_and_limit() -> None:
    scales = {"cpu": Scale((Step(0, 300), Step(50, 100)), max=parse("1"))}
    limited = container(requests={"cpu": "500m"}, limits={"cpu": "700m"})

    assert request_at(10, scales=scales) == "1"
    assert request_at(60, scales=scales) == "500m"
    assert tuned(pod(limited), capacity(10), scales=scales).resources() == {
        "requests": {"cpu": "700m"},
        "limits": {"cpu": "700m"},
    }


def test_the_limit_ranges_of_the_namespace_are_kept() -> None:
    minimum = limit_range(min={"cpu": "350m"}, defaultRequest={"cpu": "350m"})
    ratio = limit_range(maxLimitRequestRatio={"cpu": "2"})
    limited = pod(container(requests={"cpu": "500m"}, limits={"cpu": "900m"}))

    assert tuned(pod(HALF), capacity(95), minimum).resources() == {"requests": {"cpu": "350m"}}
    assert tuned(limited, capacity(95), ratio).resources() == {"requests": {"cpu": "450m"}, "limits": {"cpu": "900m"}}


def test_a_minimum_of_the_pod_as_a_whole_keeps_all_its_requests() -> None:
    whole = limit_range("Pod", min={"cpu": "900m"})

    assert tuned(pod(HALF, container("b", {"cpu": "500m"})), capacity(95), whole).patch == []


def test_a_guaranteed_pod_stays_so() -> None:
    amounts = {"cpu": "1", "memory": "1Gi"}

    done = tuned(pod(container(requests=amounts, limits=amounts), container("b", limits=amounts)), capacity(95))

    assert (done.patch, done.verdict.reason) == ([], Reason.GUARANTEED)


def test_what_the_pod_states_as_a_whole_is_not_scaled() -> None:
    assert tuned(pod(HALF, resources={"limits": {"cpu": "2"}}), capacity(95)).patch == []


@pytest.mark.parametrize(
    ("namespace", "change", "reason"),
    [
        ("kube-system", {}, Reason.SYSTEM_NAMESPACE),
        ("shop", {"metadata": {"annotations": {MIRROR_ANNOTATION: "x"}}}, Reason.MIRROR_POD),
        ("shop", {"priorityClassName": "system-node-critical"}, Reason.CRITICAL_POD),
    ],
)
def test_what_the_cluster_lives_on_is_not_scaled(namespace: str, change: Json, reason: Reason) -> None:
    done = tuned(pod(HALF, **change), capacity(95), namespace=namespace)

    assert (done.patch, done.verdict.reason) == ([], reason)


@pytest.mark.parametrize(
    ("full", "message"),
    [(None, "not all nodes and pods are known yet"), (CapacityFacts(0, 0, 0, 0, 0), "no node takes ordinary pods")],
)
def test_where_the_utilisation_is_not_known_nothing_is_scaled(full: CapacityFacts | None, message: str) -> None:
    done = tuned(pod(HALF), full)

    assert done.patch == []
    assert (done.verdict.reason, done.verdict.message, done.verdict.warnings) == (Reason.CAPACITY_UNKNOWN, message, ())


def test_nodes_without_any_memory_have_no_utilisation_of_it() -> None:
    assert tuned(pod(container(requests={"memory": "1Gi"})), CapacityFacts(1000, 0, 0, 5, 1)).patch == []


@pytest.mark.parametrize(
    "settings",
    [
        {"enabled": False},
        {"scales": {}},
        {"scales": {"memory": Scale()}},
        {"pod_selector": Selector.parse("app=db")},
        {"namespace_selector": Selector.parse("team=shop")},
    ],
)
def test_what_nobody_chose_is_not_scaled(settings: dict[str, Any]) -> None:
    assert tuned(pod(HALF), capacity(95), **settings).patch == []


def test_only_a_container_that_came_since_is_scaled_by_a_second_call() -> None:
    first = tuned(pod(HALF), capacity(82)).pod
    first["spec"]["containers"].append(container("late", {"cpu": "1"}))

    second = tuned(first, capacity(95))

    assert [one["resources"]["requests"]["cpu"] for one in second.pod["spec"]["containers"]] == ["300m", "400m"]
    assert second.pod["metadata"]["annotations"][TUNED] == '{"app":{"cpu":["500m","300m"]},"late":{"cpu":["1","400m"]}}'


@pytest.mark.parametrize("text", ["[]", "{", '{"app":1}', "[" * 5000])
def test_a_record_that_nobody_can_read_counts_as_absent_and_is_told(text: str) -> None:
    done = tuned(pod(HALF, metadata={"annotations": {TUNED: text}}), capacity(82))

    assert done.resources() == {"requests": {"cpu": "300m"}}
    assert done.verdict.warnings[0] == f"pod shop/web-1: annotation {TUNED} is not what Gatehouse writes: it counts as absent"


def test_only_pods_that_are_created_are_scaled() -> None:
    rule = TuneResources(Tuning(BOTH, enabled=True), facts.cluster(capacity=capacity(95)))

    assert call(rule, pod(HALF), operation=Operations.UPDATE).verdict.reason is Reason.NOT_APPLICABLE


def test_a_pod_whose_annotations_are_full_stays_as_it_is() -> None:
    assert tuned(pod(HALF, metadata={"annotations": {"theirs": "z" * (256 * 1024 - 10)}}), capacity(95)).patch == []
