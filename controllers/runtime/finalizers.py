"""A finalizer is added and dropped without touching another one: RFC 6902 operations for one object.

    if FINALIZER not in finalizers: api.patch_json(path, addition(uid, version, finalizers, FINALIZER))   # and nothing else yet
    ...                             api.patch_json(path, removal(uid, finalizers, FINALIZER))             # when all is gone

The patches test what they rely on: a failed one is Invalid (422) and means that somebody wrote in between: read again.
Adding tests the version, since the list may have been empty, and may not exist then. Dropping tests the one entry by its place:
others may add theirs behind it meanwhile, and a list that has shifted fails the test instead of losing somebody else's.
Pure. Source: RFC 6902; java-operator-sdk#1248 and kopf#1106 (what happens without these tests).
"""

from __future__ import annotations

from collections.abc import Sequence

from controllers.runtime.resource import Json


def addition(uid: str, version: str, finalizers: Sequence[str], finalizer: str) -> list[Json]:
    """Adds *finalizer* to the object as it was read; empty when it is there. Never for an object that is being deleted."""
    if finalizer in finalizers:
        return []
    add: Json = (
        {"op": "add", "path": "/metadata/finalizers/-", "value": finalizer}
        if finalizers
        else {"op": "add", "path": "/metadata/finalizers", "value": [finalizer]}
    )
    return [_same("uid", uid), _same("resourceVersion", version), add]


def removal(uid: str, finalizers: Sequence[str], finalizer: str) -> list[Json]:
    """Drops *finalizer* from the object as it was read; empty when it is not there."""
    if finalizer not in finalizers:
        return []
    path = f"/metadata/finalizers/{list(finalizers).index(finalizer)}"
    return [_same("uid", uid), {"op": "test", "path": path, "value": finalizer}, {"op": "remove", "path": path}]


def _same(field: str, value: str) -> Json:
    return {"op": "test", "path": f"/metadata/{field}", "value": value}
