"""Each write is guarded: what has changed hands between the plan and the write is not hit."""

from __future__ import annotations

import json
from typing import Any

import pytest

from controllers.database_instance.resources import instance_of, snapshot_of
from controllers.database_instance.steps import carry_out
from controllers.database_instance.values import (
    AddFinalizer,
    CreateSnapshot,
    DeleteClaim,
    DeletePod,
    DeleteWorkload,
    DetachClaim,
    DropFinalizer,
    MarkSnapshot,
    Reclaim,
    RetainContent,
    SetReclaim,
    Status,
    Step,
    WriteStatus,
)
from controllers.database_instance.writes import Writes
from controllers.runtime.errors import ApiError, Conflict, Invalid
from controllers.runtime.reconcile import Context, Unguarded
from controllers.testing.answers import status
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

TAKEN: Json = {
    "apiVersion": "snapshot.storage.k8s.io/v1",
    "kind": "VolumeSnapshot",
    "metadata": {"name": "snapshot", "namespace": "shop", "uid": "uid-snapshot", "labels": {"app": "db"}},
    "spec": {"source": {"persistentVolumeClaimName": "data"}},
}


def perform(world: World, step: Step, seen: Json | None = None) -> None:
    """Perform *step* for the instance as it was *seen*."""
    clock = SystemClock()
    context = Context("database-instance", Deadline.after(30.0, clock), clock, Unguarded(), get_log("test"))
    Writes(world.client, instance_of(seen or world.instance()), context).perform(step)


@pytest.fixture
def stage(world: World) -> World:
    """An instance with everything that a step can be about."""
    world.serve_snapshots()
    world.put(instance(finalizers=("example.com/a", FINALIZER)), CONTENT, TAKEN, stateful_set())
    (stored,) = world.put(claim("data", by_instance(), uid="uid-data"))
    world.put(volume(stored, uid="uid-pv"), pod("db", by_instance(), uid="uid-pod"))
    return world


STEPS: list[tuple[Step, str, str]] = [
    (DetachClaim("data", "uid-data", frozenset({UID})), "PersistentVolumeClaim", "data"),
    (SetReclaim("pv-data", "uid-pv", "uid-data", Reclaim.RETAIN), "PersistentVolume", "pv-data"),
    (RetainContent("content", "uid-snapshot"), "VolumeSnapshotContent", "content"),
    (MarkSnapshot("snapshot", "uid-snapshot", "data"), "VolumeSnapshot", "snapshot"),
    (DeleteWorkload("apps/v1/statefulsets", "db", "uid-set"), "StatefulSet", "db"),
    (DeletePod("db", "uid-pod"), "Pod", "db"),
    (DeleteClaim("data", "uid-data"), "PersistentVolumeClaim", "data"),
    (DropFinalizer(), "DatabaseInstance", "db"),
    (WriteStatus(Status(7)), "DatabaseInstance", "db"),
]


@pytest.mark.parametrize(("step", "kind", "name"), STEPS, ids=lambda value: type(value).__name__)
def test_a_step_changes_its_object(stage: World, step: Step, kind: str, name: str) -> None:
    before = stage.all(kind)[name]

    perform(stage, step)

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
        perform(stage, step, seen)
    except ApiError as error:
        assert isinstance(error, (Conflict, Invalid))  # noqa: PT017

    assert stage.all(kind)[name] == stored


@pytest.mark.parametrize(("step", "kind", "name"), STEPS, ids=lambda value: type(value).__name__)
def test_what_is_gone_is_success(stage: World, step: Step, kind: str, name: str) -> None:
    seen = stage.instance()
    stage.api.objects.drop(kind, name if kind in ("PersistentVolume", "VolumeSnapshotContent") else f"shop/{name}")

    perform(stage, step, seen)

    assert name not in stage.all(kind)


def test_a_volume_that_was_bound_to_another_claim_meanwhile_keeps_its_policy(stage: World) -> None:
    bound = stage.all("PersistentVolume")["pv-data"]
    bound["spec"]["claimRef"]["uid"] = "uid-other"
    stage.put(bound)

    perform(stage, SetReclaim("pv-data", "uid-pv", "uid-data", Reclaim.RETAIN))

    assert stage.all("PersistentVolume")["pv-data"]["spec"]["persistentVolumeReclaimPolicy"] == "Delete"


@pytest.mark.parametrize(("claim_key", "policy"), [("shop/data", "Retain"), ("shop/other", "Delete"), ("", "Delete")])
def test_a_volume_that_is_only_reserved_is_kept_for_the_claim_that_it_is_reserved_for(
    stage: World, claim_key: str, policy: str
) -> None:
    reserved = stage.all("PersistentVolume")["pv-data"]
    reserved["spec"]["claimRef"].pop("uid")
    stage.put(reserved)

    perform(stage, SetReclaim("pv-data", "uid-pv", "uid-data", Reclaim.RETAIN, claim_key))

    assert stage.all("PersistentVolume")["pv-data"]["spec"]["persistentVolumeReclaimPolicy"] == policy


@pytest.mark.parametrize(("step", "kind", "name"), STEPS[:4], ids=lambda value: type(value).__name__)
def test_changes_carry_what_was_read_of_uid_and_version(stage: World, step: Step, kind: str, name: str) -> None:
    metadata = stage.all(kind)[name]["metadata"]

    perform(stage, step)

    sent = json.loads(stage.api.asked("patch")[-1].body)["metadata"]
    assert {key: sent[key] for key in ("uid", "resourceVersion")} == {key: metadata[key] for key in ("uid", "resourceVersion")}


def test_a_finalizer_that_somebody_took_from_the_front_costs_nobody_elses(stage: World) -> None:
    seen = stage.instance()
    now = stage.instance()
    now["metadata"]["finalizers"] = [FINALIZER, "example.com/b"]
    stage.put(now)

    with pytest.raises(Invalid):
        perform(stage, DropFinalizer(), seen)

    assert stage.instance()["metadata"]["finalizers"] == [FINALIZER, "example.com/b"]


def test_a_status_is_not_written_over_a_newer_one(stage: World) -> None:
    seen = stage.instance()
    stage.put(stage.instance() | {"status": {"observedGeneration": 8}})

    with pytest.raises(Conflict):
        perform(stage, WriteStatus(Status(7)), seen)


def test_after_anything_was_refused_the_finalizer_stays(stage: World) -> None:
    stage.api.always("delete", status(403, "Forbidden"), "/api/v1/namespaces/shop/persistentvolumeclaims")
    clock = SystemClock()
    context = Context("database-instance", Deadline.after(30.0, clock), clock, Unguarded(), get_log("test"))
    writes = Writes(stage.client, instance_of(stage.instance()), context)
    done: list[Step] = []

    (failure,) = carry_out(writes, [DeleteClaim("data", "uid-data"), DeletePod("db", "uid-pod"), DropFinalizer()], done.append)

    assert failure.about == "deletion of claim data"
    assert done == [DeletePod("db", "uid-pod")]
    assert FINALIZER in stage.instance()["metadata"]["finalizers"]


def test_a_snapshot_is_created_once(stage: World) -> None:
    step = CreateSnapshot("data-1", "data", "fast")

    perform(stage, step)
    first = stage.all("VolumeSnapshot")["data-1"]
    perform(stage, step)

    assert stage.all("VolumeSnapshot")["data-1"] == first
    assert first["spec"] == {"source": {"persistentVolumeClaimName": "data"}, "volumeSnapshotClassName": "fast"}


def test_a_snapshot_that_is_marked_keeps_its_labels_and_is_read_as_used_since(stage: World) -> None:
    perform(stage, MarkSnapshot("snapshot", "uid-snapshot", "data"))

    marked = stage.all("VolumeSnapshot")["snapshot"]
    assert (marked["metadata"]["labels"]["app"], snapshot_of(marked).used_since) == ("db", True)


def test_a_claim_that_is_only_parted_from_the_instance_bears_no_label_of_it(stage: World) -> None:
    perform(stage, DetachClaim("data", "uid-data", frozenset({UID}), label=False))

    metadata = stage.all("PersistentVolumeClaim")["data"]["metadata"]
    assert (metadata.get("ownerReferences"), metadata["labels"]) == (None, {})


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
        perform(stage, AddFinalizer(), seen)


def test_the_volume_of_another_namespaces_claim_is_not_touched_whatever_the_plan_says(stage: World) -> None:
    theirs = stage.all("PersistentVolume")["pv-data"]
    theirs["spec"]["claimRef"]["namespace"] = "elsewhere"
    (stored,) = stage.put(theirs)

    perform(stage, SetReclaim("pv-data", "uid-pv", "uid-data", Reclaim.RETAIN))

    assert stage.all("PersistentVolume")["pv-data"] == stored
