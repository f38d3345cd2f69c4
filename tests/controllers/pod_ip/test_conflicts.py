"""Reservations that live pods have lost, and addresses that several live pods carry."""

from __future__ import annotations

from tests.controllers.pod_ip.objects import ONE, bound, pod, reservation
from tests.controllers.pod_ip.scene import Scene


def test_a_lost_reservation_of_a_live_pod_is_there_again(scene: Scene) -> None:
    scene.bind(pod())

    scene.drop("AddressReservation", ONE)
    scene.run()

    assert scene.reservations() == {ONE: "Bound"}
    assert scene.heard.about("AddressRestored") == ["Pod/web-1"]


def test_a_reservation_that_the_cache_has_not_heard_of_is_not_made_again(scene: Scene) -> None:
    scene.put(pod())
    scene.sync()
    scene.put(reservation())

    scene.run_blind()

    assert scene.calls("create") == []


def test_two_live_pods_with_one_address_are_told_once_and_left_alone(scene: Scene) -> None:
    scene.bind(pod())
    scene.put(pod("copy", key="key-1", age_s=60))

    scene.run()
    scene.later(7200)

    assert scene.heard.about("AddressConflict") == ["Pod/copy", "Pod/web-1"]
    assert scene.series("gatehouse_address_conflicts") == {"": 1.0}
    assert sorted(scene.api.objects.all("Pod")) == ["shop/copy", "shop/web-1"]


def test_whose_an_address_is_is_said_also_before_that_pod_has_a_name(scene: Scene) -> None:
    scene.put(reservation(age_s=1), pod("thief", key="key-2"))

    scene.run()

    (note,) = [one.note for one in scene.heard.said if one.reason == "AddressConflict"]
    assert f"address {ONE} belongs to a pod of ReplicaSet shop/web, and this pod carries it, too" in note


def test_a_conflict_ends_with_the_second_pod_and_the_address_stays_with_the_first(scene: Scene) -> None:
    scene.bind(pod())
    scene.put(pod("copy", key="key-2", age_s=60))
    scene.run()

    scene.drop("Pod", "shop/copy")
    scene.run()

    assert scene.series("gatehouse_address_conflicts") == {"": 0.0}
    assert scene.reservations() == {ONE: "Bound"}


def test_a_finished_pod_that_goes_frees_nothing_that_a_live_one_carries(scene: Scene) -> None:
    """At the start a completed pod and a running one carry the same address; the completed one goes (ovn-kubernetes#3919)."""
    (done,) = scene.put(pod("done", phase="Succeeded"))
    scene.put(bound(done), pod("alive", key="key-2"))
    scene.run()

    scene.drop("Pod", "shop/done")
    scene.run()
    scene.later(600)

    assert scene.reservations() == {ONE: "Bound"}


def test_an_address_that_is_given_again_at_once_is_no_conflict_though_its_reservation_is_late(scene: Scene) -> None:
    scene.bind(pod())
    scene.drop("Pod", "shop/web-1")
    scene.drop("AddressReservation", ONE)
    scene.put(reservation(key="key-2", age_s=0), pod("web-2", key="key-2", age_s=0))

    scene.sync("reservations")
    scene.run_blind()
    scene.run()
    scene.later(20)

    assert scene.heard.about("AddressConflict") == []
    assert scene.reservations() == {ONE: "Bound"}
    assert scene.calls("delete") == []
