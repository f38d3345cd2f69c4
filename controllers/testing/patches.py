"""The patches that controllers send, as an API server applies them. Pure: the argument is never changed.

Source: RFC 6902 (add, replace, remove, test), RFC 7386; of strategic merges the lists that are merged by *type* (conditions).
"""

from __future__ import annotations

import copy
from typing import Any


class PatchRefused(Exception):
    """The patch does not apply."""


def merge_patch(target: Any, patch: Any) -> Any:
    """*target* after the RFC 7386 *patch*."""
    if not isinstance(patch, dict):
        return copy.deepcopy(patch)
    merged = copy.deepcopy(target) if isinstance(target, dict) else {}
    for key, value in patch.items():
        if value is None:
            merged.pop(key, None)
        else:
            merged[key] = merge_patch(merged.get(key), value)
    return merged


def strategic_patch(target: Any, patch: Any) -> Any:
    """*target* after the strategic merge *patch*: conditions are merged by type, everything else as in `merge_patch`."""
    if isinstance(patch, list) and patch and all(isinstance(one, dict) and "type" in one for one in patch):
        merged = copy.deepcopy(target) if isinstance(target, list) else []
        for one in patch:
            index = next((index for index, old in enumerate(merged) if old.get("type") == one["type"]), None)
            if index is None:
                merged.append(copy.deepcopy(one))
            else:
                merged[index] = merge_patch(merged[index], one)
        return merged
    if not isinstance(patch, dict):
        return copy.deepcopy(patch)
    changed = {key: strategic_patch((target or {}).get(key), value) for key, value in patch.items() if value is not None}
    kept = {key: copy.deepcopy(value) for key, value in (target or {}).items() if key not in patch}
    return kept | changed


def json_patch(target: Any, operations: list[dict[str, Any]]) -> Any:
    """*target* after the RFC 6902 *operations*. Raises PatchRefused."""
    document = {"root": copy.deepcopy(target)}
    for operation in operations:
        try:
            _apply(document, operation)
        except (KeyError, IndexError, ValueError, TypeError) as error:
            raise PatchRefused(f"{operation.get('op')} {operation.get('path')}: {error!r}") from error
    return document["root"]


def _apply(document: Any, operation: dict[str, Any]) -> None:
    steps = ["root", *(step.replace("~1", "/").replace("~0", "~") for step in operation["path"].split("/")[1:])]
    parent = document
    for step in steps[:-1]:
        parent = parent[int(step) if isinstance(parent, list) else step]
    last: Any = steps[-1]
    if isinstance(parent, list):
        last = len(parent) if last == "-" else int(last)
        if not 0 <= last <= len(parent):
            raise IndexError(last)
    match operation["op"]:
        case "add" if isinstance(parent, list):
            parent.insert(last, operation["value"])
        case "add":
            parent[last] = operation["value"]
        case "replace":
            parent[last]  # must exist
            parent[last] = operation["value"]
        case "remove":
            del parent[last]
        case "test":
            if parent[last] != operation["value"]:
                raise ValueError("test failed")
        case other:
            raise ValueError(f"unsupported operation {other}")
