"""An entry that the cache has not heard of yet is waited for: shortly, by few, and not again at once."""

from __future__ import annotations

import threading

import attrs
import pytest

from controllers.sidecars.awaiting import KNOWN_S, MOST_WAITING, WAIT_S, AwaitedEntries
from controllers.testing import FakeClock
from tests.controllers.coverage.builders import catalog, entry
from webhook.clock import Deadline
from webhook.sidecars.entries.catalog import Catalog

HOME = "kube-system"


@attrs.define(eq=False)
class Entries:
    """A catalog that is another one after so many looks."""

    value: Catalog = attrs.field(factory=catalog)
    listeners: list = attrs.field(factory=list)  # type: ignore[type-arg]

    def catalog(self) -> Catalog:
        return self.value

    def subscribe(self, listener):  # type: ignore[no-untyped-def]
        self.listeners.append(listener)
        return lambda: self.listeners.remove(listener)

    def set(self, value: Catalog) -> None:
        self.value = value
        for listener in list(self.listeners):
            listener()


@pytest.fixture
def entries() -> Entries:
    return Entries()


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock(auto_advance=True)


def waited_s(awaiting: AwaitedEntries, clock: FakeClock, *names: str, budget_s: float = 5.0) -> float:
    began_s = clock.monotonic_s()
    awaiting.awaited(names, "shop", HOME, Deadline.after(budget_s, clock))
    return clock.monotonic_s() - began_s


def test_what_is_there_is_not_waited_for(entries: Entries, clock: FakeClock) -> None:
    entries.set(catalog(entry("envoy")))

    assert waited_s(AwaitedEntries(entries, clock), clock, "envoy") == 0.0


def test_what_is_missing_is_waited_for_once_and_then_known_to_be(entries: Entries, clock: FakeClock) -> None:
    awaiting = AwaitedEntries(entries, clock)

    assert waited_s(awaiting, clock, "envoy") == pytest.approx(WAIT_S)
    assert waited_s(awaiting, clock, "envoy") == 0.0
    assert waited_s(awaiting, clock, "envoy", "other") == pytest.approx(WAIT_S)
    clock.advance(KNOWN_S)
    assert waited_s(awaiting, clock, "envoy") == pytest.approx(WAIT_S)
    assert entries.listeners == []


def test_a_review_in_a_hurry_waits_no_longer_than_it_may_and_speaks_for_nobody_else(entries: Entries, clock: FakeClock) -> None:
    awaiting = AwaitedEntries(entries, clock)

    assert waited_s(awaiting, clock, "envoy", budget_s=0.1) == pytest.approx(0.1)
    assert waited_s(awaiting, clock, "envoy", budget_s=0.0) == 0.0
    assert waited_s(awaiting, clock, "envoy") == pytest.approx(WAIT_S)


def waiting(awaiting: AwaitedEntries, clock: FakeClock, name: str, found: list[bool]) -> threading.Thread:
    def ask() -> None:
        known = awaiting.awaited((name,), "shop", HOME, Deadline.after(5.0, clock))
        found.append(known.find(name, "shop", HOME) is not None)

    thread = threading.Thread(target=ask)
    thread.start()
    return thread


def until_listening(entries: Entries, number: int) -> None:
    limit = threading.Event()
    for _ in range(5000):
        if len(entries.listeners) >= number:
            return
        limit.wait(0.001)
    raise AssertionError(f"{len(entries.listeners)} are waiting")


def test_every_review_that_waits_has_the_entry_as_soon_as_it_comes(entries: Entries) -> None:
    clock = FakeClock()
    awaiting = AwaitedEntries(entries, clock)
    found: list[bool] = []
    threads = [waiting(awaiting, clock, "envoy", found) for _ in range(3)]
    until_listening(entries, 3)

    entries.set(catalog(entry("other")))
    entries.set(catalog(entry("other"), entry("envoy")))
    for thread in threads:
        thread.join(10.0)

    assert found == [True, True, True]


def test_a_flood_of_missing_names_holds_few_reviews(entries: Entries) -> None:
    clock = FakeClock()
    awaiting = AwaitedEntries(entries, clock)
    found: list[bool] = []
    threads = [waiting(awaiting, clock, f"name-{number}", found) for number in range(MOST_WAITING)]
    until_listening(entries, MOST_WAITING)

    late = [waiting(awaiting, clock, f"late-{number}", found) for number in range(20)]
    for thread in late:
        thread.join(10.0)
    answered = len(found)
    clock.advance(WAIT_S)
    for thread in threads:
        thread.join(10.0)

    assert (answered, len(found)) == (20, 20 + MOST_WAITING)
