"""Fixed addresses in memory: the real allocation, over an API server that may know better than the cache.

    StaticAddresses((pool(…),), cache={…})          what is known, and what `allocate` writes
    reservation("10.0.0.1", pod_name="web-0")       facts by hand
    pool("edge", "10.0.0.0/30")

One thread at a time. What is chosen is always the lowest free address.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import attrs

from webhook.addresses import keys
from webhook.addresses.address import Address
from webhook.addresses.allocating import allocate, foreseen
from webhook.addresses.effects import Carriers, Claim, Confirm, Effect, ListAll, Outcome, Reserve, Withdraw
from webhook.addresses.facts import Asked, OnExhausted, Phase, PodOwner, PoolFacts, ReservationFacts
from webhook.addresses.grammar import parse_items
from webhook.addresses.marks import Marks
from webhook.addresses.network import Network
from webhook.addresses.ranges import AddressSet
from webhook.clock import Deadline
from webhook.errors import Unavailable
from webhook.objects.selectors import Selector


@attrs.define
class StaticAddresses:
    """Pools and reservations as they are: `webhook.cluster.Addresses`, and the `Book` of its allocations."""

    known: Sequence[PoolFacts] = ()
    cache: dict[Address, ReservationFacts] = attrs.field(factory=dict)
    api: dict[Address, ReservationFacts] = attrs.field(factory=dict)  # what a live read finds
    carried: Mapping[Address, tuple[str, ...]] = attrs.field(factory=dict)  # uids of pods that bear an address
    busy: Collection[Address] = ()  # in use without a reservation
    net: Network = Network()
    ready: bool = True
    answers: bool = True  # whether the API server does
    new_pools: Collection[str] = ()  # names of those that only the API server knows
    effects: list[Effect] = attrs.field(factory=list)  # what was asked of it by allocations
    confirmations: list[Address] = attrs.field(factory=list)  # and what was looked up live, in order

    # -- webhook.cluster.Addresses

    def synced(self) -> bool:
        return self.ready

    def pool(self, name: str) -> PoolFacts | None:
        return next((one for one in self.known if one.name == name), None)

    def pool_exists(self, name: str, deadline: Deadline) -> bool:
        if not self.answers:
            raise Unavailable("the API server does not answer")
        return name in self.new_pools or self.pool(name) is not None

    def pools(self) -> Sequence[PoolFacts]:
        return self.known

    def network(self) -> Network:
        return self.net

    def reservation(self, address: Address, deadline: Deadline | None = None) -> ReservationFacts | None:
        found = self.cache.get(address)
        return found if found is not None or deadline is None else self.confirmed(address, deadline)

    def confirmed(self, address: Address, deadline: Deadline) -> ReservationFacts | None:
        if not self.answers:
            raise Unavailable("the API server does not answer")
        self.confirmations.append(address)
        return self.api.get(address)

    def allocate(self, asked: Asked, marks: Marks, deadline: Deadline, *, dry_run: bool) -> Outcome:
        if dry_run:
            return foreseen(asked, self)
        steps, answer = allocate(asked, marks, self, deadline.clock.wall_s()), None
        try:
            while True:
                answer = self._done(steps.send(answer), deadline)
        except StopIteration as end:
            outcome: Outcome = end.value
            return outcome

    def _done(self, effect: Effect, deadline: Deadline) -> Any:
        """What comes of *effect*."""
        if not self.answers:
            raise Unavailable("the API server does not answer")
        self.effects.append(effect)
        match effect:
            case Reserve():
                return self._reserve(effect.asked, effect.address, deadline)
            case Claim(reservation=reservation, request_uid=uid):
                if self.api.get(reservation.address) != reservation:
                    return None
                claimed = attrs.evolve(reservation, claim=uid, version=f"{reservation.version}+")
                self.api[reservation.address] = claimed
                return claimed
            case Withdraw(reservation=reservation):
                self.api.pop(reservation.address, None)
            case Confirm(address=address):
                return self.api.get(address)
            case Carriers(address=address):
                return self.carried.get(address, ())
            case ListAll():
                self.cache = dict(self.api)
        return None

    def _reserve(self, asked: Asked, address: Address, deadline: Deadline) -> ReservationFacts | None:
        if address in self.api:
            return None
        self.api[address] = ReservationFacts(
            address=address,
            key=asked.key,
            request_uid=asked.request_uid,
            namespace=asked.namespace,
            app=asked.app,
            pool=asked.pool,
            owner=asked.owner,
            ordinal=asked.ordinal,
            pod_name=asked.pod_name,
            holder="gatehouse-1",
            uid=f"uid-{address.name}",
            version="1",
            created_s=deadline.clock.wall_s(),
        )
        return self.api[address]

    # -- webhook.addresses.book.Book

    def take(self, asked: Asked, version: int) -> Address | None:
        return self.foresee(asked, version)

    def foresee(self, asked: Asked, version: int) -> Address | None:
        free = (one for one in asked.addresses.only(version) if one not in self.cache and one not in self.busy)
        return next(free, None)

    def refused(self, address: Address) -> None:
        if address in self.api:
            self.cache[address] = self.api[address]

    def learned(self, reservation: ReservationFacts) -> None:
        self.cache[reservation.address] = reservation

    def vanished(self, reservation: ReservationFacts) -> None:
        self.cache.pop(reservation.address, None)

    def by_key(self, key: str) -> Sequence[ReservationFacts]:
        return [one for one in self.cache.values() if one.key == key]

    def within(self, addresses: AddressSet) -> Sequence[ReservationFacts]:
        return [one for address, one in self.cache.items() if address in addresses]


def pool(
    name: str,
    *addresses: str,
    exclude: Sequence[str] = (),
    namespaces: str | None = None,
    on_exhausted: OnExhausted = OnExhausted.DENY,
    fault: str = "",
) -> PoolFacts:
    """An AddressPool of these items. namespaces: a selector as of `kubectl -l`; None = for every namespace."""
    found = parse_items(addresses, "addresses").minus(parse_items(exclude, "exclude"))
    selector = None if namespaces is None else Selector.parse(namespaces)
    return PoolFacts(name, f"uid-{name}", 1, found, selector, on_exhausted, fault=fault)


def reservation(
    address: str,
    *,
    namespace: str = "shop",
    pod_name: str = "",
    key: str = "",
    owner: str = "",
    pool: str = "",
    bound_uid: str = "",
    bound_name: str = "",
    phase: Phase | None = None,
    created_s: float = 0.0,
    request_uid: str = "earlier",
) -> ReservationFacts:
    """A reservation. owner: "Kind/name", whose uid is "uid-name". Without a key it has that of *pod_name*."""
    kind, _, owner_name = owner.partition("/")
    made = PodOwner(kind, owner_name, f"uid-{owner_name}") if owner else PodOwner()
    found = Address.parse(address)
    return ReservationFacts(
        address=found,
        key=key or keys.key_of(namespace, made.uid, pod_name),
        request_uid=request_uid,
        namespace=namespace,
        app="",
        pool=pool,
        owner=made,
        ordinal=keys.ordinal_of(made, pod_name),
        pod_name=pod_name,
        holder="gatehouse-1",
        uid=f"uid-{found.name}",
        version="1",
        created_s=created_s,
        phase=phase or (Phase.BOUND if bound_uid else Phase.RESERVED),
        bound_name=bound_name or (pod_name if bound_uid else ""),
        bound_uid=bound_uid,
    )
