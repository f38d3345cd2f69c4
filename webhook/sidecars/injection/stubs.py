"""Stubs: a container that the user writes only to say what shall be otherwise in the injected one of its name.

    containers: [{name: envoy, image: auto, securityContext: {runAsUser: 1337}}]

Its fields win, absent ones are filled in from the entry: deep for objects, by merge key for lists that have one. What the API
server's defaults put into a stub before we see it is no wish of the user, and gives way to the entry. Pure.
Source: kubernetes pkg/apis/core/v1/defaults.go; istio/istio#55691 (an override must survive the second call).
"""

from __future__ import annotations

from typing import Any

from webhook.objects import meta
from webhook.objects.meta import Json
from webhook.objects.pods import Container
from webhook.sidecars.injection.merging import folder

AUTO = "auto"  # as published injectors have it

_KEYS = {
    "env": ("name",),
    "ports": ("containerPort", "protocol"),
    "volumeMounts": ("mountPath",),
    "volumeDevices": ("devicePath",),
    "resizePolicy": ("resourceName",),
}
_TOKEN = "/var/run/secrets/kubernetes.io/serviceaccount"
_HANDLERS = frozenset(("exec", "httpGet", "tcpSocket", "grpc", "sleep"))  # of a probe or a hook: one at most
_DEFAULTS: dict[str, Any] = {
    "terminationMessagePath": "/dev/termination-log",
    "terminationMessagePolicy": "File",
    "timeoutSeconds": 1,
    "periodSeconds": 10,
    "successThreshold": 1,
    "failureThreshold": 3,
    "scheme": "HTTP",
    "path": "/",
}


def is_stub(container: Container) -> bool:
    """Whether it cannot run by itself and waits to be filled in."""
    image = container.json.get("image")
    if image is not None and type(image) is not str:
        meta.text(container.json, "image", container.path)  # raises
    return image is None or image in ("", AUTO)


def says_anything(stub: Json) -> bool:
    """Whether there is more in it than its name, its kind and what the API server puts into every container."""
    for key, value in stub.items():
        if key == "volumeMounts" and type(value) is list:  # the ServiceAccount admission plugin comes before us
            value = [mount for mount in value if type(mount) is not dict or mount.get("mountPath") != _TOKEN]
        if value and key not in ("name", "image", "restartPolicy") and not _is_default(stub, key, value):
            return True
    return False


def fill(container: Json, stub: Json) -> Json:
    """The entry's *container* with what *stub* says otherwise. Both stay as they are."""
    said = {key: value for key, value in stub.items() if not _is_default(stub, key, value)}
    if said.get("image") == AUTO or not said.get("image"):
        said.pop("image", None)
    return _merged(container, said)


def _is_default(stub: Json, key: str, value: Any) -> bool:
    if key == "imagePullPolicy":
        # Derived from the stub's image: "auto" has no tag, which counts as latest.
        return bool(value == ("Always" if stub.get("image") == AUTO else "IfNotPresent"))
    return _DEFAULTS.get(key) == value if key.startswith("termination") else value is None


def _merged(ours: Json, said: Json) -> Json:
    result = dict(ours)
    if not _HANDLERS.isdisjoint(said):
        result = {key: value for key, value in ours.items() if key not in _HANDLERS or key in said}
    for key, value in said.items():
        own = result.get(key)
        if own is None:
            result[key] = value
        elif type(value) is dict and type(own) is dict:
            result[key] = _merged(own, value)
        elif key in _KEYS and type(value) is list and type(own) is list:
            result[key] = _merged_lists(own, value, _KEYS[key])
        elif value is not None and _DEFAULTS.get(key) != value:
            result[key] = value
    return result


def _merged_lists(ours: list[Any], said: list[Any], names: tuple[str, ...]) -> list[Any]:
    """The entry's elements in their order, the user's in the place of those with the same key, then the user's others."""
    wanted: dict[str, list[Any]] = {}  # the API server lets some keys come twice: one port under two host ports
    for item in said:
        wanted.setdefault(_key(item, names), []).append(item)
    result = [one for item in ours for one in wanted.pop(_key(item, names), [item])]
    return result + [one for items in wanted.values() for one in items]


def _key(item: Any, names: tuple[str, ...]) -> str:
    values = [item.get(name) for name in names] if type(item) is dict else [item]
    # The protocol is TCP when absent, "/data/" is "/data"; repr: whatever the user wrote there.
    is_path = names[0].endswith("Path")
    return repr([(folder(value) if is_path and type(value) is str else value) or "TCP" for value in values])
