"""How many POSTs an admitted pod costs when pools just fit: two replicas, 32 clients, caches 5 to 100 ms behind.

A simulation by events: every answer of the API server and every watch event has its own delay.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Sequence
from random import Random

import pytest

from controllers.pod_ip.book import AddressBook
from controllers.runtime.store import Change
from tests.addresses_model.world import NAMESPACE, World
from webhook.addresses.allocating import Steps, allocate
from webhook.addresses.effects import Allocated, ListAll, Reserve
from webhook.addresses.facts import Asked, OnExhausted, PodOwner, ReservationFacts
from webhook.addresses.keys import key_of_request
from webhook.addresses.marks import Marks
from webhook.addresses.ranges import AddressSet, Span

APPS, EACH, CLIENTS, REPLICAS = 20, 50, 32, 2
MOST_POSTS = 1.15  # per pod; 1.07 is the worst of these. Random choice without shares needs 1.34 here


class Storm:
    """A world whose news travel."""

    def __init__(self, number: int) -> None:
        self.random = Random(number)
        self.world = World(self.random)
        self.books = [AddressBook(f"replica-{number}", self.world, self.random.random) for number in range(REPLICAS)]
        self.events: list[tuple[float, int, Callable[[], None]]] = []
        self.told = 0
        self.heard_s = [0.0] * REPLICAS

    def after(self, seconds: float, does: Callable[[], None]) -> None:
        heapq.heappush(self.events, (self.world.now_s + seconds, int(self.world.number()), does))

    def run(self) -> None:
        while self.events:
            self.world.now_s, _, does = heapq.heappop(self.events)
            does()

    def spread(self) -> None:
        """Send what happened to every cache; each hears in order."""
        news, self.told = self.world.reservations.log[self.told :], len(self.world.reservations.log)
        for number, book in enumerate(self.books):
            for _, change in news:
                arrives_s = max(self.heard_s[number], self.world.now_s + self.random.uniform(0.005, 0.1))
                self.heard_s[number] = arrives_s
                self.after(arrives_s - self.world.now_s, _hears(book, change))

    def create_all(self, wanted: Iterable[Asked]) -> list[Allocated]:
        """What became of *wanted*, created by so many clients one after the other."""
        queue, outcomes = list(wanted), []

        def begin() -> None:
            if queue:
                book = self.random.choice(self.books)
                go_on(allocate(queue.pop(0), Marks(), book, self.world.now_s), book, None)

        def go_on(steps: Steps, book: AddressBook, answer: object) -> None:
            try:
                effect = steps.send(answer)
            except StopIteration as end:
                outcomes.append(end.value)
                self.after(self.random.uniform(0.002, 0.01), begin)  # the rest of the create
                return
            self.after(self.random.uniform(0.001, 0.004), lambda: arrive(steps, book, effect))

        def arrive(steps: Steps, book: AddressBook, effect: Reserve | ListAll) -> None:
            if isinstance(effect, ListAll):
                found, began_s = frozenset(self.world.reservations.items), self.world.now_s
                self.after(0.02, lambda: (book.listed(found, began_s), go_on(steps, book, None)))
                return
            made = self.world.reserve(effect.asked, effect.address, "replica-" + str(self.books.index(book)))
            self.spread()
            self.after(self.random.uniform(0.001, 0.004), lambda: go_on(steps, book, made))

        for _ in range(CLIENTS):
            begin()
        self.run()
        return outcomes

    def delete_all(self) -> None:
        """What the leader does once the pods are gone, in a second or two."""
        gone: Sequence[ReservationFacts] = list(self.world.reservations)
        for reservation in self.random.sample(gone, len(gone)):
            self.world.now_s += 0.001
            self.world.delete(reservation)
            self.spread()


def _hears(book: AddressBook, change: Change[ReservationFacts]) -> Callable[[], None]:
    return lambda: book.reservation_changed(change)


def _wanted(storm: Storm, order: str, owners: str) -> list[Asked]:
    apps = [number for number in range(APPS) for _ in range(EACH)]
    if order == "mixed":
        storm.random.shuffle(apps)
    return [_asked(app, f"{owners}-{app}", f"q{storm.world.number()}") for app in apps]


def _asked(app: int, owner_uid: str, request_uid: str) -> Asked:
    return Asked(
        namespace=NAMESPACE,
        key=key_of_request(request_uid),
        request_uid=request_uid,
        app=f"app-{app}",
        owner=PodOwner("ReplicaSet", f"app-{app}", owner_uid),
        ordinal=None,
        pod_name="",
        pool=f"pool-{app}",
        addresses=SETS[app],
        on_exhausted=OnExhausted.DENY,
    )


SETS = [AddressSet.of([Span(4, (10 << 24) + app * 256 + 1, (10 << 24) + app * 256 + EACH)]) for app in range(APPS)]


@pytest.mark.parametrize("order", ["mixed", "app by app"])
@pytest.mark.parametrize("owners", ["the same owners", "new owners"])
def test_pods_that_just_fit_cost_little_more_than_a_post_each(order: str, owners: str) -> None:
    storm = Storm(1)
    costs = []

    for turn in range(4):
        before = storm.world.posts
        outcomes = storm.create_all(_wanted(storm, order, owners if owners == "the same owners" else f"new {turn}"))
        costs.append((storm.world.posts - before) / len(outcomes))

        assert len({outcome.addresses for outcome in outcomes if isinstance(outcome, Allocated)}) == APPS * EACH
        storm.delete_all()

    assert max(costs) <= MOST_POSTS, costs
