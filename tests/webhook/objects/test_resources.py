from __future__ import annotations

import time
from typing import Any

import pytest

from webhook.errors import MalformedObject
from webhook.objects import pods, resources
from webhook.objects.meta import Json
from webhook.objects.quantity import Amounts
from webhook.objects.resources import Part


def texts(amounts: Amounts) -> dict[str, str]:
    return {resource: str(amount) for resource, amount in amounts.items()}


def container(requests: Any = None, limits: Any = None, **more: Any) -> Json:
    return {"name": "app", "resources": {"requests": requests, "limits": limits}, **more}


def pod(*apps: Json, **spec: Any) -> Json:
    return {"spec": {"containers": list(apps), **spec}}


def test_the_effective_pod_has_requests_and_limits() -> None:
    one = pod(container({"cpu": "1"}, {"cpu": "2"}), overhead={"cpu": "250m"})

    assert texts(resources.read(one).requests()) == {"cpu": "1250m"}
    assert texts(resources.read(one).limits()) == {"cpu": "2250m"}


def test_a_lone_amount_is_shown_as_it_was_written() -> None:
    assert resources.read(pod(container({"memory": "0.5Gi"}))).requests()["memory"].text == "0.5Gi"


def test_every_container_knows_its_place() -> None:
    demand = resources.read(pod(container(), initContainers=[container(), container(restartPolicy="Always")]))

    assert [(one.path, one.kind, one.is_native_sidecar) for one in demand.containers] == [
        ("spec.containers[0]", pods.Kind.APP, False),
        ("spec.initContainers[0]", pods.Kind.INIT, False),
        ("spec.initContainers[1]", pods.Kind.INIT, True),
    ]
    assert demand.containers[2].field(Part.LIMITS, "cpu") == "spec.initContainers[1].resources.limits.cpu"
    assert (
        demand.containers[0].field(Part.REQUESTS, "nvidia.com/gpu") == "spec.containers[0].resources.requests[nvidia.com/gpu]"
    )
    assert demand.pod.field(Part.REQUESTS) == "spec.resources.requests"


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        (pod(container({"cpu": "1K"})), r"spec\.containers\[0\]\.resources\.requests\.cpu"),
        (pod(container(None, {"nvidia.com/gpu": True})), r"spec\.containers\[0\]\.resources\.limits\[nvidia\.com/gpu\]"),
        (pod(container([])), r"spec\.containers\[0\]\.resources\.requests: expected an object"),
        (pod({"name": "app", "resources": "1"}), r"spec\.containers\[0\]\.resources: expected an object"),
        (pod(initContainers=[{}, container({"cpu": "x"})]), r"spec\.initContainers\[1\]\.resources\.requests\.cpu"),
        (pod(resources={"limits": {"cpu": "x"}}), r"spec\.resources\.limits\.cpu"),
        (pod(overhead={"cpu": "x"}), r"spec\.overhead\.cpu"),
    ],
)
def test_a_wrong_amount_is_named_with_its_field(wrong: Json, field: str) -> None:
    with pytest.raises(MalformedObject, match=field):
        resources.read(wrong)


def test_reading_changes_nothing() -> None:
    one = pod(container({"cpu": "1"}, {"cpu": "2", "memory": "1Gi"}), resources={"limits": {"cpu": "4"}})
    before = repr(one)

    demand = resources.read(one)
    demand.with_api_defaults().with_pod_defaults().requests()

    assert repr(one) == before
    assert texts(demand.apps[0].requests) == {"cpu": "1"}


# -- what the API server fills in -----------------------------------------------------------------------------------


def test_a_limit_without_a_request_is_the_request_as_well() -> None:
    demand = resources.read(pod(container({"cpu": "1"}, {"cpu": "2", "memory": "1Gi"}))).with_api_defaults()

    assert texts(demand.apps[0].requests) == {"cpu": "1", "memory": "1Gi"}


@pytest.mark.parametrize(
    ("one", "requests", "limits"),
    [
        pytest.param(pod(container({"cpu": "1"})), {}, {}, id="nothing stated for the pod"),
        pytest.param(
            pod(container({"cpu": "1", "memory": "1Gi"}), resources={"limits": {"cpu": "4"}}),
            {"cpu": "1", "memory": "1Gi"},
            {"cpu": "4"},
            id="requests come from the containers",
        ),
        pytest.param(pod({}, resources={"limits": {"cpu": "4"}}), {"cpu": "4"}, {"cpu": "4"}, id="requests come from limits"),
        pytest.param(
            pod(container({"cpu": "1"}, {"cpu": "2"}), resources={"requests": {"cpu": "1"}}),
            {"cpu": "1"},
            {"cpu": "2"},
            id="limits come from the containers",
        ),
        pytest.param(
            pod(container({"cpu": "1"}, {"cpu": "2"}), resources={"requests": {"cpu": "3"}}),
            {"cpu": "3"},
            {"cpu": "3"},
            id="limits are no less than requests",
        ),
        pytest.param(
            pod(container(None, {"cpu": "2"}), {}, resources={"requests": {"cpu": "3"}}),
            {"cpu": "3"},
            {},
            id="no limit where one container has none",
        ),
        pytest.param(
            pod(container(None, {"hugepages-2Mi": "4Mi"}), resources={"requests": {"cpu": "3"}}),
            {"cpu": "3", "hugepages-2Mi": "4Mi"},
            {"hugepages-2Mi": "4Mi"},
            id="huge pages",
        ),
    ],
)
def test_what_is_stated_for_the_pod_is_completed(one: Json, requests: dict[str, str], limits: dict[str, str]) -> None:
    completed = resources.read(one).with_api_defaults().with_pod_defaults().pod

    assert (texts(completed.requests), texts(completed.limits)) == (requests, limits)


def test_three_containers_are_counted_in_fifty_microseconds() -> None:
    amounts = ({"cpu": "100m", "memory": "64Mi"}, {"cpu": "1", "memory": "128Mi"})
    one = pod(container(*amounts), container(*amounts), initContainers=[container(*amounts, restartPolicy="Always")])

    def taken_s() -> float:
        begun_s = time.thread_time()
        for _ in range(100):
            resources.read(one).requests()
        return time.thread_time() - begun_s

    # As the bench measures it; -X dev and a busy machine are allowed four times as much here.
    assert min(taken_s() for _ in range(10)) / 100 < 4 * 50e-6
