"""Whether a container that the stamp calls ours still looks like the entry's. Pure.

Between two calls other webhooks put an image's registry, tag or digest elsewhere (never its last name), put a program of their
own before command and arguments, and add mounts; the API server adds defaults. What an entry takes from the pod (placeholders)
may have changed, too, and is not held against the container.
"""

from __future__ import annotations

from typing import Any

from webhook.objects.meta import Json
from webhook.sidecars.entries.placeholders import has_placeholders
from webhook.sidecars.injection.merging import covers


def is_like(found: Json, wanted: Json, configured: Json, *, any_image: bool) -> bool:
    """Whether *found*, of the pod, may be the entry's *wanted*, *configured* with placeholders.

    any_image: the pod may have, and has, another image for it.
    """
    said = _list(wanted, "command") + _list(wanted, "args")
    runs = _list(found, "command") + _list(found, "args")
    if said and runs[-len(said) :] != said and not _is_open(configured, "command") and not _is_open(configured, "args"):
        return False
    if not covers(found.get("volumeMounts"), wanted.get("volumeMounts") or None) and not _is_open(configured, "volumeMounts"):
        return False
    return any_image or _is_open(configured, "image") or _program(found) == _program(wanted)


def _list(container: Json, field: str) -> list[Any]:
    value = container.get(field)
    return value if type(value) is list else []


def _is_open(configured: Json, field: str) -> bool:
    return has_placeholders(configured.get(field))


def _program(container: Json) -> str:
    """Of "registry.example/team/envoy:1@sha256:…" the "envoy"."""
    image = container.get("image")
    return image.partition("@")[0].rpartition("/")[2].partition(":")[0] if type(image) is str else ""
