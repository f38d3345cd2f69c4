"""Allocations by hand: what is asked for, what exists, and the effects of a run with the answers that a test gives."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import attrs

from controllers.pod_ip.book import AddressBook
from controllers.runtime.resource import Item
from controllers.runtime.store import Addition, Deletion, Update
from controllers.testing import FakeClock
from webhook.addresses.address import Address
from webhook.addresses.allocating import Steps
from webhook.addresses.effects import Effect, Outcome
from webhook.addresses.facts import Asked, OnExhausted, PodOwner, ReservationFacts
from webhook.addresses.ranges import AddressSet, Span

WALL_S = 1_800_000_000.0  # FakeClock's
WEB = PodOwner("ReplicaSet", "web-1", "uid-web-1")
DB = PodOwner("StatefulSet", "db", "uid-db")


def span(first: str, size: int = 1) -> Span:
    start = Address.parse(first)
    return Span(start.version, start.value, start.value + size - 1)


def addresses(*spans: Span) -> AddressSet:
    return AddressSet.of(spans)


def address(text: str) -> Address:
    return Address.parse(text)


ONE, TWO, THREE, SIX = map(address, ("10.0.0.1", "10.0.0.2", "10.0.0.3", "fd00::1"))
THREE_FREE = addresses(span("10.0.0.1", 3))
DUAL = addresses(span("10.0.0.1"), span("fd00::1"))


def asked(**fields: Any) -> Asked:
    """For a pod of the ReplicaSet "web-1" whose name is still to come, from a pool of 10.0.0.1 to 10.0.0.3."""
    base = Asked(
        namespace="shop",
        key="key-1",
        request_uid="request-1",
        app="web",
        owner=WEB,
        ordinal=None,
        pod_name="",
        pool="edge",
        addresses=THREE_FREE,
        on_exhausted=OnExhausted.DENY,
    )
    return attrs.evolve(base, **fields)


def is_free(book: AddressBook, address: Address) -> bool:
    """Whether somebody who asks for nothing else would get it now."""
    alone = asked(owner=PodOwner(), pool="", addresses=AddressSet.of_addresses([address]))
    return book.foresee(alone, address.version) == address


def asked_by_name(**fields: Any) -> Asked:
    """For db-0 of the StatefulSet "db"."""
    return asked(**({"key": "key-db-0", "owner": DB, "ordinal": 0, "pod_name": "db-0"} | fields))


def reservation(where: Address, of: Asked | None = None, **fields: Any) -> ReservationFacts:
    """The reservation of *where* that was made for *of*, ten seconds ago."""
    made = of or asked()
    base = ReservationFacts(
        address=where,
        key=made.key,
        request_uid=made.request_uid,
        namespace=made.namespace,
        app=made.app,
        pool=made.pool,
        owner=made.owner,
        ordinal=made.ordinal,
        pod_name=made.pod_name,
        holder="replica-a",
        uid=f"uid-{where.text}",
        version="7",
        created_s=WALL_S - 10,
    )
    return attrs.evolve(base, **fields)


def book(*reservations: ReservationFacts) -> AddressBook:
    """The book of replica-a, whose cache has *reservations*."""
    made = AddressBook("replica-a", FakeClock(), lambda: 0.0)
    for one in reservations:
        made.reservation_changed(added(one))
    return made


def added(facts: ReservationFacts) -> Addition[ReservationFacts]:
    return Addition(_item(facts))


def updated(old: ReservationFacts, new: ReservationFacts) -> Update[ReservationFacts]:
    return Update(_item(old), _item(new))


def deleted(facts: ReservationFacts) -> Deletion[ReservationFacts]:
    return Deletion(_item(facts))


def _item(facts: ReservationFacts) -> Item[ReservationFacts]:
    return Item(facts.address.name, facts.uid, facts.version, facts)


def drive(steps: Steps, *answers: Any, seen: list[Effect] | None = None) -> tuple[Sequence[Effect], Outcome]:
    """The effects of *steps*, each answered by the next of *answers*: a function of the effect, an exception, or the answer.

    seen: gets the effects too, for steps that raise.
    """
    effects: list[Effect] = [] if seen is None else seen
    waiting = list(answers)
    try:
        effect = next(steps)
        while True:
            effects.append(effect)
            answer = waiting.pop(0)
            if isinstance(answer, Exception):
                effect = steps.throw(answer)
            else:
                effect = steps.send(answer(effect) if callable(answer) else answer)
    except StopIteration as end:
        assert not waiting, f"never asked for: {waiting}"
        return effects, end.value


def made(effect: Effect) -> ReservationFacts:
    """The answer to a Reserve that succeeds."""
    return reservation(effect.address, effect.asked)  # type: ignore[union-attr]


def claimed(effect: Effect) -> ReservationFacts:
    """The answer to a Claim that succeeds."""
    return attrs.evolve(effect.reservation, claim=effect.request_uid, claimed_s=WALL_S, version="8")  # type: ignore[union-attr]
