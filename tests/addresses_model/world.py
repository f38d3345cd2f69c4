"""The API server of the simulation: reservations, pods and StatefulSets, each with its history. A method is one atomic call.

Replicas and leaders date by clocks of their own, which are wrong by any time; they go as fast as this one, though.

Violations are raised at the write that makes them, by the history that this call belongs to.
"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

import attrs

from controllers.pod_ip.plan import StatefulSetFacts
from controllers.runtime.resource import Item
from controllers.runtime.store import Addition, Deletion, Update
from webhook.addresses.address import Address
from webhook.addresses.facts import Asked, Phase, PodOwner, ReservationFacts
from webhook.addresses.marks import Marks

FINISHED = ("Succeeded", "Failed")
NAMESPACE = "shop"


class Violation(AssertionError):
    """What must never happen has happened."""


@attrs.frozen
class Pod:
    """A pod, with what `PodFacts` and `Carrier` have of it."""

    namespace: str
    name: str
    uid: str
    marks: Marks
    owner: PodOwner
    created_s: float
    phase: str = "Running"
    deleting: bool = False
    node: str = "node-1"
    on_host_network: bool = False
    by_hand: bool = False  # its address was written by somebody who asked nobody
    uses: tuple[Address, ...] = ()  # what the network read when it started, whatever it says by now

    @property
    def fixed(self) -> Marks | None:
        return self.marks if self.marks.addresses or self.marks.key else None

    @property
    def owner_uid(self) -> str:
        return self.owner.uid

    @property
    def is_live(self) -> bool:
        return self.phase not in FINISHED


class Stream:
    """One collection, and everything that happened to it."""

    def __init__(self) -> None:
        self.items: dict[object, Item] = {}
        self.log: list[tuple[object, Addition | Update | Deletion]] = []

    def put(self, key: object, uid: str, version: str, facts: object) -> None:
        item, old = Item(str(key), uid, version, facts), self.items.get(key)
        self.items[key] = item
        self.log.append((key, Addition(item) if old is None else Update(old, item)))

    def remove(self, key: object) -> None:
        self.log.append((key, Deletion(self.items.pop(key))))

    def get(self, key: object):
        item = self.items.get(key)
        return None if item is None else item.facts

    def __iter__(self) -> Iterator:
        return iter([item.facts for item in self.items.values()])


class World:
    """All that is stored. now_s: the API server's clock, and everybody's for how long something takes."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.now_s = 1_000_000.0
        self.reservations, self.pods, self.sets = Stream(), Stream(), Stream()
        self.names: dict[str, str] = {}  # of pods -> uid
        self.tainted: set[Address] = set()  # touched by hand: no promise holds for them
        self.checks_versions = True  # a server that ignores preconditions is one of the faults that must be noticed
        self.retries = True  # what gets no answer is asked again, by replicas and by the API server
        self.posts = self.refused_posts = self.persisted = 0
        self._count = 0

    # -- as clocks

    def monotonic_s(self) -> float:
        return self.now_s

    def wall_s(self) -> float:
        return self.now_s

    def number(self) -> str:
        self._count += 1
        return str(self._count)

    # -- reservations

    def reserve(self, asked: Asked, address: Address, holder: str) -> ReservationFacts | None:
        self.posts += 1
        if address in self.reservations.items:
            self.refused_posts += 1
            return None
        made = ReservationFacts(
            address=address,
            key=asked.key,
            request_uid=asked.request_uid,
            namespace=asked.namespace,
            app=asked.app,
            pool=asked.pool,
            owner=asked.owner,
            ordinal=asked.ordinal,
            pod_name=asked.pod_name,
            holder=holder,
            uid=f"r{self.number()}",
            version=self.number(),
            created_s=float(int(self.now_s)),
        )
        self._keep(made)
        return made

    def write(self, seen: ReservationFacts, **status: object) -> ReservationFacts | None:
        """Change the status of *seen*; None when it is not the version that exists."""
        known = self.reservations.get(seen.address)
        if known is None or (self.checks_versions and (known.uid, known.version) != (seen.uid, seen.version)):
            return None
        written = attrs.evolve(known, version=self.number(), **status)
        self._keep(written)
        return written

    def claim(self, seen: ReservationFacts, request_uid: str, wall_s: float) -> ReservationFacts | None:
        status: dict[str, object] = {"claim": request_uid, "claimed_s": float(int(wall_s))}
        if seen.phase is not Phase.BOUND:
            status |= {"phase": Phase.RESERVED, "released_s": None}
        return self.write(seen, **status)

    def delete(self, seen: ReservationFacts) -> bool:
        known = self.reservations.get(seen.address)
        if known is None or (self.checks_versions and (known.uid, known.version) != (seen.uid, seen.version)):
            return False
        self.reservations.remove(seen.address)
        carriers = [pod for pod in self.carriers(seen.address) if pod.is_live and not pod.by_hand]
        if carriers and seen.address not in self.tainted:
            raise Violation(f"{seen.address.text} was released although pod {carriers[0].name} is alive")
        return True

    def _keep(self, facts: ReservationFacts) -> None:
        self.reservations.put(facts.address, facts.uid, facts.version, facts)

    # -- pods

    def carriers(self, address: Address) -> list[Pod]:
        """The pods that use it, also those that do not say so."""
        return [pod for pod in self.pods if address in pod.uses]

    def labelled(self, address: Address) -> tuple[str, ...]:
        return tuple(pod.uid for pod in self.pods if pod.marks.label == address.name)

    def persist(self, name: str, marks: Marks, owner: PodOwner, *, by_hand: bool = False) -> bool:
        """Store a pod: whether its name was free."""
        uid = f"p{self.number()}"
        name = name or f"pod-{uid}"
        if name in self.names:
            return False
        self.names[name] = uid
        self.put_pod(Pod(NAMESPACE, name, uid, marks, owner, self.now_s, by_hand=by_hand, uses=marks.addresses))
        self.persisted += 1
        self._check(marks, name, by_hand)
        return True

    def put_pod(self, pod: Pod) -> None:
        self.pods.put(pod.uid, pod.uid, self.number(), pod)

    def remove_pod(self, pod: Pod) -> None:
        del self.names[pod.name]
        self.pods.remove(pod.uid)

    def _check(self, marks: Marks, name: str, by_hand: bool) -> None:
        if by_hand:
            self.tainted.update(marks.addresses)
        for address in marks.addresses:
            if address in self.tainted:
                continue
            live = [pod.name for pod in self.carriers(address) if pod.is_live]
            if len(live) > 1:
                raise Violation(f"{address.text} was given to {' and '.join(live)}")
            reservation = self.reservations.get(address)
            if reservation is None or reservation.key != marks.key:
                raise Violation(f"pod {name} has {address.text} without a reservation of its own")

    # -- StatefulSets

    def put_set(self, facts: StatefulSetFacts) -> None:
        self.sets.put(facts.name, facts.uid, self.number(), facts)

    def live_addresses(self) -> set[Address]:
        """What live pods say that they have."""
        return {address for pod in self.pods if pod.is_live for address in pod.marks.addresses}
