"""A second controller: a Bucket is gone only after the ConfigMaps that belong to it are."""

from typing import Any

import attrs

from controllers.runtime import finalizers
from controllers.runtime.controller import Controller, informer_source
from controllers.runtime.errors import NotFound
from controllers.runtime.reconcile import Done, RequeueAfter

FINALIZER = "bucket.example.com/finalizer"


@attrs.frozen
class Step:
    """What to do: "protect", "delete" (a part, by name and uid), "release"."""

    deed: str
    name: str = ""
    uid: str = ""


def plan(bucket: dict[str, Any], parts: list[dict[str, Any]]) -> list[Step]:
    """Pure: facts in, ordered idempotent steps out; the next plan goes on wherever this one was left."""
    meta = bucket["metadata"]
    protected = FINALIZER in meta.get("finalizers", ())
    if not meta.get("deletionTimestamp"):
        return [] if protected else [Step("protect")]  # first and alone
    own = [one["metadata"] for one in parts if one["metadata"].get("labels", {}).get("bucket-uid") == meta["uid"]]
    steps = [Step("delete", one["name"], one["uid"]) for one in own if not one.get("deletionTimestamp")]
    return steps or ([Step("release")] if protected and not own else [])


def bucket_controller(api, buckets, telemetry, clock, on_death, leadership):
    """buckets: an informer of `projection_objects.objects_resource`."""

    def reconcile(key, context):
        time_left = context.request_timeout_s  # raises when the lease is lost, or the pass has to end
        namespace, _, name = key.partition("/")
        path = f"/apis/example.com/v1/namespaces/{namespace}/buckets/{name}"
        parts = f"/api/v1/namespaces/{namespace}/configmaps"
        try:
            bucket = api.get(path, timeout_s=time_left())  # live: nothing is deleted on the word of a cache
        except NotFound:
            return Done()
        meta, held = bucket["metadata"], bucket["metadata"].get("finalizers", [])
        for step in plan(bucket, api.get(parts, timeout_s=time_left()).get("items", [])):
            if step.deed == "protect":
                patch = finalizers.addition(meta["uid"], meta["resourceVersion"], held, FINALIZER)
                api.patch_json(path, patch, timeout_s=time_left())
            elif step.deed == "delete":
                api.delete(f"{parts}/{step.name}", uid=step.uid, timeout_s=time_left())
            else:
                api.patch_json(path, finalizers.removal(meta["uid"], held, FINALIZER), timeout_s=time_left())
        return RequeueAfter(2.0) if meta.get("deletionTimestamp") else Done()

    source, synced = informer_source(buckets, lambda change: [change.item.key]), buckets.synced_event
    return Controller("bucket", reconcile, [source], telemetry, clock, on_death, leadership=leadership, waits_for=[synced])
