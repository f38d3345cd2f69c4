"""Replicas: caches that are behind, each by its own lag, and admission calls that are carried out step by step.

`admission` is what the API server does for one pod: calls, retries and reinvocations of the webhook, then whatever may refuse
the pod, then storing it. It yields wherever something else may happen.
"""

from __future__ import annotations

from collections.abc import Callable, Generator

import attrs

from controllers.pod_ip.book import AddressBook
from controllers.runtime.store import Addition, Deletion, Update
from tests.addresses_model.world import NAMESPACE, Stream, World
from webhook.addresses import allocating
from webhook.addresses.effects import (
    Allocated,
    Carriers,
    Claim,
    Confirm,
    Effect,
    ListAll,
    Outcome,
    Reserve,
    Unanswered,
    Withdraw,
)
from webhook.addresses.facts import Asked, OnExhausted, PodOwner, PoolFacts
from webhook.addresses.keys import key_of, key_of_request, ordinal_of
from webhook.addresses.marks import Marks

CALL_S = 10.0  # timeoutSeconds of the webhook
CREATE_S = 34.0  # the longest that the API server works on a create
LOST = 0.09  # of our requests, or their answers
LOST_POSTS = 0.2  # they are made again, so that a call still fails as rarely
BROKEN_CALLS = 0.1  # of the API server to us
SILENCE = 12  # turns: the longest that nobody gives up what gets no answer
BARE = PodOwner()
UNMARKED = Marks()

Steps = Generator[None, None, None]


class Lost(Exception):
    """No answer came."""


class Follower:
    """A cache of one collection."""

    def __init__(self, stream: Stream, *handlers: Callable[[object], None]) -> None:
        self.stream = stream
        self.handlers = handlers
        self.items = dict(stream.items)
        self.position = len(stream.log)
        for item in self.items.values():
            self._tell(Addition(item, True))

    def hear(self, count: int) -> None:
        for key, change in self.stream.log[self.position : self.position + count]:
            self.position += 1
            if isinstance(change, Deletion):
                self.items.pop(key, None)
            else:
                self.items[key] = change.item
            self._tell(change)

    def list_again(self) -> None:
        """The watch broke, and what happened meanwhile is seen only by its result."""
        old, new = self.items, dict(self.stream.items)
        self.items, self.position = new, len(self.stream.log)
        for key, item in old.items():
            if key not in new or new[key].uid != item.uid:
                self._tell(Deletion(item, final=False))
        for key, item in new.items():
            before = old.get(key)
            if before is None or before.uid != item.uid:
                self._tell(Addition(item))
            elif before.version != item.version:
                self._tell(Update(before, item))

    def _tell(self, change: object) -> None:
        for handler in self.handlers:
            handler(change)


class Replica:
    """One process that answers admission calls."""

    def __init__(self, world: World, identity: str, skew_s: float = 0.0) -> None:
        """skew_s: how far its wall clock is ahead."""
        self.world, self.identity, self.skew_s = world, identity, skew_s
        self.start()

    def start(self) -> None:
        """Begin anew: what was in memory is gone, and so are the calls in flight."""
        world = self.world
        self.book = AddressBook(self.identity, world, world.random.random)
        self.reservations = Follower(world.reservations, self.book.reservation_changed)
        self.pods = Follower(world.pods, self.book.pod_changed)

    def wall_s(self) -> float:
        return self.world.now_s + self.skew_s

    def perform(self, effect: Effect) -> object:
        world = self.world
        match effect:
            case Reserve():
                return world.reserve(effect.asked, effect.address, self.identity)
            case Withdraw():
                return world.delete(effect.reservation)
            case Claim():
                return world.claim(effect.reservation, effect.request_uid, self.wall_s())
            case Confirm():
                return world.reservations.get(effect.address)
            case Carriers():
                return world.labelled(effect.address)
            case ListAll():
                self.book.listed(frozenset(world.reservations.items), world.now_s)
                return None

    def call(self, asked: Asked, marks: Marks, late: list[Callable[[], object]]) -> Generator[None, None, Outcome | None]:
        """One call; None when no answer came. *late*: requests that the server carries out only after we gave them up."""
        book, world, began_s = self.book, self.world, self.world.now_s
        steps = allocating.allocate(asked, marks, book, self.wall_s())
        answer: object = None
        failure: Exception | None = None
        while True:
            try:
                effect = steps.send(answer) if failure is None else steps.throw(failure)
            except StopIteration as end:
                return end.value
            except Lost:
                return None
            yield
            if self.book is not book:  # killed
                return None
            answer, failure = self._tried(effect, began_s, late)
            yield
            if isinstance(answer, Unanswered):
                yield from [None] * world.random.randrange(SILENCE)
            if self.book is not book:
                return None

    def _tried(self, effect: Effect, began_s: float, late: list[Callable[[], object]]) -> tuple[object, Exception | None]:
        withdraws = isinstance(effect, Withdraw)
        unanswered: tuple[object, Exception | None] = (False, None) if withdraws else (None, Lost())
        if self.world.now_s - began_s > CALL_S and not withdraws:
            return unanswered
        retries = self.world.retries and isinstance(effect, Reserve)
        if retries and not effect.again:
            unanswered = (Unanswered(self.identity, Lost()), None)
        chance = self.world.random.random()
        if chance < 0.03:
            return unanswered  # it never arrived
        if chance < 0.06:
            if not isinstance(effect, ListAll):
                late.append(lambda: self.perform(effect))
            return unanswered
        answer = self.perform(effect)
        return unanswered if chance < (LOST_POSTS if retries else LOST) else (answer, None)


@attrs.frozen
class Wanted:
    """A pod that somebody creates."""

    pool: PoolFacts
    owner: PodOwner = BARE
    name: str = ""  # "" = generateName
    marks: Marks = UNMARKED  # copied from somewhere

    def asked(self, request_uid: str) -> Asked:
        key = key_of(NAMESPACE, self.owner.uid, self.name) if self.name else key_of_request(request_uid)
        return Asked(
            namespace=NAMESPACE,
            key=key,
            request_uid=request_uid,
            app=self.owner.name,
            owner=self.owner,
            ordinal=ordinal_of(self.owner, self.name),
            pod_name=self.name,
            pool=self.pool.name,
            addresses=self.pool.addresses,
            on_exhausted=OnExhausted.DENY,
        )


def admission(
    world: World,
    replicas: list[Replica],
    wanted: Wanted,
    told: list[Wanted],
    late: list[Callable[[], object]],
    going: list[Steps],
) -> Steps:
    """One create. *told*: what somebody may have seen and copied. *going*: what goes on although nobody waits for it."""
    random, began_s = world.random, world.now_s
    marks, request_uid = wanted.marks, f"q{world.number()}"
    calls = 1 + (random.random() < 0.25)  # the second is a reinvocation, with what the first one wrote
    while calls:
        called_s = world.now_s
        call = random.choice(replicas).call(wanted.asked(request_uid), marks, late)
        if world.retries and random.random() < BROKEN_CALLS:  # its connection ends, and the same request is sent again
            going.append(call)
            yield from [None] * random.randrange(SILENCE)
            continue
        outcome = yield from call
        if world.now_s - called_s > CALL_S or world.now_s - began_s > CREATE_S:
            return
        if random.random() < 0.1:  # the answer was lost, or said 503: the same request is sent again
            continue
        if not isinstance(outcome, Allocated):
            return
        marks = Marks(outcome.key, outcome.addresses, outcome.addresses[0].name, asks=True)
        request_uid = f"q{world.number()}"
        calls -= 1
    for _ in range(random.randrange(4)):  # other webhooks, validation
        yield
    if world.now_s - began_s > CREATE_S or random.random() < 0.2:  # a quota, another webhook, Pod Security
        return
    if world.persist(wanted.name, marks, wanted.owner):
        told.append(attrs.evolve(wanted, marks=marks))


def foreseeing(replica: Replica, wanted: Wanted, told: list[Wanted]) -> None:
    """A dry run, whose answer somebody may use as a manifest."""
    outcome = allocating.foreseen(wanted.asked(f"q{replica.world.number()}"), replica.book)
    if isinstance(outcome, Allocated):
        told.append(attrs.evolve(wanted, marks=Marks(outcome.key, outcome.addresses, outcome.addresses[0].name, asks=True)))
