"""The plan, case by case: what public bug reports of SuperEdge, OpenYurt, KubeEdge and Kubernetes ask for among them."""

from __future__ import annotations

from typing import Any

import attrs
import pytest

from controllers.edge_health.plan import (
    KUBELET_SPEAKS_WITHIN_S,
    LOOK_AGAIN_WITHIN_S,
    PEERS_SPEAK_WITHIN_S,
    Cause,
    Duties,
    LetPodGo,
    Plan,
    RemoveTaint,
    RestorePod,
    plan,
)
from webhook.cluster import NodeFacts, PodFacts, Status, Taint, Vote
from webhook.names import Reason
from webhook.objects.selectors import Selector
from webhook.objects.votes import Protocol, VotePolicy
from webhook.testing.facts import node_facts, pod_facts

NOW_S = 100_000.0
EVICTING = Taint("node.kubernetes.io/unreachable", "", "NoExecute")
TWIN = Taint("node.kubernetes.io/unreachable", "", "NoSchedule")
TIMED = VotePolicy(time_annotation="example.com/voted-at", max_age_s=60.0)
LONG_S = 10 * PEERS_SPEAK_WITHIN_S


def node(*taints: Taint, ready_since_s: float | None = NOW_S - 90.0, **changes: Any) -> NodeFacts:
    """A node that is silent for 90 s and that its peers vouch for, unless told otherwise."""
    return attrs.evolve(node_facts(ready_since_s=ready_since_s, **changes), taints=taints)


def decide(
    seen: NodeFacts | None,
    *pods: PodFacts,
    policy: VotePolicy = VotePolicy(),
    duties: Duties = Duties(),
    unvouched_s: float = LONG_S,
) -> Plan:
    return plan(seen, pods, policy, NOW_S, duties=duties, unvouched_s=unvouched_s)


def restored(*names: str, cause: Cause = Cause.GUARDED) -> tuple[RestorePod, ...]:
    return tuple(RestorePod("shop", name, f"uid-{name}", cause) for name in names)


def let_go(*names: str) -> tuple[LetPodGo, ...]:
    return tuple(LetPodGo("shop", name, f"uid-{name}") for name in names)


# -- a guard that was missed while no replica answered


def test_a_stored_taint_is_taken_off_a_guarded_node() -> None:
    assert decide(node(TWIN, EVICTING)).steps == (RemoveTaint("edge-1"),)


@pytest.mark.parametrize(
    "taint",
    [
        TWIN,
        Taint("node.kubernetes.io/not-ready", "", "NoExecute"),
        Taint("node.kubernetes.io/out-of-service", "nodeshutdown", "NoExecute"),
        Taint("example.com/maintenance", "", "NoExecute"),
    ],
)
def test_other_taints_of_a_guarded_node_stay(taint: Taint) -> None:
    assert decide(node(taint)).steps == ()


def test_marked_pods_of_a_guarded_node_become_ready_again() -> None:
    assert decide(node(), pod_facts()).steps == restored("web-1")


def test_the_taint_goes_before_the_pods_because_their_toleration_runs_out() -> None:
    assert decide(node(EVICTING), pod_facts("web-2"), pod_facts("web-1")).steps == (
        RemoveTaint("edge-1"),
        *restored("web-1", "web-2"),
    )


def test_pods_that_were_marked_half_way_end_alike() -> None:
    mixed = (pod_facts("web-1"), pod_facts("web-2", ready=Status.TRUE), pod_facts("web-3"))

    assert decide(node(), *mixed).steps == restored("web-1", "web-3")


@pytest.mark.parametrize(
    "changes",
    [
        {"containers_ready": Status.FALSE},  # its probe failed, or it just starts
        {"containers_ready": None},
        {"gates_met": False},
        {"deleting": True},
        {"phase": "Succeeded"},
        {"phase": "Failed"},
        {"phase": "Pending"},
        {"ready": None},
    ],
    ids=str,
)
def test_a_pod_without_the_node_controllers_signature_is_not_made_ready(changes: dict[str, Any]) -> None:
    assert decide(node(), pod_facts(**changes)).steps == ()


def test_each_node_of_a_pool_that_goes_silent_one_by_one_is_guarded_for_itself() -> None:
    assert decide(node(EVICTING, name="edge-1")).steps == (RemoveTaint("edge-1"),)
    assert decide(node(name="edge-2", ready=Status.TRUE)).steps == ()


def test_a_guarded_node_with_nothing_to_mend_only_has_its_age_told() -> None:
    decided = decide(node(), pod_facts(ready=Status.TRUE))

    assert decided.steps == ()
    assert decided.guard.active
    assert decided.silent_since_s == NOW_S - 90.0


# -- a guard that ends


def test_an_unhealthy_vote_lets_the_ready_pods_of_a_silent_node_go_at_once() -> None:
    decided = decide(node(vote=Vote.UNHEALTHY), pod_facts(ready=Status.TRUE), unvouched_s=0.0)

    assert decided.steps == let_go("web-1")


def test_pods_that_a_fall_from_false_to_unknown_left_ready_are_let_go() -> None:
    # The node controller marks pods only when Ready falls from True; the kubelet had made them Ready again under False.
    fallen = node(vote=Vote.UNHEALTHY, ready_since_s=NOW_S)

    assert decide(fallen, pod_facts(ready=Status.TRUE), pod_facts("web-2")).steps == let_go("web-1")


def test_an_expired_vote_lets_pods_go() -> None:
    expired = node(vote_time_s=NOW_S - 61.0)

    assert decide(expired, pod_facts(ready=Status.TRUE), policy=TIMED).steps == let_go("web-1")


def test_the_longest_guard_ends_without_a_vote_time() -> None:
    old = node(ready_since_s=NOW_S - 24 * 3600.0 - 1)

    assert decide(old, pod_facts(ready=Status.TRUE)).steps == let_go("web-1")


def test_a_vote_that_was_taken_back_lets_pods_go() -> None:
    assert decide(node(vote=Vote.UNKNOWN), pod_facts(ready=Status.TRUE)).steps == let_go("web-1")


@pytest.mark.parametrize(
    ("seen", "policy"),
    [(node(vote_time_s=NOW_S - 61.0), TIMED), (node(vote=Vote.UNKNOWN), VotePolicy())],
    ids=["expired", "taken back"],
)
def test_peers_get_time_to_speak_before_silence_counts(seen: NodeFacts, policy: VotePolicy) -> None:
    # After an outage of the API server every vote is as old as the outage: nobody could write.
    decided = decide(seen, pod_facts(ready=Status.TRUE), policy=policy, unvouched_s=5.0)

    assert decided.steps == ()
    assert decided.look_again_s == PEERS_SPEAK_WITHIN_S - 5.0
    assert decided.unvouched


def test_an_unhealthy_vote_is_a_word_and_no_silence() -> None:
    assert not decide(node(vote=Vote.UNHEALTHY)).unvouched


def test_pods_that_were_marked_in_part_are_let_go_alike() -> None:
    mixed = (pod_facts("web-1", ready=Status.TRUE), pod_facts("web-2"), pod_facts("web-3", ready=Status.TRUE))

    assert decide(node(vote=Vote.UNHEALTHY), *mixed).steps == let_go("web-1", "web-3")


def test_a_terminating_pod_is_let_go_since_it_may_serve_while_it_ends() -> None:
    assert decide(node(vote=Vote.UNHEALTHY), pod_facts(ready=Status.TRUE, deleting=True)).steps == let_go("web-1")


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
def test_finished_pods_are_left_alone(phase: str) -> None:
    assert decide(node(vote=Vote.UNHEALTHY), pod_facts(ready=Status.TRUE, phase=phase)).steps == ()


def test_a_taint_is_never_added_and_the_one_of_an_unguarded_node_stays() -> None:
    assert decide(node(vote=Vote.UNHEALTHY)).steps == ()
    assert decide(node(EVICTING, vote=Vote.UNHEALTHY)).steps == ()


def test_with_always_reachable_the_taint_goes_whatever_the_vote_but_pods_follow_it() -> None:
    reachable = VotePolicy(always_reachable=True)

    decided = decide(node(EVICTING, vote=Vote.UNHEALTHY), pod_facts(ready=Status.TRUE), policy=reachable)

    assert decided.steps == (RemoveTaint("edge-1"), *let_go("web-1"))


def test_released_superedge_lets_pods_go_when_peers_write_its_annotation() -> None:
    dialect = VotePolicy(protocol=Protocol.SUPEREDGE)
    vote, _ = dialect.read({"nodeunhealth": "yes"})

    assert decide(node(vote=vote), pod_facts(ready=Status.TRUE), policy=dialect).steps == let_go("web-1")


# -- a node that is Ready again


def test_a_returned_nodes_pods_are_left_to_its_kubelet_for_a_while() -> None:
    returned = node(ready=Status.TRUE, ready_since_s=NOW_S - 10.0)

    decided = decide(returned, pod_facts())

    assert decided.steps == ()
    assert decided.look_again_s == KUBELET_SPEAKS_WITHIN_S - 10.0


def test_pods_that_the_kubelet_forgot_become_ready_again() -> None:
    returned = node(ready=Status.TRUE, ready_since_s=NOW_S - KUBELET_SPEAKS_WITHIN_S)

    assert decide(returned, pod_facts(), pod_facts("web-2", containers_ready=Status.FALSE)).steps == restored(
        "web-1", cause=Cause.FORGOTTEN
    )


def test_ready_pods_of_a_returned_node_stay_ready_whatever_the_vote() -> None:
    returned = node(ready=Status.TRUE, vote=Vote.UNHEALTHY)

    assert decide(returned, pod_facts(ready=Status.TRUE)) == Plan(decide(returned).guard)


def test_a_returned_nodes_left_over_taint_is_the_node_controllers() -> None:
    assert decide(node(EVICTING, ready=Status.TRUE)).steps == ()


def test_a_node_that_never_said_since_when_it_is_ready_is_left_to_its_kubelet() -> None:
    assert decide(node(ready=Status.TRUE, ready_since_s=None), pod_facts()).steps == ()


# -- what is never touched


@pytest.mark.parametrize("ready", [Status.FALSE, None])
@pytest.mark.parametrize("vote", list(Vote))
def test_a_node_that_is_unwell_or_new_is_never_touched(ready: Status | None, vote: Vote) -> None:
    decided = decide(node(EVICTING, ready=ready, vote=vote), pod_facts(), pod_facts("web-2", ready=Status.TRUE))

    assert decided.steps == ()
    assert decided.look_again_s is None


@pytest.mark.parametrize("ready", list(Status))
@pytest.mark.parametrize("vote", list(Vote))
def test_a_node_outside_the_selector_behaves_as_stock(ready: Status, vote: Vote) -> None:
    edge_only = VotePolicy(node_selector=Selector.parse("example.com/edge"), always_reachable=True)

    decided = decide(
        node(EVICTING, ready=ready, vote=vote), pod_facts(), pod_facts("web-2", ready=Status.TRUE), policy=edge_only
    )

    assert decided.steps == ()
    assert decided.look_again_s is None


def test_a_node_that_is_gone_has_no_plan() -> None:
    decided = decide(None, pod_facts(), pod_facts("web-2", ready=Status.TRUE))

    assert decided == Plan(decided.guard)
    assert decided.guard.reason is Reason.NODE_UNKNOWN


def test_what_a_feature_does_not_decide_its_controller_does_not_mend() -> None:
    guarded, ended = node(EVICTING), node(vote=Vote.UNHEALTHY)

    assert decide(guarded, pod_facts(), duties=Duties(taints=False)).steps == restored("web-1")
    assert decide(guarded, pod_facts(), duties=Duties(pods=False)).steps == (RemoveTaint("edge-1"),)
    assert decide(ended, pod_facts(ready=Status.TRUE), duties=Duties(pods=False)).steps == ()


# -- when to look again


def test_the_moment_at_which_the_vote_expires_is_looked_at() -> None:
    decided = decide(node(vote_time_s=NOW_S - 20.0), policy=TIMED)

    assert decided.look_again_s == pytest.approx(40.1)


def test_the_moment_at_which_the_longest_guard_ends_is_looked_at() -> None:
    decided = decide(node(ready_since_s=NOW_S - 3500.0), policy=VotePolicy(max_guard_s=3600.0))

    assert decided.look_again_s == pytest.approx(100.1)


def test_no_wait_is_trusted_for_long_because_clocks_are_set() -> None:
    assert decide(node()).look_again_s == LOOK_AGAIN_WITHIN_S


def test_a_guard_without_end_waits_for_events_only() -> None:
    assert decide(node(), policy=VotePolicy(max_guard_s=0.0)).look_again_s is None


def test_a_vote_from_the_future_is_looked_at_when_it_may_count() -> None:
    decided = decide(node(vote_time_s=NOW_S + 400.0), policy=TIMED)

    assert decided.guard.reason is Reason.VOTE_EXPIRED
    assert decided.look_again_s == pytest.approx(100.1)
