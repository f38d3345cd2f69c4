"""Pods that have the name which an address is reserved for, and do not say that they have the address."""

from __future__ import annotations

from typing import Any

import pytest

from controllers.pod_ip.actions import Action, Cause, Cool, Keep
from controllers.pod_ip.plan import plan, situation_of, users_of
from tests.controllers.pod_ip.facts import DB, NOW_S, carrier, ordinal, reservation, situation, stateful_set
from tests.controllers.pod_ip.objects import ONE, Json, bound, db_pod, pod
from tests.controllers.pod_ip.objects import reservation as stored
from tests.controllers.pod_ip.objects import stateful_set as stored_set
from tests.controllers.pod_ip.scene import Scene
from webhook.addresses.facts import Phase, PodOwner, ReservationFacts
from webhook.addresses.keys import key_of
from webhook.addresses.marks import Carrier
from webhook.addresses.policy import AddressPolicy

SILENT: dict[str, Any] = {"key": "", "addresses": (), "label": ""}
ALONE = reservation(pod_name="alone", owner=PodOwner(), key=key_of("shop", "", "alone"))


def db_0(**fields: Any) -> Carrier:
    """The pod db-0 without our marks."""
    return carrier("db-0", **(SILENT | {"owner": DB, "asks": False} | fields))


def planned(found: ReservationFacts, pod: Carrier, **fields: Any) -> tuple[Action, ...]:
    return plan(situation(found, pod, **fields), NOW_S, AddressPolicy())


def unmarked(obj: Json, *, asks: bool = False, **metadata: Any) -> Json:
    """*obj* without what we have written."""
    labels = {"allocatable-ips": "10.0.0.1-9"} if asks else {}
    return obj | {"metadata": obj["metadata"] | {"annotations": {}, "labels": labels} | metadata}


# -- those that may use it


@pytest.mark.parametrize("phase", list(Phase))
@pytest.mark.parametrize("says", [{"asks": True}, {"deleting": True}], ids=["asks", "ends"])
def test_an_address_is_held_by_a_pod_of_its_name_whose_marks_were_taken_off(phase: Phase, says: dict[str, bool]) -> None:
    found = ordinal(phase=phase, released_s=NOW_S - 600)

    assert planned(found, db_0(**says)) == ()
    assert planned(found, db_0(**says), stateful_set=stateful_set(0)) == ()


def test_an_address_is_held_by_a_bare_pod_of_its_name_that_ends_without_its_marks() -> None:
    pod = carrier("alone", **SILENT, owner=PodOwner(), asks=False, deleting=True)

    assert planned(ALONE, pod) == ()
    assert users_of(situation(ALONE, pod)) == (pod,)


@pytest.mark.parametrize(
    "other",
    [
        {"owner": PodOwner("StatefulSet", "db", "uid-before")},
        {"namespace": "elsewhere"},
        {"phase": "Succeeded"},
        {"gated": True},
    ],
    ids=["of another owner", "of another namespace", "finished", "behind the gate"],
)
def test_a_pod_that_cannot_have_the_address_does_not_hold_it_by_its_name(other: dict[str, Any]) -> None:
    pod = db_0(**({"asks": True, "deleting": True} | other))
    seen = situation_of(ordinal().address, ordinal(), [pod], stateful_set=None, pool=None)

    assert plan(seen, NOW_S, AddressPolicy()) == (Cool(ordinal(), Cause.NOT_WANTED),)


def test_a_pod_that_took_its_marks_off_while_it_ended_keeps_its_address_until_it_is_gone(scene: Scene) -> None:
    """Its reservation was not yet bound to it."""
    alone = pod("alone", key=key_of("shop", "", "alone"), owner="")
    scene.put(stored(key=key_of("shop", "", "alone"), pod_name="alone", owner=""))
    scene.put(unmarked(alone, deletionTimestamp="2027-01-15T08:00:00Z", finalizers=["example.com/keep"]))
    scene.run()
    scene.later(7200)
    while_it_ended = scene.reservations()

    scene.drop("Pod", "shop/alone")
    scene.run()

    assert (while_it_ended, scene.reservations()) == ({ONE: "Reserved"}, {})


def test_a_pod_that_took_its_marks_off_unheard_is_read_by_its_name_before_anything_is_deleted(scene: Scene) -> None:
    alone = pod("alone", key=key_of("shop", "", "alone"), owner="")
    scene.put(stored(key=key_of("shop", "", "alone"), pod_name="alone", owner=""))
    scene.run()
    scene.put(unmarked(alone, deletionTimestamp="2027-01-15T08:00:00Z"))
    scene.clock.advance(600)

    scene.run_blind()

    assert scene.reservations() == {ONE: "Reserved"}
    assert scene.calls("delete") == []


# -- those that have stopped asking


def test_an_ordinal_whose_pod_has_stopped_asking_gives_its_address_up() -> None:
    found = ordinal(phase=Phase.BOUND, bound_uid="uid-gone")

    assert planned(found, db_0(), stateful_set=stateful_set(1)) == (Cool(found, Cause.NOT_WANTED),)


def test_an_ordinal_whose_pod_waits_behind_the_gate_keeps_its_address() -> None:
    found = ordinal(phase=Phase.BOUND, bound_uid="uid-gone")

    assert planned(found, db_0(gated=True, asks=True), stateful_set=stateful_set(1)) == (Keep(found),)


@pytest.mark.parametrize("how", ["without the label", "on the node's network"])
def test_a_set_that_has_stopped_asking_gives_its_addresses_back(scene: Scene, how: str) -> None:
    (old,) = scene.put(db_pod())
    scene.put(stored_set(1), bound(old))
    scene.run()
    successor = unmarked(db_pod(age_s=0), asks=how != "without the label", uid="uid-next")
    successor["spec"] = {"nodeName": "n", "hostNetwork": how != "without the label"}

    scene.drop("Pod", "shop/db-0")
    scene.put(successor)
    scene.run()
    cooling = scene.reservations()
    scene.later(130)

    assert (cooling, scene.reservations()) == ({ONE: "Cooling"}, {})


def test_a_set_that_asks_again_in_time_keeps_its_addresses(scene: Scene) -> None:
    cooling = {"phase": "Cooling", "releasedTime": "2027-01-15T08:00:00Z"}
    key = key_of("shop", "uid-db", "db-0")
    scene.put(stored_set(1), unmarked(db_pod()), stored(key=key, pod_name="db-0", owner="StatefulSet/db", **cooling))
    scene.run()
    scene.later(60)

    scene.drop("Pod", "shop/db-0")
    scene.run()
    scene.later(600)

    assert scene.reservations() == {ONE: "Reserved"}


# -- those that only name a set as their owner


@pytest.mark.parametrize(("pod_name", "number"), [("other-0", 0), ("db-1", 0), ("", 0), ("db-0-0", 0)])
def test_what_is_no_ordinal_of_the_set_goes_when_its_pod_does(pod_name: str, number: int) -> None:
    """Reservations of pods with an ownerReference to a set that did not make them, or that say another number."""
    found = ordinal(pod_name=pod_name, ordinal=number, phase=Phase.BOUND, bound_uid="uid-gone", key="k")

    assert plan(situation(found, stateful_set=stateful_set(1)), NOW_S, AddressPolicy()) == (Cool(found, Cause.NOT_WANTED),)


def test_a_pod_that_only_names_a_set_as_its_owner_leaves_nothing_behind(scene: Scene) -> None:
    (stranger,) = scene.put(pod("other-0", key=key_of("shop", "uid-db", "other-0"), owner="StatefulSet/db"))
    scene.put(stored_set(3), bound(stranger))
    scene.run()

    scene.drop("Pod", "shop/other-0")
    scene.run()

    assert scene.reservations() == {}
