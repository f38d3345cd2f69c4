"""What the process knows at this moment, as JSON: /statusz, which the page /status and the command `gatehouse status` show.

    {"process": {...}, "services": {...}, "caches": {...}, "kubernetes": {...}, "certificate": {...}, "leaderElection": {...},
     "sidecars": {...}, "coverage": {...}, "databases": {...}, "addresses": {...}, "plugins": {...}, "silentNodes": {...}}

Each section is a function that any thread may call; one that fails says so in its place and does not take the page with it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import attrs

from controllers.sidecars.catalog import STATES, condition_of
from webhook.admission.refusals import Refusal, Refusals
from webhook.admission.service import BoundService
from webhook.cluster import NodeFacts, Status
from webhook.logs import get_log
from webhook.objects.meta import Json, format_time
from webhook.objects.votes import VotePolicy, guard
from webhook.sidecars.entries.catalog import Catalog

log = get_log("status")

Section = Callable[[], Any]

LISTED_NODES = 500  # of more silent nodes the page has the number, and the first of them
LISTED_ENTRIES = 500  # likewise of sidecar entries; faulty ones first
LISTED_FAULTS = 20  # of each entry


def gather(sections: Mapping[str, Section]) -> Json:
    """Every section's answer."""
    page: Json = {}
    for name, section in sections.items():
        try:
            page[name] = section()
        except Exception as error:
            log.error("a section of the status page failed", exc_info=error, section=name)
            page[name] = {"error": type(error).__name__}
    return page


def services(
    bound: Iterable[BoundService],
    waits_for: Callable[[BoundService], list[str]],
    traffic: Mapping[str, Json],
    refusals: Refusals,
) -> Json:
    """Of each service where it is, what it waits for, what it did lately (`traffic.window`), and whom it refused last."""
    return {
        one.service.name: {
            "path": one.service.path,
            "on": bool(one.takes),  # what no registration sends a review to is switched off
            "ready": not (waits := waits_for(one)),
            "waitsFor": waits,
            **traffic.get(one.service.name, {}),
            "lastRefusal": _refusal(refusals.last_refused(one.service.name)),
            "lastUndecided": _refusal(refusals.last_undecided(one.service.name)),
        }
        for one in bound
    }


def _refusal(one: Refusal | None) -> Json | None:
    if one is None:
        return None
    return {
        "time": format_time(one.at_s),
        "reason": one.reason,
        "message": one.message,
        "object": one.subject,
        "user": one.user,
    }


def silent_nodes(nodes: Iterable[NodeFacts], policy: VotePolicy, now_s: float) -> Json:
    """How many nodes are silent, and of each whether it is guarded, why, and for how long; guarded ones first. O(nodes)."""
    rows = []
    for node in nodes:
        if node.ready is not Status.UNKNOWN:
            continue
        decided = guard(node, policy, now_s)
        rows.append(
            {
                "node": node.name,
                "guarded": decided.active,
                "reason": decided.reason.value,
                "vote": node.vote.value,
                "ageSeconds": None if decided.age_s is None else round(decided.age_s, 1),
                "endsInSeconds": None if decided.changes_in_s is None or not decided.active else round(decided.changes_in_s, 1),
            }
        )
    rows.sort(key=lambda row: (not row["guarded"], row["node"]))
    return {"count": len(rows), "guarded": sum(row["guarded"] for row in rows), "nodes": rows[:LISTED_NODES]}


def sidecar_entries(catalog: Catalog) -> Json:
    """How many entries there are in each state, and of each its source, revision and faults; faulty ones first. O(entries)."""
    rows: list[Json] = []
    counts = dict.fromkeys(STATES, 0)
    for source, states in catalog.sources.items():
        for state in states.values():
            condition = condition_of(state)
            counts[condition] += 1
            faults = [attrs.asdict(fault) for fault in state.faults[:LISTED_FAULTS]]
            revision = state.entry.revision if state.entry else None
            row = {"entry": state.name, "source": source, "state": condition, "revision": revision, "faults": faults}
            rows.append({**row, "shadowedBy": catalog.shadowed_by(source, state.name)})
    rows.sort(key=lambda row: (-STATES.index(row["state"]), row["source"], row["entry"]))
    return {"count": len(rows), **counts, "entries": rows[:LISTED_ENTRIES]}
