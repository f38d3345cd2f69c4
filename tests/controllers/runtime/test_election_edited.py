"""A Lease that somebody else has edited: whose name and which length it may bear, and what a candidate makes of that."""

from __future__ import annotations

from typing import Any

import attrs
import pytest

from controllers.runtime.election import (
    MOST_LEASE_DURATIONS,
    Leave,
    NoAnswer,
    Rejected,
    Seen,
    Timing,
    Update,
    Wait,
    Woke,
    Written,
    others_left_s,
    settles_in_s,
)
from controllers.runtime.leases import Record, record_of
from tests.controllers.runtime.test_election import FOREIGN, Machine, leader, lease, written

LEASE_S = Timing().lease_duration_s


def stopped_leader(seconds: float = 40.0) -> Machine:
    """One that led, was stopped, and has just been let go on."""
    machine = leader().wait(seconds)
    machine.see(Woke())
    return machine


def lead_after_one_write(machine: Machine, seen: Any) -> bool:
    """Whether *machine* leads as soon as it has renewed what it saw."""
    effect = machine.see(Seen(seen))
    assert isinstance(effect, Update)
    machine.see(Written(effect.lease | {"metadata": effect.lease["metadata"] | {"resourceVersion": "99"}}))
    return machine.leading


def test_a_stopped_leader_whose_name_was_put_back_into_anothers_record_has_to_settle() -> None:
    machine = stopped_leader()
    others = attrs.evolve(FOREIGN, holder="a", transitions=machine.state.record.transitions + 1)

    assert not lead_after_one_write(machine, lease(others, "9"))
    assert settles_in_s(machine.state, machine.now) == pytest.approx(FOREIGN.duration_s)
    machine.wait(2.0).see(Woke())
    assert not machine.leading


def test_who_leaves_with_its_name_in_anothers_record_cannot_vouch_for_that_other() -> None:
    machine = stopped_leader()
    others = attrs.evolve(FOREIGN, holder="a", transitions=machine.state.record.transitions + 1)
    machine.see(Leave())

    released = written(machine.see(Seen(lease(others, "9"))))

    assert not record_of(released).is_released


def test_an_old_record_of_ours_that_was_put_back_has_to_settle() -> None:
    machine = stopped_leader()
    ours = machine.state.record

    assert not lead_after_one_write(machine, lease(ours, "9"))


def test_a_leader_that_was_stopped_leads_on_when_nobody_has_touched_its_lease() -> None:
    machine = stopped_leader()
    untouched = machine.state.lease

    assert lead_after_one_write(machine, untouched)


def test_a_renewal_whose_answer_was_lost_counts_as_ours() -> None:
    machine = leader().wait(2.0)
    renewal = written(machine.see(Woke()))
    machine.see(NoAnswer())
    machine.wait(40.0).see(Woke())

    stored = lease(record_of(renewal), "9")

    assert lead_after_one_write(machine, stored)


def test_a_record_edited_while_the_lease_is_held_costs_no_settling() -> None:
    machine = leader().wait(2.0)
    machine.see(Woke())
    machine.see(Rejected())
    edited = attrs.evolve(machine.state.record, transitions=77)

    assert lead_after_one_write(machine, lease(edited, "9"))


ENDLESS = attrs.evolve(FOREIGN, duration_s=100_000)


def test_a_record_of_a_length_beyond_reason_is_waited_for_ten_lease_durations() -> None:
    machine = Machine()
    machine.see(Woke())
    machine.see(Seen(lease(ENDLESS)))

    before = machine.wait(MOST_LEASE_DURATIONS * LEASE_S - 1.0).see(Seen(lease(ENDLESS)))
    left_s = others_left_s(machine.state, machine.now)
    after = machine.wait(1.0).see(Seen(lease(ENDLESS)))

    assert isinstance(before, Wait)
    assert left_s == pytest.approx(1.0)
    assert isinstance(after, Update)


def test_a_holder_that_renews_a_record_of_any_length_keeps_it() -> None:
    machine = Machine()
    machine.see(Woke())
    for number in range(20):
        renewed = attrs.evolve(ENDLESS, renewed=f"2026-01-01T00:{number:02}:00.000000Z")
        assert isinstance(machine.wait(100.0).see(Seen(lease(renewed))), Wait)


def test_nobody_elses_lease_has_no_time_left() -> None:
    machine = leader()

    assert others_left_s(machine.state, machine.now) is None
    assert settles_in_s(machine.state, machine.now) is None
    assert others_left_s(Machine().state, machine.now) is None


def test_a_lease_that_has_run_out_shows_for_how_long() -> None:
    machine = Machine()
    machine.see(Woke())
    machine.see(Seen(lease(Record("b", 20, "x", "y", 1))))

    machine.wait(25.0)

    assert others_left_s(machine.state, machine.now) == pytest.approx(-5.0)
