"""Selectors of registrations: what no review may ever hold up. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from webhook.names import APP_LABEL, DISABLED, MUTATE_LABEL, NAMESPACE_NAME, PROJECT
from webhook.sidecars.wish import SYSTEM_NAMESPACES

# Our own objects are never ours to judge: a broken Gatehouse must not stand in the way of its own recovery.
NOT_OURS: Final[dict[str, Any]] = {
    "matchExpressions": [{"key": APP_LABEL, "operator": "NotIn", "values": [PROJECT]}],
}


def outside(namespaces: Iterable[str]) -> dict[str, Any]:
    """The expression of a selector for all namespaces but these."""
    return {"key": NAMESPACE_NAME, "operator": "NotIn", "values": sorted(namespaces)}


NOT_OF_THE_SYSTEM: Final = outside(SYSTEM_NAMESPACES)
NOT_SWITCHED_OFF: Final[dict[str, Any]] = {"key": MUTATE_LABEL, "operator": "NotIn", "values": [DISABLED]}
