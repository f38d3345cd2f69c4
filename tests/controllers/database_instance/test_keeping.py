"""Protected is only said of volumes that were seen to outlive their claims, and stays true."""

from __future__ import annotations

import pytest

from controllers.testing.answers import status
from tests.controllers.database_instance.builders import FINALIZER, Json, claim, instance, namespace, pod, stateful_set, volume
from tests.controllers.database_instance.world import World, bound

VOLUMES = "/api/v1/persistentvolumes"


def reclaim(world: World, name: str = "pv-data") -> str:
    found: str = world.all("PersistentVolume")[name]["spec"]["persistentVolumeReclaimPolicy"]
    return found


def protected(world: World) -> tuple[str, str]:
    told = world.condition("Protected")
    assert told is not None
    return told["status"], told["reason"]


def edit_policy(world: World, policy: str) -> None:
    changed = world.instance()
    changed["spec"]["deletionPolicy"] = policy
    world.put(changed)


def unbound(volume: Json) -> Json:
    """*volume* as it is reserved for its claim, before it is bound."""
    volume["spec"]["claimRef"].pop("uid")
    return volume


def test_a_claim_that_names_a_volume_which_comes_later_is_not_protected_before(world: World) -> None:
    (stored,) = world.put(claim())
    world.put(instance(policy="Retain"))
    world.settle(rounds=3)
    before = protected(world)

    world.put(volume(stored))
    world.settle()

    assert before == ("False", "VolumesNotKept")
    assert (protected(world), reclaim(world)) == (("True", "Retain"), "Retain")


def test_a_volume_that_is_reserved_for_its_claim_is_kept_before_it_is_bound(world: World) -> None:
    (stored,) = world.put(claim())
    world.put(unbound(volume(stored)), instance(policy="Retain"))

    world.settle()

    assert (protected(world), reclaim(world)) == (("True", "Retain"), "Retain")


def test_a_volume_that_is_reserved_for_another_claim_is_left_alone(world: World) -> None:
    (stored,) = world.put(claim())
    foreign = unbound(volume(stored))
    foreign["spec"]["claimRef"]["name"] = "other"
    world.put(foreign, instance(policy="Retain"))

    world.settle()

    assert (protected(world), reclaim(world)) == (("False", "VolumesNotKept"), "Delete")


def test_while_it_is_not_protected_it_looks_again_ever_more_seldom(world: World) -> None:
    world.put(claim())
    world.put(instance(policy="Retain"))
    world.settle(rounds=2)
    passes = []
    for _ in range(2):
        before = world.api.count("get", VOLUMES)
        for _ in range(120):
            world.clock.advance(1.0)
            world.controller.run_ready()
        passes.append(world.api.count("get", VOLUMES) - before)

    assert 1 < passes[1] < passes[0] < 60


def test_a_volume_that_somebody_sets_back_to_delete_is_kept_again(world: World) -> None:
    bound(world, claim())
    world.put(instance(policy="Retain"))
    world.settle()
    changed = world.all("PersistentVolume")["pv-data"]
    changed["spec"]["persistentVolumeReclaimPolicy"] = "Delete"
    world.put(changed)

    world.run()

    assert reclaim(world) == "Retain"


def test_a_change_of_a_volumes_phase_wakes_nobody(world: World) -> None:
    bound(world, claim())
    world.put(instance(policy="Retain"))
    world.settle()
    world.run()
    asked = len(world.api.requests)
    world.put(world.all("PersistentVolume")["pv-data"] | {"status": {"phase": "Failed"}})

    world.run()

    assert len(world.api.requests) == asked


@pytest.mark.parametrize("policy", ["Delete", "Retain"])
def test_without_a_claim_nothing_is_said_to_be_protected(world: World, policy: str) -> None:
    world.put(instance(policy=policy))

    world.settle()

    assert protected(world) == ("Unknown", "NothingToProtect")


def test_an_unbound_claim_is_told_of(world: World) -> None:
    world.put(claim(volume=""), instance(policy="Retain"))

    world.settle()

    told = world.condition("Protected")
    assert told is not None
    assert (told["status"], told["message"]) == ("True", "1 claim, 1 of them not bound yet: on deletion its volumes are kept")


# -- a policy that is edited while the deletion waits


@pytest.mark.parametrize("policy", ["Retain", "Snapshot"])
def test_a_more_careful_policy_saves_the_volume_of_a_claim_that_is_going_already(world: World, policy: str) -> None:
    world.serve_snapshots()
    world.put(namespace())
    world.snapshots = "never"
    bound(world, claim())
    world.put(instance(), pod("backup", claims=("data",)))
    world.settle()
    world.delete()
    world.settle()
    assert (world.reason(), reclaim(world)) == ("WaitsForPods", "Delete")

    edit_policy(world, policy)
    world.run()
    kept = reclaim(world)
    world.api.objects.drop("Pod", "shop/backup")
    world.settle()

    assert (kept, reclaim(world), list(world.all("PersistentVolume"))) == ("Retain", "Retain", ["pv-data"])


def test_under_snapshot_nothing_else_happens_before_the_volume_is_seen_to_be_kept(world: World) -> None:
    world.serve_snapshots()
    world.put(namespace())
    bound(world, claim("data-db-0"))
    world.put(stateful_set(), instance(claims=(), policy="Delete"))
    world.settle()
    edit_policy(world, "Snapshot")
    world.api.always("patch", status(403, "Forbidden"), f"{VOLUMES}/pv-data-db-0")

    world.delete()
    world.settle()

    assert world.reason() == "WaitsForReclaimPolicy"
    assert (world.api.asked("delete"), world.all("VolumeSnapshot")) == ([], {})


def test_retain_lets_go_only_after_the_volume_was_seen_to_be_kept(world: World) -> None:
    bound(world, claim())
    world.put(instance(policy="Delete"))
    world.settle()
    edit_policy(world, "Retain")

    world.delete()
    world.run()
    seen = (world.is_gone(), reclaim(world), world.reason())
    world.settle()

    assert seen == (False, "Retain", "WaitsForReclaimPolicy")
    assert (world.is_gone(), reclaim(world)) == (True, "Retain")


# -- volumes that are being deleted


@pytest.mark.parametrize("policy", ["Retain", "Snapshot"])
def test_a_volume_that_somebody_deletes_while_it_is_bound_is_kept_too(world: World, policy: str) -> None:
    (stored,) = world.put(claim())
    terminating = volume(stored, finalizers=["kubernetes.io/pv-protection"], deletionTimestamp="2027-01-15T07:00:00Z")
    world.put(terminating, instance(policy=policy))

    world.settle()

    assert (protected(world), reclaim(world)) == (("True", policy), "Retain")


def test_a_deletion_waits_until_a_volume_that_is_being_deleted_is_seen_to_be_kept(world: World) -> None:
    (stored,) = world.put(claim())
    world.put(volume(stored, finalizers=["kubernetes.io/pv-protection"], deletionTimestamp="2027-01-15T07:00:00Z"))
    world.put(instance(policy="Retain", finalizers=(FINALIZER,)))
    world.api.always("patch", status(403, "Forbidden"), f"{VOLUMES}/pv-data")

    world.delete()
    world.settle()
    waits = world.reason()
    world.api.behave()
    world.settle()

    assert waits == "WaitsForReclaimPolicy"
    assert (world.is_gone(), reclaim(world)) == (True, "Retain")


def test_under_delete_the_storage_of_a_volume_that_is_being_deleted_does_not_stay_behind(world: World) -> None:
    (stored,) = world.put(claim())
    world.put(volume(stored, "Retain", finalizers=["example.com/detaching"], deletionTimestamp="2027-01-15T07:00:00Z"))
    world.put(instance())
    world.settle()

    world.delete()
    world.settle()

    assert (world.reason(), reclaim(world)) == ("WaitsForVolumes", "Delete")


# -- volumes of other namespaces


@pytest.mark.parametrize("policy", ["Delete", "Retain", "Snapshot"])
def test_a_status_that_names_the_volume_of_another_namespace_reaches_nothing(world: World, policy: str) -> None:
    world.serve_snapshots()
    world.put(namespace())
    theirs = volume(claim("data", uid="uid-theirs"), finalizers=["example.com/detaching"])
    theirs["spec"]["claimRef"]["namespace"] = "elsewhere"
    theirs["spec"]["persistentVolumeReclaimPolicy"] = "Delete" if policy == "Retain" else "Retain"
    (stored,) = world.put(theirs)
    forged = {"claimName": "data", "claimUID": "uid-theirs", "volumeName": "pv-data", "volumeUID": stored["metadata"]["uid"]}
    world.put(instance(policy=policy, finalizers=(FINALIZER,)) | {"status": {"volumes": [forged]}})

    world.delete()
    world.settle()

    assert (world.is_gone(), world.all("PersistentVolume")["pv-data"]) == (True, stored)
