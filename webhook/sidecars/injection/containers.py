"""The containers of entries: which of them a pod still lacks, in which list they go, and what else has their name.

Used by one call of `plan`, in one thread. Containers decide what is there; the status annotation only tells ours from others
of the same name.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import msgspec

from webhook.names import INJECTED, OVERRIDE_PREFIX, Reason
from webhook.objects import pods
from webhook.objects.meta import Json
from webhook.objects.pods import Container, Kind
from webhook.sidecars.entries.entry import Entry, Placement
from webhook.sidecars.injection import overrides, stubs
from webhook.sidecars.injection.likeness import is_like
from webhook.sidecars.injection.merging import covers
from webhook.sidecars.injection.placement import Line
from webhook.sidecars.injection.planned import Piece, Standing
from webhook.sidecars.injection.scene import Manner, Support, is_meant_to_end, manner
from webhook.sidecars.injection.stamp import Record
from webhook.sidecars.injection.verdicts import Verdicts

# Not allowed beside restartPolicy Always before RestartAllContainersOnContainerExits, and without meaning there:
# kubernetes pkg/apis/core/validation, validateInitContainerRestartPolicy. Probes, lifecycle and resizePolicy are.
_NOT_NATIVE = ("restartPolicyRules",)


class Wanted(msgspec.Struct, frozen=True):
    """A container that an entry asks for."""

    name: str
    kind: Kind
    json: Json
    place: Placement
    configured: Json  # with its placeholders
    is_native: bool = False


class Containers:
    """The containers of one pod while those of the entries join them."""

    def __init__(
        self,
        pod: Json,
        records: Mapping[str, Record],
        wishes: Mapping[str, Mapping[str, str]],
        support: Support,
        verdicts: Verdicts,
    ) -> None:
        """wishes: what the pod's annotations override, by container."""
        self._ends = is_meant_to_end(pod)
        self._support = support
        self._recorded = {name: record for record in records.values() for name in record.names}
        self._wishes = wishes
        self._verdicts = verdicts
        self.there: dict[str, Container] = {}
        apps = stub_apps = 0
        for container in pods.containers(pod, Kind.INIT, Kind.APP, Kind.EPHEMERAL):
            name = container.json.get("name")
            self.there.setdefault(name if type(name) is str else container.name, container)  # the second raises
            if container.kind is Kind.APP:
                apps += 1
                stub_apps += stubs.is_stub(container)
        # A pod needs an app container: where all are stubs, as in a gateway, they stay, and so does the last that is left.
        self._is_all_stubs = apps == stub_apps
        self._apps_left = apps
        self._brought: dict[str, Entry] = {}  # by the entries so far
        self._all: list[tuple[Entry, list[tuple[Piece, Placement]]]] = []

    def settle(self, entry: Entry, configured: Entry) -> None:
        """Decide what becomes of the containers of *entry*: *configured*, with its placeholders filled in.

        Raises LeavesOut when the pod keeps a container of its own.
        """
        style = manner(entry.native_sidecar, self._support, ends=self._ends)
        settled: list[tuple[Piece, Placement]] = []
        for wanted in _wanted(entry, configured, style):
            piece = self._settled(entry, wanted)
            if piece is not None:
                self._brought[piece.name] = entry
                settled.append((piece, wanted.place))
        self._all.append((entry, settled))
        if style.reason is not None and any(self._is_telling(piece, style) for piece, _ in settled):
            self._verdicts.tell(style.reason, f"{entry.subject} {style.why}")

    def place(self) -> list[tuple[Piece, ...]]:
        """The pieces of each entry in the order of `settle`, with the indexes at which they go in one after the other."""
        moved = {piece.name for _, settled in self._all for piece, _ in settled if piece.standing is Standing.MOVED}
        lines = {
            kind: Line([name for name, it in self.there.items() if it.kind is kind and name not in moved])
            for kind in (Kind.INIT, Kind.APP)
        }
        return [tuple([self._placed(entry, piece, place, lines[piece.kind]) for piece, place in it]) for entry, it in self._all]

    def tell_unused_wishes(self) -> None:
        """Say which override annotations name a container that no entry brings."""
        for container in self._wishes:
            if container not in self._brought and container not in self._recorded:
                message = (
                    f"annotation {container}{OVERRIDE_PREFIX}… changes nothing: no entry of this pod brings that container"
                )
                self._verdicts.tell(Reason.INVALID_OVERRIDE, message, "metadata.annotations")

    # -- inside

    def _placed(self, entry: Entry, piece: Piece, place: Placement, line: Line) -> Piece:
        if not piece.is_inserted:
            line.recall(piece.name, place)
            return piece
        index, found = line.join(piece.name, place)
        if not found:
            place_missing = f'spec.{piece.kind.value} has no container "{place.anchor}"'
            message = f'entry "{entry.name}": {place_missing}, so container "{piece.name}" goes to the end'
            self._verdicts.tell(Reason.ANCHOR_MISSING, message, f"spec.{piece.kind.value}")
        return Piece(piece.name, piece.kind, piece.json, piece.standing, index, piece.origin)

    def _is_telling(self, piece: Piece, style: Manner) -> bool:
        return piece.is_coming and (piece.kind is Kind.APP) is not style.is_native

    def _settled(self, entry: Entry, wanted: Wanted) -> Piece | None:
        earlier = self._brought.get(wanted.name)
        if earlier is not None:
            thing = f'container "{wanted.name}" of entry "{earlier.name}"'
            self._verdicts.clash_of_whole(entry, Reason.NAME_CONFLICT, thing, "", replaceable=False)
            return None
        found = self.there.get(wanted.name)
        if found is None:
            return Piece(wanted.name, wanted.kind, self._overridden(entry, wanted), Standing.NEW)
        if found.kind is not Kind.EPHEMERAL and stubs.is_stub(found):
            return self._completed(entry, wanted, found)
        record = self._recorded.get(wanted.name)
        thing = f'container "{wanted.name}"'
        if record is None:
            is_ours = covers(found.json, wanted.json)
        else:
            is_ours = record.entry == entry.name and self._is_believed(record, entry, wanted, found)
            thing += f', which annotation {INJECTED} ascribes to entry "{record.entry}",'
        if is_ours:
            return Piece(wanted.name, found.kind, found.json, Standing.PRESENT, found.index)
        field, replaceable = f"{found.path}.name", found.kind is not Kind.EPHEMERAL
        if not self._verdicts.clash_of_whole(entry, Reason.NAME_CONFLICT, thing, field, replaceable=replaceable):
            return None
        return self._in_place(wanted, found, self._overridden(entry, wanted), Standing.REPLACED)

    def _is_believed(self, record: Record, entry: Entry, wanted: Wanted, found: Container) -> bool:
        """Whether the stamp may be right that *found* is ours: anybody can write it."""
        if entry.overridable and record.filled and wanted.name in record.filled:
            return True  # the user's fields won; a forger gains nothing that a stub would not have given
        any_image = entry.overridable and "image" in self._wishes.get(wanted.name, ())
        return is_like(found.json, wanted.json, wanted.configured, any_image=any_image)

    def _completed(self, entry: Entry, wanted: Wanted, found: Container) -> Piece:
        if found.is_native_sidecar and wanted.kind is Kind.APP:  # the user wants it native
            wanted = _as_native(wanted)
        container = self._overridden(entry, wanted)
        if entry.overridable:
            container = stubs.fill(container, found.json)
            for _, fault in overrides.excesses(container, found.path):
                message = f'container "{wanted.name}" with what {entry.subject} fills in: {fault}'
                self._verdicts.refuse(Reason.INVALID_OVERRIDE, message, f"{found.path}.resources")
        elif stubs.says_anything(found.json):
            self._verdicts.tell(
                Reason.INVALID_OVERRIDE, f"{_fixed(entry, wanted)}: what the pod says of it is dropped", found.path
            )
        return self._in_place(wanted, found, container, Standing.COMPLETED)

    def _in_place(self, wanted: Wanted, found: Container, container: Json, standing: Standing) -> Piece:
        if found.kind is wanted.kind:
            return Piece(wanted.name, wanted.kind, container, standing, found.index)
        if found.kind is Kind.APP:
            if self._is_all_stubs or self._apps_left == 1:
                return Piece(wanted.name, Kind.APP, _as_plain(container, wanted), standing, found.index)
            self._apps_left -= 1
        return Piece(wanted.name, wanted.kind, container, Standing.MOVED, origin=found.index)

    def _overridden(self, entry: Entry, wanted: Wanted) -> Json:
        wishes = self._wishes.get(wanted.name)
        if not wishes:
            return wanted.json
        field = f"metadata.annotations[{wanted.name}{OVERRIDE_PREFIX}{next(iter(wishes))}]"
        if not entry.overridable:
            self._verdicts.tell(
                Reason.INVALID_OVERRIDE, f"{_fixed(entry, wanted)}: the pod's annotations change nothing", field
            )
            return wanted.json
        outcome = overrides.override(wanted.json, wanted.name, wishes)
        for key, fault in outcome.faults:
            message = f"annotation {key}, for {entry.subject}: {fault}"
            self._verdicts.refuse(Reason.INVALID_OVERRIDE, message, f"metadata.annotations[{key}]")
        return outcome.container


def _fixed(entry: Entry, wanted: Wanted) -> str:
    return f'{entry.subject} lets no pod change its container "{wanted.name}"'


def _wanted(entry: Entry, configured: Entry, style: Manner) -> Iterator[Wanted]:
    """The entry's containers in the order in which they go in: what prepares before what is prepared."""
    for container, raw in zip(entry.init_containers, configured.init_containers, strict=True):
        yield Wanted(container["name"], Kind.INIT, container, entry.init_place, raw)
    for container, raw in zip(_running(entry), _running(configured), strict=True):
        plain = Wanted(container["name"], Kind.APP, container, entry.place, raw)
        yield _as_native(plain, entry.init_place) if style.is_native else plain


def _running(entry: Entry) -> tuple[Json, ...]:
    """Those of the entry's containers that run as long as the pod."""
    return entry.containers if entry.log_collector is None else (*entry.containers, entry.log_collector.container)


def _as_native(wanted: Wanted, place: Placement | None = None) -> Wanted:
    container = {**wanted.json, "restartPolicy": "Always"}
    for field in _NOT_NATIVE:
        container.pop(field, None)
    return Wanted(wanted.name, Kind.INIT, container, place or wanted.place, wanted.configured, True)


def _as_plain(container: Json, wanted: Wanted) -> Json:
    return {key: value for key, value in container.items() if key != "restartPolicy"} if wanted.is_native else container
