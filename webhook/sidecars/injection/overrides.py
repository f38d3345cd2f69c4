"""What a pod's annotations change in the containers that it gets.

    envoy.sidecar.gatehouse.dev/cpu-request: 250m        image, cpu-request, cpu-limit, memory-request, memory-limit, env.NAME

Only what is named changes (istio/istio#21240: the other values keep the entry's). Pure.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import attrs

from webhook.names import OVERRIDE_PREFIX
from webhook.objects import meta, quantity
from webhook.objects.meta import Json

_AMOUNTS = {
    "cpu-request": ("requests", "cpu"),
    "cpu-limit": ("limits", "cpu"),
    "memory-request": ("requests", "memory"),
    "memory-limit": ("limits", "memory"),
}
_VARIABLE = "env."
_KNOWN = ", ".join(("image", *_AMOUNTS, "env.NAME"))


@attrs.frozen
class Overridden:
    """A container as its pod wants it."""

    container: Json
    faults: tuple[tuple[str, str], ...] = ()  # the annotation's key, and what is wrong with it; then the pod is refused


def read(annotations: Mapping[str, str]) -> Mapping[str, Mapping[str, str]]:
    """By container: field -> value. O(annotations)."""
    found: dict[str, dict[str, str]] = {}
    for key, value in annotations.items():
        if OVERRIDE_PREFIX in key:
            container, _, field = key.partition(OVERRIDE_PREFIX)
            found.setdefault(container, {})[field] = value
    return found


def override(container: Json, name: str, wishes: Mapping[str, str]) -> Overridden:
    """*container*, which stays as it is, with the *wishes* for the container *name* fulfilled."""
    result = dict(container)
    faults: list[tuple[str, str]] = []
    for field, value in wishes.items():
        fault = _fulfil(result, field, value)
        if fault:
            faults.append((f"{name}{OVERRIDE_PREFIX}{field}", fault))
    if not faults:
        faults += [(f"{name}{OVERRIDE_PREFIX}{amount}-request", fault) for amount, fault in excesses(result, name)]
    return Overridden(result, tuple(faults))


def excesses(container: Json, path: str) -> Iterator[tuple[str, str]]:
    """Every resource whose request is above its limit, and the sentence for it. *path* is the container's, for messages."""
    resources = meta.mapping(container, "resources", path)
    limits = meta.mapping(resources, "limits", f"{path}.resources")
    for resource, request in meta.mapping(resources, "requests", f"{path}.resources").items():
        limit = limits.get(resource)
        if limit is None:
            continue
        try:
            exceeds = quantity.read(request) > quantity.read(limit)
        except ValueError:  # a stub's, which the API server would refuse anyway
            continue
        if exceeds:
            yield resource, f"{resource} request {request} exceeds the limit {limit}"


def _fulfil(container: Json, field: str, value: str) -> str | None:
    """Change *container*, a copy; what is wrong with the wish."""
    if field == "image":
        if not value.strip() or value != value.strip():
            return f"an image is a reference without blanks around it, not {value!r}"
        container["image"] = value
        return None
    if field in _AMOUNTS:
        return _amount(container, *_AMOUNTS[field], value)
    if field.startswith(_VARIABLE) and len(field) > len(_VARIABLE):
        name = field.removeprefix(_VARIABLE)
        wanted = {"name": name, "value": value}
        before = container.get("env") or []
        changed = [wanted if variable["name"] == name else variable for variable in before]
        container["env"] = changed if wanted in changed else [*changed, wanted]
        return None
    return f"nothing of that name can be overridden; known are {_KNOWN}"


def _amount(container: Json, kind: str, resource: str, value: str) -> str | None:
    try:
        amount = quantity.read(value)
    except ValueError as error:
        return str(error)
    if amount.nanos < 0:
        return f"{resource} cannot be negative, as {value} is"
    resources = container.get("resources") or {}
    container["resources"] = {**resources, kind: {**(resources.get(kind) or {}), resource: value}}
    return None
