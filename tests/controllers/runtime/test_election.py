"""One candidate, one observation at a time."""

from __future__ import annotations

from typing import Any

import attrs
import pytest

from controllers.runtime.election import (
    Candidate,
    Create,
    Effect,
    End,
    Leave,
    Missing,
    Moment,
    NoAnswer,
    Observation,
    Read,
    Rejected,
    Seen,
    State,
    Timing,
    Update,
    Wait,
    Woke,
    Written,
    step,
    tenure_left_s,
)
from controllers.runtime.leases import Record, new_lease, record_of
from webhook.objects.meta import Json

LABELS = {"app": "gatehouse"}
FOREIGN = Record("b", 20, "2026-01-01T00:00:00.000000Z", "2026-01-01T00:00:01.000000Z", 4)
RELEASED = Record("", 1, "2026-01-01T00:00:01.000000Z", "2026-01-01T00:00:01.000000Z", 4)


class Machine:
    """A candidate with clocks that the test moves."""

    def __init__(self, timing: Timing = Timing()) -> None:
        self.state = State(Candidate("a", "kube-system", "gatehouse", timing, LABELS))
        self.now = Moment(1000.0, 5000.0, 1_800_000_000.0)
        self.random = 0.0

    def see(self, seen: Observation) -> Effect:
        self.state, effect = step(self.state, seen, self.now, self.random)
        return effect

    def wait(self, seconds: float, *, suspended: bool = False) -> Machine:
        now = self.now
        awake_s = 0.0 if suspended else seconds
        self.now = Moment(now.monotonic_s + awake_s, now.boottime_s + seconds, now.wall_s + seconds)
        return self

    @property
    def leading(self) -> bool:
        return tenure_left_s(self.state, self.now) > 0


def lease(record: Record, version: str = "1", **metadata: Any) -> Json:
    made = new_lease("kube-system", "gatehouse", record, {})
    made["metadata"] |= {"resourceVersion": version, **metadata}
    return made


def written(effect: Effect) -> Json:
    assert isinstance(effect, Create | Update)
    return effect.lease


def leader(timing: Timing = Timing()) -> Machine:
    """A candidate that has just taken a released lease."""
    machine = Machine(timing)
    machine.see(Woke())
    machine.see(Written(written(machine.see(Seen(lease(RELEASED))))))
    assert machine.leading
    return machine


# -- taking


def test_a_candidate_reads_before_it_writes() -> None:
    assert Machine().see(Woke()) == Read()


def test_a_missing_lease_is_created() -> None:
    machine = Machine()
    machine.see(Woke())

    created = written(machine.see(Missing()))

    assert created["metadata"] == {"namespace": "kube-system", "name": "gatehouse", "labels": LABELS}
    assert record_of(created) == Record("a", 15, "2027-01-15T08:00:00.000000Z", "2027-01-15T08:00:00.000000Z", 0)


def test_a_lease_without_a_record_is_taken() -> None:
    machine = Machine()
    machine.see(Woke())

    effect = machine.see(Seen({"metadata": {"name": "gatehouse", "resourceVersion": "1"}}))

    assert isinstance(effect, Update)
    assert record_of(effect.lease).holder == "a"


def test_a_lease_without_a_holder_is_taken_though_it_is_fresh() -> None:
    machine = Machine()
    machine.see(Woke())

    effect = machine.see(Seen(lease(RELEASED)))

    assert isinstance(effect, Update)


def test_a_fresh_foreign_lease_is_left_alone() -> None:
    machine = Machine()
    machine.see(Woke())

    assert machine.see(Seen(lease(FOREIGN))) == Wait(1.0)
    assert not machine.leading


def test_a_foreign_lease_expires_by_the_length_in_its_record_since_we_saw_it_change() -> None:
    machine = Machine()
    machine.see(Woke())
    machine.see(Seen(lease(FOREIGN)))
    just_before = machine.wait(19.9).see(Seen(lease(FOREIGN)))

    effect = machine.wait(0.1).see(Seen(lease(FOREIGN)))

    assert just_before == Wait(pytest.approx(0.1))
    assert isinstance(effect, Update)


def test_a_renewal_that_we_see_counts_anew_whatever_the_clocks_say() -> None:
    machine = Machine()
    machine.see(Seen(lease(FOREIGN)))
    renewed = Record("b", 20, FOREIGN.acquired, "1999-01-01T00:00:00.000000Z", 4)
    machine.wait(19).see(Seen(lease(renewed, "2")))

    assert isinstance(machine.wait(19).see(Seen(lease(renewed, "2"))), Wait)
    assert isinstance(machine.wait(1).see(Seen(lease(renewed, "2"))), Update)


def test_an_edit_of_labels_is_no_sign_of_life_of_the_holder() -> None:
    machine = Machine()
    machine.see(Seen(lease(FOREIGN)))
    machine.wait(19).see(Seen(lease(FOREIGN, "2", labels={"x": "y"})))

    assert isinstance(machine.wait(1).see(Seen(lease(FOREIGN, "2", labels={"x": "y"}))), Update)


def test_the_time_for_which_our_machine_was_suspended_does_not_expire_others() -> None:
    machine = Machine()
    machine.see(Seen(lease(FOREIGN)))

    assert isinstance(machine.wait(3600, suspended=True).see(Seen(lease(FOREIGN))), Wait)


def test_a_takeover_counts_one_transition_and_begins_a_new_time() -> None:
    machine = Machine()
    machine.see(Seen(lease(FOREIGN)))

    taken = written(machine.wait(20).see(Seen(lease(FOREIGN, "9", labels={"team": "edge"}))))

    assert record_of(taken) == Record("a", 15, "2027-01-15T08:00:20.000000Z", "2027-01-15T08:00:20.000000Z", 5)
    assert taken["metadata"]["resourceVersion"] == "9"
    assert taken["metadata"]["labels"] == {"team": "edge", **LABELS}


def test_transitions_do_not_go_past_what_the_api_server_stores() -> None:
    machine = Machine()

    effect = machine.see(Seen(lease(attrs.evolve(RELEASED, transitions=2**31 - 1))))

    assert written(effect)["spec"]["leaseTransitions"] == 2**31 - 1


def test_waits_of_candidates_are_spread_and_shorter_than_the_period() -> None:
    machine = Machine()
    machine.random = 0.999

    effect = machine.see(Seen(lease(FOREIGN)))

    assert isinstance(effect, Wait)
    assert 1.7 < effect.seconds < 1.9


def test_a_length_with_a_fraction_is_written_as_the_next_whole_second() -> None:
    machine = Machine(Timing(2.5, 1.5, 0.5))

    assert record_of(written(machine.see(Missing()))).duration_s == 3


# -- when work may begin


def test_after_a_release_work_begins_at_once() -> None:
    assert leader().state.leading


def test_after_an_expiry_work_begins_at_once() -> None:
    machine = Machine()
    machine.see(Seen(lease(FOREIGN)))
    machine.see(Written(written(machine.wait(20).see(Seen(lease(FOREIGN))))))

    assert machine.leading


@pytest.mark.parametrize(
    ("seen", "settle_s"),
    [
        (Missing(), 15.0),
        (Seen(lease(Record("", 15, "", "", 4))), 15.0),
        (Seen(lease(Record("", 60, "", "", 4))), 60.0),
        (Seen(lease(Record("", 1, "2026-01-01T00:00:00.000000Z", "2026-01-01T00:00:08.000000Z", 4))), 15.0),
    ],
)
def test_after_a_deletion_or_an_edit_the_former_holder_gets_time_to_notice(seen: Observation, settle_s: float) -> None:
    machine = Machine()
    machine.see(Woke())
    effect = machine.see(Written(written(machine.see(seen))))
    passed_s = 0.0
    while not machine.leading:
        assert isinstance(effect, Wait)
        passed_s += effect.seconds
        effect = machine.see(Written(written(machine.wait(effect.seconds).see(Woke()))))

    assert passed_s == pytest.approx(settle_s)


ABSURD_S = 2**31 - 1
DEAD = Record("b", ABSURD_S, "", "", 4)


@pytest.mark.parametrize(
    "sights",
    [
        [Seen(lease(Record("", ABSURD_S, "", "", 4)))],
        [Seen(lease(DEAD)), Missing()],
        [Seen(lease(DEAD)), Seen(lease(Record("", ABSURD_S, "", "", 4), "2"))],
        [Seen(lease(Record("a", ABSURD_S, "", "", 4)))],
    ],
)
def test_an_absurd_length_in_the_record_does_not_keep_us_from_leading_for_longer_than_ten_of_ours(
    sights: list[Observation],
) -> None:
    machine = Machine()
    for seen in sights:
        effect = machine.see(seen)
    effect = machine.see(Written(written(effect)))
    passed_s = 0.0
    while not machine.leading and passed_s < 1000:
        assert isinstance(effect, Wait)
        passed_s += effect.seconds
        effect = machine.see(Written(written(machine.wait(effect.seconds).see(Woke()))))

    assert passed_s == pytest.approx(150.0)


def test_a_write_whose_answer_names_another_holder_is_no_win_and_is_followed_by_a_pause_and_a_read() -> None:
    machine = Machine()
    machine.see(Seen(lease(RELEASED)))

    effect = machine.see(Written(lease(FOREIGN, "2")))

    assert (machine.leading, machine.state.held) == (False, None)
    assert effect == Wait(1.0)
    assert machine.see(Woke()) == Read()


def test_a_renewal_whose_answer_names_another_holder_ends_leadership() -> None:
    machine = leader()
    machine.wait(2).see(Woke())

    machine.see(Written(lease(FOREIGN, "2")))

    assert not machine.state.leading


def test_a_length_cut_by_hand_lets_us_take_the_lease_but_not_begin() -> None:
    machine = Machine()
    machine.see(Seen(lease(Record("b", 1, "", "", 4))))
    taken = machine.wait(1).see(Seen(lease(Record("b", 1, "", "", 4))))
    machine.see(Written(written(taken)))
    early = machine.leading
    for _ in range(7):
        machine.see(Written(written(machine.wait(2).see(Woke()))))

    assert not early
    assert machine.leading


def test_a_write_that_went_through_without_an_answer_still_has_to_settle() -> None:
    machine = Machine()
    machine.see(Woke())
    created = written(machine.see(Missing()))
    machine.see(NoAnswer())
    machine.wait(2).see(Woke())
    machine.see(Written(written(machine.see(Seen(created)))))

    assert machine.state.held is not None
    assert not machine.leading


# -- keeping


def test_a_renewal_is_an_update_without_a_read() -> None:
    machine = leader()

    effect = machine.wait(2).see(Woke())

    assert isinstance(effect, Update)
    assert machine.see(Written(effect.lease)) == Wait(2.0)


def test_a_renewal_keeps_the_time_of_acquisition_and_the_transitions() -> None:
    machine = leader()

    renewed = record_of(written(machine.wait(2).see(Woke())))

    assert renewed == Record("a", 15, "2027-01-15T08:00:00.000000Z", "2027-01-15T08:00:02.000000Z", 5)


def test_a_renewal_differs_even_when_the_wall_clock_stands_still() -> None:
    machine = leader()

    renewed = record_of(written(machine.see(Woke())))

    assert renewed.renewed == "2027-01-15T08:00:00.000001Z"


@pytest.mark.parametrize("failure", [Rejected(), NoAnswer()])
def test_a_failed_renewal_is_followed_by_a_read_and_an_update(failure: Observation) -> None:
    machine = leader()
    current = written(machine.wait(2).see(Woke()))
    read = machine.see(failure)

    effect = machine.see(Seen({**current, "metadata": {**current["metadata"], "resourceVersion": "8"}}))

    assert read == Read()
    assert written(effect)["metadata"]["resourceVersion"] == "8"
    assert machine.leading


def test_a_failed_try_is_repeated_after_the_period() -> None:
    machine = leader()
    machine.wait(2).see(Woke())
    machine.see(NoAnswer())

    assert machine.see(NoAnswer()) == Wait(2.0)
    assert machine.leading


def test_a_leader_whose_lease_was_deleted_creates_it_and_goes_on() -> None:
    machine = leader()
    machine.wait(2).see(Woke())
    machine.see(Rejected())
    effect = machine.see(Missing())
    machine.see(Written(written(effect)))

    assert isinstance(effect, Create)
    assert machine.leading


def test_a_leader_whose_name_was_cleared_takes_it_back_and_goes_on() -> None:
    machine = leader()
    machine.wait(2).see(Woke())
    machine.see(Rejected())
    machine.see(Written(written(machine.see(Seen(lease(Record("", 15, "", "", 5), "9"))))))

    assert machine.leading


# -- losing


def test_the_lease_is_lost_at_the_renew_deadline_counted_from_before_the_last_good_request() -> None:
    machine = Machine()
    machine.see(Woke())
    update = machine.see(Seen(lease(RELEASED)))
    machine.wait(3).see(Written(written(update)))  # the answer took 3 s

    assert machine.wait(6.9).leading
    assert not machine.wait(0.1).leading


def test_no_wait_goes_past_the_deadline() -> None:
    machine = leader()
    machine.wait(9).see(Woke())
    machine.see(NoAnswer())

    assert machine.see(NoAnswer()) == Wait(pytest.approx(1.0))
    machine.wait(1).see(Woke())
    assert not machine.state.leading
    assert machine.state.held is None


def test_a_hung_renewal_ends_leadership_at_the_deadline() -> None:
    machine = leader()
    machine.wait(2).see(Woke())

    effect = machine.wait(8).see(NoAnswer())

    assert not machine.state.leading
    assert effect == Read()


def test_an_answer_that_comes_after_the_deadline_gives_nothing_back() -> None:
    machine = leader()
    renewal = machine.wait(2).see(Woke())

    effect = machine.wait(60).see(Written(written(renewal)))

    assert not machine.state.leading
    assert effect == Read()


def test_a_suspended_machine_has_lost_its_lease_though_its_clock_stood_still() -> None:
    machine = leader()

    machine.wait(3600, suspended=True)

    assert not machine.leading


def test_a_leader_that_sees_another_holder_stops_at_once() -> None:
    machine = leader()
    machine.wait(2).see(Woke())
    machine.see(Rejected())

    machine.see(Seen(lease(FOREIGN, "9")))

    assert not machine.state.leading


def test_after_an_outage_the_lease_that_nobody_took_leads_at_once() -> None:
    machine = leader()
    current = written(machine.wait(2).see(Woke()))
    machine.wait(30).see(NoAnswer())

    machine.see(Written(written(machine.see(Seen(current)))))

    assert machine.leading


def test_time_left_for_requests_ends_with_the_lease_and_none_begins_after_the_renew_deadline() -> None:
    machine = leader()

    left = [tenure_left_s(machine.wait(seconds).state, machine.now) for seconds in (0, 9, 0.9, 0.1)]

    assert left == pytest.approx([15.0, 6.0, 5.1, 0.0])


# -- leaving


def test_a_release_reads_first_then_clears_the_holder_and_keeps_the_transitions() -> None:
    machine = leader()
    read = machine.wait(1).see(Leave())

    update = machine.see(Seen(lease(Record("a", 15, "x", "y", 5), "9")))

    assert read == Read()
    stamp = "2027-01-15T08:00:01.000000Z"
    assert record_of(written(update)) == Record("", 1, stamp, stamp, 5)
    assert machine.see(Written(written(update))) == End()


def test_who_leaves_before_it_has_settled_lets_the_next_one_settle_too() -> None:
    machine = Machine()
    machine.see(Woke())
    created = written(machine.see(Missing()))
    machine.see(Written(created))
    machine.see(Leave())

    released = record_of(written(machine.see(Seen(created))))

    assert (released.holder, released.is_released) == ("", False)


def test_a_release_that_meets_a_conflict_reads_again() -> None:
    machine = leader()
    machine.see(Leave())
    machine.see(Seen(lease(Record("a", 15, "", "", 5), "9")))

    assert machine.see(Rejected()) == Read()
    assert isinstance(machine.see(Seen(lease(Record("a", 15, "", "", 5), "10"))), Update)


def test_a_release_that_meets_one_conflict_after_another_pauses_between_them() -> None:
    machine = leader()
    machine.see(Leave())
    effects: list[Effect] = []
    for _ in range(3):
        machine.see(Seen(lease(Record("a", 15, "", "", 5), "9")))
        effects.append(machine.see(Rejected()))
        machine.see(Woke())

    assert effects == [Read(), Wait(0.5), Wait(0.5)]


def test_a_release_without_an_answer_is_tried_again() -> None:
    machine = leader()
    machine.see(Leave())

    assert machine.see(NoAnswer()) == Wait(0.5)
    assert machine.see(Woke()) == Read()


def test_a_release_with_no_lease_does_nothing() -> None:
    machine = leader()
    machine.see(Leave())

    assert machine.see(Missing()) == End()


def test_another_holders_lease_is_not_released() -> None:
    machine = leader()
    machine.see(Leave())

    assert machine.see(Seen(lease(FOREIGN))) == End()


def test_who_never_held_the_lease_leaves_without_a_request() -> None:
    machine = Machine()
    machine.see(Woke())
    machine.see(Seen(lease(FOREIGN)))

    assert machine.see(Leave()) == End()


@pytest.mark.parametrize("before", ["update", "read"])
def test_who_leaves_during_a_request_without_an_answer_releases_all_the_same(before: str) -> None:
    machine = leader()
    machine.wait(2).see(Woke())
    if before == "read":
        machine.see(Rejected())
    machine.see(NoAnswer())

    assert machine.see(Leave()) == Read()
    assert isinstance(machine.see(Seen(lease(Record("a", 15, "", "", 5)))), Update)


def test_a_first_take_without_an_answer_is_released_too() -> None:
    machine = Machine()
    machine.see(Woke())
    machine.see(Missing())
    machine.see(NoAnswer())

    assert machine.see(Leave()) == Read()


def test_who_leaves_does_not_lead_whatever_the_answers() -> None:
    machine = leader()
    machine.see(Leave())

    assert not machine.state.leading
