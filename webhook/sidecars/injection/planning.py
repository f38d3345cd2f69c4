"""One plan for one pod: what its entries bring, in which order that is decided, and what the status annotation will say.

Pure; raises MalformedObject (400) on a field of a type that the API forbids.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import attrs
import msgspec

from webhook.names import DEFAULT_CONTAINER, INJECTED, Reason
from webhook.objects import meta
from webhook.objects.faults import Path, dotted
from webhook.objects.meta import Json
from webhook.objects.pod_rules import ANNOTATIONS_LIMIT, annotations_size
from webhook.objects.pods import Container, Kind
from webhook.sidecars.entries.entry import AppWiring, Conflict, Entry
from webhook.sidecars.entries.log_reader import as_user_of
from webhook.sidecars.entries.placeholders import Scope
from webhook.sidecars.findings import Finding
from webhook.sidecars.injection import overrides, stamp
from webhook.sidecars.injection.belongings import Belongings
from webhook.sidecars.injection.containers import Containers
from webhook.sidecars.injection.log_collector import share
from webhook.sidecars.injection.planned import LeftOut, Part, Piece, Plan
from webhook.sidecars.injection.ports import Ports
from webhook.sidecars.injection.resolution import Resolution, asks_for_now
from webhook.sidecars.injection.scene import Scene
from webhook.sidecars.injection.stamp import Record
from webhook.sidecars.injection.stubs import is_stub
from webhook.sidecars.injection.verdicts import LeavesOut, Verdicts
from webhook.sidecars.injection.wiring import Wiring


def plan(pod: Json, entries: Sequence[Entry], scene: Scene, left_out: Sequence[LeftOut] = ()) -> Plan:
    """What *entries* make of *pod*, which stays as it is. The findings are in the order in which they were noticed.

    left_out: those of *entries* that stay out, which has been told already.
    """
    gone = [*left_out, *_still_out(pod, entries, left_out)]
    while True:
        names = {one.entry.name for one in gone}
        try:
            made = _Planning(pod, scene, gone).run([entry for entry in entries if entry.name not in names])
        except LeavesOut as fault:
            gone.append(fault.left_out)
        else:
            told = tuple(one.finding for one in gone[len(left_out) :])
            return msgspec.structs.replace(made, findings=(*told, *made.findings), left_out=tuple(gone)) if gone else made


def _still_out(pod: Json, entries: Sequence[Entry], told: Sequence[LeftOut]) -> Iterator[LeftOut]:
    """Those of *entries* that an earlier call has left out, and whose reason one that came in may have taken away.

    It overrides what was in the way, or is itself what the namespace would refuse: the entry would come in now, so that what a
    pod gets would depend on how often we are called.
    """
    records = stamp.read(meta.annotations_of(pod)).records
    if not records:  # the first call
        return
    there = [entry for entry in entries if _has_come_in(records.get(entry.name))]
    overrides_any = any(entry.on_conflict is Conflict.OVERRIDE for entry in there)
    known = {one.entry.name for one in told}
    for entry in entries:
        record = records.get(entry.name)
        if record is None or entry.name in known or (record.revision, record.source) != (entry.revision, entry.source):
            continue
        if there and record.left_out in (tuple(Reason) if overrides_any else _FORESEEN):
            message = f"{entry.subject} stays left out, as annotation {INJECTED} says"
            yield LeftOut(entry, Finding(Reason(record.left_out), message, stamp.FIELD))


_FORESEEN: Final = (
    Reason.INVALID_POD,
    Reason.POD_SECURITY,
    Reason.LIMIT_RANGE,
    Reason.POD_RESOURCES,
    Reason.QUOTA,
    Reason.CONFIG_MAP_MISSING,
)


def _has_come_in(record: Record | None) -> bool:
    return record is not None and not record.is_left_out


_EVERY: Final = AppWiring()  # every container that the user wrote


class _Turn(msgspec.Struct, frozen=True):
    """One entry while the plan is made."""

    entry: Entry  # as configured
    filled: Entry  # with its placeholders filled in, but for `app`
    scope: Scope | None  # None: it has no placeholders
    record: Record | None  # of an earlier call
    now: str | None  # of ${now}, when it asks for it

    @property
    def is_settled(self) -> bool:
        """Whether what differs from the entry may be what an earlier call took from the pod as it was then."""
        return self.record is not None and self.entry.has_placeholders and self.entry.on_conflict is not Conflict.OVERRIDE


class _Planning:
    """One attempt to plan for one pod."""

    def __init__(self, pod: Json, scene: Scene, left_out: Sequence[LeftOut]) -> None:
        self._pod = pod
        self._left_out = left_out
        self._scene = scene
        self._annotations = meta.annotations_of(pod)
        self._stamp = stamp.read(self._annotations)
        self._verdicts = Verdicts()
        if self._stamp.fault is not None:
            self._verdicts.findings.append(self._stamp.fault)

    def run(self, entries: Sequence[Entry]) -> Plan:
        """The plan. Raises LeavesOut at the first entry that has to stay out."""
        turns = [self._turn(entry) for entry in entries]
        wishes = overrides.read(self._annotations)
        containers = Containers(self._pod, self._stamp.records, wishes, self._scene.native, self._verdicts)
        for turn in turns:
            containers.settle(turn.filled, turn.entry)
        if wishes:
            containers.tell_unused_wishes()
        placed = containers.place()
        ours = {piece.name for pieces in placed for piece in pieces}.union(*(it.names for it in self._stamp.records.values()))
        wiring = Wiring(containers.there, ours, self._verdicts)
        belongings = Belongings(self._pod, self._verdicts)
        parts = [self._wire(turn, pieces, wiring, belongings) for turn, pieces in zip(turns, placed, strict=True)]
        return self._finished(turns, parts, containers.there, wiring, belongings)

    # -- inside

    def _turn(self, entry: Entry) -> _Turn:
        record = self._stamp.records.get(entry.name)
        if record is not None and record.is_left_out:
            record = None
        if not entry.has_placeholders:
            return _Turn(entry, entry, None, record, None)
        scope = Scope(self._pod, self._scene.namespace, self._scene.namespace_facts, self._scene.now_s)
        now = None
        if asks_for_now(entry):
            # The first call's, so that a second changes nothing.
            first = meta.parse_time_s(record.now) if record is not None and isinstance(record.now, str) else None
            scope = attrs.evolve(scope, now_s=self._scene.now_s if first is None else first)
            now = meta.format_time(scope.now_s)
        resolution = Resolution(scope)
        filled = resolution.entry(entry)
        _check(entry, resolution)
        return _Turn(entry, filled, scope, record, now)

    def _wire(self, turn: _Turn, pieces: tuple[Piece, ...], wiring: Wiring, belongings: Belongings) -> Part:
        entry, app = turn.filled, turn.filled.app
        targets = wiring.targets(app)
        for name in wiring.missing(app) if app.containers else ():
            message = f'{entry.subject} is to change container "{name}", which the pod does not have'
            self._verdicts.tell(Reason.ANCHOR_MISSING, message, "spec.containers")
        for target in targets if not app.is_empty else ():
            wiring.wire(entry, self._app(turn, target), target, is_settled=turn.is_settled)
        volumes = entry.volumes
        if entry.log_collector is not None:
            sight = share(entry, entry.log_collector, targets, wiring, self._verdicts)
            pieces = self._seeing(pieces, entry.log_collector.container["name"], sight.mount, targets)
            if sight.is_ours:
                volumes = (*volumes, entry.log_collector.volume)
        recorded = turn.record.volumes if turn.record is not None else ()
        return Part(turn.entry, pieces, belongings.add(entry, volumes, is_settled=turn.is_settled, recorded=recorded))

    def _seeing(self, pieces: tuple[Piece, ...], reader: str, mount: Json, writers: Sequence[Container]) -> tuple[Piece, ...]:
        """*pieces*, of which the *reader*, if it is coming, has the *mount* of the folder and the user who writes there."""

        def seeing(piece: Piece) -> Piece:
            if piece.name != reader or not piece.is_coming:
                return piece
            mounts = meta.objects(piece.json, "volumeMounts", f'container "{reader}"')
            container = {**piece.json, "volumeMounts": [*mounts, mount]}
            return msgspec.structs.replace(
                piece, json=as_user_of(container, writers[0].json, self._pod) if writers else container
            )

        return tuple(seeing(piece) for piece in pieces)

    def _app(self, turn: _Turn, target: Container) -> AppWiring:
        if turn.scope is None:
            return turn.entry.app
        resolution = Resolution(attrs.evolve(turn.scope, app=target.json))
        filled = resolution.app(turn.entry.app)
        _check(turn.entry, resolution)
        return filled

    def _finished(
        self, turns: Sequence[_Turn], parts: list[Part], there: Mapping[str, Container], wiring: Wiring, belongings: Belongings
    ) -> Plan:
        coming = {piece.name: piece for part in parts for piece in part.pieces if piece.is_coming}
        removals: tuple[Path, ...] = ()
        if any("ports" in piece.json for piece in coming.values()):
            ports = Ports(self._pod, there, coming, self._verdicts)
            parts = [ports.admit(part) for part in parts]
            removals = tuple(sorted(ports.removals, reverse=True))
        refusal = self._verdicts.refusal
        if refusal is not None:
            return Plan(findings=tuple(self._verdicts.findings), refusal=refusal)
        annotations = belongings.to_set("annotations")
        if coming and DEFAULT_CONTAINER not in self._annotations and DEFAULT_CONTAINER not in annotations:
            first = next(iter(wiring.targets(_EVERY)), None)
            if first is not None and first.name:
                annotations[DEFAULT_CONTAINER] = first.name
        records = self._records(turns, parts, there, belongings)
        if records != self._stamp.records and (parts or self._has_room(records)):
            annotations[INJECTED] = stamp.text(list(records.values()))
        lists = (*belongings.edits(), *wiring.edits())
        return Plan(tuple(parts), lists, removals, belongings.to_set("labels"), annotations, tuple(self._verdicts.findings))

    def _records(
        self, turns: Sequence[_Turn], parts: Sequence[Part], there: Mapping[str, Container], belongings: Belongings
    ) -> Mapping[str, Record]:
        """What the annotation is to say: records of entries that are not applied now stay while their containers are there."""
        records = {
            name: record
            for name, record in self._stamp.records.items()
            if not record.is_left_out and (not record.names or not there.keys().isdisjoint(record.names))
        }
        for one in self._left_out:
            entry, before = one.entry, self._stamp.records.get(one.entry.name)
            record = Record(entry=entry.name, left_out=one.finding.reason, revision=entry.revision, source=entry.source)
            if before is not None and (before.revision, before.source) == (record.revision, record.source):
                record = before  # the first of several reasons, which may come in another order now
            records.setdefault(entry.name, record)
        for turn, part in zip(turns, parts, strict=True):
            records[turn.entry.name] = _record(turn, part, there, belongings)
        return records

    def _has_room(self, records: Mapping[str, Record]) -> bool:
        """Whether the pod can bear the annotation: what says only that nothing came in must not refuse the pod."""
        annotations = {**self._annotations, INJECTED: stamp.text(list(records.values()))}
        return annotations_size(annotations) <= ANNOTATIONS_LIMIT


def _record(turn: _Turn, part: Part, there: Mapping[str, Container], belongings: Belongings) -> Record:
    old = turn.record
    # Containers of an earlier revision keep its name: what runs is what counts.
    is_old = old is not None and any(not piece.is_coming for piece in part.pieces)
    volumes = [name for name in old.volumes if belongings.has_volume(name)] if old is not None else []
    volumes += [volume["name"] for volume in part.volumes if volume["name"] not in volumes]
    known_stubs = (old.filled or ()) if old is not None else ()
    filled = tuple(
        piece.name
        for piece in part.pieces
        if piece.name in known_stubs or (piece.is_coming and piece.name in there and is_stub(there[piece.name]))
    )
    record = Record(
        containers=tuple(piece.name for piece in part.pieces if piece.kind is Kind.APP),
        entry=turn.entry.name,
        filled=filled or msgspec.UNSET,
        init_containers=tuple(piece.name for piece in part.pieces if piece.kind is Kind.INIT),
        revision=old.revision if old is not None and is_old else turn.entry.revision,
        source=old.source if old is not None and is_old else turn.entry.source,
        volumes=tuple(volumes),
    )
    return record if turn.now is None else msgspec.structs.replace(record, now=turn.now)


def _check(entry: Entry, resolution: Resolution) -> None:
    """Raises LeavesOut when something of *entry* could not be filled in."""
    if resolution.unresolved:
        said = "; ".join(f"{dotted(it.path)}: {it.message}" for it in resolution.unresolved)
        message = f"{entry.subject} is left out: {said}"
        raise LeavesOut(LeftOut(entry, Finding(Reason.PLACEHOLDER_UNRESOLVED, message)))
