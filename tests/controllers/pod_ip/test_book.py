"""What a replica knows of addresses, and which one it takes next."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from threading import Thread
from typing import Any

import pytest

from controllers.pod_ip.book import OVERLAY_S, REFUSED_S, AddressBook
from controllers.pod_ip.releases import MOST, Releases
from controllers.testing import FakeClock
from tests.webhook.addresses.allocations import (
    ONE,
    SIX,
    THREE,
    THREE_FREE,
    TWO,
    added,
    address,
    addresses,
    asked,
    deleted,
    is_free,
    reservation,
    span,
    updated,
)
from webhook.addresses.address import Address
from webhook.addresses.facts import Phase

HUGE = addresses(span("10.1.0.0", 2**16))


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def book(clock: FakeClock) -> AddressBook:
    return AddressBook("replica-a", clock, lambda: 0.0)


def taken(book: AddressBook, count: int = 3, **fields: Any) -> list[Address | None]:
    return [book.take(asked(**fields), 4) for _ in range(count)]


def free(book: AddressBook, of: Sequence[Address] = (ONE, TWO, THREE)) -> list[Address]:
    return [one for one in of if is_free(book, one)]


# -- what is free


def test_each_address_is_taken_once(book: AddressBook) -> None:
    found = taken(book, 4)

    assert sorted(found[:3]) == [ONE, TWO, THREE]
    assert found[3] is None


def test_what_the_cache_has_is_not_free(book: AddressBook) -> None:
    book.reservation_changed(added(reservation(TWO)))

    assert free(book) == [ONE, THREE]


def test_what_the_cache_loses_is_free_again(book: AddressBook) -> None:
    book.reservation_changed(added(reservation(TWO)))
    book.reservation_changed(deleted(reservation(TWO)))

    assert free(book) == [ONE, TWO, THREE]


def test_foreseeing_takes_nothing(book: AddressBook) -> None:
    found = book.foresee(asked(), 4)

    assert found == book.foresee(asked(), 4)
    assert len(free(book)) == 3


def test_a_list_that_a_pod_brings_is_lined_up_as_a_pool_is(book: AddressBook) -> None:
    assert sorted(taken(book, pool="")) == [ONE, TWO, THREE]


def test_a_pool_that_has_got_other_addresses_gives_these(book: AddressBook) -> None:
    taken(book, 1)

    assert book.take(asked(addresses=addresses(span("10.0.9.9"))), 4) == address("10.0.9.9")


def test_each_family_has_its_own_line(book: AddressBook) -> None:
    both = asked(addresses=addresses(span("10.0.0.1"), span("fd00::1")))

    assert [book.take(both, 6), book.take(both, 4)] == [SIX, ONE]


def test_two_sets_that_overlap_never_give_the_same(book: AddressBook) -> None:
    found = [*taken(book, 2), *taken(book, 2, pool="other")]

    assert sorted(one for one in found if one) == [ONE, TWO, THREE]


def test_many_threads_take_different_addresses(book: AddressBook) -> None:
    wanted, found = asked(addresses=addresses(span("10.0.0.0", 2000))), []
    threads = [Thread(target=lambda: found.extend(book.take(wanted, 4) for _ in range(200))) for _ in range(8)]

    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(set(found)) == 1600


# -- marks and their end


def test_a_refused_address_is_left_alone_for_some_seconds(book: AddressBook, clock: FakeClock) -> None:
    book.refused(taken(book, 1)[0])
    assert len(free(book)) == 2

    clock.advance(REFUSED_S)

    assert len(free(book)) == 3


def test_a_refused_address_is_decided_by_what_the_cache_hears(book: AddressBook) -> None:
    (one,) = taken(book, 1)
    book.refused(one)

    book.reservation_changed(added(reservation(one)))
    book.reservation_changed(deleted(reservation(one)))

    assert len(free(book)) == 3


def test_the_end_of_an_older_reservation_does_not_free_a_refused_address(book: AddressBook) -> None:
    book.reservation_changed(added(reservation(ONE, uid="old")))
    book.refused(ONE)

    book.reservation_changed(deleted(reservation(ONE, uid="old")))

    assert free(book) == [TWO, THREE]


def test_what_was_reserved_is_known_at_once(book: AddressBook) -> None:
    (one,) = taken(book, 1)

    book.learned(reservation(one))

    assert book.by_key("key-1") == [reservation(one)]
    assert book.reservation(one) == reservation(one)
    assert not is_free(book, one)


def test_the_cache_takes_over_what_was_learned(book: AddressBook) -> None:
    book.learned(reservation(ONE))
    bound = reservation(ONE, version="8", phase=Phase.BOUND)

    book.reservation_changed(added(bound))
    assert book.reservation(ONE) == bound

    book.reservation_changed(deleted(bound))
    assert is_free(book, ONE)


def test_what_the_cache_never_hears_of_ends_by_itself(book: AddressBook, clock: FakeClock) -> None:
    book.learned(reservation(ONE))

    clock.advance(OVERLAY_S)

    assert is_free(book, ONE)
    assert book.by_key("key-1") == []


def test_an_answer_that_comes_after_the_news_of_its_end_is_old(book: AddressBook) -> None:
    book.reservation_changed(added(reservation(ONE)))
    book.reservation_changed(deleted(reservation(ONE)))

    book.learned(reservation(ONE))

    assert is_free(book, ONE)
    assert book.reservation(ONE) is None


def test_news_of_an_older_reservation_do_not_undo_a_new_one(book: AddressBook) -> None:
    book.learned(reservation(ONE, uid="new"))

    book.reservation_changed(added(reservation(ONE, uid="old")))
    book.reservation_changed(deleted(reservation(ONE, uid="old")))

    assert not is_free(book, ONE)
    assert book.reservation(ONE).uid == "new"


def test_a_claim_is_seen_before_the_cache_has_it(book: AddressBook) -> None:
    book.reservation_changed(added(reservation(ONE)))

    book.learned(reservation(ONE, version="8", claim="request-2"))

    assert book.reservation(ONE).claim == "request-2"


def test_what_vanished_is_free_whatever_the_cache_says(book: AddressBook) -> None:
    book.reservation_changed(added(reservation(ONE)))

    book.vanished(reservation(ONE))
    book.reservation_changed(updated(reservation(ONE), reservation(ONE, version="8")))

    assert is_free(book, ONE)
    assert book.by_key("key-1") == []


def test_a_reservation_that_was_withdrawn_before_the_cache_heard_of_it_stays_gone(book: AddressBook) -> None:
    book.learned(reservation(ONE))
    book.vanished(reservation(ONE))

    book.reservation_changed(added(reservation(ONE)))
    assert is_free(book, ONE)
    book.reservation_changed(deleted(reservation(ONE)))
    assert is_free(book, ONE)


def test_a_successor_of_what_vanished_counts(book: AddressBook) -> None:
    book.reservation_changed(added(reservation(ONE)))
    book.vanished(reservation(ONE))

    book.reservation_changed(deleted(reservation(ONE)))
    book.reservation_changed(added(reservation(ONE, uid="new")))

    assert not is_free(book, ONE)


def test_a_key_that_changes_hands_is_found_under_its_new_holder_only(book: AddressBook) -> None:
    book.reservation_changed(added(reservation(ONE)))
    book.reservation_changed(deleted(reservation(ONE)))

    book.reservation_changed(added(reservation(ONE, asked(key="key-2"), uid="new")))

    assert book.by_key("key-1") == []
    assert [one.uid for one in book.by_key("key-2")] == ["new"]


def test_nothing_is_left_of_what_came_and_went(book: AddressBook, clock: FakeClock) -> None:
    for number in range(21):
        facts = reservation(ONE, asked(key=f"key-{number}"), uid=f"uid-{number}")
        book.learned(facts)
        if number % 2:
            book.reservation_changed(added(facts))
            book.reservation_changed(deleted(facts))
    clock.advance(OVERLAY_S)

    assert is_free(book, ONE)
    assert not any((book._keys, book._learned, book._gone, book._ends, book._heard_s, book._busy, book._taken))


# -- live lists


def test_what_a_list_lacks_is_free(book: AddressBook, clock: FakeClock) -> None:
    book.reservation_changed(added(reservation(ONE)))
    book.learned(reservation(TWO))
    clock.advance(1.0)

    book.listed({THREE}, clock.monotonic_s())

    assert free(book) == [ONE, TWO]


def test_what_a_list_has_and_the_cache_lacks_is_not_tried(book: AddressBook, clock: FakeClock) -> None:
    book.listed({ONE}, clock.monotonic_s())

    assert free(book) == [TWO, THREE]


def test_a_list_says_nothing_of_what_came_after_it(book: AddressBook, clock: FakeClock) -> None:
    began_s = clock.monotonic_s()
    book.reservation_changed(added(reservation(TWO)))
    book.reservation_changed(deleted(reservation(TWO)))
    clock.advance(0.1)
    book.reservation_changed(added(reservation(ONE)))

    book.listed({TWO}, began_s)

    assert free(book) == [TWO, THREE], "ONE was made, and TWO was given back, after the list began"


def test_a_list_ends_older_refusals(book: AddressBook, clock: FakeClock) -> None:
    book.refused(ONE)
    clock.advance(0.1)
    began_s = clock.monotonic_s()
    book.refused(TWO)

    book.listed(set(), began_s)

    assert free(book) == [ONE, THREE], "TWO was refused while the list was made"


# -- bounds


def test_a_big_set_is_served_until_its_last_address(clock: FakeClock) -> None:
    book = AddressBook("replica-a", clock, Random(1).random)
    book.block_changed("all but 16", {one for one in HUGE if one.value % 4096})

    found = taken(book, 17, addresses=HUGE, pool="huge")

    assert sorted(one.value % 4096 for one in found if one) == [0] * 16
    assert found[16] is None


def test_reservations_of_a_set_are_found_from_either_side(book: AddressBook) -> None:
    for one in (ONE, TWO):
        book.reservation_changed(added(reservation(one)))

    assert [one.address for one in book.within(addresses(span("10.0.0.2")))] == [TWO]
    assert {one.address for one in book.within(THREE_FREE)} == {ONE, TWO}
    assert book.within(HUGE) == []


def test_releases_beyond_the_bound_are_forgotten() -> None:
    releases = Releases()
    for number in range(MOST + 1):
        releases.note(Address(4, number), float(number), "uid-web-1")

    assert releases.when_s(Address(4, 0)) == float("-inf")
    assert releases.when_s(Address(4, 1)) == 1.0
    assert len(list(releases.of("uid-web-1"))) == MOST
