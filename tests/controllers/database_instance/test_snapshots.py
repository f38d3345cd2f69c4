"""Under Snapshot nothing is deleted before it was snapshotted, and the snapshot outlives everything."""

from __future__ import annotations

from tests.controllers.database_instance.builders import FINALIZER, claim, instance, namespace
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
