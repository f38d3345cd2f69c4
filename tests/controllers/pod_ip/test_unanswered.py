"""Allocations whose requests get no answer: what is asked again, what came of the first attempt, and what is given up."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from controllers.pod_ip.bodies import reservation_body
from controllers.pod_ip.paths import RESERVATIONS_PATH
from controllers.testing.answers import Answer, Exchange, cut, hang, status
from tests.controllers.pod_ip.office import Office
from tests.webhook.addresses.allocations import DUAL, ONE, SIX, THREE, TWO, addresses, asked, asked_by_name, is_free, span
from webhook.addresses.effects import Allocated, Exhausted
from webhook.errors import AdmissionError, Unavailable

FIRST = addresses(span("10.0.0.1"))
# Real seconds of an attempt: the office's clock stands still, so that the second has as many.
PATIENCE_S = 0.3


def lost(office: Office, meanwhile: Callable[[], object] = lambda: None) -> Answer:
    """Does what it is asked, and *meanwhile*; nobody hears of it."""

    def answer(exchange: Exchange) -> None:
        exchange.respond = lambda *_: None  # type: ignore[method-assign]
        office.api.ordinary(exchange)
        meanwhile()
        exchange.cut()

    return answer


def keep_connections(office: Office) -> None:
    """Two that are idle, as after any busy moment."""
    with office.client.listing(RESERVATIONS_PATH, {}) as pieces:
        office.client.get(RESERVATIONS_PATH)
        list(pieces)


def test_a_dark_connection_costs_a_pod_time_and_not_its_address(office: Office) -> None:
    keep_connections(office)
    office.api.forget_connections()

    outcome = office.allocate(asked(addresses=FIRST), seconds=PATIENCE_S)

    assert outcome == Allocated("key-1", (ONE,))
    assert list(office.stored()) == ["10.0.0.1"]
    assert office.posts() == {"failed": 1.0, "created": 1.0}


def test_connections_that_go_dark_again_at_once_refuse_no_pod_either(office: Office) -> None:
    for key in ("key-1", "key-2"):
        keep_connections(office)
        office.api.forget_connections()

        assert isinstance(office.allocate(asked(key=key), seconds=PATIENCE_S), Allocated)

    assert len(office.stored()) == 2


def test_an_answer_that_was_lost_is_found(office: Office) -> None:
    office.api.next("create", lost(office))

    outcome = office.allocate(asked(addresses=FIRST))

    assert outcome == Allocated("key-1", (ONE,))
    assert [one.method for one in office.api.requests] == ["POST", "POST", "GET"]
    assert len(office.stored()) == 1
    assert office.posts() == {"failed": 1.0, "taken": 1.0}


def test_what_another_call_claimed_after_a_lost_answer_is_never_withdrawn(office: Office) -> None:
    """The API server asks twice for one pod: the first call fails after the second was given what the first had reserved."""
    other = Office(office.api, office.client)

    def second_call() -> None:
        facts = other.allocator.reservation(ONE, 1.0)
        other.book.learned(facts)
        answers.append(other.allocate(asked_by_name(request_uid="request-2", addresses=DUAL)))

    answers: list[Allocated] = []
    office.api.next("create", lost(office, second_call))

    outcome = office.allocate(asked_by_name(addresses=DUAL))

    assert answers == [Allocated("key-db-0", (ONE, SIX))]
    assert isinstance(outcome, Exhausted)
    assert office.stored()["10.0.0.1"]["status"]["claim"] == "request-2"
    assert len(office.stored()) == 2


def test_what_another_replica_made_for_the_same_request_is_not_ours(office: Office) -> None:
    def made_elsewhere(exchange: Exchange) -> None:
        office.api.objects.put(reservation_body(asked(), ONE, "replica-b"))
        exchange.cut()

    office.api.next("create", made_elsewhere)

    assert isinstance(office.allocate(asked(addresses=DUAL)), Exhausted)
    assert list(office.stored()) == ["10.0.0.1"]


def test_what_was_found_after_a_lost_answer_is_withdrawn_as_what_was_made(office: Office) -> None:
    office.api.next("create", lost(office), office.api.ordinary, status(500))

    with pytest.raises(Unavailable):
        office.allocate(asked(addresses=DUAL))

    assert office.stored() == {}


def test_an_address_that_somebody_took_between_two_attempts_is_theirs(office: Office) -> None:
    def taken(exchange: Exchange) -> None:
        office.others_have(ONE)
        exchange.cut()

    office.api.next("create", taken)

    outcome = office.allocate(asked(addresses=FIRST))

    assert isinstance(outcome, Exhausted)
    assert office.posts() == {"failed": 1.0, "taken": 1.0}


@pytest.mark.parametrize("first", [cut, hang])
def test_a_withdrawal_is_asked_for_again(office: Office, first: Answer) -> None:
    office.api.next("create", office.api.ordinary, status(500))
    office.api.next("delete", first)

    with pytest.raises(Unavailable):
        office.allocate(asked(addresses=DUAL))

    assert office.stored() == {}
    assert office.api.count("delete") == 2


def test_a_withdrawal_whose_answer_was_lost_is_done(office: Office) -> None:
    office.api.next("create", office.api.ordinary, status(500))
    office.api.next("delete", lost(office))

    with pytest.raises(Unavailable):
        office.allocate(asked(addresses=DUAL))

    assert is_free(office.book, ONE)


def test_two_lost_answers_are_given_up_and_expire(office: Office) -> None:
    office.api.next("create", lost(office), lost(office))

    with pytest.raises(Unavailable, match=r'for a pod of "shop": POST .* \(the first attempt: POST .*\)$'):
        office.allocate(asked(addresses=FIRST))

    assert office.api.count("create") == 2
    assert list(office.stored()) == ["10.0.0.1"], "nobody knows its uid: it is the leader's, after the expiry"
    assert office.posts() == {"failed": 2.0}


def test_a_claim_whose_answer_was_lost_is_found(office: Office) -> None:
    first = office.allocate(asked_by_name())
    office.api.next("patch", lost(office))

    again = office.allocate(asked_by_name(request_uid="request-2"))

    assert again == Allocated(first.key, first.addresses, reused=True)
    (stored,) = office.stored().values()
    assert stored["status"]["claim"] == "request-2"


@pytest.mark.parametrize("fault", [cut, hang])
def test_a_list_is_asked_for_again(office: Office, fault: Answer) -> None:
    office.others_have(ONE, TWO, THREE)
    office.api.next("list", fault)

    assert isinstance(office.allocate(asked(), seconds=PATIENCE_S), Exhausted)
    assert office.api.count("list") == 2


@pytest.mark.parametrize("code", [403, 422, 429, 500, 503])
def test_an_answer_is_an_answer(office: Office, code: int) -> None:
    office.api.always("create", status(code))

    with pytest.raises(AdmissionError):
        office.allocate(asked())

    assert office.api.count("create") == 1


def test_nothing_is_asked_again_when_the_time_is_up(office: Office) -> None:
    def slowly(exchange: Exchange) -> None:
        office.clock.advance(10.0)
        exchange.cut()

    office.api.next("create", slowly)

    with pytest.raises(Unavailable, match="POST"):
        office.allocate(asked())

    assert office.api.count("create") == 1
