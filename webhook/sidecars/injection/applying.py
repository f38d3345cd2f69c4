"""Entries and a pod -> edits of a draft.

    planned = plan(pod, entries, scene)      decides everything, changes nothing
    apply(draft, planned)                    edits; nothing at all when the plan refuses
    inject(draft, entries, scene)            both

What holds for every pod and every entry: nothing foreign is ever removed; what the user wrote stays, unless the entry says
onConflict: Override, and then a finding says so; a second call, whatever other webhooks and the API server's defaults did in
between, adds only what is missing. An entry that has a placeholder without a value is left out as a whole.
Pure; raises MalformedObject (400), before anything is edited, on a field of a type that the API forbids.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from webhook.admission.draft import Draft
from webhook.objects import meta, pods
from webhook.objects.meta import Json
from webhook.objects.pods import Kind
from webhook.sidecars.entries.entry import Entry
from webhook.sidecars.injection.planned import Injection, ListEdit, Piece, Plan, Standing
from webhook.sidecars.injection.planning import plan
from webhook.sidecars.injection.scene import Scene


def inject(draft: Draft, entries: Sequence[Entry], scene: Scene) -> Injection:
    """Bring *entries* into the pod of *draft*, in their order."""
    return apply(draft, plan(draft.object, entries, scene))


def apply(draft: Draft, planned: Plan) -> Injection:
    """Edit the pod of *draft*, the one that was planned for."""
    if planned.refusal is not None:
        return Injection((), planned.findings, planned.refusal)
    for edit in planned.lists:
        _edit(draft, edit)
    pieces = [piece for piece in planned.pieces() if piece.is_coming]
    for piece in pieces:
        if piece.standing in (Standing.COMPLETED, Standing.REPLACED):
            draft.replace(("spec", str(piece.kind), piece.index), piece.json)
    for path in planned.removals:
        draft.remove(path)
    for origin, kind in sorted(
        [(piece.origin, piece.kind) for piece in pieces if piece.standing is Standing.MOVED], reverse=True
    ):
        draft.remove(("spec", _other(kind).value, origin))
    for kind in (Kind.INIT, Kind.APP):
        _insert(draft, kind, [piece for piece in pieces if piece.kind is kind and piece.is_inserted])
    for field, values in (("labels", planned.labels), ("annotations", planned.annotations)):
        _set(draft, field, values)
    for half, amounts in planned.pod_resources.items():
        for resource, amount in amounts.items():
            draft.set(("spec", "resources", half, resource), amount)
    return Injection(tuple(part.entry for part in planned.parts), planned.findings)


def _edit(draft: Draft, edit: ListEdit) -> None:
    for index, item in edit.replaced:
        draft.replace((*edit.path, index), item)
    for index, item in enumerate(edit.ahead, edit.at):
        draft.insert((*edit.path, index), item)
    if not edit.length:
        draft.set(edit.path, list(edit.added))
        return
    for index, item in enumerate(edit.added, edit.length + len(edit.ahead)):
        draft.insert((*edit.path, index), item)


def _insert(draft: Draft, kind: Kind, pieces: Sequence[Piece]) -> None:
    if not pieces:
        return
    path = ("spec", str(kind))
    there = pods.spec(draft.object).get(path[1])
    if not there:
        ordered: list[Json] = []
        for piece in pieces:
            ordered.insert(piece.index, piece.json)
        draft.set(path, ordered)
        return
    for piece in pieces:
        draft.insert((*path, piece.index), piece.json)


def _set(draft: Draft, field: str, values: Mapping[str, str]) -> None:
    if not values:
        return
    if not meta.metadata(draft.object).get(field):
        draft.set(("metadata", field), dict(values))
        return
    for key, value in values.items():
        draft.set(("metadata", field, key), value)


def _other(kind: Kind) -> Kind:
    return Kind.APP if kind is Kind.INIT else Kind.INIT
