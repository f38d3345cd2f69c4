"""What was done to a pod, in the words of a pod: containers, volumes, variables, labels that came, went or changed.

Works on the two pods and not on the patch, so that it says the same whoever changed them. Pure.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import attrs

from webhook.objects import meta
from webhook.objects.meta import Json

ADDED, CHANGED, REMOVED = "added", "changed", "removed"

# Lists in a pod's spec and what tells their elements apart (the merge keys of the API's own patches).
_LISTS: Final = {
    "initContainers": ("init container", "name"),
    "containers": ("container", "name"),
    "ephemeralContainers": ("ephemeral container", "name"),
    "volumes": ("volume", "name"),
    "imagePullSecrets": ("image pull secret", "name"),
    "hostAliases": ("host alias", "ip"),
}
_CONTAINER_LISTS: Final = {
    "env": ("variable", "name"),
    "volumeMounts": ("mount", "mountPath"),
    "ports": ("port", "containerPort"),
}


@attrs.frozen
class Change:
    """One thing that came, went or changed."""

    action: str  # ADDED, CHANGED, REMOVED
    what: str  # "container", "volume", "label", …
    name: str
    field: str  # where it stands: "spec.containers[1]"; "" for what was removed
    details: tuple[str, ...] = ()  # of what changed: "variable LOG_DIR", "image"


def changes(before: Json, after: Json) -> Iterator[Change]:
    """What leads from one pod to the other, in the order in which one reads a pod."""
    for key, what in (("labels", "label"), ("annotations", "annotation")):
        yield from _words(what, f"metadata.{key}", _texts(before, key), _texts(after, key))
    old, new = meta.mapping(before, "spec", ""), meta.mapping(after, "spec", "")
    for key, (what, by) in _LISTS.items():
        yield from _elements(what, by, f"spec.{key}", meta.objects(old, key, "spec"), meta.objects(new, key, "spec"))
    others = ({key: value for key, value in spec.items() if key not in _LISTS} for spec in (old, new))
    yield from _words("field", "spec", *others)


def _texts(pod: Json, key: str) -> Mapping[str, Any]:
    return meta.texts(meta.metadata(pod), key, "metadata")


def _words(what: str, field: str, before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[Change]:
    for key in [*after, *(key for key in before if key not in after)]:
        if before.get(key) != after.get(key):
            action = ADDED if before.get(key) is None else REMOVED if after.get(key) is None else CHANGED
            yield Change(action, what, key, field)


def _elements(what: str, by: str, field: str, before: Sequence[Json], after: Sequence[Json]) -> Iterator[Change]:
    """Of two lists; of several elements of one name the first is meant."""
    old = {_name(element, by): element for element in reversed(before)}
    seen = set()
    for index, element in enumerate(after):
        name = _name(element, by)
        seen.add(name)
        place = f"{field}[{index}]"
        kind = "native sidecar" if what == "init container" and element.get("restartPolicy") == "Always" else what
        if name not in old:
            yield Change(ADDED, kind, name, place)
        elif old[name] != element:
            yield Change(CHANGED, kind, name, place, tuple(_details(old[name], element)))
    for name in old:
        if name not in seen:
            yield Change(REMOVED, what, name, "")


def _details(before: Json, after: Json) -> Iterator[str]:
    for key in [*after, *(key for key in before if key not in after)]:
        if before.get(key) == after.get(key):
            continue
        if key not in _CONTAINER_LISTS:
            yield key
            continue
        what, by = _CONTAINER_LISTS[key]
        old = {_name(element, by): element for element in meta.objects(before, key, "")}
        new = {_name(element, by): element for element in meta.objects(after, key, "")}
        for name in [*new, *(name for name in old if name not in new)]:
            if old.get(name) != new.get(name):
                yield f"{what} {name}"


def _name(element: Json, by: str) -> str:
    """What *element* is known by, whatever stands there: objects without a schema are compared as well."""
    return str(element.get(by))
