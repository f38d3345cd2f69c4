"""Reservations that are being deleted, and kept for a while by somebody's finalizer: nobody is given what they stand for."""

from __future__ import annotations

import attrs

from tests.webhook.addresses.allocations import ONE, TWO, WALL_S, asked, asked_by_name, book, claimed, drive, made, reservation
from webhook.addresses.allocating import allocate, foreseen
from webhook.addresses.effects import Allocated, Claim, Confirm, Reserve
from webhook.addresses.marks import Marks

NONE = Marks(asks=True)


def test_a_name_whose_reservation_is_being_deleted_gets_another_address() -> None:
    going = reservation(ONE, asked_by_name(request_uid="earlier"), deleting=True)

    effects, outcome = drive(allocate(asked_by_name(), NONE, book(going), WALL_S), made)

    assert [type(one) for one in effects] == [Reserve]
    assert isinstance(outcome, Allocated) and ONE not in outcome.addresses


def test_of_two_reservations_of_a_name_the_one_that_stays_is_claimed() -> None:
    going = reservation(ONE, asked_by_name(request_uid="earlier"), deleting=True)
    kept = reservation(TWO, asked_by_name(request_uid="earlier"))

    effects, _ = drive(allocate(asked_by_name(), NONE, book(going, kept), WALL_S), claimed)

    assert effects == [Claim(kept, "request-1")]


def test_a_reservation_whose_deletion_began_unheard_is_left_when_the_claim_fails() -> None:
    kept = reservation(ONE, asked_by_name(request_uid="earlier"))
    going = attrs.evolve(kept, version="9", deleting=True)

    effects, outcome = drive(allocate(asked_by_name(), NONE, book(kept), WALL_S), None, going, made)

    assert [type(one) for one in effects] == [Claim, Confirm, Reserve]
    assert isinstance(outcome, Allocated) and ONE not in outcome.addresses


def test_marks_of_an_earlier_call_are_not_believed_of_a_reservation_that_is_being_deleted() -> None:
    first = reservation(ONE, asked(key="key-0", request_uid="request-0"), deleting=True)
    marks = Marks("key-0", (ONE,), ONE.name, asks=True)

    effects, outcome = drive(allocate(asked(), marks, book(first), WALL_S), made)

    assert [type(one) for one in effects] == [Reserve]
    assert isinstance(outcome, Allocated) and ONE not in outcome.addresses


def test_a_dry_run_foresees_no_address_whose_reservation_is_being_deleted() -> None:
    going = reservation(ONE, asked_by_name(request_uid="earlier"), deleting=True)

    outcome = foreseen(asked_by_name(), book(going))

    assert isinstance(outcome, Allocated) and ONE not in outcome.addresses
