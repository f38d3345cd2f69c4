"""Following files that the app writes: where they are, and how the reader comes to see them. Used by one call of `plan`.

An app that mounts a volume at the folder, or above it, writes there: the reader gets the same mount, at the same path and with
the same subPath, read-only. Any other writes into its own file system, which nobody else sees: then an emptyDir is put over the
folder in the app and in the reader.
"""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from webhook.names import Reason
from webhook.objects.meta import Json
from webhook.objects.pods import Container
from webhook.sidecars.entries.entry import Entry, LogCollector
from webhook.sidecars.injection.merging import folder
from webhook.sidecars.injection.verdicts import Verdicts
from webhook.sidecars.injection.wiring import Wiring, is_same_mount

_SHARED = ("name", "mountPath", "subPath")


@attrs.frozen
class Sight:
    """How the reader sees the folder."""

    mount: Json  # of the reader
    is_ours: bool  # whether the shared emptyDir is needed


def share(entry: Entry, collector: LogCollector, targets: Sequence[Container], wiring: Wiring, verdicts: Verdicts) -> Sight:
    """Find the folder in *targets*, and mount our volume there where nothing else is."""
    found = [(target, _mount_above(collector.folder, wiring, target)) for target in targets]
    first = next((mount for _, mount in found if mount is not None), None)
    ours = collector.volume["name"]
    is_ours = first is None or first.get("name") == ours
    for target, mount in found:
        if mount is not None:
            wiring.mounts(target).claim(folder(mount["mountPath"]))  # the reader relies on it
        if mount is None:
            if is_ours:
                wiring.mount(entry, target, {"name": ours, "mountPath": collector.folder})
        elif first is not None and not is_same_mount(mount, first):
            message = (
                f'{entry.subject} does not follow the files of container "{target.name}": at '
                f'{collector.folder} it mounts volume "{mount.get("name")}", a container before it "{first.get("name")}"'
            )
            verdicts.tell(Reason.MOUNT_CONFLICT, message, wiring.mounts(target).field(folder(mount["mountPath"])))
    if first is None or is_ours:
        return Sight({"name": ours, "mountPath": collector.folder, "readOnly": True}, True)
    if first.get("subPathExpr"):
        message = (
            f"{entry.subject} may not find the files in {collector.folder}: the app mounts them by "
            f"subPathExpr {first['subPathExpr']}, whose variables only its container has"
        )
        verdicts.tell(Reason.MOUNT_CONFLICT, message)
    return Sight({**{key: first[key] for key in _SHARED if first.get(key)}, "readOnly": True}, False)


def _mount_above(path: str, wiring: Wiring, target: Container) -> Json | None:
    """The mount of *target* that *path* lies in: at it, or the nearest above."""
    mounts = wiring.mounts(target)
    while path not in ("", "/"):
        mount = mounts.get(path)
        if mount is not None:
            return mount
        path = path.rpartition("/")[0]
    return None
