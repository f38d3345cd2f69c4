"""What the caches know of one address: everything that a plan looks at.

Reservations are read first and pods second: a pod that came in between is seen, one that reserved in between is not missed
(whereabouts#207).
Threads: any; look-ups only, O(pods that have the address or the key, and pools). A lock guards what is remembered.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Iterable, Iterator, Sequence

from controllers.pod_ip.plan import Situation, StatefulSetFacts, carries, pool_for, situation_of
from controllers.pod_ip.resources import BY_KEY
from controllers.runtime.fixed import BY_ADDRESS, BY_RESERVATION
from controllers.runtime.store import Store
from webhook.addresses.address import Address
from webhook.addresses.facts import PodOwner, PoolFacts, ReservationFacts
from webhook.addresses.keys import STATEFUL_SET
from webhook.addresses.marks import Carrier, Marks
from webhook.clock import Clock
from webhook.cluster import PodFacts

_NOTHING = Marks()


def carrier_of(pod: PodFacts) -> Carrier:
    """*pod* as plans know it. Of one that says nothing of addresses, or is on its node's network, the marks are empty."""
    kind, _, name = pod.owner.partition("/")
    owner = PodOwner(kind, name, pod.owner_uid)
    marks = _NOTHING if pod.fixed is None or pod.on_host_network else pod.fixed
    return Carrier(pod.namespace, pod.name, pod.uid, marks, pod.node, pod.phase, pod.deleting, owner, pod.created_s)


class Known:
    """The caches, and since when each reservation has been seen in its phase, and with its claim."""

    def __init__(
        self,
        pods: Store[PodFacts],
        reservations: Store[ReservationFacts],
        pools: Store[PoolFacts],
        stateful_sets: Store[StatefulSetFacts],
        clock: Clock,
    ) -> None:
        """pods: indexed by address and key (`projection.pods_resource(addressed=True)`)."""
        self.pods = pods
        self.reservations = reservations
        self.pools = pools
        self.stateful_sets = stateful_sets
        self._clock = clock
        self._lock = threading.Lock()  # guards _sightings
        self._sightings = Sightings()

    def situation(self, address: Address) -> Situation:
        """What the caches have of *address*."""
        reservation = self.reservations.get(address.name)
        pods = {pod.uid: pod for pod in self._pods(address, reservation)}
        known_s, claim_known_s = (math.inf, math.inf) if reservation is None else self._known_s(reservation)
        return situation_of(
            address,
            reservation,
            pods.values(),
            stateful_set=None if reservation is None else self.stateful_set(reservation),
            pool=pool_for(address, reservation, self.all_pools()),
            known_s=known_s,
            claim_known_s=claim_known_s,
        )

    def carriers(self, address: Address) -> tuple[Carrier, ...]:
        """The pods that carry *address*."""
        found = map(carrier_of, self.pods.by_index(BY_ADDRESS, address.name))
        return tuple(pod for pod in found if carries(pod, address))

    def siblings(self, reservation: ReservationFacts) -> Sequence[ReservationFacts]:
        """The other reservations of its key."""
        return [one for one in self.reservations.by_index(BY_KEY, reservation.key) if one.address != reservation.address]

    def all_pools(self) -> Iterable[PoolFacts]:
        """Every pool."""
        return [item.facts for item in self.pools.items()]

    def stateful_set(self, reservation: ReservationFacts) -> StatefulSetFacts | None:
        """The one of the name that the reservation's owner has."""
        owner = reservation.owner
        return self.stateful_sets.get(f"{reservation.namespace}/{owner.name}") if owner.kind == STATEFUL_SET else None

    def forget(self) -> None:
        """Forget since when what has been seen."""
        with self._lock:
            self._sightings = Sightings()

    def gone(self, reservation: ReservationFacts) -> None:
        """*reservation* does not exist any more."""
        with self._lock:
            self._sightings.end(reservation)

    def _pods(self, address: Address, reservation: ReservationFacts | None) -> Iterator[Carrier]:
        yield from map(carrier_of, self.pods.by_index(BY_ADDRESS, address.name))
        if reservation is None:
            return
        if reservation.key:
            yield from map(carrier_of, self.pods.by_index(BY_RESERVATION, reservation.key))
        for name in {reservation.bound_name if reservation.bound_uid else "", reservation.pod_name} - {""}:
            pod = self.pods.get(f"{reservation.namespace}/{name}")
            if pod is not None:
                yield carrier_of(pod)

    def _known_s(self, reservation: ReservationFacts) -> tuple[float, float]:
        with self._lock:
            return self._sightings.see(reservation, self._clock.monotonic_s())


class Sightings:
    """Since when reservations have been seen as they are, by a clock that nobody sets. Not locked."""

    def __init__(self) -> None:
        # uid -> phase and claim, each with the time of the first look at it
        self._seen: dict[str, tuple[tuple[str, float], tuple[str, float]]] = {}

    def see(self, reservation: ReservationFacts, now_s: float) -> tuple[float, float]:
        """For how many seconds it has been in its phase, and has had its claim, that one knows of. now_s: monotonic."""
        phase, claim = self._seen.get(reservation.uid, (("", now_s), ("", now_s)))
        if phase[0] != reservation.phase:
            phase = (reservation.phase, now_s)
        if claim[0] != reservation.claim:
            claim = (reservation.claim, now_s)
        self._seen[reservation.uid] = (phase, claim)
        return now_s - phase[1], now_s - claim[1]

    def end(self, reservation: ReservationFacts) -> None:
        """It does not exist any more."""
        self._seen.pop(reservation.uid, None)
