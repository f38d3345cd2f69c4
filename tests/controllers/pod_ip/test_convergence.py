"""Pods that come, finish, go and come back, caches that are behind, leaders that change, and a server that fails now and then.

Whatever the order: what a live pod carries keeps its reservation at every step, and when all is quiet only what is carried, and
the ordinals that are wanted, are still reserved.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import pytest

from controllers.testing.answers import status
from tests.controllers.pod_ip.objects import Json, db_pod, pod, pool, reservation, stateful_set
from tests.controllers.pod_ip.scene import Scene
from webhook.addresses.keys import key_of
from webhook.objects.meta import format_time

STEPS = 60
ADDRESSES = [f"10.0.0.{number}" for number in range(1, 8)]


class World:
    """Admission, kubelets and people, in an order of their own."""

    def __init__(self, scene: Scene, random: Random) -> None:
        self.scene, self.random = scene, random
        self.number = 0
        scene.put(pool(cooldown=random.choice(["0s", "30s"])), stateful_set(2))
        scene.run()

    def step(self) -> None:
        steps: list[Callable[[], object]] = [self.comes, self.comes, self.is_refused, self.ordinal_comes, self.finishes]
        steps += [self.goes, self.goes, self.scales, self.waits, self.waits, self.runs_behind, self.leader_changes]
        steps += [self.server_fails, self.loses_reservation]
        self.random.choice(steps)()
        if self.random.random() < 0.7:
            self.scene.run()

    def comes(self) -> None:
        """A pod with a generated name; the reservation is there before it."""
        address, key = self.reserved()
        if address:
            self.scene.put(self.now(pod(f"web-{self.number}", address, key=key)))

    def is_refused(self) -> None:
        """Something refuses the pod after its address was chosen."""
        self.reserved()

    def ordinal_comes(self) -> None:
        """A pod of the set, with the address that its key has, claimed; else with a new one."""
        number = self.random.randrange(self.replicas())
        name = f"db-{number}"
        if f"shop/{name}" in self.all("Pod"):
            return
        key = key_of("shop", "uid-db", name)
        had = [one for one in self.all("AddressReservation").values() if one["spec"]["reservationKey"] == key]
        if had:
            address = had[0]["metadata"]["name"]
            claim: Json = {"claim": f"request-{self.number}", "claimedTime": format_time(self.scene.clock.wall_s())}
            self.number += 1
            before = had[0].get("status") or {}
            self.scene.put(
                had[0] | {"status": before | claim | ({} if before.get("phase") == "Bound" else {"phase": "Reserved"})}
            )
        else:
            address, _ = self.reserved(key=key, pod_name=name, owner="StatefulSet/db")
        if address:
            self.scene.put(self.now(db_pod(number, address)))

    def finishes(self) -> None:
        key = self.some("Pod")
        if key:
            self.scene.change("Pod", key, status={"phase": self.random.choice(["Succeeded", "Failed"])})

    def goes(self) -> None:
        key = self.some("Pod")
        if key:
            self.scene.drop("Pod", key)

    def scales(self) -> None:
        """The set's controller removes the pods of numbers that are not wanted, by and by."""
        self.scene.change("StatefulSet", "shop/db", spec={"replicas": self.random.choice([1, 2, 3])})

    def waits(self) -> None:
        self.scene.clock.advance(self.random.choice([1, 10, 61]))

    def runs_behind(self) -> None:
        """A pass whose caches lack what has happened."""
        self.scene.sync(*self.random.sample(["pods", "reservations", "statefulsets"], 2))
        self.scene.run_blind()

    def leader_changes(self) -> None:
        self.scene.stand_by()

    def server_fails(self) -> None:
        self.scene.api.next(self.random.choice(["patch", "delete", "create", "list", "get"]), status(503))

    def loses_reservation(self) -> None:
        """Somebody deletes one by hand that a live pod has."""
        held = sorted(self.carried() & set(self.all("AddressReservation")))
        if held:
            self.scene.drop("AddressReservation", self.random.choice(held))
            self.scene.clock.advance(6)
            self.scene.run()
            self.scene.later(31)

    # -- what there is

    def reserved(self, **fields: Any) -> tuple[str, str]:
        """A reservation of an address that has none, as the API server sees to, and its key; none are left = ""."""
        self.number += 1
        free = sorted(set(ADDRESSES) - set(self.all("AddressReservation")) - self.carried())
        if not free:
            return "", ""
        key = fields.pop("key", f"key-{self.number}")
        address = self.random.choice(free)
        self.scene.put(self.now(reservation(address, key=key, **fields)))
        return address, key

    def carried(self) -> set[str]:
        """The addresses of live pods."""
        live = [one for one in self.all("Pod").values() if one["status"]["phase"] == "Running"]
        return {one["metadata"]["labels"]["allocated-ip"] for one in live}

    def replicas(self) -> int:
        return int(self.all("StatefulSet")["shop/db"]["spec"]["replicas"])

    def all(self, kind: str) -> dict[str, Json]:
        return self.scene.api.objects.all(kind)

    def some(self, kind: str) -> str:
        keys = sorted(self.all(kind))
        return self.random.choice(keys) if keys else ""

    def now(self, obj: Json) -> Json:
        return obj | {"metadata": obj["metadata"] | {"creationTimestamp": format_time(self.scene.clock.wall_s())}}

    def wanted(self) -> set[str]:
        """The reservations of ordinals that are to find theirs again."""
        return {
            name
            for name, one in self.all("AddressReservation").items()
            if one["spec"]["owner"]["kind"] == "StatefulSet" and one["spec"].get("ordinal", 99) < self.replicas()
        }


@pytest.mark.parametrize("seed", range(20))
def test_nothing_that_is_carried_is_freed_and_nothing_leaks(scene: Scene, seed: int) -> None:
    world = World(scene, Random(seed))

    for _ in range(STEPS):
        world.step()
        assert world.carried() <= set(world.all("AddressReservation"))

    scene.api.behave()
    for key in sorted(world.all("Pod")):
        if key.startswith("shop/db-") and int(key.rpartition("-")[2]) >= world.replicas():
            scene.drop("Pod", key)
    scene.run()
    scene.later(900)
    assert set(world.all("AddressReservation")) == world.carried() | world.wanted()
    assert scene.series("controller_runtime_reconcile_panics_total") == {"pod-ip": 0.0}
