"""What the API server refuses in requests and limits is known before it is asked."""

from __future__ import annotations

import pytest

from webhook.objects import resources
from webhook.objects.meta import Json
from webhook.objects.quantity import parse
from webhook.objects.resource_rules import amount_fault, faults

GPU, PAGES = "example.com/gpu", "hugepages-2Mi"


def pod(requests: Json | None = None, limits: Json | None = None, **spec: object) -> Json:
    return {"spec": {"containers": [{"name": "app", "resources": {"requests": requests, "limits": limits}}], **spec}}


CASES: list[tuple[Json, list[str]]] = [
    (pod(), []),
    (pod({"cpu": "1"}, {"cpu": "1000m"}), []),
    (pod({"cpu": "2"}, {"cpu": "1"}), ['container "app": cpu request 2 is above the limit of 1']),
    (pod({"cpu": "-1"}), ['container "app": cpu -1 is negative']),
    (pod({GPU: "1"}, {GPU: "1"}), []),
    (pod({GPU: "1"}), [f'container "app": {GPU} request 1 has no limit, which has to be equal']),
    (pod({GPU: "1"}, {GPU: "2"}), [f'container "app": {GPU} request 1 is not equal to the limit of 2']),
    (
        pod({GPU: "0.5"}, {GPU: "0.5"}),
        [f'container "app": {GPU} 0.5 is no whole number, as an extended resource has to be'] * 2,
    ),
    (pod({"cpu": "1", PAGES: "4Mi"}, {PAGES: "4Mi"}), []),
    (pod({PAGES: "4Mi"}, {PAGES: "4Mi"}), ['container "app": huge pages need cpu or memory beside them']),
    (pod({"cpu": "1", PAGES: "3Mi"}, {PAGES: "3Mi"}), [f'container "app": {PAGES} 3Mi is no whole number of pages'] * 2),
    (
        pod(resources={"requests": {"cpu": "2"}, "limits": {"cpu": "1"}}),
        ["the pod as a whole: cpu request 2 is above the limit of 1"],
    ),
]


@pytest.mark.parametrize(("one", "messages"), CASES)
def test_faults_of_requests_and_limits_are_found(one: Json, messages: list[str]) -> None:
    found = faults(resources.read(one).with_api_defaults())

    assert [fault.message for fault in found] == messages


def test_a_fault_names_its_container_and_field() -> None:
    (fault,) = faults(resources.read(pod({GPU: "1"})))

    assert (fault.path, fault.field) == ("spec.containers[0]", f"spec.containers[0].resources.requests[{GPU}]")


@pytest.mark.parametrize("resource", ["cpu", "memory", "ephemeral-storage", "hugepages-1Gi", "example.com/gpu", "e.com/a_b.c"])
def test_what_a_container_may_ask_for_may_be_configured(resource: str) -> None:
    assert amount_fault(resource, parse("1Gi")) is None


@pytest.mark.parametrize(
    "resource",
    [
        *("", "cpus", "storage", "pods", "limits.cpu", "hugepages-", "hugepages-x", "hugepages-0"),
        *("kubernetes.io/x", "a.kubernetes.io/x", "requests.e.com/x"),
        *("e.com/", "e.com/a b", "E.com/x", "/x", "e.com/" + "a" * 64),
    ],
)
def test_what_no_container_may_ask_for_may_not(resource: str) -> None:
    assert amount_fault(resource, parse("1Gi")) is not None
