"""Pods that had their addresses before there was a pool, a reservation or a leader."""

from __future__ import annotations

from controllers.testing.answers import status
from tests.controllers.pod_ip.objects import ONE, TWO, Json, db_pod, pod, pool, reservation, stateful_set
from tests.controllers.pod_ip.scene import Scene
from webhook.addresses.keys import key_of


def older(name: str, address: str) -> Json:
    """A pod that got its address by hand."""
    found = pod(name, address, key="")
    found["metadata"]["labels"] = {}
    return found


def adopted(scene: Scene, name: str = "edge") -> bool | None:
    status: Json = scene.api.objects.all("AddressPool")[name].get("status") or {}
    return status.get("adopted")


def test_a_leader_makes_the_reservations_of_live_pods_that_have_none(scene: Scene) -> None:
    """The controller was away and forgot, and the addresses are given away again (kube-ovn#4304)."""
    scene.put(pool(), older("a", ONE), older("b", TWO))

    scene.run()
    scene.later(3)

    assert scene.reservations() == {ONE: "Bound", TWO: "Bound"}
    assert adopted(scene) is True


def test_a_pool_is_adopted_only_when_nobody_lacks_a_reservation(scene: Scene) -> None:
    scene.put(pool(), older("a", ONE))
    scene.api.always("create", status(503))
    scene.run()
    scene.later(60)
    refused = adopted(scene)

    scene.api.behave()
    scene.later(60)

    assert (refused, adopted(scene)) == (False, True)


def test_a_pool_that_comes_later_adopts_the_pods_that_were_there(scene: Scene) -> None:
    scene.put(older("a", ONE))
    scene.run()
    before = scene.reservations()

    scene.put(pool())
    scene.run()
    scene.later(3)

    assert (before, scene.reservations()) == ({}, {ONE: "Bound"})
    assert adopted(scene) is True


def test_a_pool_that_grows_adopts_the_pods_of_its_new_addresses(scene: Scene) -> None:
    scene.put(pool(addresses=["10.0.0.5"]), older("a", ONE))
    scene.run()
    before = (adopted(scene), scene.reservations())

    scene.change("AddressPool", "edge", spec={"addresses": ["10.0.0.0-9"]}, metadata={"generation": 2})
    scene.run()
    scene.later(3)

    assert (before, scene.reservations()) == ((True, {}), {ONE: "Bound"})


def test_that_a_pool_was_adopted_is_never_taken_back(scene: Scene) -> None:
    """Replicas wait for it before they serve: an edited pool must not put all of them out of service."""
    scene.put(pool(addresses=["10.0.0.5"]))
    scene.run()
    scene.api.always("create", status(503))
    scene.put(older("a", ONE))

    scene.change("AddressPool", "edge", spec={"addresses": ["10.0.0.0-9"]}, metadata={"generation": 2})
    scene.run()
    scene.later(30)

    assert adopted(scene) is True


def test_finished_pods_are_not_adopted(scene: Scene) -> None:
    done = older("a", ONE) | {"status": {"phase": "Succeeded"}}
    scene.put(pool(), done)

    scene.run()
    scene.later(3)

    assert (scene.reservations(), adopted(scene)) == ({}, True)


def test_an_adopted_ordinal_keeps_its_address_for_the_pod_that_admission_will_see(scene: Scene) -> None:
    pod_of_set = db_pod(0, ONE, key="")
    scene.put(pool(), stateful_set(), pod_of_set)

    scene.run()
    scene.drop("Pod", "shop/db-0")
    scene.run()
    scene.later(600)

    found = scene.api.objects.all("AddressReservation")[ONE]
    assert found["spec"]["reservationKey"] == key_of("shop", "uid-db", "db-0")
    assert (found["spec"]["ordinal"], scene.reservations()) == (0, {ONE: "Reserved"})


def test_the_reservations_of_an_adoption_name_their_pool_and_who_made_them(scene: Scene) -> None:
    scene.put(pool(), older("a", ONE))

    scene.run()

    found = scene.api.objects.all("AddressReservation")[ONE]
    assert (found["spec"]["pool"], found["spec"]["holder"]) == ("edge", "replica-a")


def test_a_pod_with_a_broken_key_is_adopted_all_the_same(scene: Scene) -> None:
    broken = pod("a", ONE, key="x" * 64)
    scene.put(pool(), broken)

    scene.run()

    assert scene.reservations() == {ONE: "Bound"}
    assert len(scene.api.objects.all("AddressReservation")[ONE]["spec"]["reservationKey"]) == 36


def test_two_old_pods_with_one_address_are_told_and_the_pool_is_adopted(scene: Scene) -> None:
    scene.put(pool(), older("a", ONE), older("b", ONE))

    scene.run()
    scene.later(3)

    assert sorted(set(scene.heard.about("AddressConflict"))) == ["Pod/a", "Pod/b"]
    assert (scene.reservations(), adopted(scene)) == ({ONE: "Bound"}, True)


def test_labels_that_are_no_addresses_hold_nothing_up(scene: Scene) -> None:
    odd = older("a", ONE)
    odd["metadata"]["labels"] = {"allocated-ip": "not-an-address"}
    odd["metadata"]["annotations"] = {}
    scene.put(pool(), odd, reservation(TWO, age_s=0))

    scene.run()
    scene.later(3)

    assert adopted(scene) is True
