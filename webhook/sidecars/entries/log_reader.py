"""`logCollector: /var/log/app/app.log`: the line of an entry -> the container that prints what the app writes to files.

The reader waits for files that do not exist yet and follows each by its inode: after a rotation it prints what the app still
writes to the old file (10 s long) and begins the new one at its first line; a file cut to nothing is read from its start; a
renamed file that still matches is not printed twice. Asked to end, it prints the last lines and ends with 0; by itself it
never ends. The script lies beside this module and is read when first asked for; folder and pattern are its arguments, never
part of its text. How it comes to see the folder of a pod's app is decided by `log_collector`. Pure.
Source: BusyBox 1.37 ash, tail and stat. The script has neither `$(…)` nor `$$`, which the kubelet expands in a command.
"""

from __future__ import annotations

import functools
import re
from typing import Any, Final

from webhook.objects import meta, pods, schema
from webhook.objects.faults import Found, Path, quoted
from webhook.objects.meta import Json
from webhook.objects.schema import Struct
from webhook.sidecars.entries import lint, volume_lint
from webhook.sidecars.entries.entry import LogCollector
from webhook.sidecars.entries.fragments import mapping, name_faults, text
from webhook.sidecars.entries.placeholders import faults as placeholder_faults
from webhook.sidecars.entries.placeholders import has_placeholders, openness

DEFAULT_NAME: Final = "log-collector"
DEFAULT_IMAGE: Final = "busybox:1.37"
# The kubelet evicts a pod that outgrows it; without a limit one app could fill its node's disk for all others.
DEFAULT_SIZE_LIMIT: Final = "256Mi"
# A shell, a stat in a second, and a tail for each file, which are idle.
DEFAULT_RESOURCES: Final[Json] = {
    "requests": {"cpu": "5m", "memory": "16Mi"},
    "limits": {"cpu": "100m", "memory": "64Mi"},
}
NOBODY: Final = 65534
MAX_FILES: Final = 100
PAUSE_S: Final = 1  # between two looks at the folder
NAME_LIMIT: Final = 58  # the volume is called NAME-logs
PATH_LIMIT: Final = 1024
SCRIPT_FILE: Final = "log_reader.sh"

_OBJECT: Final = Struct(
    "logCollector",
    {"path": "string", "image": "string", "sizeLimit": "quantity", "name": "string", "resources": "ResourceRequirements"},
    ("path",),
)
# Folders that a container runs from: an emptyDir over them would hide it from itself.
_VITAL: Final = ("/bin", "/dev", "/etc", "/lib", "/lib64", "/proc", "/sbin", "/sys", "/usr", "/usr/bin", "/usr/lib")
_UNSAFE: Final = re.compile(r"[\x00-\x1f\x7f$\\]")
_PATTERN: Final = re.compile(r"[*?\[]")


def faults(value: Any) -> Found:
    """What is wrong with *value* as `logCollector`: a path, or an object with one. Takes any JSON; paths are within *value*."""
    if type(value) is str:
        yield from _path_faults(value, ())
        return
    if type(value) is not dict:
        yield (), "must be a path such as /var/log/app/app.log, or an object with one"
        return
    yield from ((misfit.path, misfit.message) for misfit in schema.check(value, _OBJECT, (), openness))
    for key in ("name", "sizeLimit"):
        if has_placeholders(value.get(key)):
            yield (key,), "cannot hold placeholders"
    for key in ("image", "resources"):
        yield from placeholder_faults(value.get(key), (key,))
    if type(value.get("path")) is str:
        yield from _path_faults(value["path"], ("path",))
    if value.get("image") == "":
        yield ("image",), "must not be empty"
    if (limit := text(value, "sizeLimit")) is not None:
        yield from volume_lint.size_faults(limit, ("sizeLimit",))
    yield from name_faults(value, ())
    name = text(value, "name")
    if name is not None and NAME_LIMIT < len(name) <= 63:
        yield ("name",), f"{quoted(name)} has more than {NAME_LIMIT} characters: the volume is called NAME-logs"
    yield from lint.resource_faults(mapping(value, "resources"), ("resources",))


@functools.cache
def script() -> str:
    """The reader's shell script: its arguments are folder, pattern, the most files at once, and seconds between two looks."""
    from importlib import resources  # only where an entry asks for a collector: the import costs more than reading the file

    return resources.files(__package__).joinpath(SCRIPT_FILE).read_text(encoding="utf-8")


def build(value: Any) -> LogCollector:
    """The collector that *value*, which has no faults, asks for. The container lacks only its mount."""
    given: Json = {"path": value} if type(value) is str else value
    folder, _, files = given["path"].rpartition("/")
    name = given.get("name", DEFAULT_NAME)
    container = {
        "name": name,
        "image": given.get("image", DEFAULT_IMAGE),
        "command": ["/bin/sh", "-c", script(), name, folder, files, str(MAX_FILES), str(PAUSE_S)],
        "resources": given.get("resources", DEFAULT_RESOURCES),
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "capabilities": {"drop": ["ALL"]},
            "readOnlyRootFilesystem": True,
            "runAsNonRoot": True,
            "runAsUser": NOBODY,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
    }
    return LogCollector(folder, files, container, {"name": f"{name}-logs", "emptyDir": {"sizeLimit": _size(given)}})


def _size(given: Json) -> Any:
    return given.get("sizeLimit", DEFAULT_SIZE_LIMIT)


def as_user_of(container: Json, app: Json, pod: Json) -> Json:
    """The reader's *container* as the user that *app* runs as, where that user is named and is not root; else *container*.

    It can then read what the app keeps from others. As nobody, the files must be readable by all, or the pod needs an fsGroup.
    A user that somebody has given the reader stays. app: the container that writes the files. Raises MalformedObject.
    """
    security = meta.mapping(container, "securityContext", "logCollector")
    user = meta.mapping(app, "securityContext", "spec.containers[]").get("runAsUser")
    if user is None:
        user = meta.mapping(pods.spec(pod), "securityContext", "spec").get("runAsUser")
    if type(user) is not int or user == 0 or security.get("runAsUser") != NOBODY:
        return container
    return {**container, "securityContext": {**security, "runAsUser": user}}


def _path_faults(value: str, path: Path) -> Found:
    folder, _, files = value.rpartition("/")
    if has_placeholders(value):
        yield path, "cannot hold placeholders"
    elif not value.startswith("/") or not files:
        yield path, f"{quoted(value)} is not an absolute path that ends in a file or a pattern, such as /var/log/app/*.log"
    elif not folder:
        yield path, f"{quoted(value)}: files at the root cannot be shared; they need a folder"
    elif any(part in ("", ".", "..") for part in value[1:].split("/")):
        yield path, f"{quoted(value)} has an empty part, or one that is '.' or '..'"
    elif _PATTERN.search(folder):
        yield path, f"{quoted(value)}: only the last part may be a pattern"
    elif ":" in folder or _UNSAFE.search(value):
        yield path, f"{quoted(value)} has a control character, '$' or '\\', or ':' in its folder"
    elif folder in _VITAL:
        yield path, f"{quoted(value)}: the container runs from {folder}; the files need a folder of their own"
    elif len(value) > PATH_LIMIT:
        yield path, f"has more than {PATH_LIMIT} characters"
