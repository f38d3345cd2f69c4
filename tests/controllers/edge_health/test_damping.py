"""Who undoes what we do to nodes and pods each time is not answered at his own speed; the damper: runtime/test_damper."""

from __future__ import annotations

import logging

import pytest

from controllers.edge_health.reconciler import POD_WAITS_AT_MOST_S, TAINT_WAITS_AT_MOST_S
from controllers.runtime.damper import FREE
from tests.controllers.edge_health.builders import EVICTING, node, pod
from tests.controllers.edge_health.scene import Scene

TICK_S = 0.05


def test_a_client_that_puts_the_taint_back_at_once_is_answered_a_few_times_a_minute(
    scene: Scene, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "gatehouse")
    scene.put(node("edge-1", EVICTING))
    scene.run()
    removals, longest_s, since_s = 0, 0.0, 0.0
    for _ in range(round(60.0 / TICK_S)):
        if not scene.node()["spec"].get("taints"):
            removals, longest_s, since_s = removals + 1, max(longest_s, since_s), 0.0
            scene.put(node("edge-1", EVICTING))
        scene.clock.advance(TICK_S)
        since_s += TICK_S
        scene.run()

    lines = [record for record in caplog.records if record.name == "gatehouse.edge-health"]
    assert FREE < removals <= FREE + 3 + 60 / TAINT_WAITS_AT_MOST_S
    assert longest_s <= TAINT_WAITS_AT_MOST_S + 2 * TICK_S
    assert len(lines) <= 2 * removals
    assert scene.metrics()['gatehouse_edge_deeds_damped_total{deed="remove taint"}'] >= 5


def test_a_client_that_makes_one_pod_ready_each_time_does_not_hold_back_the_others_of_its_node(scene: Scene) -> None:
    scene.put(node(vote="false"))
    for _ in range(round(30.0 / TICK_S)):
        scene.put(pod("web-1", ready="True"))
        scene.clock.advance(TICK_S)
        scene.run()
    fought = len(scene.patches())

    scene.put(pod("web-2", ready="True"))
    scene.run()

    assert FREE < fought <= FREE + 6
    assert scene.ready()["web-2"] == "False"


def test_a_damped_pod_is_let_go_in_the_end_without_any_event(scene: Scene) -> None:
    scene.put(node(vote="false"))
    for _ in range(round(10.0 / TICK_S)):
        scene.put(pod("web-1", ready="True"))
        scene.clock.advance(TICK_S)
        scene.run()

    scene.clock.advance(POD_WAITS_AT_MOST_S)
    scene.run_blindly()

    assert scene.ready() == {"web-1": "False"}
