"""Allocations of whose POST nothing was heard: it is made again, and what exists then is ours or somebody else's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import attrs
import pytest

from tests.webhook.addresses.allocations import (
    DUAL,
    ONE,
    SIX,
    addresses,
    asked,
    asked_by_name,
    book,
    drive,
    is_free,
    made,
    reservation,
    span,
)
from webhook.addresses.allocating import allocate
from webhook.addresses.effects import Allocated, Confirm, Effect, Exhausted, ListAll, Reserve, Unanswered, Withdraw
from webhook.addresses.facts import Asked, Phase, ReservationFacts
from webhook.addresses.marks import Marks

NONE = Marks(asks=True)
WANTED = asked(addresses=addresses(span("10.0.0.1")))
DARK = RuntimeError("the connection went dark")
UNANSWERED = Unanswered("replica-a", DARK)


class Broken(Exception):
    """A request that fails for good."""


def found(**fields: Any) -> Callable[[Confirm], ReservationFacts]:
    """The answer to a Confirm: what the lost POST made, but for *fields*."""
    return lambda effect: reservation(effect.address, WANTED, **fields)


def told(asked_for: Asked, *answers: Any) -> list[Effect]:
    """The effects of an allocation that ends in `Broken`."""
    effects: list[Effect] = []
    with pytest.raises(Broken):
        drive(allocate(asked_for, NONE, book(), 0.0), *answers, seen=effects)
    return effects


def test_the_second_post_is_told_that_it_is_one() -> None:
    effects, outcome = drive(allocate(WANTED, NONE, book(), 0.0), UNANSWERED, made)

    assert effects == [Reserve(WANTED, ONE), Reserve(WANTED, ONE, again=True)]
    assert outcome == Allocated("key-1", (ONE,))


def test_what_the_first_one_made_is_found() -> None:
    memory = book()

    effects, outcome = drive(allocate(WANTED, NONE, memory, 0.0), UNANSWERED, None, found())

    assert effects[1:] == [Reserve(WANTED, ONE, again=True), Confirm(ONE)]
    assert outcome == Allocated("key-1", (ONE,))
    assert memory.reservation(ONE) is not None


OTHERS: dict[str, dict[str, Any]] = {
    "of another key": {"key": "key-2"},
    "of another request": {"request_uid": "request-2"},
    "of another namespace": {"namespace": "blog"},
    "made by another replica that was asked too, and may withdraw it": {"holder": "replica-b"},
    "claimed by another request since": {"claim": "request-2"},
    "bound to a pod since": {"phase": Phase.BOUND, "bound_uid": "uid-web-1"},
    "bound, although its phase is behind": {"bound_uid": "uid-web-1"},
    "released since": {"phase": Phase.COOLING},
    "being deleted": {"deleting": True},
}


@pytest.mark.parametrize("fields", OTHERS.values(), ids=OTHERS)
def test_what_is_somebody_elses_is_left_alone(fields: dict[str, Any]) -> None:
    memory = book()

    effects, outcome = drive(allocate(WANTED, NONE, memory, 0.0), UNANSWERED, None, found(**fields), None)

    assert [type(effect) for effect in effects] == [Reserve, Reserve, Confirm, ListAll]
    assert isinstance(outcome, Exhausted)
    assert not is_free(memory, ONE)


def test_what_is_gone_again_is_not_believed() -> None:
    _, outcome = drive(allocate(WANTED, NONE, book(), 0.0), UNANSWERED, None, None, None)

    assert isinstance(outcome, Exhausted)


def test_what_was_found_is_withdrawn_in_the_version_that_nobody_had_claimed() -> None:
    effects = told(asked(addresses=DUAL), UNANSWERED, None, found(version="9"), Broken(), True)

    assert isinstance(effects[-1], Withdraw)
    assert (effects[-1].reservation.address, effects[-1].reservation.version) == (ONE, "9")


def test_what_another_call_of_the_same_request_has_claimed_is_used_and_not_withdrawn() -> None:
    effects = told(asked(addresses=DUAL), UNANSWERED, None, found(claim="request-1"), Broken())

    assert effects[-1] == Reserve(asked(addresses=DUAL), SIX), "its answer may have gone out with it"


def test_a_named_pods_reservation_that_another_call_has_claimed_is_never_withdrawn() -> None:
    wanted = asked_by_name(addresses=DUAL)
    claimed = attrs.evolve(reservation(ONE, wanted), claim="request-2", version="8")

    effects, outcome = drive(allocate(wanted, NONE, book(), 0.0), UNANSWERED, None, claimed, None)

    assert Withdraw not in {type(effect) for effect in effects}
    assert isinstance(outcome, Exhausted)


@pytest.mark.parametrize("answers", [(), (None,)], ids=["the second POST", "the look at what is there"])
def test_a_failure_after_it_names_the_first_one_and_leaves_the_address_alone(answers: tuple[None, ...]) -> None:
    memory = book()

    with pytest.raises(Broken) as raised:
        drive(allocate(WANTED, NONE, memory, 0.0), UNANSWERED, *answers, Broken())

    assert raised.value.__cause__ is DARK
    assert not is_free(memory, ONE)
