"""Who undoes what we do each time is not answered at his own speed."""

from __future__ import annotations

import logging

import pytest

from controllers.edge_health.reconciler import POD_WAITS_AT_MOST_S, TAINT_WAITS_AT_MOST_S
from controllers.runtime.damper import FREE, QUIET_S, Damper
from controllers.testing import FakeClock
from tests.controllers.edge_health.builders import EVICTING, node, pod
from tests.controllers.edge_health.scene import Scene
from webhook.telemetry import Telemetry

TICK_S = 0.05


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def damper(clock: FakeClock) -> Damper:
    return Damper(Telemetry(), clock, "gatehouse_edge_deeds_damped")


def test_the_same_deed_waits_longer_each_time_up_to_its_most(damper: Damper) -> None:
    waits_s = [damper.did("uid", "restore", 30.0) for _ in range(FREE + 8)]

    assert waits_s == [0.0] * (FREE - 1) + [1.0, 2.0, 4.0, 8.0, 16.0, 30.0, 30.0, 30.0, 30.0]


def test_a_wait_runs_out(damper: Damper, clock: FakeClock) -> None:
    for _ in range(FREE + 1):
        damper.did("uid", "restore", 30.0)

    clock.advance(1.5)
    left_s = damper.wait_s("uid", "restore")
    clock.advance(0.5)

    assert (left_s, damper.wait_s("uid", "restore")) == (0.5, 0.0)


def test_another_deed_and_other_objects_do_not_wait(damper: Damper) -> None:
    for _ in range(FREE + 4):
        damper.did("uid", "restore", 30.0)

    assert damper.wait_s("uid", "let go") == damper.wait_s("other", "restore") == 0.0
    assert damper.did("uid", "let go", 30.0) == 0.0


def test_after_a_while_of_quiet_all_is_forgotten(damper: Damper, clock: FakeClock) -> None:
    for _ in range(FREE + 4):
        damper.did("uid", "restore", 30.0)

    clock.advance(QUIET_S)

    assert damper.did("uid", "restore", 30.0) == 0.0


def run_for(scene: Scene, seconds: float) -> None:
    for _ in range(round(seconds / TICK_S)):
        scene.clock.advance(TICK_S)
        scene.run()


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
