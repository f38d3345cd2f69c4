"""One address after the other, between caches that may be behind and an API server in which others write."""

from __future__ import annotations

import pytest

from controllers.testing.answers import status
from tests.controllers.pod_ip.objects import ONE, TWO, at, bound, db_pod, pod, pool, reservation, stateful_set
from tests.controllers.pod_ip.scene import Scene
from webhook.addresses.keys import key_of

PATH = "/apis/gatehouse.dev/v1alpha1/addressreservations"
SIX = "fd00:0000:0000:0000:0000:0000:0000:0001"
SIX_NAME = SIX.replace(":", "-")


# -- binding


def test_a_reservation_is_bound_once_its_pod_is_there(scene: Scene) -> None:
    scene.put(reservation(age_s=1))
    scene.run()
    (stored,) = scene.put(pod())

    scene.run()

    assert scene.status(ONE) == {"phase": "Bound", "podName": "web-1", "podUID": stored["metadata"]["uid"], "node": "n"}


def test_an_address_at_rest_costs_no_request(scene: Scene) -> None:
    scene.bind(pod())
    before = len(scene.api.requests)

    scene.change("Pod", "shop/web-1", status={"phase": "Running", "podIP": ONE})
    scene.run()
    scene.later(7200)

    assert len(scene.api.requests) == before


def test_who_claims_a_reservation_meanwhile_wins(scene: Scene) -> None:
    """The write is guarded by the version; the next pass decides with the claim in sight."""
    scene.bind(pod())
    scene.drop("Pod", "shop/web-1")
    claim = {"claim": "request-2", "claimedTime": at(0)}
    scene.interposed.before["delete"] = [lambda: scene.change("AddressReservation", ONE, status=claim)]

    scene.run()
    scene.later(100)

    assert scene.reservations() == {ONE: "Bound"}


def test_the_earliest_look_again_counts(scene: Scene) -> None:
    """A reservation that another leader has just made is to be heard of in a second, whatever a young pod's is to be later."""
    scene.put(pool(), pod(), pod("web-2", key="key-2", age_s=1), reservation(age_s=0))
    scene.sync("reservations")
    scene.run_blind()
    before = scene.calls("get").count(f"get {PATH}/{ONE}")

    scene.clock.advance(1.5)
    scene.run_blind()

    assert (before, scene.calls("get").count(f"get {PATH}/{ONE}")) == (1, 2)


# -- giving back


def test_the_address_of_a_pod_that_is_gone_is_free_at_once(scene: Scene) -> None:
    scene.bind(pod())

    scene.drop("Pod", "shop/web-1")
    scene.run()

    assert scene.reservations() == {}
    assert scene.series("gatehouse_address_released_total") == {"PodGone": 1}


def test_the_pods_are_read_live_before_a_delete(scene: Scene) -> None:
    scene.bind(pod())
    scene.drop("Pod", "shop/web-1")
    before = len(scene.api.requests)

    scene.run()

    pods = ["get /api/v1/namespaces/shop/pods/web-1", "list /api/v1/pods"]
    assert scene.calls()[before:] == [*pods, f"delete {PATH}/{ONE}"]


def test_the_delete_names_uid_and_version(scene: Scene) -> None:
    """A late clean-up frees what is somebody else's by now (whereabouts#75)."""
    scene.bind(pod())
    scene.drop("Pod", "shop/web-1")

    def successor() -> None:
        scene.drop("AddressReservation", ONE)
        scene.put(reservation(key="key-2", age_s=0))

    scene.interposed.before["delete"] = [successor]

    scene.run()

    assert scene.reservations() == {ONE: "Reserved"}


def test_a_pod_that_the_cache_has_not_heard_of_keeps_its_address(scene: Scene) -> None:
    """Pods are listed, a pod starts, addresses are listed, and its address is freed (whereabouts#207)."""
    scene.put(reservation())
    scene.sync()
    scene.controller.run_ready()
    scene.put(pod())
    scene.clock.advance(200)

    scene.sync("pods")
    scene.run_blind()

    assert scene.reservations() == {ONE: "Reserved"}
    scene.clock.advance(5)
    scene.run()
    assert scene.reservations() == {ONE: "Bound"}


def test_a_bound_pod_that_the_cache_has_not_heard_of_is_known_by_its_uid(scene: Scene) -> None:
    (stored,) = scene.put(pod())
    scene.put(stored | {"metadata": stored["metadata"] | {"labels": {}, "annotations": {}}})
    scene.put(bound(stored))

    scene.sync("pods")
    scene.run_blind()
    scene.run()

    assert scene.reservations() == {ONE: "Bound"}


def test_the_annotation_of_a_pod_on_its_nodes_network_reserves_nothing(scene: Scene) -> None:
    """No CNI reads it there."""
    scene.put(pool(), pod() | {"spec": {"hostNetwork": True}})

    scene.run()

    assert scene.reservations() == {}


def test_a_stateful_sets_new_pod_keeps_the_address_of_the_old_one(scene: Scene) -> None:
    """The pod restarts while the collector sees the old uid, and the address of the new one is freed (spiderpool#3751)."""
    (old,) = scene.put(db_pod())
    scene.put(stateful_set(), bound(old))
    scene.run()

    scene.drop("Pod", "shop/db-0")
    (new,) = scene.put(db_pod())
    scene.sync("pods")
    scene.run_blind()
    scene.run()

    assert new["metadata"]["uid"] != old["metadata"]["uid"]
    assert scene.status(ONE)["podUID"] == new["metadata"]["uid"]


def test_a_pod_of_the_same_name_made_again_at_once_keeps_or_loses_its_address_but_never_shares_it(scene: Scene) -> None:
    """Delete and make the same name fast, then another pod: both got one address (spiderpool#1187)."""
    bare = pod("bare", owner="", key=key_of("shop", "", "bare"))
    (old,) = scene.put(bare)
    said = {"phase": "Bound", "podName": "bare", "podUID": old["metadata"]["uid"]}
    scene.put(reservation(key=key_of("shop", "", "bare"), pod_name="bare", owner="/", **said))
    scene.run()

    scene.drop("Pod", "shop/bare")
    scene.change("AddressReservation", ONE, status={"claim": "request-2", "claimedTime": at(0)})
    scene.run()
    in_between = scene.reservations()
    (new,) = scene.put(bare)
    scene.run()

    assert in_between == {ONE: "Bound"}
    assert scene.status(ONE)["podUID"] == new["metadata"]["uid"]


def test_a_pod_that_lost_its_label_is_still_seen_before_a_delete(scene: Scene) -> None:
    (stored,) = scene.put(pod())
    scene.put(bound(stored))
    scene.run()
    scene.put(stored | {"metadata": stored["metadata"] | {"labels": {}, "annotations": {}}})

    scene.run()
    scene.later(600)

    assert scene.reservations() == {ONE: "Bound"}


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
def test_a_finished_pod_gives_its_address_back_though_its_object_stays(scene: Scene, phase: str) -> None:
    scene.bind(pod())

    scene.change("Pod", "shop/web-1", status={"phase": phase})
    scene.run()

    assert scene.reservations() == {}


def test_a_deleting_pod_keeps_its_address(scene: Scene) -> None:
    (stored,) = scene.put(pod())
    scene.put(bound(stored))
    scene.change("Pod", "shop/web-1", metadata={"deletionTimestamp": at(0), "finalizers": ["example.com/held"]})

    scene.run()
    scene.later(3600)

    assert scene.reservations() == {ONE: "Bound"}


def test_what_was_deleted_while_nobody_led_is_freed_by_the_next_leader(scene: Scene) -> None:
    """Controller down, pod deleted, controller up: never freed, or too early (kube-ovn#1436, #4304)."""
    scene.bind(pod())
    scene.stand_by()
    scene.drop("Pod", "shop/web-1")

    scene.run()

    assert scene.reservations() == {}


def test_a_dual_stack_pods_second_address_is_seen_by_the_label_of_the_first(scene: Scene) -> None:
    scene.put(reservation(ONE), reservation("fd00::1"))
    scene.run()
    scene.put(pod("web-1", ONE, "fd00::1"))
    scene.clock.advance(200)

    scene.sync("pods")
    scene.run_blind()

    assert sorted(scene.reservations()) == [ONE, SIX_NAME]


def test_a_dual_stack_pod_is_seen_even_when_the_first_address_has_no_reservation(scene: Scene) -> None:
    scene.put(reservation("fd00::1"))
    scene.run()
    scene.put(pod("web-1", TWO, "fd00::1"))
    scene.clock.advance(200)

    scene.sync("pods")
    scene.run_blind()

    assert sorted(scene.reservations()) == [SIX_NAME]


def test_both_addresses_of_a_dual_stack_pod_come_free(scene: Scene) -> None:
    (stored,) = scene.put(pod("web-1", ONE, "fd00::1"))
    scene.put(bound(stored, ONE), bound(stored, "fd00::1"))
    scene.run()

    scene.drop("Pod", "shop/web-1")
    scene.run()

    assert scene.reservations() == {}


# -- expiry


def test_a_reservation_whose_pod_was_refused_comes_free_after_the_expiry(scene: Scene) -> None:
    """A quota refuses every pod, again and again (kubernetes#70563, #61530, kubemacpool#37): the pool must not drain."""
    scene.put(reservation(age_s=0))
    scene.run()

    scene.later(110)
    before = scene.reservations()
    scene.later(20)

    assert (before, scene.reservations()) == ({ONE: "Reserved"}, {})
    assert scene.heard.about("AddressExpired") == ["ReplicaSet/web"]
    assert scene.series("gatehouse_address_released_total") == {"NeverBound": 1}


def test_the_oldest_reservation_that_waits_is_measured_without_ordinals(scene: Scene) -> None:
    scene.put(stateful_set(), reservation(TWO, key="key-0", pod_name="db-0", owner="StatefulSet/db", age_s=9999))
    scene.put(reservation(age_s=40))
    scene.run()

    assert scene.series("gatehouse_address_reservations_unbound_oldest_seconds") == {"": 40.0}


# -- cooldown


def test_the_cooldown_of_the_pool_is_kept(scene: Scene) -> None:
    scene.put(pool(cooldown="60s"))
    scene.bind(pod())

    scene.drop("Pod", "shop/web-1")
    scene.run()
    cooling = scene.reservations()
    scene.later(70)

    assert (cooling, scene.reservations()) == ({ONE: "Cooling"}, {})


# -- trouble


def test_a_server_that_fails_is_tried_again(scene: Scene) -> None:
    scene.bind(pod())
    scene.drop("Pod", "shop/web-1")
    scene.api.next("delete", status(500))

    scene.run()
    scene.later(5)

    assert scene.reservations() == {}


def test_without_the_lease_nothing_is_written(scene: Scene) -> None:
    scene.put(reservation(), pod(), pool())
    scene.lease.requests = 0

    scene.run()

    assert scene.calls() == []
    assert scene.heard.said == []


def test_a_lease_that_is_lost_between_the_look_and_the_delete_keeps_the_reservation(scene: Scene) -> None:
    scene.bind(pod())
    scene.drop("Pod", "shop/web-1")
    scene.lease.requests = 3

    scene.run()

    assert scene.calls("delete") == []
    assert scene.reservations() == {ONE: "Bound"}
