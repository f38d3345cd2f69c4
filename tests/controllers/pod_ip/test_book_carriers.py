"""Addresses that are in use without a reservation: live pods carry them, or the network still holds them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import attrs
import pytest

from controllers.pod_ip.book import AddressBook
from controllers.runtime.resource import Item
from controllers.runtime.store import Addition, Deletion, Update
from controllers.testing import FakeClock
from tests.webhook.addresses.allocations import ONE, THREE, TWO, is_free
from webhook.addresses.address import Address
from webhook.addresses.marks import Marks
from webhook.cluster import PodFacts
from webhook.testing.facts import pod_facts


@pytest.fixture
def book() -> AddressBook:
    return AddressBook("replica-a", FakeClock(), lambda: 0.0)


def pod(*carried: Address, **fields: Any) -> PodFacts:
    """A running pod that carries these."""
    return attrs.evolve(pod_facts("shop/web-1"), fixed=Marks("key-1", carried, "", asks=True), **fields)


def item(facts: PodFacts) -> Item[PodFacts]:
    return Item(f"{facts.namespace}/{facts.name}", facts.uid, "1", facts)


def free(book: AddressBook, of: Sequence[Address] = (ONE, TWO, THREE)) -> list[Address]:
    return [one for one in of if is_free(book, one)]


def test_what_a_live_pod_carries_is_not_free_without_a_reservation_either(book: AddressBook) -> None:
    book.pod_changed(Addition(item(pod(ONE))))

    assert free(book) == [TWO, THREE]


@pytest.mark.parametrize("end", ["gone", "Succeeded", "Failed"])
def test_a_pod_that_has_ended_carries_nothing(book: AddressBook, end: str) -> None:
    book.pod_changed(Addition(item(pod(ONE))))

    if end == "gone":
        book.pod_changed(Deletion(item(pod(ONE))))
    else:
        book.pod_changed(Update(item(pod(ONE)), item(pod(ONE, phase=end))))

    assert is_free(book, ONE)


def test_a_pod_that_is_being_deleted_still_carries(book: AddressBook) -> None:
    book.pod_changed(Addition(item(pod(ONE, deleting=True))))

    assert not is_free(book, ONE)


def test_an_address_of_two_pods_is_free_when_both_are_gone(book: AddressBook) -> None:
    first, second = pod(ONE, uid="first"), pod(ONE, uid="second")
    book.pod_changed(Addition(item(first)))
    book.pod_changed(Addition(item(second)))

    book.pod_changed(Deletion(item(first)))
    assert not is_free(book, ONE)
    book.pod_changed(Deletion(item(second)))
    assert is_free(book, ONE)


def test_a_pod_whose_annotation_changes_carries_the_new_one(book: AddressBook) -> None:
    book.pod_changed(Addition(item(pod(ONE, TWO))))
    book.pod_changed(Update(item(pod(ONE, TWO)), item(pod(TWO, THREE))))

    assert free(book) == [ONE]


def test_a_pod_without_marks_says_nothing(book: AddressBook) -> None:
    book.pod_changed(Addition(item(attrs.evolve(pod(ONE), fixed=None))))

    assert len(free(book)) == 3


def test_what_the_network_still_holds_is_skipped(book: AddressBook) -> None:
    book.block_changed("10-0-0-0-26", {ONE, TWO})
    assert free(book) == [THREE]

    book.block_changed("10-0-0-0-26", {TWO})
    assert free(book) == [ONE, THREE]

    book.block_changed("10-0-0-0-26", ())
    assert len(free(book)) == 3


def test_a_pod_on_its_nodes_network_carries_nothing(book: AddressBook) -> None:
    book.pod_changed(Addition(item(pod(ONE, on_host_network=True))))

    assert is_free(book, ONE)
