"""What operators are told: Events, metrics, the age of each guard."""

from __future__ import annotations

import pytest

from controllers.testing.answers import cut
from tests.controllers.edge_health.builders import EVICTING, node, pod
from tests.controllers.edge_health.scene import Scene
from webhook.clock import Deadline
from webhook.names import Reason


def test_a_guard_is_told_when_it_begins_and_when_it_ends(scene: Scene) -> None:
    scene.put(node(ready="True"))
    scene.run()

    scene.put(node(ready_for_s=0.0))
    scene.run()
    scene.put(node(ready="True", ready_for_s=0.0))
    scene.run()

    assert scene.heard.reasons == ["GuardBegun", "GuardEnded"]
    assert scene.heard.warnings == [True, False]


def test_what_was_mended_is_told_of_the_node_once_a_pass(scene: Scene) -> None:
    scene.put(node("edge-1", EVICTING), pod("web-1"), pod("web-2"))

    scene.run()

    assert scene.heard.reasons == ["GuardBegun", "TaintRemoved", "PodsRestored"]
    assert scene.heard.notes[-1] == "2 pods are Ready again: the node is silent, and its peers say that it is healthy"
    assert scene.heard.names == ["edge-1"] * 3


def test_pods_that_were_let_go_are_told_with_the_reason(scene: Scene) -> None:
    scene.put(node(vote="false"), pod(ready="True"))

    scene.run()

    assert scene.heard.notes == ["1 pod is not Ready any more: the node is silent, and its peers say that it is unhealthy"]
    assert scene.metrics()['gatehouse_edge_pods_let_go_total{reason="VoteUnhealthy"}'] == 1


def test_what_was_written_before_a_failure_is_told(scene: Scene) -> None:
    scene.put(node("edge-1", EVICTING), pod())
    scene.client.before_patches = [lambda: None, lambda: scene.api.next("patch", cut)]

    scene.run()

    assert scene.heard.reasons == ["GuardBegun", "TaintRemoved"]


def test_a_new_leader_does_not_tell_again_of_a_guard_that_holds(scene: Scene) -> None:
    scene.put(node(ready_for_s=3600.0), pod(ready="True"))

    scene.run()

    assert scene.heard.reasons == []
    assert scene.metrics()['gatehouse_edge_guard_age_seconds{node="edge-1"}'] == 3600.0


def test_the_age_of_a_guard_grows_and_goes_with_it(scene: Scene) -> None:
    age = 'gatehouse_edge_guard_age_seconds{node="edge-1"}'
    scene.put(node(ready_for_s=30.0))
    scene.run()
    scene.clock.advance(12.0)
    grown = scene.metrics()[age]

    scene.put(node(ready="True"))
    scene.run()

    assert grown == 42.0
    assert age not in scene.metrics()
    assert scene.metrics()[f'gatehouse_edge_guards_ended_total{{reason="{Reason.NODE_NOT_SILENT}"}}'] == 1


def test_a_node_that_was_ready_and_is_silent_anew_between_two_passes_is_a_new_guard(scene: Scene) -> None:
    scene.put(node(ready_for_s=3600.0), pod(ready="True"))
    scene.run()

    scene.put(node(ready_for_s=5.0))
    scene.run()

    assert scene.heard.reasons == ["GuardEnded", "GuardBegun"]
    assert scene.metrics()['gatehouse_edge_guard_age_seconds{node="edge-1"}'] == 5.0
    assert scene.metrics()[f'gatehouse_edge_guards_ended_total{{reason="{Reason.NODE_NOT_SILENT}"}}'] == 1


@pytest.mark.parametrize("leave", ["node", "controller"])
def test_no_age_is_shown_for_what_is_gone(scene: Scene, leave: str) -> None:
    scene.put(node())
    scene.run()

    if leave == "node":
        scene.api.objects.drop("Node", "edge-1")
        scene.run()
    else:
        scene.controller.stop(Deadline.after(5.0, scene.clock))

    assert 'gatehouse_edge_guard_age_seconds{node="edge-1"}' not in scene.metrics()
