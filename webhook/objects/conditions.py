"""Conditions of nodes and pods: lists of {type, status, lastTransitionTime, …}, at most one of a type. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from webhook.cluster import Status
from webhook.objects import meta

_STATUSES = {status.value: status for status in Status}


def of(obj: Mapping[str, Any]) -> list[meta.Json]:
    """The conditions in *obj*'s status."""
    return meta.objects(meta.mapping(obj, "status", ""), "conditions", "status")


def index(conditions: Sequence[Mapping[str, Any]], kind: str) -> int | None:
    """Where the condition of type *kind* stands; None when there is none."""
    return next((i for i, condition in enumerate(conditions) if condition.get("type") == kind), None)


def status(conditions: Sequence[Mapping[str, Any]], kind: str) -> Status | None:
    """The status of the condition of type *kind*; None when there is none, or it has no status that the API knows."""
    position = index(conditions, kind)
    if position is None:
        return None
    value = conditions[position].get("status")
    return _STATUSES.get(value) if isinstance(value, str) else None


def since_s(conditions: Sequence[Mapping[str, Any]], kind: str) -> float | None:
    """When the condition of type *kind* last changed, seconds since the epoch; None when unknown."""
    position = index(conditions, kind)
    if position is None:
        return None
    value = conditions[position].get("lastTransitionTime")
    return meta.parse_time_s(value) if isinstance(value, str) else None
