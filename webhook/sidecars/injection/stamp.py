"""The status annotation `gatehouse.dev/injected`: what was injected, as a JSON list, written by us and read as a hint.

    [{"containers":["envoy"],"entry":"mesh","initContainers":[],"revision":"3fa1c2","source":"shop/sidecars","volumes":["conf"]}]

It tells our containers from the pod's own on a second call. A forged or copied one says nothing about what is there: containers
decide. A container that it calls ours is believed to be only while it still looks like the entry's (`containers`), so that
nobody gets past onConflict with it.

What remains to a forger: to pass off another image of the same name with the entry's command, arguments and mounts; and of an
entry that pods may change (overridable) whatever a stub of the container could have got. Who reads it (`coverage`) is told
nothing that somebody who may create pods could not have said by leaving the pod without a sidecar.

An entry that was asked for and left out has a record, too, with the reason in `leftOut`: such a pod is not bare by accident.
Pure.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from webhook.names import INJECTED, Reason
from webhook.sidecars.findings import Finding

FIELD = f"metadata.annotations[{INJECTED}]"


class Record(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What one entry brought. The order of the fields is that of the text: sorted."""

    containers: tuple[str, ...] = ()
    entry: str
    filled: tuple[str, ...] | msgspec.UnsetType = msgspec.UNSET  # of its containers those that the user wrote as stubs
    init_containers: tuple[str, ...] = ()
    left_out: str | msgspec.UnsetType = msgspec.UNSET  # why nothing of it is there; then all the lists are empty
    now: str | msgspec.UnsetType = msgspec.UNSET  # the ${now} of the first call, where the entry asks for it
    revision: str = ""
    source: str = ""
    volumes: tuple[str, ...] = ()

    @property
    def is_left_out(self) -> bool:
        """Whether it says that the entry did not come in."""
        return self.left_out is not msgspec.UNSET

    @property
    def names(self) -> tuple[str, ...]:
        """All its containers."""
        return self.init_containers + self.containers


class Stamp(msgspec.Struct, frozen=True):
    """The annotation as it was found."""

    records: Mapping[str, Record]  # by entry
    fault: Finding | None = None  # it cannot be read, and counts as absent


def read(annotations: Mapping[str, str]) -> Stamp:
    """The stamp of a pod with these annotations. Of two records of one entry the last counts."""
    text = annotations.get(INJECTED)
    if not text:
        return Stamp({})
    try:
        records = msgspec.json.decode(text, type=list[Record])
    except (msgspec.MsgspecError, ValueError, RecursionError):
        message = f"annotation {INJECTED} is not a list of what was injected, as Gatehouse writes it: it counts as absent"
        return Stamp({}, Finding(Reason.INVALID_VALUE, message, FIELD))
    return Stamp({record.entry: record for record in records})


def text(records: Sequence[Record]) -> str:
    """The annotation's value: compact, keys sorted."""
    return msgspec.json.encode(records).decode()
