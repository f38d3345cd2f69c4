"""One plan for one pod: what its entries bring, in which order that is decided, and what the status annotation will say.

Pure; raises MalformedObject (400) on a field of a type that the API forbids.
"""

from __future__ import annotations

from collections.abc import KeysView, Mapping, Sequence
from datetime import UTC, datetime

import attrs
import msgspec

from webhook.admission.draft import Path
from webhook.names import DEFAULT_CONTAINER, INJECTED, Reason
from webhook.objects import meta
from webhook.objects.meta import Json
from webhook.objects.pods import Container, Kind
from webhook.sidecars import overrides, stamp
from webhook.sidecars.belongings import Belongings
from webhook.sidecars.containers import Containers
from webhook.sidecars.entry import AppWiring, Conflict, Entry
from webhook.sidecars.findings import Finding
from webhook.sidecars.log_collector import share
from webhook.sidecars.log_reader import as_user_of
from webhook.sidecars.merging import dotted
from webhook.sidecars.placeholders import Scope, Unresolved
from webhook.sidecars.planned import Part, Piece, Plan
from webhook.sidecars.ports import Ports
from webhook.sidecars.resolution import Resolution, asks_for_now
from webhook.sidecars.scene import Scene
from webhook.sidecars.stamp import Record
from webhook.sidecars.verdicts import Verdicts
from webhook.sidecars.wiring import Wiring


def plan(pod: Json, entries: Sequence[Entry], scene: Scene) -> Plan:
    """What *entries* make of *pod*, which stays as it is. The findings are in the order in which they were noticed."""
    left = list(entries)
    dropped: list[Finding] = []
    while True:
        planning = _Planning(pod, scene)
        outcome = planning.run(left)
        if isinstance(outcome, Plan):
            return attrs.evolve(outcome, findings=(*dropped, *outcome.findings)) if dropped else outcome
        dropped.append(outcome.finding)
        dropped_entry = outcome.entry
        left = [entry for entry in left if entry is not dropped_entry]


@attrs.frozen
class _Dropped:
    """An entry that cannot be filled in for this pod."""

    entry: Entry
    finding: Finding


@attrs.frozen
class _Turn:
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

    def __init__(self, pod: Json, scene: Scene) -> None:
        self._pod = pod
        self._scene = scene
        self._annotations = meta.annotations_of(pod)
        self._stamp = stamp.read(self._annotations)
        self._verdicts = Verdicts()
        if self._stamp.fault is not None:
            self._verdicts.findings.append(self._stamp.fault)

    def run(self, entries: Sequence[Entry]) -> Plan | _Dropped:
        """The plan, or the first entry that has to be left out."""
        turns: list[_Turn] = []
        for entry in entries:
            turn = self._turn(entry)
            if isinstance(turn, _Dropped):
                return turn
            turns.append(turn)
        wishes = overrides.read(self._annotations)
        containers = Containers(self._pod, self._stamp.records, wishes, self._scene.native, self._verdicts)
        for turn in turns:
            containers.settle(turn.filled)
        if wishes:
            containers.tell_unused_wishes()
        placed = containers.place()
        ours = {piece.name for pieces in placed for piece in pieces}.union(*(it.names for it in self._stamp.records.values()))
        wiring = Wiring(containers.there, ours, self._verdicts)
        belongings = Belongings(self._pod, self._verdicts)
        parts: list[Part] = []
        for turn, pieces in zip(turns, placed, strict=True):
            part = self._wire(turn, pieces, wiring, belongings)
            if isinstance(part, _Dropped):
                return part
            parts.append(part)
        return self._finished(turns, parts, containers.there, wiring, belongings)

    # -- inside

    def _turn(self, entry: Entry) -> _Turn | _Dropped:
        record = self._stamp.records.get(entry.name)
        if not entry.has_placeholders:
            return _Turn(entry, entry, None, record, None)
        scope = Scope(self._pod, self._scene.namespace, self._scene.namespace_facts, self._scene.now_s)
        now = None
        if asks_for_now(entry):
            # The first call's, so that a second changes nothing.
            first = meta.parse_time_s(record.now) if record is not None and isinstance(record.now, str) else None
            scope = attrs.evolve(scope, now_s=self._scene.now_s if first is None else first)
            now = datetime.fromtimestamp(int(scope.now_s), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        resolution = Resolution(scope)
        filled = resolution.entry(entry)
        if resolution.unresolved:
            return _dropped(entry, resolution.unresolved)
        return _Turn(entry, filled, scope, record, now)

    def _wire(self, turn: _Turn, pieces: tuple[Piece, ...], wiring: Wiring, belongings: Belongings) -> Part | _Dropped:
        entry, app = turn.filled, turn.filled.app
        targets = wiring.targets(app)
        for name in wiring.missing(app):
            message = f'entry "{entry.name}" ({entry.source}) is to change container "{name}", which the pod does not have'
            self._verdicts.tell(Reason.ANCHOR_MISSING, message, "spec.containers")
        for target in targets if not app.is_empty else ():
            filled = self._app(turn, target)
            if isinstance(filled, _Dropped):
                return filled
            wiring.wire(entry, filled, target, is_settled=turn.is_settled)
        volumes = entry.volumes
        if entry.log_collector is not None:
            sight = share(entry, entry.log_collector, targets, wiring, self._verdicts)
            pieces = self._seeing(pieces, entry.log_collector.container["name"], sight.mount, targets)
            if sight.is_ours:
                volumes = (*volumes, entry.log_collector.volume)
        return Part(turn.entry, pieces, belongings.add(entry, volumes, is_settled=turn.is_settled))

    def _seeing(self, pieces: tuple[Piece, ...], reader: str, mount: Json, writers: Sequence[Container]) -> tuple[Piece, ...]:
        """*pieces*, of which the *reader*, if it is coming, has the *mount* of the folder and the user who writes there."""

        def seeing(piece: Piece) -> Piece:
            if piece.name != reader or not piece.is_coming:
                return piece
            mounts = meta.objects(piece.json, "volumeMounts", f'container "{reader}"')
            container = {**piece.json, "volumeMounts": [*mounts, mount]}
            return attrs.evolve(piece, json=as_user_of(container, writers[0].json, self._pod) if writers else container)

        return tuple(seeing(piece) for piece in pieces)

    def _app(self, turn: _Turn, target: Container) -> AppWiring | _Dropped:
        if turn.scope is None:
            return turn.entry.app
        resolution = Resolution(attrs.evolve(turn.scope, app=target.json))
        filled = resolution.app(turn.entry.app)
        return _dropped(turn.entry, resolution.unresolved) if resolution.unresolved else filled

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
            first = next(iter(wiring.targets(AppWiring())), None)
            if first is not None and first.name:
                annotations[DEFAULT_CONTAINER] = first.name
        records = self._records(turns, parts, there.keys(), belongings)
        if records != self._stamp.records:
            annotations[INJECTED] = stamp.text(list(records.values()))
        lists = (*belongings.edits(), *wiring.edits())
        return Plan(tuple(parts), lists, removals, belongings.to_set("labels"), annotations, tuple(self._verdicts.findings))

    def _records(
        self, turns: Sequence[_Turn], parts: Sequence[Part], there: KeysView[str], belongings: Belongings
    ) -> Mapping[str, Record]:
        """What the annotation is to say: records of entries that are not applied now stay while their containers are there."""
        records = {
            name: record
            for name, record in self._stamp.records.items()
            if not record.names or not there.isdisjoint(record.names)
        }
        for turn, part in zip(turns, parts, strict=True):
            records[turn.entry.name] = _record(turn, part, belongings)
        return records


def _record(turn: _Turn, part: Part, belongings: Belongings) -> Record:
    old = turn.record
    # Containers of an earlier revision keep its name: what runs is what counts.
    is_old = old is not None and any(not piece.is_coming for piece in part.pieces)
    volumes = [name for name in old.volumes if belongings.has_volume(name)] if old is not None else []
    volumes += [volume["name"] for volume in part.volumes if volume["name"] not in volumes]
    record = Record(
        containers=tuple(piece.name for piece in part.pieces if piece.kind is Kind.APP),
        entry=turn.entry.name,
        init_containers=tuple(piece.name for piece in part.pieces if piece.kind is Kind.INIT),
        revision=old.revision if old is not None and is_old else turn.entry.revision,
        source=old.source if old is not None and is_old else turn.entry.source,
        volumes=tuple(volumes),
    )
    return record if turn.now is None else msgspec.structs.replace(record, now=turn.now)


def _dropped(entry: Entry, unresolved: Sequence[Unresolved]) -> _Dropped:
    said = "; ".join(f"{dotted(it.path)}: {it.message}" for it in unresolved)
    message = f'entry "{entry.name}" ({entry.source}) is left out: {said}'
    return _Dropped(entry, Finding(Reason.PLACEHOLDER_UNRESOLVED, message))
