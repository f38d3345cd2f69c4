"""Each write is guarded: what has changed hands between the plan and the write is not hit."""

from __future__ import annotations

import json
from typing import Any

import pytest

from controllers.database_instance.doing import Doer
from controllers.database_instance.objects import instance_of
from controllers.database_instance.values import (
    AddFinalizer,
    CreateSnapshot,
    DeleteClaim,
    DeletePod,
    DeleteWorkload,
    DetachClaim,
    DropFinalizer,
    RetainContent,
    SetReclaim,
    Status,
    Step,
    WriteStatus,
)
from controllers.runtime.errors import ApiError, Conflict, Invalid
from controllers.runtime.reconcile import Context, Unguarded
from tests.controllers.database_instance.builders import (
    FINALIZER,
    UID,
    Json,
    by_instance,
    claim,
    instance,
    pod,
    stateful_set,
    volume,
)
from tests.controllers.database_instance.world import World
from webhook.clock import Deadline, SystemClock
from webhook.logs import get_log

CONTENT: Json = {
    "apiVersion": "snapshot.storage.k8s.io/v1",
    "kind": "VolumeSnapshotContent",
    "metadata": {"name": "content"},
    "spec": {"deletionPolicy": "Delete", "volumeSnapshotRef": {"uid": "uid-snapshot"}},
}


def take(world: World, step: Step, seen: Json | None = None) -> None:
    """Take *step* for the instance as it was *seen*."""
    clock = SystemClock()
    context = Context("database-instance", Deadline.after(30.0, clock), clock, Unguarded(), get_log("test"))
    Doer(world.client, instance_of(seen or world.instance()), context).take(step)


@pytest.fixture
def stage(world: World) -> World:
    """An instance with everything that a step can be about."""
    world.serve_snapshots()
    world.put(instance(finalizers=("example.com/a", FINALIZER)), CONTENT, stateful_set())
    (stored,) = world.put(claim("data", by_instance(), uid="uid-data"))
    world.put(volume(stored, uid="uid-pv"), pod("db", by_instance(), uid="uid-pod"))
    return world


STEPS: list[tuple[Step, str, str]] = [
    (DetachClaim("data", "uid-data", frozenset({UID})), "PersistentVolumeClaim", "data"),
    (SetReclaim("pv-data", "uid-pv", "uid-data", "Retain"), "PersistentVolume", "pv-data"),
    (RetainContent("content", "uid-snapshot"), "VolumeSnapshotContent", "content"),
    (DeleteWorkload("apps/v1/statefulsets", "db", "uid-set"), "StatefulSet", "db"),
    (DeletePod("db", "uid-pod"), "Pod", "db"),
    (DeleteClaim("data", "uid-data"), "PersistentVolumeClaim", "data"),
    (DropFinalizer(), "DatabaseInstance", "db"),
    (WriteStatus(Status(7)), "DatabaseInstance", "db"),
]


@pytest.mark.parametrize(("step", "kind", "name"), STEPS, ids=lambda value: type(value).__name__)
def test_a_step_changes_its_object(stage: World, step: Step, kind: str, name: str) -> None:
    before = stage.all(kind)[name]

    take(stage, step)

    assert stage.all(kind).get(name) != before


@pytest.mark.parametrize(("step", "kind", "name"), STEPS, ids=lambda value: type(value).__name__)
def test_what_was_made_anew_under_the_same_name_is_not_touched(stage: World, step: Step, kind: str, name: str) -> None:
    seen = stage.instance()
    anew = stage.all(kind)[name]
    anew["metadata"]["uid"] = "uid-anew"
    if kind == "VolumeSnapshotContent":
        anew["spec"]["volumeSnapshotRef"]["uid"] = "uid-anew"
    (stored,) = stage.put(anew)

    try:
        take(stage, step, seen)
    except ApiError as error:
        assert isinstance(error, (Conflict, Invalid))  # noqa: PT017

    assert stage.all(kind)[name] == stored


@pytest.mark.parametrize(("step", "kind", "name"), STEPS, ids=lambda value: type(value).__name__)
def test_what_is_gone_is_success(stage: World, step: Step, kind: str, name: str) -> None:
    seen = stage.instance()
    stage.api.objects.drop(kind, name if kind in ("PersistentVolume", "VolumeSnapshotContent") else f"shop/{name}")

    take(stage, step, seen)

    assert name not in stage.all(kind)


def test_a_volume_that_was_bound_to_another_claim_meanwhile_keeps_its_policy(stage: World) -> None:
    bound = stage.all("PersistentVolume")["pv-data"]
    bound["spec"]["claimRef"]["uid"] = "uid-other"
    stage.put(bound)

    take(stage, SetReclaim("pv-data", "uid-pv", "uid-data", "Retain"))

    assert stage.all("PersistentVolume")["pv-data"]["spec"]["persistentVolumeReclaimPolicy"] == "Delete"


@pytest.mark.parametrize(("step", "kind", "name"), STEPS[:3], ids=lambda value: type(value).__name__)
def test_changes_carry_what_was_read_of_uid_and_version(stage: World, step: Step, kind: str, name: str) -> None:
    metadata = stage.all(kind)[name]["metadata"]

    take(stage, step)

    sent = json.loads(stage.api.asked("patch")[-1].body)["metadata"]
    assert {key: sent[key] for key in ("uid", "resourceVersion")} == {key: metadata[key] for key in ("uid", "resourceVersion")}


def test_a_finalizer_that_somebody_took_from_the_front_costs_nobody_elses(stage: World) -> None:
    seen = stage.instance()
    now = stage.instance()
    now["metadata"]["finalizers"] = [FINALIZER, "example.com/b"]
    stage.put(now)

    with pytest.raises(Invalid):
        take(stage, DropFinalizer(), seen)

    assert stage.instance()["metadata"]["finalizers"] == [FINALIZER, "example.com/b"]


def test_a_status_is_not_written_over_a_newer_one(stage: World) -> None:
    seen = stage.instance()
    stage.put(stage.instance() | {"status": {"observedGeneration": 8}})

    with pytest.raises(Conflict):
        take(stage, WriteStatus(Status(7)), seen)


def test_a_snapshot_is_created_once(stage: World) -> None:
    step = CreateSnapshot("data-1", "data", "uid-data", "fast")

    take(stage, step)
    (first,) = stage.all("VolumeSnapshot").values()
    take(stage, step)

    assert stage.all("VolumeSnapshot")["data-1"] == first
    assert first["spec"] == {"source": {"persistentVolumeClaimName": "data"}, "volumeSnapshotClassName": "fast"}


def test_a_status_is_read_back_as_it_was_written(stage: World) -> None:
    stage.delete()
    stage.settle(rounds=2)
    written: Any = stage.instance()["status"]

    read = instance_of(stage.instance()).status

    assert read.waiting is not None
    assert read.waiting.reason.value == written["waitingFor"]["reason"]
    assert [one.type for one in read.conditions] == [one["type"] for one in written["conditions"]]


def test_the_finalizer_is_not_added_to_a_newer_instance(stage: World) -> None:
    stage.put(instance("new", uid="uid-new"))
    seen = stage.instance("new")
    stage.put(instance("new", uid="uid-new", policy="Retain"))

    with pytest.raises(Invalid):
        take(stage, AddFinalizer(), seen)
