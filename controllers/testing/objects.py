"""The content of a Kubernetes API server: objects, resource versions, history, pages. No sockets.

Behaves as the real one where controllers can tell: versions are numbers of the whole server; a write that changes nothing
keeps the version; updates with a stale resourceVersion conflict; finalizers hold a deleted object; lists page over a
snapshot; history can be compacted, after which old watches and page tokens get 410.
Any thread may call anything. Extend with `register` for other kinds.
"""

from __future__ import annotations

import copy
import threading
from collections.abc import Callable, Mapping
from typing import Any

import attrs
import msgspec

from controllers.testing.patches import PatchRefused, json_patch, merge_patch, strategic_patch
from controllers.testing.selecting import Selection
from webhook.objects.faults import Faults
from webhook.objects.meta import Json

END_MARK = {"k8s.io/initial-events-end": "true"}
_DELETED_AT = "2026-01-01T00:00:00Z"


class Refusal(Exception):
    """A request that the API server refuses; becomes a Status."""

    def __init__(self, code: int, reason: str, message: str, cause: str = "") -> None:
        super().__init__(message)
        self.code, self.reason, self.message, self.cause = code, reason, message, cause

    def status(self) -> Json:
        """The metav1.Status."""
        body: Json = {"apiVersion": "v1", "kind": "Status", "status": "Failure", "code": self.code}
        body |= {"reason": self.reason, "message": self.message}
        return body | ({"details": {"causes": [{"reason": self.cause}]}} if self.cause else {})


@attrs.frozen
class Row:
    """Something that happened: a change, or (both bodies empty) a bookmark, which is a line as it is sent."""

    version: int
    namespace: str = ""
    before: bytes = b""  # the object as it was, b"" when there was none
    after: bytes = b""
    bookmark: bytes = b""


@attrs.define
class Collection:
    """All objects of one kind, and what happened to them."""

    group_path: str  # "/api/v1"
    plural: str
    api_version: str
    kind: str
    bodies: dict[str, bytes] = attrs.field(factory=dict)  # key -> encoded object
    log: list[Row] = attrs.field(factory=list)
    compacted: int = 0
    snapshots: dict[int, list[tuple[str, bytes]]] = attrs.field(factory=dict)  # for pages


@attrs.frozen
class Target:
    """What a path names."""

    collection: Collection
    namespace: str
    name: str
    subresource: str

    @property
    def key(self) -> str:
        """The key of the named object."""
        return f"{self.namespace}/{self.name}" if self.namespace else self.name


_KINDS = (
    ("/api/v1", "nodes", "v1", "Node"),
    ("/api/v1", "pods", "v1", "Pod"),
    ("/api/v1", "namespaces", "v1", "Namespace"),
    ("/api/v1", "configmaps", "v1", "ConfigMap"),
    ("/api/v1", "secrets", "v1", "Secret"),
    ("/api/v1", "endpoints", "v1", "Endpoints"),
    ("/api/v1", "limitranges", "v1", "LimitRange"),
    ("/api/v1", "resourcequotas", "v1", "ResourceQuota"),
    ("/apis/coordination.k8s.io/v1", "leases", "coordination.k8s.io/v1", "Lease"),
    ("/apis/discovery.k8s.io/v1", "endpointslices", "discovery.k8s.io/v1", "EndpointSlice"),
    ("/apis/events.k8s.io/v1", "events", "events.k8s.io/v1", "Event"),
)


class Objects:
    """Objects by collection. `changed` is notified on every write: watches wait on it."""

    def __init__(self, *, pages_at_zero: bool = True) -> None:
        self.changed = threading.Condition(threading.RLock())  # guards everything below
        self.pages_at_zero = pages_at_zero  # False: lists at resourceVersion=0 ignore `limit`, as before 1.34
        self.version = 100
        self._uid = 0
        self._collections: dict[tuple[str, str], Collection] = {}
        for kind in _KINDS:
            self.register(*kind)

    def register(self, group_path: str, plural: str, api_version: str, kind: str) -> None:
        """Serve one more kind: ("/apis/example.com/v1", "widgets", "example.com/v1", "Widget")."""
        self._collections[group_path, plural] = Collection(group_path, plural, api_version, kind)

    def target(self, path: str) -> Target:
        """What *path* names. Raises Refusal 404."""
        parts = path.strip("/").split("/")
        size = 2 if parts[0] == "api" else 3
        group, rest = "/" + "/".join(parts[:size]), parts[size:]
        namespace = ""
        if len(rest) > 2 and rest[0] == "namespaces" and (group, rest[2]) in self._collections:
            namespace, rest = rest[1], rest[2:]
        collection = self._collections.get((group, rest[0] if rest else ""))
        if collection is None:
            raise Refusal(404, "NotFound", "the server could not find the requested resource")
        return Target(collection, namespace, rest[1] if len(rest) > 1 else "", "/".join(rest[2:]))

    # -- written by tests

    def put(self, obj: Json) -> Json:
        """Create or replace *obj* whatever its version; the object as stored. Its uid stays unless *obj* brings one."""
        collection = self._of_kind(obj)
        key = _key(obj)
        with self.changed:
            old = self._decoded(collection, key)
            new = copy.deepcopy(obj)
            if old is not None:
                new["metadata"].setdefault("uid", old["metadata"]["uid"])
            return self._store(collection, key, old, new)

    def drop(self, kind: str, key: str) -> None:
        """Delete at once, whatever its finalizers."""
        with self.changed:
            collection = self._of_kind({"kind": kind})
            self._remove(collection, key, self._existing(collection, key))

    def compact(self) -> None:
        """Forget history: watches from an older version, and pages begun before, get 410."""
        with self.changed:
            for collection in self._collections.values():
                collection.compacted = self.version
                collection.snapshots.clear()

    def forget_versions(self, version: int) -> None:
        """Set the clock of the whole server back, as a restored backup does; contents stay."""
        with self.changed:
            self.version = version
            for collection in self._collections.values():
                collection.log.clear()
                collection.compacted = 0

    def bookmark(self) -> None:
        """Send a bookmark to every watch that wants some."""
        with self.changed:
            for collection in self._collections.values():
                line = self.bookmark_line(collection, self.version)
                collection.log.append(Row(self.version, bookmark=line))
            self.changed.notify_all()

    # -- called by servers

    def all(self, kind: str) -> dict[str, Json]:
        """Every object of *kind* by key."""
        with self.changed:
            collection = self._of_kind({"kind": kind})
            return {key: msgspec.json.decode(body) for key, body in collection.bodies.items()}

    def list_page(self, target: Target, params: Mapping[str, str]) -> bytes:
        """One page, as the API server encodes it. Raises Refusal 410, 504."""
        collection = target.collection
        with self.changed:
            token, asked = params.get("continue", ""), params.get("resourceVersion", "")
            limit = int(params.get("limit") or 0)
            if token:
                at, _, after = token.partition(":")
                rows = collection.snapshots.get(int(at))
                if rows is None:
                    raise Refusal(410, "Expired", "The provided continue parameter is too old")
                rows, version = [row for row in rows if row[0] > after], int(at)
            else:
                self._check_known(asked)
                version, rows = self.version, self._rows(target, params)
                if asked == "0" and not self.pages_at_zero:
                    limit = 0
            page, rest = (rows[:limit], rows[limit:]) if limit else (rows, [])
            if rest:
                collection.snapshots.setdefault(version, self._rows(target, params) if not token else rows)
            metadata: Json = {"resourceVersion": str(version)}
            if rest:
                metadata |= {"continue": f"{version}:{page[-1][0]}", "remainingItemCount": len(rest)}
        head: Json = {"kind": collection.kind + "List", "apiVersion": collection.api_version, "metadata": metadata}
        return msgspec.json.encode(head)[:-1] + b',"items":[' + b",".join(body for _, body in page) + b"]}"

    def initial_lines(self, target: Target, params: Mapping[str, str]) -> tuple[list[bytes], int]:
        """What a watch sends first, and its position in the log. Raises Refusal 410, 504. Call under `changed`."""
        collection, asked = target.collection, params.get("resourceVersion", "")
        self._check_known(asked)
        streaming = params.get("sendInitialEvents") == "true"
        if streaming or asked in ("", "0"):
            lines = [event_line("ADDED", body) for _, body in self._rows(target, params)]
            if streaming:
                lines.append(self.bookmark_line(collection, self.version, END_MARK))
            return lines, len(collection.log)
        if int(asked) < collection.compacted:
            raise Refusal(410, "Expired", f"too old resource version: {asked} ({collection.compacted})")
        return [], next((i for i, row in enumerate(collection.log) if row.version > int(asked)), len(collection.log))

    def lines_from(
        self, target: Target, position: int, selection: Selection = Selection(), *, bookmarks: bool
    ) -> tuple[list[bytes], int]:
        """The events since *position*, and the new position. Call under `changed`."""
        rows = target.collection.log[position:]
        lines = []
        for row in rows:
            if row.bookmark:
                lines += [row.bookmark] if bookmarks else []
            elif not target.namespace or row.namespace == target.namespace:
                event = selection.event(row.before, row.after, row.version)
                lines += [event_line(*event)] if event is not None else []
        return lines, position + len(rows)

    def bookmark_line(self, collection: Collection, version: int, annotations: Json | None = None) -> bytes:
        """A BOOKMARK event."""
        obj = {"kind": collection.kind, "apiVersion": collection.api_version}
        metadata: Json = {"resourceVersion": str(version)}
        return _line("BOOKMARK", {**obj, "metadata": metadata | ({"annotations": annotations} if annotations else {})})

    def get(self, target: Target) -> Json:
        """One object. Raises Refusal 404."""
        with self.changed:
            return self._existing(target.collection, target.key)

    def create(self, target: Target, obj: Json) -> Json:
        """Raises Refusal 409."""
        with self.changed:
            if target.namespace:
                obj["metadata"].setdefault("namespace", target.namespace)
            key = _key(obj)
            if key in target.collection.bodies:
                raise Refusal(409, "AlreadyExists", f'{target.collection.plural} "{key}" already exists')
            obj["metadata"].pop("uid", None)
            return self._store(target.collection, key, None, obj)

    def update(self, target: Target, obj: Json) -> Json:
        """Raises Refusal 404, 409."""
        return self._change(target, lambda _: obj)

    def patch(self, target: Target, content_type: str, patch: Any) -> Json:
        """Raises Refusal 404, 409, 415, 422."""
        if content_type == "application/merge-patch+json":
            return self._change(target, lambda old: merge_patch(old, patch))
        if content_type == "application/strategic-merge-patch+json":
            return self._change(target, lambda old: strategic_patch(old, patch))
        if content_type != "application/json-patch+json":
            raise Refusal(415, "UnsupportedMediaType", content_type)
        try:
            return self._change(target, lambda old: json_patch(old, patch))
        except PatchRefused as error:
            raise Refusal(422, "Invalid", str(error)) from error

    def delete(self, target: Target, options: Json) -> Json:
        """Raises Refusal 404, 409."""
        with self.changed:
            obj = self._existing(target.collection, target.key)
            for field, value in (options.get("preconditions") or {}).items():
                if obj["metadata"].get(field) != value:
                    raise Refusal(409, "Conflict", f"the {field} in the precondition does not match")
            if not obj["metadata"].get("finalizers"):
                return self._remove(target.collection, target.key, obj)
            new = copy.deepcopy(obj)
            new["metadata"].setdefault("deletionTimestamp", _DELETED_AT)
            return self._store(target.collection, target.key, obj, new)

    def evict(self, target: Target, eviction: Json) -> Json:
        """Delete the pod, as no disruption budget would mind. Raises Refusal 404, 409."""
        self.delete(target, eviction.get("deleteOptions") or {})
        return {"apiVersion": "v1", "kind": "Status", "status": "Success", "code": 201}

    # -- inside; all under `changed`

    def _of_kind(self, obj: Json) -> Collection:
        version = obj.get("apiVersion")
        for collection in self._collections.values():
            if collection.kind == obj["kind"] and version in (None, collection.api_version):
                return collection
        raise KeyError(f"no collection of kind {obj['kind']}: register it")

    def _rows(self, target: Target, params: Mapping[str, str]) -> list[tuple[str, bytes]]:
        prefix = target.namespace + "/" if target.namespace else ""
        selection, bodies = selection_of(params), target.collection.bodies
        return sorted((key, body) for key, body in bodies.items() if key.startswith(prefix) and selection.matches(body))

    def _check_known(self, version: str) -> None:
        if version and int(version) > self.version:
            raise Refusal(504, "Timeout", f"Too large resource version: {version}", "ResourceVersionTooLarge")

    def _decoded(self, collection: Collection, key: str) -> Json | None:
        body = collection.bodies.get(key)
        return None if body is None else msgspec.json.decode(body)

    def _existing(self, collection: Collection, key: str) -> Json:
        obj = self._decoded(collection, key)
        if obj is None:
            raise Refusal(404, "NotFound", f'{collection.plural} "{key}" not found')
        return obj

    def _change(self, target: Target, change: Callable[[Json], Json]) -> Json:
        with self.changed:
            old = self._existing(target.collection, target.key)
            new = copy.deepcopy(change(old))
            for field, word in (("resourceVersion", "Conflict"), ("uid", "Conflict")):
                if new["metadata"].setdefault(field, old["metadata"][field]) not in ("", old["metadata"][field]):
                    raise Refusal(409, word, "the object has been modified")
            if new["metadata"].get("deletionTimestamp") and not new["metadata"].get("finalizers"):
                return self._remove(target.collection, target.key, new)
            return self._store(target.collection, target.key, old, new)

    def _store(self, collection: Collection, key: str, old: Json | None, new: Json) -> Json:
        new |= {"kind": collection.kind, "apiVersion": collection.api_version}
        if "uid" not in new["metadata"]:
            self._uid += 1
            new["metadata"]["uid"] = f"uid-{self._uid}"
        if old is not None:
            new["metadata"]["resourceVersion"] = old["metadata"]["resourceVersion"]
            if new == old:
                return old
        before = collection.bodies.get(key, b"")
        collection.bodies[key] = self._written(new)
        self._record(collection, new, before, collection.bodies[key])
        return new

    def _remove(self, collection: Collection, key: str, obj: Json) -> Json:
        del collection.bodies[key]
        self._record(collection, obj, self._written(obj), b"")
        return obj

    def _written(self, obj: Json) -> bytes:
        self.version += 1
        obj["metadata"]["resourceVersion"] = str(self.version)
        return msgspec.json.encode(obj)

    def _record(self, collection: Collection, obj: Json, before: bytes, after: bytes) -> None:
        collection.log.append(Row(self.version, obj["metadata"].get("namespace", ""), before, after))
        self.changed.notify_all()


def selection_of(params: Mapping[str, str]) -> Selection:
    """What the parameters of a request select. Raises Refusal 400."""
    try:
        return Selection.of(params)
    except Faults as error:
        raise Refusal(400, "BadRequest", f"unable to parse requirement: {error}") from error


def event_line(kind: str, body: bytes) -> bytes:
    """A watch event around an encoded object."""
    return b'{"type":"' + kind.encode() + b'","object":' + body + b"}"


def _line(kind: str, obj: Json) -> bytes:
    return event_line(kind, msgspec.json.encode(obj))


def _key(obj: Json) -> str:
    metadata = obj["metadata"]
    return f"{metadata['namespace']}/{metadata['name']}" if metadata.get("namespace") else str(metadata["name"])
