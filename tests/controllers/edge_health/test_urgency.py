"""How urgent a node is, before anybody has looked at its pods."""

from __future__ import annotations

import pytest

from controllers.edge_health.plan import Duties, Urgency, urgency_of
from tests.controllers.edge_health.test_plan import EVICTING, NOW_S, TIMED, TWIN, node
from webhook.cluster import NodeFacts, Status, Vote
from webhook.objects.selectors import Selector
from webhook.objects.votes import VotePolicy


@pytest.mark.parametrize(
    ("seen", "urgency"),
    [
        (None, Urgency.RESTORE),
        (node(EVICTING), Urgency.TAINT),
        (node(TWIN), Urgency.RESTORE),
        (node(), Urgency.RESTORE),
        (node(EVICTING, vote=Vote.UNHEALTHY), Urgency.LET_GO),
        (node(vote=Vote.UNHEALTHY), Urgency.LET_GO),
        (node(vote=Vote.UNKNOWN), Urgency.LET_GO),
        (node(EVICTING, ready=Status.FALSE), Urgency.RESTORE),
        (node(EVICTING, ready=Status.TRUE), Urgency.RESTORE),
    ],
    ids=range(9),
)
def test_taints_that_go_come_before_pods_that_are_let_go_and_these_before_all_else(
    seen: NodeFacts | None, urgency: Urgency
) -> None:
    assert urgency_of(seen, VotePolicy(), NOW_S) is urgency


def test_a_vote_that_has_expired_is_as_urgent_as_an_unhealthy_one() -> None:
    assert urgency_of(node(vote_time_s=NOW_S - 61.0), TIMED, NOW_S) is Urgency.LET_GO


def test_what_the_controller_may_not_touch_is_not_urgent() -> None:
    off = Duties(taints=False, pods=False)

    assert urgency_of(node(EVICTING), VotePolicy(), NOW_S, off) is Urgency.RESTORE
    assert urgency_of(node(vote=Vote.UNHEALTHY), VotePolicy(), NOW_S, off) is Urgency.RESTORE


def test_outside_the_selector_nothing_is_urgent() -> None:
    policy = VotePolicy(node_selector=Selector.parse("edge"), always_reachable=True)

    assert urgency_of(node(EVICTING, vote=Vote.UNHEALTHY), policy, NOW_S) is Urgency.RESTORE


def test_where_every_node_counts_as_reachable_taints_go_whatever_the_vote() -> None:
    assert urgency_of(node(EVICTING, vote=Vote.UNHEALTHY), VotePolicy(always_reachable=True), NOW_S) is Urgency.TAINT
