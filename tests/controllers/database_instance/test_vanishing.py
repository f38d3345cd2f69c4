"""Claims that go, or come again, at an awkward moment: the uid is what counts, and no volume is forgotten with its claim."""

from __future__ import annotations

import pytest

from tests.controllers.database_instance.builders import FINALIZER, by_instance, claim, instance, pod, stateful_set, volume
from tests.controllers.database_instance.world import World, bound

AT = "2027-01-15T08:00:00Z"  # the second of the deletion


def remembered(world: World) -> list[tuple[str, str]]:
    return [(one["claimName"], one["volumeName"]) for one in world.instance()["status"]["volumes"]]


def vanish(world: World, name: str = "data") -> None:
    """Somebody deletes the claim, and nothing of the cluster but that has happened yet."""
    world.api.objects.drop("PersistentVolumeClaim", f"shop/{name}")


@pytest.mark.parametrize("reclaim", ["Delete", "Retain"])
def test_the_volume_of_a_claim_that_went_before_the_instance_is_waited_for(world: World, reclaim: str) -> None:
    (stored,) = world.put(claim())
    world.put(volume(stored, reclaim, finalizers=["example.com/detaching"]), instance())
    world.settle()
    vanish(world)
    world.settle()
    known = remembered(world)

    world.delete()
    world.settle()
    waits = world.reason()
    held = world.all("PersistentVolume")["pv-data"]
    held["metadata"]["finalizers"] = []
    world.put(held)
    world.settle()

    assert (known, waits) == ([("data", "pv-data")], "WaitsForVolumes")
    assert (world.is_gone(), world.all("PersistentVolume")) == (True, {})


def test_under_delete_the_status_has_the_volumes_uid(world: World) -> None:
    bound(world, claim())
    world.put(instance())

    world.settle()

    (one,) = world.instance()["status"]["volumes"]
    assert one["volumeUID"] == world.all("PersistentVolume")["pv-data"]["metadata"]["uid"]


def test_a_volume_that_is_gone_is_forgotten_at_once(world: World) -> None:
    (stored,) = world.put(claim())
    world.put(volume(stored, finalizers=["example.com/detaching"]), instance())
    world.settle()
    vanish(world)
    world.settle()
    told = world.condition("Protected")

    world.api.objects.drop("PersistentVolume", "pv-data")
    world.run()

    assert told is not None and "1 volume whose claim is gone" in told["message"]
    assert remembered(world) == []


def test_a_volume_that_was_bound_to_somebody_elses_claim_is_forgotten_and_stays(world: World) -> None:
    (stored,) = world.put(claim())
    world.put(volume(stored, "Retain"), instance())
    world.settle()
    vanish(world)
    taken = world.all("PersistentVolume")["pv-data"]
    taken["spec"]["claimRef"] = {"namespace": "shop", "name": "other", "uid": "uid-other"}
    world.put(taken, claim("other", volume="pv-data", uid="uid-other"))
    world.settle()
    known = remembered(world)

    world.delete()
    world.settle()

    assert (known, world.is_gone()) == ([], True)
    assert world.all("PersistentVolume")["pv-data"]["spec"]["persistentVolumeReclaimPolicy"] == "Retain"


def test_a_claim_of_the_same_name_made_in_the_second_of_the_deletion_is_not_taken(world: World) -> None:
    (stored,) = world.put(claim())
    world.put(volume(stored, finalizers=["example.com/detaching"]), instance())
    world.settle()
    world.delete()
    world.run()
    vanish(world)
    bound(world, claim(creationTimestamp=AT, uid="uid-anew", volume="pv-anew"))

    world.settle()
    world.api.objects.drop("PersistentVolume", "pv-data")
    world.settle()

    assert world.is_gone()
    assert "deletionTimestamp" not in world.all("PersistentVolumeClaim")["data"]["metadata"]
    assert "pv-anew" in world.all("PersistentVolume")


def test_a_claim_made_in_the_second_of_the_deletion_is_not_taken_by_its_name(world: World) -> None:
    world.put(instance(finalizers=(FINALIZER,)))
    world.delete()
    bound(world, claim(creationTimestamp=AT))

    world.settle()

    assert (world.is_gone(), list(world.all("PersistentVolumeClaim"))) == (True, ["data"])
    assert "ClaimsNotOwned" in world.heard.reasons


def test_a_claim_that_existed_but_was_not_found_when_the_deletion_began_is_not_taken_later(world: World) -> None:
    bound(world, claim(), claim("held", by_instance()))
    world.put(instance(claims=("held",)), pod("backup", claims=("held",)))
    world.settle()
    world.delete()
    world.settle()
    changed = world.instance()
    changed["spec"]["volumes"] = {"claimNames": ["data", "held"]}
    world.put(changed)
    world.settle()
    world.api.objects.drop("Pod", "shop/backup")
    world.settle()

    assert (world.is_gone(), list(world.all("PersistentVolumeClaim"))) == (True, ["data"])


def test_a_claim_that_its_set_makes_while_it_goes_is_taken(world: World) -> None:
    bound(world, claim("data-db-0"))
    world.put(instance(claims=()), stateful_set())
    world.settle()
    world.delete()
    world.run()
    bound(world, claim("data-db-1", creationTimestamp="2027-01-15T08:00:07Z"))

    world.settle()

    assert (world.is_gone(), world.all("PersistentVolumeClaim")) == (True, {})


def test_claims_that_a_broken_selector_had_selected_stay_protected(world: World) -> None:
    bound(world, claim("old", labels={"app": "db"}), claim())
    world.put(instance(policy="Retain", volumes={"claimNames": ["data"], "selector": {"matchLabels": {"app": "db"}}}))
    world.settle()
    broken = world.instance()
    broken["spec"]["volumes"]["selector"] = {"matchLabels": {"not a key": "x"}}
    world.put(broken)

    world.settle()

    assert remembered(world) == [("data", "pv-data"), ("old", "pv-old")]
