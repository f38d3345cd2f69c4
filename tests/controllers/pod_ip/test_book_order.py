"""Which free address is taken first."""

from __future__ import annotations

import pytest

from controllers.pod_ip.book import AddressBook
from controllers.pod_ip.shares import ALIVE_S
from controllers.testing import FakeClock
from tests.webhook.addresses.allocations import (
    DB,
    ONE,
    THREE,
    TWO,
    WALL_S,
    WEB,
    added,
    address,
    addresses,
    asked,
    deleted,
    reservation,
    span,
)
from webhook.addresses.address import Address


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def book(clock: FakeClock) -> AddressBook:
    return AddressBook("replica-a", clock, lambda: 0.0)


def taken(book: AddressBook, count: int = 3, **fields: object) -> list[Address | None]:
    return [book.take(asked(**fields), 4) for _ in range(count)]


def test_who_was_released_first_is_given_first(book: AddressBook, clock: FakeClock) -> None:
    for one in (ONE, TWO, THREE):
        book.reservation_changed(added(reservation(one)))
    for one in (TWO, THREE, ONE):
        clock.advance(1.0)
        book.reservation_changed(deleted(reservation(one)))

    assert taken(book, owner=DB) == [TWO, THREE, ONE]


def test_the_order_of_release_outlives_a_new_line(book: AddressBook, clock: FakeClock) -> None:
    for one in (ONE, TWO, THREE):
        book.reservation_changed(added(reservation(one)))
    for one in (TWO, THREE, ONE):
        clock.advance(1.0)
        book.reservation_changed(deleted(reservation(one)))

    assert taken(book, owner=DB, pool="never asked for") == [TWO, THREE, ONE]


def test_those_of_which_nothing_is_known_come_before_the_released(book: AddressBook) -> None:
    book.reservation_changed(added(reservation(ONE)))
    book.reservation_changed(deleted(reservation(ONE)))

    assert taken(book, owner=DB)[-1] == ONE


def test_an_owner_gets_what_it_had_last(book: AddressBook) -> None:
    book.reservation_changed(added(reservation(ONE)))
    book.reservation_changed(deleted(reservation(ONE)))

    assert taken(book, 1, owner=WEB) == [ONE]


def test_an_owner_does_not_get_what_another_had_since(book: AddressBook) -> None:
    for facts in (reservation(ONE), reservation(ONE, asked(owner=DB), uid="later")):
        book.reservation_changed(added(facts))
        book.reservation_changed(deleted(facts))

    assert taken(book, 1, owner=WEB) != [ONE]
    assert taken(book, 1, owner=DB) == [ONE]


def test_an_owner_does_not_get_what_its_list_has_not(book: AddressBook) -> None:
    book.reservation_changed(added(reservation(ONE)))
    book.reservation_changed(deleted(reservation(ONE)))

    assert book.take(asked(addresses=addresses(span("10.0.0.2"))), 4) == TWO


def test_two_replicas_begin_at_different_ends() -> None:
    clock, wanted = FakeClock(), asked(addresses=addresses(span("10.0.0.0", 64)))
    books = [AddressBook(name, clock, lambda: 0.0) for name in ("replica-a", "replica-b")]
    for number, book in enumerate(books):
        there = reservation(address(f"10.9.9.{number}"), holder=f"replica-{'ba'[number]}", created_s=WALL_S)
        book.reservation_changed(added(there))

    first, second = ({book.take(wanted, 4) for _ in range(24)} for book in books)

    assert len(first & second) <= 4


def test_a_replica_that_has_reserved_nothing_for_long_has_no_share() -> None:
    clock, wanted = FakeClock(), asked(addresses=addresses(span("10.0.0.0", 64)))
    alone, book = (AddressBook("replica-a", clock, lambda: 0.0) for _ in range(2))
    book.reservation_changed(added(reservation(address("10.9.9.9"), holder="replica-b", created_s=WALL_S)))
    clock.advance(ALIVE_S)

    assert [book.take(wanted, 4) for _ in range(64)] == [alone.take(wanted, 4) for _ in range(64)]
