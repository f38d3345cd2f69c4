"""The steps of an allocation, one effect after the other."""

from __future__ import annotations

import attrs
import pytest

from tests.webhook.addresses.allocations import (
    DB,
    DUAL,
    ONE,
    SIX,
    THREE,
    THREE_FREE,
    TWO,
    WALL_S,
    added,
    addresses,
    asked,
    asked_by_name,
    book,
    claimed,
    drive,
    is_free,
    made,
    reservation,
    span,
)
from webhook.addresses.allocating import allocate, foreseen
from webhook.addresses.effects import (
    Allocated,
    Carriers,
    Claim,
    Confirm,
    Exhausted,
    ListAll,
    Reserve,
    Withdraw,
)
from webhook.addresses.facts import Asked, Phase
from webhook.addresses.marks import Marks

NONE = Marks(asks=True)
AGAIN = asked(key="key-2", request_uid="request-2")  # the same pod, when admission is called again
FIRST = Marks("key-1", (ONE,), ONE.name, asks=True)  # what the first call wrote on it


class Broken(Exception):
    """A request without an answer."""


def kinds(effects) -> list[type]:
    return [type(effect) for effect in effects]


# -- something new


def test_a_new_pod_costs_one_post() -> None:
    effects, outcome = drive(allocate(asked(), NONE, book(), WALL_S), made)

    assert kinds(effects) == [Reserve]
    assert outcome == Allocated("key-1", (effects[0].address,))
    assert effects[0].address in THREE_FREE


def test_an_address_that_exists_already_is_followed_by_another() -> None:
    effects, outcome = drive(allocate(asked(), NONE, book(), WALL_S), None, None, made)

    assert {effect.address for effect in effects} == {ONE, TWO, THREE}
    assert outcome == Allocated("key-1", (effects[-1].address,))


def test_any_other_failure_ends_it() -> None:
    memory = book()

    with pytest.raises(Broken):
        drive(allocate(asked(), NONE, memory, WALL_S), Broken())

    assert sum(is_free(memory, one) for one in (ONE, TWO, THREE)) == 2, "the one that may exist is left alone for a while"


def test_both_families_are_reserved_ipv4_first() -> None:
    effects, outcome = drive(allocate(asked(addresses=DUAL), NONE, book(), WALL_S), made, made)

    assert [effect.address for effect in effects] == [ONE, SIX]
    assert outcome == Allocated("key-1", (ONE, SIX))


def test_the_first_family_is_given_back_when_the_second_fails() -> None:
    effects = []
    steps = allocate(asked(addresses=DUAL), NONE, book(), WALL_S)

    effects.append(next(steps))
    effects.append(steps.send(made(effects[0])))
    effects.append(steps.throw(Broken()))
    with pytest.raises(Broken):
        steps.send(True)

    assert kinds(effects) == [Reserve, Reserve, Withdraw]
    assert effects[2].reservation.address == ONE


def test_the_first_family_is_given_back_when_the_second_is_exhausted() -> None:
    memory = book(reservation(SIX, asked(key="other")))

    effects, outcome = drive(allocate(asked(addresses=DUAL), NONE, memory, WALL_S), made, None, True)

    assert kinds(effects) == [Reserve, ListAll, Withdraw]
    assert isinstance(outcome, Exhausted) and outcome.version == 6
    assert is_free(memory, ONE)


def test_what_could_not_be_withdrawn_stays_taken() -> None:
    memory = book(reservation(SIX, asked(key="other")))

    drive(allocate(asked(addresses=DUAL), NONE, memory, WALL_S), made, None, False)

    assert not is_free(memory, ONE)


# -- exhaustion


def test_nothing_is_said_to_be_full_before_the_api_server_was_asked() -> None:
    memory = book(*(reservation(one, asked(key=one.name)) for one in (ONE, TWO, THREE)))

    effects, outcome = drive(allocate(asked(), NONE, memory, WALL_S), None)

    assert kinds(effects) == [ListAll]
    assert isinstance(outcome, Exhausted) and outcome.size == 3


def test_what_the_list_shows_as_free_is_taken() -> None:
    memory = book(*(reservation(one, asked(key=one.name)) for one in (ONE, TWO, THREE)))

    def listed(effect):
        memory.listed({ONE, THREE}, began_s=2000.0)

    effects, outcome = drive(allocate(asked(), NONE, memory, WALL_S), listed, made)

    assert kinds(effects) == [ListAll, Reserve]
    assert outcome == Allocated("key-1", (TWO,))


def test_an_address_that_is_lost_to_another_after_the_list_leads_to_no_second_list() -> None:
    memory = book(*(reservation(one, asked(key=one.name)) for one in (ONE, TWO, THREE)))

    def listed(effect):
        memory.listed({ONE, THREE}, began_s=2000.0)

    effects, outcome = drive(allocate(asked(), NONE, memory, WALL_S), listed, None)

    assert kinds(effects) == [ListAll, Reserve]
    assert isinstance(outcome, Exhausted)


# -- a name that comes back


@pytest.mark.parametrize("phase", list(Phase))
def test_a_name_gets_its_reservation_again_by_one_claim(phase: Phase) -> None:
    kept = reservation(TWO, asked_by_name(request_uid="earlier"), phase=phase)

    effects, outcome = drive(allocate(asked_by_name(), NONE, book(kept), WALL_S), claimed)

    assert effects == [Claim(kept, "request-1")]
    assert outcome == Allocated("key-db-0", (TWO,), reused=True)


def test_a_retried_request_is_answered_without_a_second_claim() -> None:
    kept = reservation(TWO, asked_by_name(request_uid="earlier"), claim="request-1")

    effects, outcome = drive(allocate(asked_by_name(), NONE, book(kept), WALL_S))

    assert effects == []
    assert outcome == Allocated("key-db-0", (TWO,), reused=True)


def test_a_retried_request_for_a_pod_without_a_name_claims_what_it_made() -> None:
    kept = reservation(TWO)

    effects, outcome = drive(allocate(asked(), NONE, book(kept), WALL_S), claimed)

    assert kinds(effects) == [Claim]
    assert outcome == Allocated("key-1", (TWO,), reused=True)


def test_a_reservation_that_is_no_longer_in_the_list_is_not_given_again() -> None:
    kept = reservation(TWO, asked_by_name(request_uid="earlier"))
    wanted = asked_by_name(addresses=addresses(span("10.0.0.3")))

    effects, outcome = drive(allocate(wanted, NONE, book(kept), WALL_S), made)

    assert kinds(effects) == [Reserve]
    assert outcome == Allocated("key-db-0", (THREE,))


def test_a_reservation_of_another_namespace_is_not_given_again() -> None:
    kept = reservation(TWO, asked_by_name(namespace="other"))

    effects, _ = drive(allocate(asked_by_name(), NONE, book(kept), WALL_S), made)

    assert kinds(effects) == [Reserve]


def test_a_claim_that_meets_another_write_is_tried_on_what_is_there_now() -> None:
    kept = reservation(TWO, asked_by_name(request_uid="earlier"))
    bound = attrs.evolve(kept, version="9", phase=Phase.BOUND)

    effects, outcome = drive(allocate(asked_by_name(), NONE, book(kept), WALL_S), None, bound, claimed)

    assert effects == [Claim(kept, "request-1"), Confirm(TWO), Claim(bound, "request-1")]
    assert outcome == Allocated("key-db-0", (TWO,), reused=True)


def test_a_reservation_that_was_just_deleted_is_made_anew() -> None:
    kept = reservation(TWO, asked_by_name(request_uid="earlier"))

    effects, outcome = drive(allocate(asked_by_name(), NONE, book(kept), WALL_S), None, None, made)

    assert kinds(effects) == [Claim, Confirm, Reserve]
    assert isinstance(outcome, Allocated) and not outcome.reused


def test_an_address_that_somebody_else_got_meanwhile_is_left_to_him() -> None:
    kept = reservation(TWO, asked_by_name(request_uid="earlier"))
    others = reservation(TWO, asked(key="other"), uid="uid-new")

    effects, outcome = drive(allocate(asked_by_name(), NONE, book(kept), WALL_S), None, others, made)

    assert kinds(effects) == [Claim, Confirm, Reserve]
    assert TWO not in outcome.addresses


def test_claims_that_always_come_too_late_end_in_another_address() -> None:
    kept = reservation(TWO, asked_by_name(request_uid="earlier"))
    moving = [attrs.evolve(kept, version=str(number)) for number in range(3)]

    effects, outcome = drive(
        allocate(asked_by_name(), NONE, book(kept), WALL_S), None, moving[0], None, moving[1], None, moving[2], made
    )

    assert kinds(effects) == [Claim, Confirm] * 3 + [Reserve]
    assert isinstance(outcome, Allocated)


def test_of_several_reservations_of_a_name_the_one_with_a_pod_comes_first() -> None:
    bare = reservation(ONE, asked_by_name(request_uid="earlier"), created_s=1.0)
    bound = reservation(TWO, asked_by_name(request_uid="earlier"), phase=Phase.BOUND, bound_uid="uid-pod")

    effects, _ = drive(allocate(asked_by_name(), NONE, book(bare, bound), WALL_S), claimed)

    assert effects == [Claim(bound, "request-1")]


def test_a_named_pod_that_brings_its_own_key_is_looked_up_where_the_cache_is_behind() -> None:
    kept = reservation(TWO, asked_by_name(request_uid="earlier"))
    marks = Marks("key-db-0", (TWO,), TWO.name, asks=True)

    effects, outcome = drive(allocate(asked_by_name(), marks, book(), WALL_S), kept, claimed)

    assert effects == [Confirm(TWO), Claim(kept, "request-1")]
    assert outcome == Allocated("key-db-0", (TWO,), reused=True)


def test_a_named_pod_with_the_marks_of_another_gets_an_address_of_its_own() -> None:
    effects, outcome = drive(allocate(asked_by_name(), FIRST, book(reservation(ONE)), WALL_S), made)

    assert kinds(effects) == [Reserve]
    assert outcome.key == "key-db-0" and ONE not in outcome.addresses


# -- admission is called again


def test_a_reinvocation_claims_what_the_first_call_gave() -> None:
    first = reservation(ONE)

    effects, outcome = drive(allocate(AGAIN, FIRST, book(first), WALL_S), (), claimed)

    assert effects == [Carriers(ONE), Claim(first, "request-2")]
    assert outcome == Allocated("key-1", (ONE,), reused=True)


def test_a_reinvocation_is_understood_where_the_cache_is_behind() -> None:
    first = reservation(ONE)

    effects, outcome = drive(allocate(AGAIN, FIRST, book(), WALL_S), first, (), claimed)

    assert kinds(effects) == [Confirm, Carriers, Claim]
    assert outcome == Allocated("key-1", (ONE,), reused=True)


def test_a_retried_reinvocation_is_answered_without_a_write() -> None:
    first = reservation(ONE, claim="request-2")

    effects, outcome = drive(allocate(AGAIN, FIRST, book(first), WALL_S))

    assert effects == []
    assert outcome == Allocated("key-1", (ONE,), reused=True)


def test_both_families_are_claimed() -> None:
    first = [reservation(one, asked(addresses=DUAL)) for one in (ONE, SIX)]
    again = attrs.evolve(AGAIN, addresses=DUAL)

    effects, outcome = drive(
        allocate(again, attrs.evolve(FIRST, addresses=(SIX, ONE)), book(*first), WALL_S), (), claimed, claimed
    )

    assert kinds(effects) == [Carriers, Claim, Claim]
    assert outcome == Allocated("key-1", (ONE, SIX), reused=True)


COPIES = {
    "a pod carries the address": (reservation(ONE), AGAIN, (("uid-pod",),)),
    "the reservation is bound": (reservation(ONE, phase=Phase.BOUND), AGAIN, ()),
    "it names a pod": (reservation(ONE, bound_uid="uid-pod"), AGAIN, ()),
    "it is older than any create": (reservation(ONE, created_s=WALL_S - 41), AGAIN, ()),
    "a later request has it": (reservation(ONE, claim="request-7"), AGAIN, ()),
    "another owner has it": (reservation(ONE, asked(owner=DB)), AGAIN, ()),
    "another namespace has it": (reservation(ONE, asked(namespace="other")), AGAIN, ()),
    "it stands for a name": (reservation(ONE, asked(pod_name="web")), AGAIN, ()),
    "another key has it": (reservation(ONE, asked(key="key-7")), AGAIN, (reservation(ONE, asked(key="key-7")),)),
    "the list has it no longer": (reservation(ONE), attrs.evolve(AGAIN, addresses=addresses(span("10.0.0.3"))), ()),
    "the pod asks for both families": (reservation(ONE), attrs.evolve(AGAIN, addresses=DUAL), ()),
}


@pytest.mark.parametrize("why", COPIES)
def test_copied_marks_are_not_believed(why: str) -> None:
    existing, again, answers = COPIES[why]
    again = attrs.evolve(again, addresses=addresses(*again.addresses.spans, span("10.0.0.3")))

    effects, outcome = drive(allocate(again, FIRST, book(existing), WALL_S), *answers, *[made] * len(again.addresses.versions))

    assert Claim not in kinds(effects)
    assert outcome.key == "key-2" and ONE not in outcome.addresses


def test_a_copy_that_comes_second_loses_the_claim() -> None:
    first = reservation(ONE)
    taken = attrs.evolve(first, version="9", claim="request-7")

    effects, outcome = drive(allocate(AGAIN, FIRST, book(first), WALL_S), (), None, taken, made)

    assert kinds(effects) == [Carriers, Claim, Confirm, Reserve]
    assert ONE not in outcome.addresses


# -- dry runs


def test_a_dry_run_names_a_free_address_and_marks_nothing() -> None:
    memory = book(reservation(ONE, asked(key="other")))

    outcome = foreseen(asked(), memory)

    assert isinstance(outcome, Allocated) and outcome.addresses[0] in (TWO, THREE)
    assert is_free(memory, TWO) and is_free(memory, THREE)


def test_a_dry_run_of_a_known_name_names_its_address() -> None:
    wanted: Asked = asked_by_name()

    assert foreseen(wanted, book(reservation(TWO, wanted))) == Allocated("key-db-0", (TWO,))


def test_a_dry_run_says_when_nothing_is_free() -> None:
    memory = book(*(reservation(one, asked(key=one.name)) for one in (ONE, TWO, THREE)))

    assert isinstance(foreseen(asked(), memory), Exhausted)


def test_what_was_made_is_known_before_the_cache_hears_of_it() -> None:
    memory = book()

    _, outcome = drive(allocate(asked(), NONE, memory, WALL_S), made)

    assert [one.address for one in memory.by_key("key-1")] == list(outcome.addresses)
    memory.reservation_changed(added(reservation(outcome.addresses[0])))
    assert [one.address for one in memory.by_key("key-1")] == list(outcome.addresses)
