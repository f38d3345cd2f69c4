"""Typed values of labels and annotations: `${image.tag}`, `${now}`, `${namespace.labels['team']:-none}`.

The placeholders are those of sidecar entries (`webhook.sidecars.entries.placeholders`), and two more: `${image.tag}` and
`${image.name}` (the last part of the repository) of the pod's first own container. In a label, what placeholders make is cut
and cleaned to what the API takes: other characters become "-", 63 of them stay, and both ends are a letter or digit.

Pure; any thread. `value_of` raises MalformedObject (400) for a pod whose labels or annotations are of a wrong type.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

import attrs

from webhook.cluster import NamespaceFacts
from webhook.names import DEFAULT_CONTAINER
from webhook.objects import meta, pods
from webhook.objects.meta import Json
from webhook.objects.pods import Kind
from webhook.objects.schema import Kind as Type
from webhook.objects.schema import Scalar
from webhook.sidecars.entries import placeholders
from webhook.sidecars.entries.placeholders import Scope
from webhook.sidecars.injection import stamp

LABEL_LIMIT: Final = 63

# `${image.tag}` is short for what sidecar entries say of the container that they change. "$${" stays a literal "${".
_SHORT: Final = re.compile(r"(?<!\$)\$\{image(?=\.(?:tag|name)\b)")
_OURS: Final = re.compile(r"(?<!\$)\$\{image(?![\w-])")
_NOT_OF_A_LABEL: Final = re.compile(r"[^A-Za-z0-9._-]")
_END: Final = re.compile(r"^[^A-Za-z0-9]+|[^A-Za-z0-9]+$")
_TEXT: Final = Scalar(Type.STRING)


@attrs.frozen
class Unresolved:
    """A value that cannot be had for this pod."""

    message: str


def fault_of(text: str) -> str | None:
    """Why *text*, as it is configured, cannot mean anything; None when it can."""
    unknown = next((found for found in _OURS.finditer(text) if not _SHORT.match(text, found.start())), None)
    if unknown is not None:
        return f"{text[unknown.start() :][:40]} is not a placeholder: of image there are ${{image.name}} and ${{image.tag}}"
    return next((_back(message) for _, message in placeholders.faults(_full(text), in_app=True)), None)


def is_typed(text: str) -> bool:
    """Whether anything has to be filled in."""
    return placeholders.has_placeholders(_full(text))


def asks_for_namespace(text: str) -> bool:
    """Whether the namespace has to be known."""
    return any(piece.path.startswith("namespace.") for piece in _pieces(text))


def keys_asked_for(text: str) -> Iterator[tuple[str, str]]:
    """The labels and annotations of the pod that *text* asks for: ("pod.labels", "team")."""
    return ((piece.path, piece.key) for piece in _pieces(text) if piece.path in ("pod.labels", "pod.annotations"))


def _pieces(text: str) -> Iterator[placeholders.Placeholder]:
    return (piece for piece in placeholders.parse(_full(text)) if isinstance(piece, placeholders.Placeholder))


def scope_of(pod: Json, namespace: str, facts: NamespaceFacts | None, now_s: float) -> Scope:
    """What values of *pod* may ask of; `image` is that of its first own container."""
    return Scope(pod, namespace, facts, now_s, app=first_own_container(pod))


def first_own_container(pod: Json) -> Json | None:
    """The app container that the pod is about: the one that `kubectl logs` means, or the first that nobody injected."""
    apps = list(pods.containers(pod, Kind.APP))
    annotations = meta.annotations_of(pod)
    meant = annotations.get(DEFAULT_CONTAINER)
    injected = {name for record in stamp.read(annotations).records.values() for name in record.names}
    own = [container for container in apps if container.name == meant]
    own += (container for container in apps if container.name not in injected)
    return (own or apps)[0].json if apps else None


def value_of(text: str, scope: Scope, *, is_label: bool) -> str | Unresolved:
    """What *text* means for the pod of *scope*."""
    if not is_typed(text):
        return text
    made = placeholders.substitute(_full(text), _TEXT, scope)
    if made.unresolved:
        return Unresolved(_back(made.unresolved[0].message))
    value: Any = made.value
    if not is_label:
        return str(value)
    cleaned = as_label(value)
    if value and not cleaned:
        return Unresolved(f"{text}: nothing is left of the value when it is made a label's")
    return cleaned


def as_label(text: str) -> str:
    """*text* cut and cleaned to the rules of label values; "" when nothing of it can stay."""
    cleaned = _END.sub("", _NOT_OF_A_LABEL.sub("-", text))
    return _END.sub("", cleaned[:LABEL_LIMIT])


def _full(text: str) -> str:
    return _SHORT.sub("${app.image", text) if "${image" in text else text


def _back(message: str) -> str:
    return message.replace("${app.image.", "${image.")
