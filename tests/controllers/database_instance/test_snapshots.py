"""Under Snapshot nothing is deleted before it was snapshotted, and the snapshot outlives everything."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from controllers.testing.answers import status
from tests.controllers.database_instance.builders import FINALIZER, claim, instance, namespace, pod, stateful_set, volume
from tests.controllers.database_instance.world import World, bound


def snapshotted(world: World) -> None:
    world.serve_snapshots()
    world.put(namespace())
    bound(world, claim())
    world.put(instance(policy="Snapshot"))
    world.settle()
    world.delete()


def test_snapshots_are_ready_and_kept_before_anything_is_deleted(world: World) -> None:
    snapshotted(world)
    world.run()
    assert (world.reason(), world.api.asked("delete")) == ("WaitsForSnapshots", [])

    world.settle()

    assert world.is_gone()
    (content,) = world.all("VolumeSnapshotContent").values()
    assert content["spec"]["deletionPolicy"] == "Retain"
    assert (world.all("PersistentVolumeClaim"), world.all("PersistentVolume")) == ({}, {})


def test_a_snapshot_that_fails_is_told_of_and_waited_for(world: World) -> None:
    world.snapshots = "fails"
    snapshotted(world)
    world.run()
    world.tick()
    world.clock.advance(5.0)
    world.run()
    told = world.condition("Deleting")

    world.settle()

    assert told is not None
    assert "disk is busy" in told["message"]
    assert world.is_gone()


def test_a_snapshot_that_never_finishes_keeps_everything(world: World) -> None:
    world.snapshots = "never"
    snapshotted(world)

    world.settle(rounds=40)

    assert world.api.asked("delete") == []
    assert world.reason() == "WaitsForSnapshots"


def test_without_the_snapshot_api_nothing_is_deleted_and_that_is_said(world: World) -> None:
    world.put(namespace())
    bound(world, claim())
    world.put(instance(policy="Snapshot"))
    world.settle()

    world.delete()
    world.settle()

    assert world.reason() == "SnapshotUnavailable"
    assert world.api.asked("delete") == []


def test_in_a_namespace_that_is_being_deleted_the_volumes_are_kept_instead(world: World) -> None:
    world.serve_snapshots()
    bound(world, claim())
    world.put(namespace(terminating=True), instance(policy="Snapshot", finalizers=(FINALIZER,)))
    world.delete()

    world.settle()

    assert world.is_gone()
    assert world.all("VolumeSnapshot") == {}
    assert world.all("PersistentVolume")["pv-data"]["spec"]["persistentVolumeReclaimPolicy"] == "Retain"
    assert "SnapshotSkipped" in world.heard.reasons
    assert world.heard.reasons[-1] == "InstanceLetGo"


# -- pods


def test_no_snapshot_is_taken_while_a_pod_of_others_uses_the_claim(world: World) -> None:
    snapshotted(world)
    world.put(pod("writer", claims=("data",)), pod("done", claims=("data",)) | {"status": {"phase": "Succeeded"}})
    world.settle()
    told, taken = world.condition("Deleting"), world.all("VolumeSnapshot")
    going = world.all("PersistentVolumeClaim")["data"]["metadata"].get("deletionTimestamp")
    world.api.objects.drop("Pod", "shop/writer")
    world.settle()
    world.api.objects.drop("Pod", "shop/done")
    world.settle()

    assert told is not None and told["reason"] == "WaitsForPods"
    assert "pod writer on node node-1" in told["message"] and "pod done on node node-1 (finished" in told["message"]
    assert (taken, going) == ({}, None)
    assert world.is_gone()


def test_claims_that_nobody_uses_are_snapshotted_meanwhile(world: World) -> None:
    world.serve_snapshots()
    world.put(namespace())
    bound(world, claim("used"), claim("free"))
    world.put(instance(policy="Snapshot", claims=("used", "free")), pod("writer", claims=("used",)))
    world.settle()

    world.delete()
    world.settle()

    assert [one["spec"]["source"]["persistentVolumeClaimName"] for one in world.all("VolumeSnapshot").values()] == ["free"]
    assert world.reason() == "WaitsForPods"


def test_a_claim_that_a_pod_uses_after_its_snapshot_is_snapshotted_again(world: World) -> None:
    world.serve_snapshots()
    world.put(namespace())
    bound(world, claim("data"), claim("held"))
    world.put(instance(policy="Snapshot", claims=("data", "held")), pod("writer", claims=("held",)))
    world.settle()
    world.delete()
    world.settle()
    world.put(pod("late", claims=("data",)))
    world.settle()
    told, marked = world.condition("Deleting"), list(world.all("VolumeSnapshot").values())
    world.api.objects.drop("Pod", "shop/late")
    world.api.objects.drop("Pod", "shop/writer")
    world.settle(20)

    assert told is not None and "pod late on node node-1" in told["message"]
    assert ["gatehouse.dev/used-since" in one["metadata"]["labels"] for one in marked] == [True]
    assert (world.is_gone(), len(world.all("VolumeSnapshot"))) == (True, 3)
    assert (world.all("PersistentVolumeClaim"), world.all("PersistentVolume")) == ({}, {})


def test_a_pod_that_uses_a_claim_while_that_goes_keeps_the_volume(world: World) -> None:
    snapshotted(world)
    for _ in range(3):
        world.run()
        world.put(pod("late", claims=("data",))) if world.api.asked("delete") else world._driver()
        world.clock.advance(1.0)
    world.run()
    world.api.objects.drop("Pod", "shop/late")
    world.settle()

    assert world.is_gone()
    assert world.all("PersistentVolume")["pv-data"]["spec"]["persistentVolumeReclaimPolicy"] == "Retain"
    assert "SnapshotSkipped" in world.heard.reasons


def test_a_pod_that_no_node_was_found_for_holds_nothing_up(world: World) -> None:
    snapshotted(world)
    pending = pod("pending", claims=("data",))
    pending["spec"].pop("nodeName")
    world.put(pending)

    world.settle()

    assert (world.is_gone(), world.all("PersistentVolume")) == (True, {})


def test_a_set_that_comes_again_while_pods_are_waited_for_is_stopped(world: World) -> None:
    snapshotted(world)
    world.put(pod("writer", claims=("data",)))
    world.settle()
    world.put(stateful_set())

    world.settle()

    assert world.all("StatefulSet") == {}


# -- why it waits


def passes(world: World, seconds: int) -> int:
    """How often the instance is looked at in this time, when nobody else does anything."""
    path = "/apis/example.com/v1/namespaces/shop/databaseinstances/db"
    before = world.api.count("get", path)
    for _ in range(seconds):
        world.clock.advance(1.0)
        world.run()
    return world.api.count("get", path) - before


def without_label(world: World) -> None:
    for one in world.all("VolumeSnapshot").values():
        one["metadata"]["labels"] = {}
        world.put(one)


def without_content(world: World) -> None:
    for name, one in world.all("VolumeSnapshot").items():
        world.put(one | {"status": {"readyToUse": True, "boundVolumeSnapshotContentName": f"content-{name}"}})


@pytest.mark.parametrize(
    ("happens", "why"),
    [
        (without_label, "no content is bound to it yet: is a snapshot controller at work?"),
        (without_content, "is gone: delete the snapshot, and it is taken again"),
    ],
)
def test_a_snapshot_that_waits_says_why_and_is_looked_at_ever_more_seldom(
    world: World, happens: Callable[[World], None], why: str
) -> None:
    world.snapshots = "never"
    snapshotted(world)
    world.run()
    happens(world)
    world.run()

    often = passes(world, 30)
    seldom = passes(world, 30)
    told = world.condition("Deleting")

    assert told is not None and why in told["message"]
    assert (often < 20, 1 <= seldom <= 4) == (True, True)


def test_a_snapshot_whose_label_was_taken_off_counts(world: World) -> None:
    world.snapshots = "never"
    snapshotted(world)
    world.run()
    without_label(world)
    world.snapshots = "ready"

    world.settle()

    assert world.is_gone()


def test_a_snapshot_that_is_forbidden_says_why(world: World) -> None:
    snapshotted(world)
    refusal = status(403, "Forbidden", "exceeded quota: q")
    world.api.always("create", refusal, "/apis/snapshot.storage.k8s.io/v1/namespaces/shop/volumesnapshots")

    world.settle()

    told = world.condition("Failing")
    assert told is not None and "snapshot of claim data: " in told["message"] and "exceeded quota: q" in told["message"]


def test_a_claim_that_names_somebody_elses_volume_needs_no_snapshot(world: World) -> None:
    world.serve_snapshots()
    (stored,) = world.put(claim())
    foreign = volume(stored)
    foreign["spec"]["claimRef"] = {"namespace": "shop", "name": "other", "uid": "uid-other"}
    world.put(namespace(), foreign, claim("other", volume="pv-data", uid="uid-other"), instance(policy="Snapshot"))
    world.settle()

    world.delete()
    world.settle()

    assert (world.is_gone(), world.all("VolumeSnapshot"), list(world.all("PersistentVolumeClaim"))) == (True, {}, ["other"])
    assert list(world.all("PersistentVolume")) == ["pv-data"]


def test_a_claim_whose_volume_never_came_needs_no_snapshot(world: World) -> None:
    world.serve_snapshots()
    world.put(namespace(), claim(), instance(policy="Snapshot"))
    world.settle()

    world.delete()
    world.settle()

    assert (world.is_gone(), world.all("VolumeSnapshot")) == (True, {})
