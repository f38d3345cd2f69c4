"""The plan's steps, taken on a modelled cluster: they converge, wherever the controller dies in between."""

from __future__ import annotations

import attrs
from hypothesis import given, settings
from hypothesis import strategies as st

from controllers.edge_health.plan import Plan, RemoveTaint, Step, plan
from controllers.runtime.projection import node_facts_from_object, pod_facts_from_object
from tests.controllers.edge_health.builders import EVICTING, OTHER, TWIN, WALL_S, Json, after, node, pod, without_taint
from webhook.objects.selectors import Selector
from webhook.objects.votes import VotePolicy


@attrs.define
class Model:
    """A node and its pods, as the API server would keep them."""

    node: Json
    pods: dict[str, Json]
    policy: VotePolicy = VotePolicy()
    unvouched_s: float = 1000.0

    def plan(self) -> Plan:
        facts = [pod_facts_from_object(one) for one in self.pods.values()]
        return plan(node_facts_from_object(self.node, self.policy), facts, self.policy, WALL_S, unvouched_s=self.unvouched_s)

    def take(self, step: Step) -> None:
        if isinstance(step, RemoveTaint):
            self.node = without_taint(self.node)
        else:
            self.pods[step.name] = after(step, self.pods[step.name]) or self.pods[step.name]

    def ready(self) -> dict[str, str]:
        return {
            name: next(c["status"] for c in one["status"]["conditions"] if c["type"] == "Ready")
            for name, one in self.pods.items()
        }


def model(seen: Json, *pods: Json, policy: VotePolicy = VotePolicy()) -> Model:
    seen["metadata"] |= {"uid": "uid-node", "resourceVersion": "1"}
    for index, one in enumerate(pods):
        one["metadata"] |= {"uid": f"uid-{index}", "resourceVersion": "1"}
    return Model(seen, {one["metadata"]["name"]: one for one in pods}, policy)


nodes = st.builds(
    lambda taints, ready, vote, ready_for_s, edge: node(
        "edge-1", *taints, ready=ready, vote=vote, ready_for_s=ready_for_s, labels={"edge": ""} if edge else {}
    ),
    st.lists(st.sampled_from([EVICTING, TWIN, OTHER]), max_size=4),
    st.sampled_from(["True", "False", "Unknown"]),
    st.sampled_from(["true", "false", None]),
    st.sampled_from([0.0, 59.0, 90.0, 100_000.0, -400.0]),
    st.booleans(),
)
pods = st.lists(
    st.builds(
        pod,
        ready=st.sampled_from(["True", "False", "Unknown"]),
        containers_ready=st.sampled_from(["True", "False"]),
        phase=st.sampled_from(["Pending", "Running", "Succeeded", "Failed"]),
        gate=st.sampled_from([None, "True", "False"]),
    ),
    max_size=5,
).map(lambda found: [one | {"metadata": one["metadata"] | {"name": f"web-{i}"}} for i, one in enumerate(found)])
policies = st.builds(
    VotePolicy,
    node_selector=st.sampled_from([Selector(), Selector.parse("edge")]),
    always_reachable=st.booleans(),
    max_guard_s=st.sampled_from([0.0, 60.0, 24 * 3600.0]),
)


@settings(max_examples=150, deadline=None)
@given(nodes, pods, policies)
def test_once_all_steps_are_taken_there_is_nothing_to_do(seen: Json, found: list[Json], policy: VotePolicy) -> None:
    cluster = model(seen, *found, policy=policy)

    for step in cluster.plan().steps:
        cluster.take(step)

    assert cluster.plan().steps == ()


@settings(max_examples=100, deadline=None)
@given(nodes, pods, policies, st.lists(st.integers(0, 7), max_size=4))
def test_dying_after_any_step_ends_in_the_same_state(
    seen: Json, found: list[Json], policy: VotePolicy, deaths: list[int]
) -> None:
    undisturbed, dying = model(seen, *found, policy=policy), model(seen, *found, policy=policy)
    for step in undisturbed.plan().steps:
        undisturbed.take(step)

    for survived in deaths:
        for step in dying.plan().steps[:survived]:
            dying.take(step)
    for step in dying.plan().steps:
        dying.take(step)

    assert (dying.node, dying.pods) == (undisturbed.node, undisturbed.pods)


@settings(max_examples=100, deadline=None)
@given(nodes, pods, policies)
def test_a_step_taken_twice_is_taken_once(seen: Json, found: list[Json], policy: VotePolicy) -> None:
    cluster = model(seen, *found, policy=policy)

    for step in cluster.plan().steps:
        cluster.take(step)
        once = (cluster.node, dict(cluster.pods))
        cluster.take(step)
        assert (cluster.node, cluster.pods) == once


def test_a_node_controller_that_died_while_marking_leaves_no_mixed_node() -> None:
    guarded = model(node(), pod("web-1"), pod("web-2", ready="True"), pod("web-3"))
    ended = model(node(vote="false"), pod("web-1"), pod("web-2", ready="True"), pod("web-3"))

    for cluster in (guarded, ended):
        for step in cluster.plan().steps:
            cluster.take(step)

    assert set(guarded.ready().values()) == {"True"}
    assert set(ended.ready().values()) == {"False"}
