"""The effective pod is here what it is to k8s.io/component-helpers, by which Kubernetes schedules, limits and counts pods."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from tests.webhook.objects.oracles import Ask, asking
from webhook.objects import resources
from webhook.objects.meta import Json
from webhook.objects.quantity import Amounts
from webhook.objects.resources import Part


@pytest.fixture(scope="module")
def go(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ask]:
    with asking("effective", tmp_path_factory.mktemp("oracle")) as ask:
        yield ask


def texts(amounts: Amounts) -> dict[str, str]:
    return {resource: str(amount) for resource, amount in amounts.items()}


def agree(go: Ask, pod: Json) -> None:
    demand = resources.read(pod)

    assert {
        "requests": texts(demand.requests()),
        "limits": texts(demand.limits()),
        "bareRequests": texts(demand.aggregate(Part.REQUESTS)),
        "bareLimits": texts(demand.aggregate(Part.LIMITS)),
    } == go(pod), pod


def c(requests: Mapping[str, Any] | None = None, limits: Mapping[str, Any] | None = None) -> Json:
    return {"name": "c", "resources": {"requests": requests, "limits": limits}}


def sidecar(requests: Mapping[str, Any] | None = None, limits: Mapping[str, Any] | None = None) -> Json:
    return {**c(requests, limits), "restartPolicy": "Always"}


def pod(*apps: Json, init: list[Json] | None = None, **spec: Any) -> Json:
    return {"spec": {"containers": list(apps), "initContainers": init or [], **spec}}


ONE, TWO, FIVE, TEN = ({"cpu": str(n), "memory": f"{n}Gi"} for n in (1, 2, 5, 10))
MILLI = {"cpu": "100m", "memory": "64Mi"}

CASES: dict[str, Json] = {
    "nothing at all": {},
    "no containers": {"spec": {}},
    "null everywhere": {"spec": {"containers": None, "initContainers": None, "resources": None, "overhead": None}},
    "a container without resources": pod({"name": "c"}),
    "null resources": pod({"name": "c", "resources": None}),
    "null requests and limits": pod(c()),
    "a null amount is 0": pod(c({"cpu": None}, {"memory": None})),
    "empty maps": pod(c({}, {})),
    "one container": pod(c(ONE, TWO)),
    "only requests": pod(c(ONE)),
    "only limits": pod(c(None, ONE)),
    "two containers add up": pod(c(ONE, TWO), c(TWO, FIVE)),
    "two containers with different resources": pod(c({"cpu": "1"}), c({"memory": "1Gi"}, {"memory": "2Gi"})),
    "one limited, one not": pod(c(ONE, TWO), c(ONE)),
    "different units of one resource": pod(c({"memory": "1Gi"}), c({"memory": "1G"}), c({"memory": "1000000"})),
    "millis and cores": pod(c({"cpu": "1500m"}), c({"cpu": "1.5"}), c({"cpu": 2}), c({"cpu": 0.25})),
    "parts of bytes": pod(c({"memory": "1.1Gi"}), c({"memory": "400m"})),
    "exponents": pod(c({"memory": "1e9"}), c({"memory": "5E8"})),
    "zero and something": pod(c({"cpu": "0"}), c({"cpu": "1"})),
    "zero alone": pod(c({"cpu": "0", "memory": "0"}, {"cpu": "0"})),
    "a small init container": pod(c(TWO, TWO), init=[c(ONE, ONE)]),
    "a large init container": pod(c(ONE, ONE), init=[c(TEN, TEN)]),
    "init containers do not add up": pod(c(ONE), init=[c(FIVE), c(FIVE), c(TWO)]),
    "an init container is larger in one resource": pod(c(TWO), init=[c({"cpu": "5", "memory": "1Gi"})]),
    "an init container has a resource of its own": pod(c(ONE), init=[c({"ephemeral-storage": "1Gi"})]),
    "an init container as large as the rest": pod(c({"memory": "1024Mi"}), init=[c({"memory": "1Gi"})]),
    "only init containers": {"spec": {"initContainers": [c(ONE), c(TWO)]}},
    "a native sidecar adds up": pod(c(ONE, TWO), init=[sidecar(ONE, TWO)]),
    "two native sidecars": pod(c(ONE), init=[sidecar(ONE), sidecar(TWO)]),
    "a native sidecar before an init container": pod(c(ONE), init=[sidecar(TWO), c(TWO)]),
    "a native sidecar after an init container": pod(c(ONE), init=[c(TWO), sidecar(TWO)]),
    "an init container between native sidecars": pod(c(ONE), init=[sidecar(ONE), c(FIVE), sidecar(TWO)]),
    "the init container with its sidecars is the peak": pod(c(MILLI), init=[sidecar(ONE, TWO), sidecar(ONE), c(FIVE, FIVE)]),
    "the sum is the peak": pod(c(FIVE), c(FIVE), init=[sidecar(ONE), c(TWO)]),
    "the peak differs by resource": pod(c({"cpu": "4"}), init=[sidecar(ONE), c({"cpu": "1", "memory": "8Gi"})]),
    "only native sidecars": {"spec": {"initContainers": [sidecar(ONE, ONE), sidecar(TWO)]}},
    "another restart policy is no sidecar": pod(c(ONE), init=[{**c(TWO), "restartPolicy": "Never"}]),
    "an app container that restarts always": pod({**c(ONE), "restartPolicy": "Always"}),
    "an ephemeral container does not count": pod(c(ONE), ephemeralContainers=[{"name": "e"}]),
    "pod-level requests replace": pod(c(ONE, ONE), c(ONE), resources={"requests": FIVE}),
    "pod-level limits replace": pod(c(ONE, ONE), resources={"limits": {"cpu": "8"}}),
    "pod-level cpu only": pod(c(ONE, TWO), resources={"requests": {"cpu": "3"}, "limits": {"cpu": "4"}}),
    "pod-level below the containers": pod(c(FIVE), resources={"requests": ONE}),
    "pod-level zero": pod(c(ONE), resources={"requests": {"cpu": "0"}}),
    "pod-level without containers' resources": pod({"name": "c"}, resources={"requests": ONE, "limits": TWO}),
    "pod-level huge pages": pod(c(ONE, {"hugepages-2Mi": "4Mi"}), resources={"limits": {"hugepages-2Mi": "8Mi"}}),
    "pod-level of what it does not support": pod(c(ONE), resources={"requests": {"ephemeral-storage": "1", "x.io/gpu": "1"}}),
    "pod-level supported and not": pod(c(ONE), resources={"requests": {"ephemeral-storage": "1Gi", "cpu": "7"}}),
    "pod-level empty": pod(c(ONE, TWO), resources={"requests": {}, "limits": None}),
    "pod-level and init containers": pod(c(ONE), init=[c(TEN), sidecar(ONE)], resources={"requests": TWO}),
    "overhead": pod(c(ONE, TWO), overhead={"cpu": "250m", "memory": "120Mi"}),
    "overhead of what nobody requests": pod(c({"cpu": "1"}, {"cpu": "1"}), overhead={"memory": "120Mi"}),
    "overhead on a limit of zero": pod(c(ONE, {"cpu": "0"}), overhead={"cpu": "250m"}),
    "overhead without requests": pod({"name": "c"}, overhead={"cpu": "250m"}),
    "overhead and pod-level": pod(c(ONE), overhead={"cpu": "250m"}, resources={"requests": TWO, "limits": FIVE}),
    "overhead and an init peak": pod(c(ONE, ONE), init=[c(FIVE, FIVE)], overhead={"cpu": "1"}),
    "extended resources": pod(c({"x.io/gpu": "1"}, {"x.io/gpu": 1}), c({"x.io/gpu": 2}), init=[c({"x.io/gpu": "4"})]),
    "huge pages": pod(c({"hugepages-2Mi": "4Mi"}, {"hugepages-2Mi": "4Mi"}), init=[sidecar({"hugepages-2Mi": "2Mi"})]),
    "ephemeral storage": pod(c({"ephemeral-storage": "1Gi"}, {"ephemeral-storage": "2Gi"}), c({"ephemeral-storage": "500M"})),
    "amounts beyond int64": pod(c({"memory": "9e18"}), c({"memory": "9e18"}), c({"cpu": "1n"})),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_the_effective_pod_is_that_of_component_helpers(go: Ask, name: str) -> None:
    agree(go, CASES[name])


def test_there_are_at_least_forty_cases() -> None:
    assert len(CASES) >= 40


def test_any_pod_is_counted_as_by_component_helpers(go: Ask) -> None:
    chance = random.Random(1)
    for _ in range(1500):
        agree(go, any_pod(chance))


def any_amounts(chance: random.Random) -> Json | None:
    amounts = {
        "cpu": ["0", "100m", "1", "1.5", "2500u", 2, "1Ki", "1e-3"],
        "memory": ["0", "64Mi", "1Gi", "1.1Gi", "128M", "1e9", 1048576, "500m"],
        "ephemeral-storage": ["1Gi", "500M"],
        "hugepages-2Mi": ["4Mi", "8Mi"],
        "nvidia.com/gpu": ["1", 2],
    }
    chosen = chance.sample(list(amounts), chance.choice([0, 1, 1, 2, 2, 3, 5]))
    return {resource: chance.choice(amounts[resource]) for resource in chosen} or chance.choice([None, {}])


def any_pod(chance: random.Random) -> Json:
    def containers(most: int) -> list[Json]:
        return [c(any_amounts(chance), any_amounts(chance)) for _ in range(chance.randint(0, most))]

    init = [chance.choice([one, {**one, "restartPolicy": "Always"}]) for one in containers(4)]
    extra: Json = {}
    if chance.random() < 0.4:
        extra["resources"] = {"requests": any_amounts(chance), "limits": any_amounts(chance)}
    if chance.random() < 0.3:
        extra["overhead"] = any_amounts(chance)
    return pod(*containers(3), init=init, **extra)
