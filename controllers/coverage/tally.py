"""How many pods count as what: the metrics, and the section of the status page.

It is memory of the leader: it counts from `begin` to `end`, and a replica that stands by shows nothing.
Threads: any; the lock guards everything together, memory only.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Sequence
from typing import Any

import attrs

from controllers.coverage.plan import State, Survey
from controllers.runtime.reconcile import Key
from webhook.objects.meta import Json
from webhook.telemetry import Telemetry

SHOWN_NAMESPACES = 100  # with a time series of their own; what is left over is in OTHERS
OTHERS = "(others)"  # no namespace is called so
LISTED_OWNERS = 100  # of more, the status page has the number and the first of them


@attrs.frozen
class _Row:
    counts: tuple[int, ...]  # in the order of State
    missing: tuple[str, ...]
    drifted: tuple[str, ...]
    example: str

    def count(self, state: State) -> int:
        return self.counts[_ORDER[state]]


_ORDER = {state: index for index, state in enumerate(State)}


class Tally:
    """The counts of every owner, and their sums."""

    def __init__(self, telemetry: Telemetry) -> None:
        self._lock = threading.Lock()  # guards all below, and the gauges with it
        self._counting = False
        self._rows: dict[Key, _Row] = {}
        self._sums: Counter[State] = Counter()
        self._bare: Counter[str] = Counter()  # by namespace
        self._shown: set[str] = set()
        self._pods = telemetry.gauge(
            "gatehouse_coverage_pods",
            "Pods that should carry a sidecar, by state: covered, drifted (another revision of the entry), bare, left_out,"
            " entry_missing, entry_broken. Of the leader.",
            ("state",),
        )
        self._namespaces = telemetry.gauge(
            "gatehouse_coverage_bare_pods",
            f"Pods without a sidecar that they should carry, by namespace; those beyond {SHOWN_NAMESPACES} are {OTHERS}.",
            ("namespace",),
        )

    def begin(self) -> None:
        """This replica leads: from now on it counts."""
        with self._lock:
            self._counting = True
            for state in State:
                self._pods.labels(state.value).set(self._sums[state])

    def put(self, key: Key, found: Survey) -> None:
        """The pods of owner *key* count so now."""
        counts = tuple(found.counts.get(state, 0) for state in State)
        example = found.bare[0].name if found.bare else ""
        row = _Row(counts, found.missing, found.names.get(State.DRIFTED, ()), example) if any(counts) else None
        with self._lock:
            old = self._rows.pop(key, None)
            if row is not None:
                self._rows[key] = row
            if (old and old.counts) != (row and row.counts):
                self._move(key, old, row)

    def end(self) -> None:
        """Forget everything: this replica does not lead any more."""
        with self._lock:
            self._counting = False
            self._rows.clear()
            self._sums.clear()
            self._bare.clear()
            self._shown.clear()
            self._pods.clear()
            self._namespaces.clear()

    def counts(self) -> dict[State, int]:
        """The sums."""
        with self._lock:
            return {state: self._sums[state] for state in State}

    def status(self) -> Json:
        """The section `coverage` of the status page: the sums, and the owners of bare and of drifted pods, most pods first."""
        with self._lock:
            if not self._counting:
                return {"counting": False}
            rows = list(self._rows.items())
            pods = {state.value: self._sums[state] for state in State}
        bare = [
            {"owner": key, "pods": row.count(State.BARE), "entries": list(row.missing), "example": row.example}
            for key, row in rows
            if row.count(State.BARE)
        ]
        drifted = [
            {"owner": key, "pods": row.count(State.DRIFTED), "entries": list(row.drifted)}
            for key, row in rows
            if row.count(State.DRIFTED)
        ]
        return {
            "counting": True,
            "pods": pods,
            "bareOwners": len(bare),
            "bare": _most(bare),
            "driftedOwners": len(drifted),
            "drifted": _most(drifted),
        }

    # -- inside; under the lock

    def _move(self, key: Key, old: _Row | None, new: _Row | None) -> None:
        for state in State:
            self._sums[state] += (new.count(state) if new else 0) - (old.count(state) if old else 0)
            self._pods.labels(state.value).set(self._sums[state])
        namespace = key.partition("/")[0]
        self._bare[namespace] += (new.count(State.BARE) if new else 0) - (old.count(State.BARE) if old else 0)
        self._show(namespace)

    def _show(self, namespace: str) -> None:
        if not self._bare[namespace]:
            del self._bare[namespace]
            if namespace in self._shown:
                self._shown.discard(namespace)
                self._namespaces.remove(namespace)
        elif namespace in self._shown or len(self._shown) < SHOWN_NAMESPACES:
            self._shown.add(namespace)
            self._namespaces.labels(namespace).set(self._bare[namespace])
        others = self._sums[State.BARE] - sum(self._bare[name] for name in self._shown)
        if others:
            self._namespaces.labels(OTHERS).set(others)
        else:
            self._namespaces.remove(OTHERS)


def describe(section: Json) -> Sequence[str]:
    """The section of the status page for a person, a line a fact; a replica that does not lead has no counts to tell."""
    if isinstance(section.get("error"), str):
        return [f"sidecar coverage: unknown, {section['error']}"]
    if not section.get("counting"):
        return ["sidecar coverage: counted by the leader"]
    pods: dict[str, Any] = section.get("pods", {})
    told = ", ".join(f"{pods[state.value]} {state.value.replace('_', ' ')}" for state in State if pods.get(state.value))
    lines = [f"sidecar coverage: {told or 'no pod asks for a sidecar'}"]
    for title, owners in (("bare", section.get("bare", ())), ("drifted", section.get("drifted", ()))):
        for row in owners:
            example = f", e.g. {row['example']}" if row.get("example") else ""
            lines.append(f"  {row['owner']}: {row['pods']} {title} ({', '.join(row['entries'])}){example}")
    return lines


def _most(rows: list[Json]) -> list[Json]:
    return sorted(rows, key=lambda row: (-row["pods"], row["owner"]))[:LISTED_OWNERS]
