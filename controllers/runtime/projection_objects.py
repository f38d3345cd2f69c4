"""Whole objects as facts: for a kind that has no facts of its own yet, or few enough objects not to need them.

    buckets = Informer(objects_resource("buckets", "/apis/example.com/v1/buckets", "example.com/v1", "Bucket"), client, …)

All but `managedFields` is kept: a Node is 10 KiB that way and 1.3 KiB as facts; write a projection when there are thousands.
Pure; any thread. Raises UndecodableObject naming the object.
"""

from __future__ import annotations

from typing import Any

import msgspec

from controllers.runtime.decoding import Projected, StructProjection
from controllers.runtime.resource import Item, Json, Resource

_LEFT_OUT = "managedFields"


class _Object(Projected):
    metadata: dict[str, Any] = msgspec.field(default_factory=dict)
    spec: Any = None
    status: Any = None
    data: Any = None


def objects_resource(plural: str, path: str, api_version: str, kind: str) -> Resource[Json]:
    """All objects of a collection, each as {apiVersion, kind, metadata, spec, status, data}. Listeners must not change them."""

    def to_item(seen: _Object) -> Item[Json]:
        metadata = {key: value for key, value in seen.metadata.items() if key != _LEFT_OUT}
        name, namespace = metadata.get("name"), metadata.get("namespace")
        if not isinstance(name, str) or not name:
            raise ValueError("metadata.name is missing")
        facts: Json = {"apiVersion": api_version, "kind": kind, "metadata": metadata}
        facts |= {field: getattr(seen, field) for field in ("spec", "status", "data") if getattr(seen, field) is not None}
        key = f"{namespace}/{name}" if namespace else name
        return Item(key, metadata.get("uid") or "", metadata.get("resourceVersion") or "", facts)

    return Resource(plural, path, StructProjection(api_version, kind, _Object, to_item))
