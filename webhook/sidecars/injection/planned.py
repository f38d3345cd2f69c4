"""What is to become of a pod: decided, and not yet done. Made by `injection.plan`, done by `injection.apply`.

Between the two, whoever knows the namespace may change what goes in (`Plan.with_container`); names, lists and places are
settled. Frozen (structs: some thirty are made for each pod); the Json inside is shared with the entries and with the pod, so
that it is replaced, never changed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import StrEnum

import attrs
import msgspec

from webhook.admission.draft import Path
from webhook.objects.meta import Json
from webhook.objects.pods import Kind
from webhook.sidecars.entries.entry import Entry
from webhook.sidecars.findings import Finding


class Standing(StrEnum):
    """What a container of an entry finds in the pod."""

    NEW = "New"  # nothing: it is inserted
    COMPLETED = "Completed"  # a stub of it, which is filled in where it stands
    MOVED = "Moved"  # a stub of it, or what it overrides, in the wrong list: taken out there, inserted here
    REPLACED = "Replaced"  # another container of its name, whose place it takes
    PRESENT = "Present"  # itself, from an earlier call: it stays as it is


class Piece(msgspec.Struct, frozen=True):
    """One container of an entry, on its way into the pod or there already."""

    name: str
    kind: Kind  # the list it ends up in
    json: Json  # as it will stand there
    standing: Standing
    index: int = -1  # NEW, MOVED: where it is inserted, after all pieces before it; else where it stands
    origin: int = -1  # MOVED: where it stands in the other list

    @property
    def is_coming(self) -> bool:
        """Whether this call brings it in, so that it may still be changed."""
        return self.standing is not Standing.PRESENT

    @property
    def is_inserted(self) -> bool:
        """Whether it joins its list, instead of taking a place that is there."""
        return self.standing is Standing.NEW or self.standing is Standing.MOVED


class Part(msgspec.Struct, frozen=True):
    """What one entry brings. The entry is as configured; what stands here has its placeholders filled in."""

    entry: Entry
    pieces: tuple[Piece, ...] = ()
    volumes: tuple[Json, ...] = ()  # those that this call adds to the pod, or puts in the place of the pod's own


class ListEdit(msgspec.Struct, frozen=True):
    """A list of the pod that gets more elements, or others."""

    path: Path
    length: int  # of the list now; 0 also when it is absent or null
    replaced: tuple[tuple[int, Json], ...] = ()
    added: tuple[Json, ...] = ()  # at the end
    ahead: tuple[Json, ...] = ()  # before the element *at*
    at: int = 0


@attrs.frozen
class LeftOut:
    """An entry that was asked for and does not come in, as a whole, and why: a half of it could do harm."""

    entry: Entry
    finding: Finding


class Plan(msgspec.Struct, frozen=True):
    """Everything that `apply` does."""

    parts: tuple[Part, ...] = ()
    lists: tuple[ListEdit, ...] = ()
    removals: tuple[Path, ...] = ()  # what the pod's own containers lose to an entry that overrides; last index first
    labels: Mapping[str, str] = msgspec.field(default_factory=dict)  # to set
    annotations: Mapping[str, str] = msgspec.field(default_factory=dict)  # to set
    findings: tuple[Finding, ...] = ()
    refusal: Finding | None = None  # then nothing else is planned
    pod_resources: Mapping[str, Mapping[str, str]] = msgspec.field(default_factory=dict)  # of spec.resources, to set
    left_out: tuple[LeftOut, ...] = ()  # in the order in which it was decided

    def pieces(self) -> Iterator[Piece]:
        """Every container of every entry, in the order in which they go in."""
        for part in self.parts:
            yield from part.pieces

    def with_container(self, name: str, container: Json) -> Plan:
        """The plan with *container* in the place of the coming one of that name. KeyError when there is none."""
        for at, part in enumerate(self.parts):
            for index, piece in enumerate(part.pieces):
                if piece.name == name and piece.is_coming:
                    pieces = (*part.pieces[:index], msgspec.structs.replace(piece, json=container), *part.pieces[index + 1 :])
                    changed = msgspec.structs.replace(part, pieces=pieces)
                    return msgspec.structs.replace(self, parts=(*self.parts[:at], changed, *self.parts[at + 1 :]))
        raise KeyError(name)


class Injection(msgspec.Struct, frozen=True):
    """What was done."""

    applied: tuple[Entry, ...] = ()  # the entries that the pod has now, injected by this call or an earlier one
    findings: tuple[Finding, ...] = ()
    refusal: Finding | None = None  # then nothing was edited
