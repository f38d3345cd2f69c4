"""How full the cluster is: counted one change at a time, and the same as counted anew."""

from __future__ import annotations

import attrs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from controllers.runtime.capacity import CountedCapacity, Tally, capacity_of
from controllers.runtime.projection import pods_resource
from controllers.runtime.rest import RestClient
from controllers.testing import FakeApi
from tests.controllers.runtime import builders
from tests.controllers.runtime.builders import Json, informer
from webhook.clock import Deadline, SystemClock
from webhook.cluster import CapacityFacts, NodeFacts, PodFacts, Status, Taint
from webhook.testing.facts import node_facts, pod_facts

READY = attrs.evolve(node_facts(ready=Status.TRUE), allocatable_cpu_m=4000, allocatable_memory=2**33)
POD = attrs.evolve(pod_facts(), requested_cpu_m=500, requested_memory=2**30)


def test_what_nodes_have_and_their_pods_ask_for_is_added_up() -> None:
    other = attrs.evolve(READY, name="edge-2")
    pods = [POD, attrs.evolve(POD, name="web-2"), attrs.evolve(POD, name="web-3", node="edge-2")]

    assert capacity_of([READY, other], pods) == CapacityFacts(8000, 2**34, 1500, 3 * 2**30, 2)


TAKES_NONE = [
    {"unschedulable": True},
    {"ready": Status.FALSE},
    {"ready": Status.UNKNOWN},
    {"taints": (Taint("gpu", "", "NoSchedule"),)},
    {"taints": (Taint("x", "", "NoExecute"),)},
]


@pytest.mark.parametrize("change", TAKES_NONE, ids=str)
def test_a_node_that_takes_no_ordinary_pods_does_not_count_nor_do_its_pods(change: Json) -> None:
    assert capacity_of([attrs.evolve(READY, **change)], [POD]) == CapacityFacts(0, 0, 0, 0, 0)


def test_a_node_that_pods_only_had_better_avoid_counts() -> None:
    assert capacity_of([attrs.evolve(READY, taints=(Taint("x", "", "PreferNoSchedule"),))], []).nodes == 1


@pytest.mark.parametrize("change", [{"phase": "Succeeded"}, {"phase": "Failed"}, {"node": ""}, {"node": "elsewhere"}], ids=str)
def test_a_pod_that_is_finished_or_on_no_such_node_does_not_count(change: Json) -> None:
    assert capacity_of([READY], [attrs.evolve(POD, **change)]).requested_cpu_m == 0


_nodes = st.builds(
    lambda name, cpu, unschedulable: attrs.evolve(READY, name=name, allocatable_cpu_m=cpu, unschedulable=unschedulable),
    st.sampled_from("ab"),
    st.integers(0, 3),
    st.booleans(),
)
_pods = st.builds(
    lambda name, node, phase, cpu: attrs.evolve(POD, name=name, node=node, phase=phase, requested_cpu_m=cpu),
    st.sampled_from("pqr"),
    st.sampled_from(["", "a", "b"]),
    st.sampled_from(["Running", "Failed"]),
    st.integers(0, 3),
)


@settings(max_examples=200, deadline=None)
@given(st.lists(st.tuples(st.one_of(_nodes, _pods), st.booleans()), max_size=20))
def test_after_any_history_the_sums_are_those_of_what_is_there(history: list[tuple[NodeFacts | PodFacts, bool]]) -> None:
    tally = Tally()
    nodes: dict[str, NodeFacts] = {}
    pods: dict[str, PodFacts] = {}

    for facts, stays in history:
        if isinstance(facts, NodeFacts):
            nodes |= {facts.name: facts}
            tally.put_node(facts)
            if not stays:
                del nodes[facts.name]
                tally.drop_node(facts.name)
        else:
            pods |= {facts.name: facts}
            tally.put_pod(facts.name, facts)
            if not stays:
                del pods[facts.name]
                tally.drop_pod(facts.name)

    assert tally.facts() == capacity_of(nodes.values(), pods.values())


# -- from the API server ---------------------------------------------------------------------------------------------


def node(name: str = "edge-1", cpu: str = "4", memory: str = "8Gi") -> Json:
    made = builders.node(name)
    made["status"]["allocatable"] = {"cpu": cpu, "memory": memory, "pods": "110"}
    return made


def pod(name: str, cpu: str = "500m") -> Json:
    made = builders.pod(name)
    made["spec"]["containers"] = [{"name": "app", "resources": {"requests": {"cpu": cpu, "memory": "1Gi"}}}]
    made["spec"]["initContainers"] = [{"name": "setup", "resources": {"requests": {"cpu": "3", "memory": "1Mi"}}}]
    return made


def test_the_caches_of_nodes_and_pods_are_counted_as_they_change(api: FakeApi, client: RestClient) -> None:
    nodes, pods = informer(client), informer(client, resource=pods_resource(counted=True))
    capacity = CountedCapacity(nodes, pods)
    api.objects.put(node())
    api.objects.put(pod("web-1"))
    assert capacity.capacity() is None

    nodes.start()
    pods.start()
    try:
        api.until(lambda: nodes.has_synced() and pods.has_synced())
        first = capacity.capacity()
        api.objects.put(pod("web-2", cpu="3500m"))
        api.objects.put(node(cpu="8"))
        client.delete("/api/v1/namespaces/shop/pods/web-1")
        api.until(lambda: capacity.capacity() == CapacityFacts(8000, 8 * 2**30, 3500, 2**30, 1))
    finally:
        for one in (nodes, pods):
            one.stop(Deadline.after(5.0, SystemClock()))

    assert first == CapacityFacts(4000, 8 * 2**30, 3000, 2**30, 1)
