"""The leader: the controller's own plan over caches that are behind, carried out step by step against the simulated server.

`pass_over` is one turn of one address. It yields between any two requests, so that it can be overtaken, or dropped half-way
(a leader that dies); one that has been deposed may still finish its turn.
"""

from __future__ import annotations

from collections.abc import Generator
from math import inf

from controllers.pod_ip import plan as planning
from controllers.pod_ip.actions import Bind, Cool, Keep, Release, Restore
from controllers.pod_ip.known import Sightings
from controllers.pod_ip.plan import Situation
from tests.addresses_model.replicas import Follower
from tests.addresses_model.world import Pod, World
from webhook.addresses.address import V6, Address
from webhook.addresses.facts import Asked, OnExhausted, Phase, PoolFacts, ReservationFacts
from webhook.addresses.keys import STATEFUL_SET
from webhook.addresses.policy import AddressPolicy


class Leader:
    """One process that leads, or has led."""

    def __init__(self, world: World, pools: list[PoolFacts], identity: str, skew_s: float = 0.0) -> None:
        """skew_s: how far its wall clock is ahead."""
        self.world, self.pools, self.identity, self.skew_s = world, pools, identity, skew_s
        self.reservations = Follower(world.reservations)
        self.pods = Follower(world.pods)
        self.sets = Follower(world.sets)
        self.sightings = Sightings()
        self.looks_live = True

    def wall_s(self) -> float:
        return self.world.now_s + self.skew_s

    def cached(self, address: Address) -> Situation:
        """What the caches say."""
        item = self.reservations.items.get(address)
        pods = [one.facts for one in self.pods.items.values()]
        sets = {one.facts.name: one.facts for one in self.sets.items.values()}
        return self._situation(address, None if item is None else item.facts, pods, sets)

    def pass_over(self, address: Address) -> Generator[None, None, bool]:
        """Whether anything was done."""
        acted = False
        for action in planning.plan(self.cached(address), self.wall_s(), AddressPolicy()):
            if not isinstance(action, Bind | Keep | Cool | Release | Restore):
                continue
            yield
            if action.live and self.looks_live:
                reservation = self.world.reservations.get(address)
                yield
                pods = [pod for pod in self.world.pods if _is_found(pod, address, reservation)]
                sets = {one.name: one for one in self.world.sets}
                live = self._situation(address, reservation, self._with_cached(address, pods), sets)
                yield
                again = [one for one in planning.plan(live, self.wall_s(), AddressPolicy()) if type(one) is type(action)]
                if not again:
                    continue
                action = again[0]
            acted = self._write(action) or acted
        return acted

    def _with_cached(self, address: Address, live: list[Pod]) -> list[Pod]:
        there = {pod.uid for pod in live}
        return live + [
            one.facts for one in self.pods.items.values() if address in one.facts.marks.addresses and one.facts.uid not in there
        ]

    def _situation(
        self, address: Address, reservation: ReservationFacts | None, pods: list[Pod], sets: dict[str, object]
    ) -> Situation:
        known_s, claim_known_s = (inf, inf) if reservation is None else self.sightings.see(reservation, self.world.now_s)
        is_ordinals = reservation is not None and reservation.owner.kind == STATEFUL_SET
        return planning.situation_of(
            address,
            reservation,
            pods,
            stateful_set=sets.get(reservation.owner.name) if is_ordinals else None,
            pool=planning.pool_for(address, reservation, self.pools),
            known_s=known_s,
            claim_known_s=claim_known_s,
        )

    def _write(self, action: Bind | Keep | Cool | Release | Restore) -> bool:
        world = self.world
        match action:
            case Bind():
                pod = action.carrier
                status = {"phase": Phase.BOUND, "bound_name": pod.name, "bound_uid": pod.uid, "released_s": None}
                return world.write(action.reservation, **status) is not None
            case Keep():
                return world.write(action.reservation, **NOBODY, phase=Phase.RESERVED, released_s=None) is not None
            case Cool():
                released_s = float(int(self.wall_s()))
                return world.write(action.reservation, **NOBODY, phase=Phase.COOLING, released_s=released_s) is not None
            case Release():
                return world.delete(action.reservation)
            case Restore():
                return world.reserve(self._asked(action), action.address, self.identity) is not None

    def _asked(self, action: Restore) -> Asked:
        carrier = action.carrier
        pool = next((pool for pool in self.pools if action.address in pool.addresses), None)
        assert pool is not None
        return Asked(
            namespace=carrier.namespace,
            key=action.key,
            request_uid="",
            app=carrier.owner.name,
            owner=carrier.owner,
            ordinal=action.ordinal,
            pod_name=action.pod_name,
            pool=action.pool,
            addresses=pool.addresses,
            on_exhausted=OnExhausted.DENY,
        )


def _is_found(pod: Pod, address: Address, reservation: ReservationFacts | None) -> bool:
    """Whether the live lists have *pod*: they are by label, which a pod may have lost, and by name."""
    if reservation is not None and pod.name in (reservation.bound_name, reservation.pod_name):
        return True
    return pod.marks.label == address.name or (address.version == V6 and bool(pod.marks.label))


NOBODY = {"bound_name": "", "bound_uid": "", "node": ""}
