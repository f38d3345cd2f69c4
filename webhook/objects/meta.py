"""Fields that every object has, and checked access to any field.

Absent and null read the same (Go's decoder makes no difference either). Pure; raises MalformedObject (400).
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from webhook.errors import MalformedObject
from webhook.objects.dns_names import SUBDOMAIN_LIMIT
from webhook.objects.faults import json_type

Json = dict[str, Any]

_STRINGS = {str}


def mapping(parent: Mapping[str, Any], key: str, path: str) -> Json:
    """The object at *key* of *parent*, {} when absent or null. *path* is the parent's, for the message."""
    value = parent.get(key)
    if value is None:
        return {}
    if type(value) is not dict:
        raise _malformed(path, key, "an object", value)
    return value


def sequence(parent: Mapping[str, Any], key: str, path: str) -> list[Any]:
    """The list at *key* of *parent*, [] when absent or null."""
    value = parent.get(key)
    if value is None:
        return []
    if type(value) is not list:
        raise _malformed(path, key, "a list", value)
    return value


def objects(parent: Mapping[str, Any], key: str, path: str) -> list[Json]:
    """The list of objects at *key* of *parent*, [] when absent or null. Null elements are refused. O(n)."""
    items = sequence(parent, key, path)
    if items and set(map(type, items)) != {dict}:
        index = next(index for index, item in enumerate(items) if type(item) is not dict)
        raise _malformed(f"{path}.{key}" if path else key, f"[{index}]", "an object", items[index])
    return items


def text(parent: Mapping[str, Any], key: str, path: str) -> str:
    """The string at *key* of *parent*, "" when absent or null."""
    value = parent.get(key)
    if value is None:
        return ""
    if type(value) is not str:
        raise _malformed(path, key, "a string", value)
    return value


def texts(parent: Mapping[str, Any], key: str, path: str) -> Mapping[str, str]:
    """The string map at *key* of *parent* (labels, annotations), {} when absent or null; null values read as ""."""
    values = mapping(parent, key, path)
    if not values or set(map(type, values.values())) == _STRINGS:  # nearly always, and asked several times of each pod
        return values
    for name, value in values.items():
        if type(value) is not str and value is not None:
            raise _malformed(f"{path}.{key}" if path else key, name, "a string", value)
    return {name: value or "" for name, value in values.items()}


def boolean(parent: Mapping[str, Any], key: str, path: str) -> bool | None:
    """The boolean at *key* of *parent*, None when absent or null."""
    value = parent.get(key)
    if value is not None and type(value) is not bool:
        raise _malformed(path, key, "true or false", value)
    return value


def metadata(obj: Mapping[str, Any]) -> Json:
    """The object's metadata."""
    return mapping(obj, "metadata", "")


def annotations_of(obj: Mapping[str, Any]) -> Mapping[str, str]:
    """The object's annotations."""
    return texts(metadata(obj), "annotations", "metadata")


def labels_of(obj: Mapping[str, Any]) -> Mapping[str, str]:
    """The object's labels."""
    return texts(metadata(obj), "labels", "metadata")


def display_name(obj: Mapping[str, Any]) -> str:
    """The object's name for messages: one that the API server has yet to make up is shown as "web-…", as is one too long."""
    meta = metadata(obj)
    name = text(meta, "name", "metadata")
    prefix = text(meta, "generateName", "metadata")
    if len(name) > SUBDOMAIN_LIMIT:
        return f"{name[:SUBDOMAIN_LIMIT]}…"  # which the API server refuses
    return name or (f"{prefix[:SUBDOMAIN_LIMIT]}…" if prefix else "(no name)")


def is_deleting(obj: Mapping[str, Any]) -> bool:
    """Whether deletion has begun (deletionTimestamp is set)."""
    return bool(text(metadata(obj), "deletionTimestamp", "metadata"))


def parse_time_s(value: str) -> float | None:
    """Seconds since the epoch of an RFC 3339 time with a zone; None when *value* is not one, or no `format_time` can write it.

    Kubernetes' Time and MicroTime are RFC 3339 (apimachinery meta/v1 time.go), always written with a zone.
    """
    # fromisoformat also takes ISO 8601's week dates, basic format and local times, which RFC 3339 does not have.
    if len(value) < 20 or value[4] != "-" or value[7] != "-" or value[10] != "T" or value[13] != ":":
        return None
    try:
        moment = datetime.fromisoformat(value)
    except ValueError:
        return None
    if moment.tzinfo is None:
        return None
    seconds = moment.timestamp()
    # 9999-12-31T23:59:59-23:59 is in the year 10000, which has five digits.
    return seconds if _FIRST_S <= seconds < _END_S else None


_FIRST_S = datetime.min.replace(tzinfo=UTC).timestamp()  # of the year 1
_END_S = datetime.max.replace(microsecond=0, tzinfo=UTC).timestamp() + 1  # of the year 9999


def format_time(now_s: float) -> str:
    """The RFC 3339 time *now_s* seconds after the epoch, in UTC and whole seconds, as Kubernetes' Time is written."""
    return datetime.fromtimestamp(int(now_s), UTC).replace(tzinfo=None).isoformat() + "Z"  # strftime writes the year 1 as "1"


def _malformed(path: str, key: str, expected: str, value: Any) -> MalformedObject:
    where = path + key if key.startswith("[") else f"{path}.{key}" if path else key
    return MalformedObject(f"{where}: expected {expected}, found {json_type(value)}")
