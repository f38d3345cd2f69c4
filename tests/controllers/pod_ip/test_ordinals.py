"""The pods of a StatefulSet: their addresses stay with their numbers for as long as these are wanted."""

from __future__ import annotations

from typing import Any

from tests.controllers.pod_ip.objects import ONE, at, bound, db_pod, reservation, stateful_set
from tests.controllers.pod_ip.scene import Scene

OF_DB_0: dict[str, Any] = {"key": "key-0", "pod_name": "db-0", "owner": "StatefulSet/db"}


def test_an_ordinal_keeps_its_address_through_any_time_without_a_pod(scene: Scene) -> None:
    (old,) = scene.put(db_pod())
    scene.put(stateful_set(), bound(old))
    scene.run()

    scene.drop("Pod", "shop/db-0")
    scene.run()
    scene.later(7200)

    assert scene.reservations() == {ONE: "Reserved"}
    assert scene.status(ONE) == {"phase": "Reserved"}


def test_a_set_that_is_scaled_down_and_up_again_in_time_finds_its_addresses(scene: Scene) -> None:
    (old,) = scene.put(db_pod())
    scene.put(stateful_set(1), bound(old))
    scene.run()

    scene.change("StatefulSet", "shop/db", spec={"replicas": 0})
    scene.drop("Pod", "shop/db-0")
    scene.run()
    cooling = scene.reservations()
    scene.later(100)
    scene.change("StatefulSet", "shop/db", spec={"replicas": 1})
    scene.run()
    scene.later(600)

    assert (cooling, scene.reservations()) == ({ONE: "Cooling"}, {ONE: "Reserved"})


def test_the_address_of_an_ordinal_comes_free_after_a_scale_down(scene: Scene) -> None:
    (old,) = scene.put(db_pod())
    scene.put(stateful_set(1), bound(old))
    scene.run()

    scene.change("StatefulSet", "shop/db", spec={"replicas": 0})
    scene.drop("Pod", "shop/db-0")
    scene.run()
    scene.later(130)

    assert scene.reservations() == {}


def test_a_scale_up_that_the_cache_has_not_heard_of_is_read_live(scene: Scene) -> None:
    scene.put(stateful_set(0), reservation(**OF_DB_0, phase="Cooling", releasedTime=at(110)))
    scene.run()
    scene.change("StatefulSet", "shop/db", spec={"replicas": 1})
    scene.clock.advance(20)

    scene.run_blind()

    assert scene.reservations() == {ONE: "Cooling"}


def test_the_addresses_of_a_deleted_set_come_free(scene: Scene) -> None:
    scene.put(stateful_set(), reservation(**OF_DB_0))
    scene.run()
    scene.later(130)

    scene.drop("StatefulSet", "shop/db")
    scene.run()
    scene.later(130)

    assert scene.reservations() == {}
