"""The status annotation `gatehouse.dev/injected`: what was injected, as a JSON list, written by us and read as a hint.

    [{"containers":["envoy"],"entry":"envoy-initializer","initContainers":[],"revision":"3fa1c2","source":"shop/envoy-initializer","volumes":["envoy-conf"]}]

It tells our containers from the pod's own on a second call. A forged or copied one says nothing about what is there: containers
decide. Pure.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import attrs
import msgspec

from webhook.names import INJECTED, Reason
from webhook.sidecars.findings import Finding

FIELD = f"metadata.annotations[{INJECTED}]"


class Record(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What one entry brought. The order of the fields is that of the text: sorted."""

    containers: tuple[str, ...] = ()
    entry: str
    init_containers: tuple[str, ...] = ()
    now: str | msgspec.UnsetType = msgspec.UNSET  # the ${now} of the first call, where the entry asks for it
    revision: str = ""
    source: str = ""
    volumes: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """All its containers."""
        return self.init_containers + self.containers


@attrs.frozen
class Stamp:
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
