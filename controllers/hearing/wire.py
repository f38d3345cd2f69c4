"""A query and its answer as JSON: what `gatehouse explain --from-replica` and POST /explain say to each other.

    {"kind": "node", "name": "edge-7", "namespace": "", "where": "", "user": {"name": "", "groups": []}, "object": {…} or null}
    {"text": "…", "explanation": {…}, "fine": true, "tone": "good"}        or {"error": "…"}

Pure. Errors: ValueError, with what is wrong.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from controllers.hearing.explainer import BY_NAME, KINDS, Explained, Query
from webhook.admission.review import User
from webhook.objects.meta import Json

PATH: Final = "/explain"
_NAME_LENGTH: Final = 253


class _User(msgspec.Struct, forbid_unknown_fields=True):
    name: str = ""
    groups: list[str] = []


class _Query(msgspec.Struct, forbid_unknown_fields=True):
    kind: str
    name: str = ""
    namespace: str = ""
    where: str = ""
    user: _User = msgspec.field(default_factory=_User)
    object: dict[str, Any] | None = None


def as_body(query: Query) -> bytes:
    """*query* as it is sent."""
    user = _User(query.user.name, list(query.user.groups))
    obj = None if query.object is None else lean(query.object)
    return msgspec.json.encode(_Query(query.kind, query.name, query.namespace, query.where, user, obj))


def from_body(body: bytes) -> Query:
    """The query in *body*. Raises ValueError."""
    try:
        found = msgspec.json.decode(body, type=_Query)
    except RecursionError as error:
        raise ValueError("the body is nested too deeply") from error
    except msgspec.DecodeError as error:
        raise ValueError(f"the body is no query: {error}") from error
    if found.kind not in KINDS:
        raise ValueError(f"kind: have {', '.join(KINDS)}")
    if max(map(len, (found.name, found.namespace))) > _NAME_LENGTH:
        raise ValueError(f"name and namespace have at most {_NAME_LENGTH} characters")
    if found.object is None and found.kind not in BY_NAME:
        raise ValueError(f"object: needed for kind {found.kind}; by its name a replica knows {' and '.join(sorted(BY_NAME))}")
    user = User(found.user.name, tuple(found.user.groups))
    return Query(found.kind, found.name, found.namespace, found.object, found.where, user)


def answer(explained: Explained) -> Json:
    """*explained* as it is sent back."""
    return {
        "text": explained.text,
        "explanation": explained.json,
        "fine": explained.is_fine,
        "tone": explained.tone.value,
    }


def lean(obj: Json) -> Json:
    """*obj* without what no rule reads and what is large: managedFields, and the images that a node has."""
    metadata, status = obj.get("metadata"), obj.get("status")
    found = dict(obj)
    if isinstance(metadata, dict):
        found["metadata"] = {key: value for key, value in metadata.items() if key != "managedFields"}
    if obj.get("kind") == "Node" and isinstance(status, dict):
        found["status"] = {key: value for key, value in status.items() if key != "images"}
    return found
