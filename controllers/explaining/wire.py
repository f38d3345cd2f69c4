"""A query and its answer as JSON: what `gatehouse explain --from-replica` and POST /explain say to each other.

    {"kind": "node", "name": "edge-7", "namespace": "", "where": "", "user": {"name": "", "groups": []}, "object": {…} or null}
    {"text": "…", "explanation": {…}, "fine": true, "tone": "good"}        or {"error": "…"}

An object that names its namespace needs no other; one of another namespace, or of another kind, is refused.
Pure. Errors: ValueError, with what is wrong, MalformedObject.
"""

from __future__ import annotations

import json
from typing import Any, Final

import msgspec

from controllers.explaining.explainer import Explanation, Query
from controllers.explaining.kinds import BY_NAME, IN_NAMESPACES, KINDS, WORDS, is_of
from webhook.admission.review import User
from webhook.objects import meta
from webhook.objects.dns_names import SUBDOMAIN_LIMIT
from webhook.objects.meta import Json

PATH: Final = "/explain"


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
    """The query in *body*. Raises ValueError, MalformedObject."""
    if not body.strip():
        raise ValueError('the body is empty: expected a query, such as {"kind": "node", "name": "edge-1"}')
    try:
        found = msgspec.json.decode(body, type=_Query)
    except RecursionError as error:
        raise ValueError("the body is nested too deeply") from error
    except msgspec.DecodeError as error:
        raise ValueError(f"the body is no query: {_why(body, error)}") from error
    if found.kind not in KINDS:
        raise ValueError(f"kind: have {', '.join(KINDS)}")
    if max(map(len, (found.name, found.namespace))) > SUBDOMAIN_LIMIT:
        raise ValueError(f"name and namespace have at most {SUBDOMAIN_LIMIT} characters")
    if found.object is None and found.kind not in BY_NAME:
        raise ValueError(f"object: needed for kind {found.kind}; by its name a replica knows {' and '.join(sorted(BY_NAME))}")
    if found.object is None and not found.name:
        raise ValueError(f"name: is empty, and kind {found.kind} is asked about by name or by object")
    user = User(found.user.name, tuple(found.user.groups))
    return Query(found.kind, found.name, _namespace(found), found.object, found.where, user)


def _why(body: bytes, error: msgspec.DecodeError) -> str:
    """What is wrong with *body*. Of half a surrogate pair, which others let pass, msgspec only says "truncated"."""
    if "truncated" in str(error) or "surrogate" in str(error):
        try:
            json.loads(body)
        except (ValueError, RecursionError):
            return str(error)
        return "a string has half a surrogate pair (\\ud800 to \\udfff), which is no character"
    return str(error)


def _namespace(found: _Query) -> str:
    """The namespace of what is asked about: what the query says, or else the object. Raises ValueError."""
    if found.object is None:
        return found.namespace
    if not is_of(found.kind, found.object):
        raise ValueError(f"object: is no {WORDS.get(found.kind, found.kind)}, which kind {found.kind} asks for")
    own = meta.text(meta.metadata(found.object), "namespace", "metadata")
    if len(own) > SUBDOMAIN_LIMIT:  # every message would repeat it
        raise ValueError(f"metadata.namespace: has at most {SUBDOMAIN_LIMIT} characters")
    if own and found.namespace and own != found.namespace:
        raise ValueError(f"namespace: {found.namespace}, but the object is of {own}: leave it out, or name that one")
    namespace = found.namespace or own
    if not namespace and found.kind in IN_NAMESPACES:
        raise ValueError("namespace: needed, for the object's metadata.namespace names none")
    return namespace


def answer(explained: Explanation) -> Json:
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
