"""A step is one write, guarded so that it can only hit what the plan has seen.

    instance        JSON patch that tests uid and (finalizer added) version or (dropped) the entry itself; status under both
    claims, pods,   deleted with their uid as precondition
    workloads
    the rest        read anew, then merge patches under uid and resourceVersion
    snapshots       a name of their own for each instance and claim: created once, whoever tries again

What is gone already is success. Threads: any worker.
Errors: ApiError (Conflict, Invalid: somebody wrote in between), LeaseLost.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Protocol
from urllib.parse import quote

from controllers.database_instance.live import CONTENTS, SNAPSHOTS, VOLUMES, below, instance_path
from controllers.database_instance.resources import claim_of, snapshot_of, volume_of
from controllers.database_instance.status import status_body
from controllers.database_instance.values import (
    USED_SINCE,
    AddFinalizer,
    CreateSnapshot,
    DeleteClaim,
    DeletePod,
    DeleteWorkload,
    DetachClaim,
    DropFinalizer,
    Instance,
    MarkSnapshot,
    Reclaim,
    RetainContent,
    SetReclaim,
    Status,
    Step,
    WriteStatus,
)
from controllers.runtime import finalizers
from controllers.runtime.api import Creates, Deletes, PatchesJson, PatchesMerge, Reads
from controllers.runtime.errors import AlreadyExists, NotFound
from controllers.runtime.reconcile import Context
from controllers.runtime.resource import Json
from webhook.objects.databases import FINALIZER, UID_LABEL

CLAIMS = "v1/persistentvolumeclaims"


class Api(Reads, Creates, PatchesJson, PatchesMerge, Deletes, Protocol):
    """What is needed of `rest.RestClient`."""


class Writes:
    """The steps of one instance's plan, one write each."""

    def __init__(self, api: Api, instance: Instance, context: Context) -> None:
        self._api = api
        self._instance = instance
        self._namespace = instance.facts.namespace
        self._version = instance.version
        self.status = instance.status  # as it was read or written last
        self._context = context

    def go_on_within(self, context: Context) -> None:
        """What is written from now on has the time that *context* leaves."""
        self._context = context

    def perform(self, step: Step) -> None:
        """Perform *step*; nothing happens when that has been done before."""
        with suppress(NotFound):
            self._perform(step)

    def _perform(self, step: Step) -> None:
        facts = self._instance.facts
        match step:
            case AddFinalizer():
                self._patch_finalizers(finalizers.addition(facts.uid, self._version, facts.finalizers, FINALIZER))
            case DropFinalizer():
                self._patch_finalizers(finalizers.removal(facts.uid, facts.finalizers, FINALIZER))
            case WriteStatus(status):
                self._write_status(status)
            case DetachClaim():
                self._detach(step)
            case SetReclaim():
                self._set_reclaim(step)
            case RetainContent(content):
                self._retain(content, step.snapshot_uid)
            case CreateSnapshot():
                self._snapshot(step)
            case MarkSnapshot():
                self._mark(step)
            case DeleteWorkload(collection, name, uid):
                self._delete(below(self._namespace, collection), name, uid, propagation="Foreground")
            case DeletePod(name, uid):
                self._delete(below(self._namespace, "v1/pods"), name, uid)
            case DeleteClaim(name, uid):
                self._delete(below(self._namespace, CLAIMS), name, uid)

    def _patch_finalizers(self, operations: list[Json]) -> None:
        if operations:
            path = instance_path(self._instance.facts.key)
            written = self._api.patch_json(path, operations, timeout_s=self._timeout_s())
            self._version = _version_of(written)

    def _write_status(self, status: Status) -> None:
        facts = self._instance.facts
        metadata = {"uid": facts.uid, "resourceVersion": self._version}
        path = f"{instance_path(facts.key)}/status"
        body = {"metadata": metadata, "status": status_body(status)}
        written = self._api.patch_merge(path, body, timeout_s=self._timeout_s())
        self._version = _version_of(written)
        self.status = status

    def _detach(self, step: DetachClaim) -> None:
        path = f"{below(self._namespace, CLAIMS)}/{quote(step.name, safe='')}"

        def change(claim: Json) -> Json | None:
            if claim_of(claim).uid != step.uid:
                return None
            kept = [one for one in claim["metadata"].get("ownerReferences") or () if one.get("uid") not in step.owners]
            labels = {"labels": {UID_LABEL: self._instance.facts.uid}} if step.label else {}
            return {"metadata": {"ownerReferences": kept or None, **labels}}

        self._change(path, change)

    def _set_reclaim(self, step: SetReclaim) -> None:
        def change(volume: Json) -> Json | None:
            found = volume_of(volume)
            bound = found.claim_uid or (step.claim_uid if step.claim_key and found.claim_key == step.claim_key else "")
            # Volumes have no namespace: the one of the claim says who may decide about them.
            same = (found.uid, bound) == (step.uid, step.claim_uid) and found.claim_key.startswith(f"{self._namespace}/")
            needed = same and found.reclaim != step.policy
            return {"spec": {"persistentVolumeReclaimPolicy": step.policy.value}} if needed else None

        self._change(f"{VOLUMES}/{quote(step.volume, safe='')}", change)

    def _retain(self, content: str, snapshot_uid: str) -> None:
        def change(body: Json) -> Json | None:
            spec = body.get("spec") or {}
            same = (spec.get("volumeSnapshotRef") or {}).get("uid") == snapshot_uid
            kept = spec.get("deletionPolicy") == Reclaim.RETAIN
            return {"spec": {"deletionPolicy": Reclaim.RETAIN.value}} if same and not kept else None

        self._change(f"{CONTENTS}/{quote(content, safe='')}", change)

    def _snapshot(self, step: CreateSnapshot) -> None:
        spec: Json = {"source": {"persistentVolumeClaimName": step.claim}}
        if step.snapshot_class:
            spec["volumeSnapshotClassName"] = step.snapshot_class
        body: Json = {
            "apiVersion": SNAPSHOTS.rpartition("/")[0],
            "kind": "VolumeSnapshot",
            "metadata": {"name": step.name, "labels": {UID_LABEL: self._instance.facts.uid}},
            "spec": spec,
        }
        with suppress(AlreadyExists):
            self._api.create(below(self._namespace, SNAPSHOTS), body, timeout_s=self._timeout_s())

    def _mark(self, step: MarkSnapshot) -> None:
        def change(body: Json) -> Json | None:
            found = snapshot_of(body)
            needed = found.uid == step.uid and not found.used_since
            return {"metadata": {"labels": {USED_SINCE: "true"}}} if needed else None

        self._change(f"{below(self._namespace, SNAPSHOTS)}/{quote(step.name, safe='')}", change)

    def _delete(self, collection: str, name: str, uid: str, propagation: str = "") -> None:
        path = f"{collection}/{quote(name, safe='')}"
        self._api.delete(path, uid=uid, propagation=propagation, timeout_s=self._timeout_s())

    def _change(self, path: str, change: Callable[[Json], Json | None]) -> None:
        found = self._api.get(path, timeout_s=self._timeout_s())
        patch = change(found)
        if patch is not None:
            same = {name: found["metadata"].get(name) for name in ("uid", "resourceVersion")}
            guarded = patch | {"metadata": {**patch.get("metadata", {}), **same}}
            self._api.patch_merge(path, guarded, timeout_s=self._timeout_s())

    def _timeout_s(self) -> float:
        return self._context.request_timeout_s()


def _version_of(obj: Json) -> str:
    return (obj.get("metadata") or {}).get("resourceVersion") or ""
