"""What admission asks of addresses, answered from the caches of a scene, with the real book, allocator and rule."""

from __future__ import annotations

from collections.abc import Sequence

from controllers.pod_ip.allocator import Allocator
from controllers.pod_ip.book import AddressBook
from tests.controllers.pod_ip.scene import Scene
from webhook.addresses.address import Address
from webhook.addresses.effects import Outcome
from webhook.addresses.facts import Asked, OnExhausted, PoolFacts, ReservationFacts
from webhook.addresses.marks import Marks
from webhook.addresses.network import Network
from webhook.addresses.policy import AddressPolicy
from webhook.admission.service import Rule
from webhook.clock import Deadline
from webhook.features.pod_ip import GiveAddresses
from webhook.testing.facts import cluster, namespace_facts

GATING = AddressPolicy(on_exhausted=OnExhausted.GATE)


class Desk:
    """Implements `webhook.cluster.Addresses`."""

    def __init__(self, scene: Scene) -> None:
        self.pools_store = scene.sources.pools.store
        self.book = AddressBook("replica-a", scene.clock)
        self.allocator = Allocator(scene.client, self.book, "replica-a", scene.clock, scene.telemetry)
        scene.sources.reservations.add_handler(self.book.reservation_changed)
        scene.sources.pods.add_handler(self.book.pod_changed)

    def synced(self) -> bool:
        return True

    def pool(self, name: str) -> PoolFacts | None:
        return self.pools_store.get(name)

    def pool_exists(self, name: str, deadline: Deadline) -> bool:
        return self.pools_store.get(name) is not None

    def pools(self) -> Sequence[PoolFacts]:
        return [item.facts for item in self.pools_store.items()]

    def network(self) -> Network:
        return Network()

    def reservation(self, address: Address, deadline: Deadline) -> ReservationFacts | None:
        return self.confirmed(address, deadline)

    def confirmed(self, address: Address, deadline: Deadline) -> ReservationFacts | None:
        return self.allocator.reservation(address, deadline.remaining_s())

    def allocate(self, asked: Asked, marks: Marks, deadline: Deadline, *, dry_run: bool) -> Outcome:
        return self.allocator.allocate(asked, marks, deadline, dry_run=dry_run)


def real_rule(scene: Scene) -> Rule:
    """Admission's own, where a pod that finds nothing free waits."""
    return GiveAddresses(GATING, cluster([], namespaces=[namespace_facts("shop")], addresses=Desk(scene)))
