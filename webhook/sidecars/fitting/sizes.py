"""How much a pod may get: whoever writes entries, or names them, must not make an answer that the API server chokes on.

    foreseen(pod, entries)   before anything is planned: whether the work for it is bounded
    outgrown(planned)        before anything is edited: whether the patch is

etcd takes requests of 1.5 MiB (`--max-request-bytes`), and the pod itself has to have room in it; a patch of 90 MB has been
applied by an API server all the same, at the cost of everybody else. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

import msgspec

from webhook.names import Reason
from webhook.objects import meta, pods
from webhook.objects.faults import listed
from webhook.objects.meta import Json
from webhook.sidecars.entries.entry import Entry
from webhook.sidecars.findings import Finding
from webhook.sidecars.injection.planned import Plan

MAX_PATCH: Final = 2**20  # bytes of what goes into the pod
MAX_ENTRIES: Final = 64  # that one pod may ask for
# An entry's size counts a value for more than its JSON takes, at most eight times as much.
_MAX_FORESEEN: Final = 8 * MAX_PATCH


def foreseen(pod: Json, entries: Sequence[Entry]) -> Finding | None:
    """Why *entries* are too much for *pod*, as far as can be told without planning; None when they are not."""
    spec = pods.spec(pod)
    containers = sum(len(meta.sequence(spec, kind, "spec")) for kind in ("containers", "initContainers"))
    return _finding(entries) if sum(entry.size + entry.app.size * containers for entry in entries) > _MAX_FORESEEN else None


def outgrown(planned: Plan) -> Finding | None:
    """Why nothing of *planned* may be done: the patch would be too large; None when it would not."""
    pieces = [piece.json for piece in planned.pieces() if piece.is_coming]
    edits = [(edit.replaced, edit.added, edit.ahead) for edit in planned.lists]
    size = len(msgspec.json.encode((pieces, edits, planned.labels, planned.annotations)))
    return _finding([part.entry for part in planned.parts]) if size > MAX_PATCH else None


def _finding(entries: Iterable[Entry]) -> Finding:
    named = sorted(entries, key=lambda entry: -entry.size)
    shown = listed([entry.subject for entry in named], 5)
    return Finding(
        Reason.POD_TOO_LARGE, f"the pod would get more than {MAX_PATCH // 2**20} MiB, by {shown}: etcd takes 1.5 MiB"
    )
