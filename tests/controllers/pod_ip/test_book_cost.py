"""What a list costs that nobody has asked for before: everybody else waits for the lock meanwhile."""

from __future__ import annotations

import time

from controllers.pod_ip.book import AddressBook
from controllers.testing import FakeClock
from tests.webhook.addresses.allocations import asked
from webhook.addresses.grammar import MAX_ITEMS
from webhook.addresses.ranges import AddressSet, Span


def scattered(count: int, first: int) -> AddressSet:
    """Single addresses, each in a block of its own."""
    return AddressSet.of(Span(4, value, value) for value in range(first, first + 512 * count, 512))


def cost_s(count: int) -> float:
    """Processor seconds of this thread, the least of a few."""
    book, found = AddressBook("replica-a", FakeClock(), lambda: 0.0), []
    for number in range(3):
        wanted = asked(pool="", addresses=scattered(count, number))
        began_s = time.thread_time()
        assert book.take(wanted, 4) is not None
        found.append(time.thread_time() - began_s)
    return min(found)


def test_a_list_of_single_addresses_costs_by_its_length_and_not_by_its_square() -> None:
    # Eight times as long; it was fifty times as dear while every block of it hashed the whole list anew.
    assert cost_s(MAX_ITEMS) < 24 * cost_s(MAX_ITEMS // 8)
