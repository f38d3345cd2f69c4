"""Who undoes what we do each time is not answered at his own speed; in a controller: edge_health/test_damping."""

from __future__ import annotations

import pytest

from controllers.runtime.damper import FREE, KEPT, QUIET_S, Damper
from controllers.testing import FakeClock
from webhook.telemetry import Telemetry


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def telemetry() -> Telemetry:
    return Telemetry()


@pytest.fixture
def damper(telemetry: Telemetry, clock: FakeClock) -> Damper:
    return Damper(telemetry, clock, "gatehouse_edge_deeds_damped")


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


def test_what_is_due_within_a_moment_does_not_wait_once_more(damper: Damper, clock: FakeClock) -> None:
    waits_s = [damper.did("uid", "restore", 30.0) for _ in range(FREE)]

    clock.advance(waits_s[-1] - 0.0005)

    assert damper.wait_s("uid", "restore") == 0.0


def test_a_deed_never_waits_longer_than_its_kind_may(damper: Damper) -> None:
    assert max(damper.did("uid", "remove taint", 2.5) for _ in range(FREE + 100)) == 2.5


def test_who_leads_anew_remembers_nothing(damper: Damper) -> None:
    for _ in range(FREE + 4):
        damper.did("uid", "restore", 30.0)

    damper.clear()

    assert damper.wait_s("uid", "restore") == 0.0
    assert damper.did("uid", "restore", 30.0) == 0.0


def test_deeds_that_wait_are_counted_under_their_label(damper: Damper, telemetry: Telemetry) -> None:
    for _ in range(FREE + 1):
        damper.did("one", "restore", 30.0)
        damper.did("two", "write bundle of webhook a", 30.0, label="write bundle")

    exposed = telemetry.expose().decode()

    assert 'gatehouse_edge_deeds_damped_total{deed="restore"} 2.0' in exposed
    assert 'gatehouse_edge_deeds_damped_total{deed="write bundle"} 2.0' in exposed
    assert "webhook a" not in exposed


def test_of_too_many_objects_the_one_done_longest_ago_is_forgotten(damper: Damper) -> None:
    for uid in ("first", "second"):
        for _ in range(FREE + 1):
            damper.did(uid, "restore", 30.0)
    damper.did("first", "restore", 30.0)

    for number in range(KEPT - 1):
        damper.did(f"uid-{number}", "restore", 30.0)

    assert damper.wait_s("first", "restore") > 0.0
    assert damper.wait_s("second", "restore") == 0.0
