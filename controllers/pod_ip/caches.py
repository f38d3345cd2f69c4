"""Everything that fixed addresses are decided from, followed and put together: implements `webhook.cluster.Addresses`.

    reservations, pools, stateful_sets    watch caches of ours; they exist when the feature is on
    pods                                  the cache that the process has anyway
    calico                                its pools and blocks, where it is installed
    book, allocator                       who has what, as this replica knows it; and how one more is reserved

The book hears of every change before a cache counts as synced. Without the CRDs the first lists are answered with 404: the
reflectors say so in the log and ask again, at most every 30 s; nothing but this feature waits for them.
Threads: a reflector each, and `calico/discovery`; started and stopped by `facts`. Look-ups: any thread, memory only.
         `reservation` asks live when memory does not know, `confirmed` always: for at most LIVE_S, once more when there was no
         answer (`again`), and never beyond the deadline.
Errors:  Unavailable, when the API server could not be asked; Misconfigured, when it refuses what is asked.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from typing import Any, Final, TypeVar

from controllers.pod_ip.allocator import Allocator
from controllers.pod_ip.book import AddressBook
from controllers.pod_ip.calico import Calico
from controllers.pod_ip.failures import undecided
from controllers.pod_ip.resources import pools_resource, reservations_resource, stateful_sets_resource
from controllers.runtime.again import asked_again
from controllers.runtime.errors import ApiError, NotFound, OnDeath, UndecodableObject
from controllers.runtime.informer import Informer
from controllers.runtime.resource import F, ListWatch, Resource
from controllers.runtime.rest import RestClient
from webhook.addresses.address import Address
from webhook.addresses.effects import Outcome
from webhook.addresses.facts import Asked, Phase, PoolFacts, ReservationFacts
from webhook.addresses.marks import Marks
from webhook.addresses.network import Network, NetworkPool
from webhook.addresses.policy import AddressPolicy
from webhook.addresses.ranges import AddressSet
from webhook.clock import Clock, Deadline
from webhook.cluster import PodFacts
from webhook.objects.meta import Json
from webhook.telemetry import Telemetry

LIVE_S: Final = 1.0
LISTED: Final = 500  # pools on the status page
RANGES: Final = "features.podIP.ranges"  # the network's name where Calico cannot say it

T = TypeVar("T")


class AddressCaches:
    """Caches, book and allocator. Implements `webhook.cluster.Addresses`."""

    def __init__(
        self,
        client: ListWatch,
        writes: RestClient,
        pods: Informer[PodFacts],
        policy: AddressPolicy,
        identity: str,
        telemetry: Telemetry,
        clock: Clock,
        on_death: OnDeath,
    ) -> None:
        """client: of the caches. writes: a client of its own for allocations, closed by `stop`.

        pods: indexed by address and key, not started yet. identity: of this replica, the `holder` of its reservations.
        """

        def informer(resource: Resource[F]) -> Informer[F]:
            return Informer(resource, client, telemetry, clock, on_death)

        self.policy = policy
        self.identity = identity
        self.pods = pods
        self.reservations = informer(reservations_resource())
        self.pools_informer = informer(pools_resource())
        self.stateful_sets = informer(stateful_sets_resource())
        self.book = AddressBook(identity, clock)
        self.calico = Calico(client, telemetry, clock, on_death, on_block=self.book.block_changed)
        self.allocator = Allocator(writes, self.book, identity, clock, telemetry)
        self._writes = writes
        self._clock = clock
        self._ranges = _network_of(policy)
        self.reservations.add_handler(self.book.reservation_changed)
        self.pods.add_handler(self.book.pod_changed)

    # -- called by the owner

    def start(self) -> None:
        """Begin to follow. The pods are started by whoever made their informer."""
        for informer in self._own():
            informer.start()
        self.calico.start()

    def signal_stop(self) -> None:
        """Ask every thread to end."""
        for informer in self._own():
            informer.signal_stop()
        self.calico.signal_stop()

    def stop(self, deadline: Deadline) -> None:
        """End every thread."""
        self.signal_stop()
        for informer in self._own():
            informer.stop(deadline)
        self.calico.stop(deadline)
        self._writes.close()

    # -- called by anyone

    def alive(self) -> bool:
        """Whether every thread runs."""
        return all(informer.alive() for informer in self._own()) and self.calico.alive()

    def informers(self) -> Sequence[Informer[Any]]:
        """All that are followed here, Calico's while it is there."""
        return (*self._own(), *self.calico.informers())

    def waiting(self) -> Sequence[str]:
        """What has no first list yet: "addresspools", "calico"…; none when decisions can be relied on."""
        followed = (self.pods, *self._own())
        missing = [informer.resource.name for informer in followed if not informer.has_synced()]
        return missing if self.calico.synced() else [*missing, "calico"]

    def unadopted(self) -> Sequence[str]:
        """The pools for whose older pods the leader has not made reservations yet, by name; faulty ones give nothing anyway."""
        return sorted(pool.name for pool in self.pools() if not pool.adopted and not pool.fault)

    def why_not_ready(self) -> str | None:
        """For /readyz/pod-ip; None when every address that a pod has is known to be taken."""
        if missing := [one.resource.name for one in self._own() if isinstance(one.trouble(), NotFound)]:
            return f"the API server does not have: {', '.join(missing)} (are the CRDs installed?)"
        if waiting := self.waiting():
            return f"not synced: {', '.join(waiting)}"
        if unadopted := self.unadopted():
            return f"the leader has not adopted the pods of: {', '.join(unadopted)}"
        return None

    # -- for rules

    def synced(self) -> bool:
        return (
            self.reservations.has_synced()
            and self.pools_informer.has_synced()
            and self.pods.has_synced()
            and self.calico.synced()
        )

    def pool(self, name: str) -> PoolFacts | None:
        return self.pools_informer.store.get(name)

    def pool_exists(self, name: str, deadline: Deadline) -> bool:
        return self._live(lambda timeout_s: self.allocator.has_pool(name, timeout_s), deadline)

    def pools(self) -> Sequence[PoolFacts]:
        return [item.facts for item in self.pools_informer.store.items()]

    def network(self) -> Network:
        network = self.calico.network()  # also without a pool: then there is no address to give
        return self._ranges if network is None else network

    def reservation(self, address: Address, deadline: Deadline) -> ReservationFacts | None:
        return self.book.reservation(address) or self.confirmed(address, deadline)

    def confirmed(self, address: Address, deadline: Deadline) -> ReservationFacts | None:
        known = self.book.reservation(address)
        found = self._live(lambda timeout_s: self.allocator.reservation(address, timeout_s), deadline)
        if found is not None:
            self.book.learned(found)
        elif known is not None:
            self.book.vanished(known)
        return found

    def allocate(self, asked: Asked, marks: Marks, deadline: Deadline, *, dry_run: bool) -> Outcome:
        return self.allocator.allocate(asked, marks, deadline, dry_run=dry_run)

    # -- for the status page

    def status(self) -> Json:
        """How many there are of what, and each pool. O(n log n) of all reservations."""
        held = [item.facts for item in self.reservations.store.items()]
        now_s = self._clock.wall_s()
        unbound = [one.created_s for one in held if one.phase is Phase.RESERVED and not one.bound_uid]
        addresses = sorted(one.address for one in held)
        network, pools = self.network(), sorted(self.pools(), key=lambda pool: pool.name)
        return {
            "reservations": len(held),
            **{phase.value.lower(): sum(one.phase is phase for one in held) for phase in Phase},
            "oldestUnboundSeconds": round(max(0.0, now_s - min(unbound)), 1) if unbound else None,
            "waitingFor": list(self.waiting()),
            "network": {
                "source": network.source or None,
                "pools": [{"name": pool.name, "obstacle": pool.obstacle or None} for pool in network.pools[:LISTED]],
            },
            "poolCount": len(pools),
            "pools": [_pool_status(pool, addresses, network) for pool in pools[:LISTED]],
        }

    # -- inside

    def _own(self) -> Sequence[Informer[Any]]:
        return (self.reservations, self.pools_informer, self.stateful_sets)

    def _live(self, read: Callable[[float], T], deadline: Deadline) -> T:
        try:
            return asked_again(read, deadline, most_s=LIVE_S)
        except (ApiError, UndecodableObject) as error:
            raise undecided("the API server could not be asked", error) from error


def _network_of(policy: AddressPolicy) -> Network:
    return Network((NetworkPool("ranges", policy.ranges),), RANGES) if policy.ranges else Network()


def _pool_status(pool: PoolFacts, held: Sequence[Address], network: Network) -> Json:
    size, used = pool.addresses.size(), _inside(pool.addresses, held)
    outside = network.outside(pool.addresses)
    return {
        "name": pool.name,
        "size": size,
        "used": used,
        "free": size - used - (outside.size() - _inside(outside, held)),
        "adopted": pool.adopted,
        "fault": pool.fault or None,
    }


def _inside(addresses: AddressSet, held: Sequence[Address]) -> int:
    """How many of *held*, which is in order, are among *addresses*."""
    spans = addresses.spans
    return sum(bisect_right(held, (span.version, span.last)) - bisect_left(held, (span.version, span.first)) for span in spans)
