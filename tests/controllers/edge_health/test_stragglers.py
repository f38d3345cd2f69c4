from __future__ import annotations

from controllers.edge_health.plan import LetPodGo, RemoveTaint
from controllers.edge_health.stragglers import Stragglers

TAINT = RemoveTaint("edge-1")
A, B, C = (LetPodGo("shop", name, f"uid-{name}") for name in "abc")


def test_pods_that_failed_come_last_the_longest_ago_first() -> None:
    stragglers = Stragglers()
    for step in (A, B, A):
        stragglers.failed("edge-1", step)

    assert stragglers.last("edge-1", [A, B, C]) == [C, B, A]


def test_a_taint_that_failed_stays_first() -> None:
    stragglers = Stragglers()
    for step in (TAINT, A):
        stragglers.failed("edge-1", step)

    assert stragglers.last("edge-1", [TAINT, A, B]) == [TAINT, B, A]


def test_the_failures_of_one_node_are_not_anothers() -> None:
    stragglers = Stragglers()
    stragglers.failed("edge-2", A)

    assert stragglers.last("edge-1", [A, B]) == [A, B]


def test_a_pod_that_needs_nothing_any_more_is_forgotten() -> None:
    stragglers = Stragglers()
    stragglers.failed("edge-1", A)

    stragglers.last("edge-1", [B])

    assert stragglers.last("edge-1", [A, B]) == [A, B]


def test_a_node_that_is_forgotten_begins_anew() -> None:
    stragglers = Stragglers()
    stragglers.failed("edge-1", A)

    stragglers.forget("edge-1")

    assert stragglers.last("edge-1", [A, B]) == [A, B]


def test_a_replica_that_does_not_lead_any_more_remembers_nobody() -> None:
    stragglers = Stragglers()
    stragglers.failed("edge-1", A)

    stragglers.clear()

    assert stragglers.last("edge-1", [A, B]) == [A, B]
