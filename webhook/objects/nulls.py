"""What the API server makes of null in a workload: it reads YAML as written, a webhook never sees one.

A null member of a struct is an absent one; a null value in a map of strings is "", in a map of quantities "0", a null argument
of a command "". A null element of any other list stays: most lists refuse it, and the refusal should name it. Pure.
Source: Go's encoding/json (null leaves a field as it is, in a map it becomes the zero value); Quantity.UnmarshalJSON.
"""

from __future__ import annotations

from typing import Any, Final

from webhook.objects.meta import Json

_TEXTS: Final = frozenset({"labels", "annotations", "matchLabels", "nodeSelector", "options", "volumeAttributes"})
_QUANTITIES: Final = frozenset({"limits", "requests", "overhead"})
_TEXT_LISTS: Final = frozenset({"command", "args"})


def without_nulls(workload: Json) -> Json:
    """A copy of *workload* (of a kind in `workloads`) as the API server decodes it. Shares nothing with it."""
    copy: Json = _read(workload, "")
    return copy


def _read(value: Any, key: str) -> Any:
    """*value*, which stands at *key*."""
    if type(value) is list:
        return ["" if item is None and key in _TEXT_LISTS else _read(item, "") for item in value]
    if type(value) is not dict:
        return value
    instead = "" if key in _TEXTS else "0" if key in _QUANTITIES else None
    found = {name: instead if inner is None else _read(inner, name) for name, inner in value.items()}
    return found if instead is not None else {name: inner for name, inner in found.items() if inner is not None}
