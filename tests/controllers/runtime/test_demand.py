"""What a pod asks its node for is read from the few fields that say so, only where somebody counts."""

from __future__ import annotations

import msgspec
import pytest

from controllers.runtime.projection import node_facts_from_object, pod_facts_from_object, pods_resource
from tests.controllers.runtime import builders
from tests.controllers.runtime.builders import Json
from webhook.objects.votes import VotePolicy


def demand(**spec: object) -> tuple[int, int]:
    made = builders.pod()
    made["spec"] |= spec
    facts = pod_facts_from_object(made)
    return facts.requested_cpu_m, facts.requested_memory


def container(cpu: object = None, memory: object = None, **more: object) -> Json:
    return {"name": "c", "resources": {"requests": {"cpu": cpu, "memory": memory, "nvidia.com/gpu": 1}}, **more}


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({}, (0, 0)),
        ({"containers": [{"name": "c"}, {"name": "d", "resources": None}]}, (0, 0)),
        ({"containers": [container("100m", "1Ki"), container(1, 1024)]}, (1100, 2048)),
        ({"containers": [container("1")], "initContainers": [container("3", "1Gi")]}, (3000, 2**30)),
        ({"containers": [container("1")], "initContainers": [container("3", restartPolicy="Always")]}, (4000, 0)),
        ({"containers": [container("1")], "resources": {"requests": {"cpu": "2"}}}, (2000, 0)),
        ({"containers": [container("1")], "overhead": {"cpu": "250m"}}, (1250, 0)),
        ({"containers": [{"name": "c", "resources": {"limits": {"cpu": "2"}}}]}, (2000, 0)),
        ({"containers": [container("0.0001")]}, (1, 0)),
        ({"containers": [container("x")]}, (0, 0)),
    ],
)
def test_a_pod_asks_for_what_it_does_as_a_whole(spec: Json, expected: tuple[int, int]) -> None:
    assert demand(**spec) == expected


def test_what_nobody_counts_is_not_read() -> None:
    made = builders.pod()
    made["spec"]["containers"] = [container("1")]
    body = msgspec.json.encode(made)

    assert pods_resource().projection.item(body).facts.requested_cpu_m == 0
    assert pods_resource(counted=True).projection.item(body).facts.requested_cpu_m == 1000


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        ({}, (0, 0)),
        ({"allocatable": {"cpu": "3920m", "memory": "15Gi"}}, (3920, 15 * 2**30)),
        ({"allocatable": {"cpu": "x"}}, (0, 0)),
    ],
)
def test_a_node_has_what_is_allocatable(status: Json, expected: tuple[int, int]) -> None:
    made = builders.node()
    made["status"] |= status
    facts = node_facts_from_object(made, VotePolicy())

    assert (facts.allocatable_cpu_m, facts.allocatable_memory) == expected
