"""Fixed addresses where there is no API server to reserve them: pools and reservations from files, and what a pod would get.

Implements `webhook.cluster.Addresses` over the newest snapshot of files; nothing is ever written, every allocation is a dry
run. Two pods that are decided one after the other are foreseen the same address. Threads: any.
"""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from controllers.local.snapshot import Source
from controllers.pod_ip.known import carrier_of
from controllers.pod_ip.plan import is_live, pool_for, situation_of
from controllers.pod_ip.seen import Seen
from webhook.addresses.address import Address
from webhook.addresses.allocating import foreseen
from webhook.addresses.effects import Outcome
from webhook.addresses.facts import Asked, PoolFacts, ReservationFacts
from webhook.addresses.keys import STATEFUL_SET
from webhook.addresses.marks import Marks
from webhook.addresses.network import Network
from webhook.addresses.ranges import AddressSet
from webhook.clock import Deadline


@attrs.frozen
class LocalAddresses:
    """`webhook.cluster.Addresses`, and the `webhook.addresses.book.Book` of what it foresees."""

    source: Source

    # -- webhook.cluster.Addresses

    def synced(self) -> bool:
        return True

    def pool(self, name: str) -> PoolFacts | None:
        return self.source.snapshot.address_pools.get(name)

    def pool_exists(self, name: str, deadline: Deadline) -> bool:
        return name in self.source.snapshot.address_pools

    def pools(self) -> Sequence[PoolFacts]:
        return tuple(self.source.snapshot.address_pools.values())

    def network(self) -> Network:
        return Network()

    def reservation(self, address: Address, deadline: Deadline | None = None) -> ReservationFacts | None:
        return self.source.snapshot.reservations.get(address)

    def confirmed(self, address: Address, deadline: Deadline) -> ReservationFacts | None:
        return self.reservation(address)

    def allocate(self, asked: Asked, marks: Marks, deadline: Deadline, *, dry_run: bool) -> Outcome:
        return foreseen(asked, self)

    # -- webhook.addresses.book.Book

    def take(self, asked: Asked, version: int) -> Address | None:
        return self.foresee(asked, version)

    def foresee(self, asked: Asked, version: int) -> Address | None:
        snapshot = self.source.snapshot
        carriers = [carrier_of(pod) for pod in snapshot.pods.values() if pod.fixed is not None]
        carried = {address for pod in carriers if is_live(pod) for address in pod.marks.addresses}
        free = (one for one in asked.addresses.only(version) if one not in snapshot.reservations and one not in carried)
        return next(free, None)

    def refused(self, address: Address) -> None:
        """Nobody knows more than the files."""

    def learned(self, reservation: ReservationFacts) -> None:
        """Nothing is written that could be learned of."""

    def vanished(self, reservation: ReservationFacts) -> None:
        """What a file has is there."""

    def by_key(self, key: str) -> Sequence[ReservationFacts]:
        return [one for one in self.source.snapshot.reservations.values() if one.key == key]

    def within(self, addresses: AddressSet) -> Sequence[ReservationFacts]:
        return [one for address, one in self.source.snapshot.reservations.items() if address in addresses]

    # -- for explaining

    def seen(self, address: Address) -> Seen:
        """Everything that the files say of *address*."""
        snapshot, reservation = self.source.snapshot, self.reservation(address)
        stateful_set = None
        if reservation is not None and reservation.owner.kind == STATEFUL_SET:
            stateful_set = snapshot.ordinals.get(f"{reservation.namespace}/{reservation.owner.name}")
        pools = sorted(self.pools(), key=lambda pool: pool.name)
        situation = situation_of(
            address,
            reservation,
            map(carrier_of, snapshot.pods.values()),
            stateful_set=stateful_set,
            pool=pool_for(address, reservation, pools),
        )
        return Seen(situation, tuple(pool for pool in pools if address in pool.addresses))
