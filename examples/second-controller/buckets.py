"""A controller of one's own: a Bucket is gone only after the ConfigMaps that belong to it are."""

from functools import partial
from typing import Any

import attrs

from controllers.runtime import ControllerPlugin, Done, NoSettings, NotFound, RequeueAfter, Watch, finalizers, objects_resource

FINALIZER, BASE = "bucket.example.com/finalizer", "/apis/example.com/v1"


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


def reconcile(api, key, context):
    """One pass over one Bucket: reads live, plans, takes the steps; what it raises is retried after a backoff."""
    time_left = context.request_timeout_s  # raises when the lease is lost, or the pass has to end
    namespace, _, name = key.partition("/")
    path, parts = f"{BASE}/namespaces/{namespace}/buckets/{name}", f"/api/v1/namespaces/{namespace}/configmaps"
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


BUCKETS = {"apiGroups": ["example.com"], "resources": ["buckets"], "verbs": ["get", "list", "watch", "patch"]}
PARTS = {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["list", "delete"]}
WATCHES = (Watch(objects_resource("buckets", f"{BASE}/buckets", "example.com/v1", "Bucket")),)
plugin = ControllerPlugin(
    settings=NoSettings, watches=WATCHES, build=lambda it: partial(reconcile, it.api), rights=(BUCKETS, PARTS)
)
