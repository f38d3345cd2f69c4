"""What the process knows at this moment, as JSON: the page /statusz and the command `gatehouse status`.

    {"process": {...}, "services": {...}, "caches": {...}, "leaderElection": {...}, "sidecars": {...}, "coverage": {...},
     "databases": {...}, "addresses": {...}, "silentNodes": {...}}

Each section is a function that any thread may call; one that fails says so in its place and does not take the page with it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import attrs

from controllers.coverage import tally
from controllers.sidecars.catalog import STATES, condition_of
from webhook.cluster import NodeFacts, Status
from webhook.logs import get_log
from webhook.objects.meta import Json
from webhook.objects.votes import VotePolicy, guard
from webhook.sidecars.entries.catalog import Catalog

log = get_log("status")

Section = Callable[[], Any]

LISTED_NODES = 500  # of more silent nodes the page has the number, and the first of them
LISTED_ENTRIES = 500  # likewise of sidecar entries; faulty ones first
LISTED_FAULTS = 20  # of each entry
LATELY_S = 60.0  # a candidate asks about the lease every few seconds, whatever its timing


def collect(sections: Mapping[str, Section]) -> Json:
    """Every section's answer."""
    page: Json = {}
    for name, section in sections.items():
        try:
            page[name] = section()
        except Exception as error:
            log.error("a section of the status page failed", exc_info=error, section=name)
            page[name] = {"error": type(error).__name__}
    return page


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


def describe(page: Json) -> str:
    """The page for a person: one line a fact."""
    process = page.get("process", {})
    ready = "ready" if process.get("ready") else f"NOT READY ({', '.join(process.get('failing', ())) or 'unknown'})"
    lines = [f"gatehouse {process.get('version', '?')}: {ready}, up {_span(process.get('uptimeSeconds'))}"]
    lines += _table("service", page.get("services"), ("path", "ready"))
    lines += _table("cache", page.get("caches"), ("synced", "objects", "silenceSeconds"))
    election = page.get("leaderElection")
    if isinstance(election, dict):
        lines += ["", _election(election)]
    certificate = page.get("certificate") or {}
    if (left_s := certificate.get("expiresInSeconds")) is not None:
        lines += ["", f"certificate: {'expires in ' + _span(left_s) if left_s > 0 else 'EXPIRED'}"]
    silent = page.get("silentNodes", {})
    lines += [
        "",
        _failed("silent nodes", silent) or f"silent nodes: {silent.get('count', 0)}, guarded {silent.get('guarded', 0)}",
    ]
    for row in silent.get("nodes", ()):
        state = "guarded" if row["guarded"] else "not guarded"
        lines.append(f"  {row['node']}: {state}, {row['reason']}, vote {row['vote']}, age {_span(row['ageSeconds'])}")
    lines += _sidecars(page.get("sidecars", {}))
    if addresses := page.get("addresses"):
        lines += ["", *_addresses(addresses)]
    if coverage := page.get("coverage"):
        lines += ["", *tally.describe(coverage)]
    if databases := page.get("databases"):
        lines += ["", *_databases(databases)]
    return "\n".join(lines)


def _sidecars(section: Json) -> list[str]:
    if failed := _failed("sidecar entries", section):
        return ["", failed]
    counts = ", ".join(f"{section.get(state, 0)} {state}" for state in STATES)
    lines = ["", f"sidecar entries: {section.get('count', 0)} ({counts})"]
    for row in section.get("entries", ()):
        shadow = row.get("shadowedBy")
        unused = f", not in use: {shadow} has an entry of that name, and comes first" if shadow else ""
        lines.append(f"  {row['entry']} of {row['source']}: {row['state']}, revision {row['revision'] or 'none'}{unused}")
        for fault in row["faults"]:
            path = f"{fault['path']}: " if fault["path"] else ""
            lines.append(f"    data.{fault['key']}:{fault['line']}:{fault['column']}: {path}{fault['message']}")
    return lines


def _databases(section: Json) -> list[str]:
    if failed := _failed("databases", section):
        return [failed]
    counts = [f"{section.get(word, 0)} {word}" for word in ("protected", "deleting")]
    counts += [f"{section[word]} {word}" for word in ("failing", "unreadable") if section.get(word)]
    oldest_s = section.get("oldestDeletionSeconds")
    oldest = "" if oldest_s is None else f"; the oldest deletion was asked for {_span(oldest_s)} ago"
    lines = [f"databases: {section.get('count', 0)} ({', '.join(counts)}){oldest}"]
    for row in section.get("deletions", ()):
        waits = f", {row['waitsFor']}" if row.get("waitsFor") else ""
        lines.append(f"  {row['instance']}: being deleted for {_span(row['ageSeconds'])}{waits}")
    lines += [f"  {row['instance']}: FAILS: {row['error']}" for row in section.get("failures", ())]
    return lines


def _addresses(section: Json) -> list[str]:
    if failed := _failed("fixed addresses", section):
        return [failed]
    phases = ", ".join(f"{section.get(phase, 0)} {phase}" for phase in ("bound", "reserved", "cooling"))
    lines = [f"fixed addresses: {section.get('reservations', 0)} ({phases})"]
    if (oldest_s := section.get("oldestUnboundSeconds")) is not None:
        lines[0] += f", the oldest without a pod since {_span(oldest_s)}"
    if waiting := section.get("waitingFor"):
        lines.append(f"  WAITS for {', '.join(waiting)}: pods that ask are refused until then")
    network = section.get("network") or {}
    obstacles = [f"{pool['name']} {pool['obstacle']}" for pool in network.get("pools", ()) if pool["obstacle"]]
    lines.append(f"  the network's pools: {network.get('source') or 'unknown, any address will do'}")
    lines += [f"    {obstacle}" for obstacle in obstacles]
    for pool in section.get("pools", ()):
        state = f", FAULT: {pool['fault']}" if pool["fault"] else "" if pool["adopted"] else ", not adopted yet"
        lines.append(f"  pool {pool['name']}: {pool['used']} of {pool['size']} used, {pool['free']} free{state}")
    return lines


def _failed(title: str, section: Json) -> str:
    """What to print of a section that could not be made; "" for one that could."""
    return f"{title}: unknown, {section['error']}" if isinstance(section.get("error"), str) else ""


def _election(election: Json) -> str:
    if failed := _failed("leader election", election):
        return failed
    if not election.get("enabled"):
        return "leader election: off"
    contact_s, error = election.get("lastContactSeconds"), election.get("lastError")
    lately = isinstance(contact_s, int | float) and contact_s < LATELY_S
    contact = [] if lately and not error else [f"no answer about the lease {_ago(contact_s)}"]
    return "; ".join([f"leader election: {_leader(election)}", *contact, *([f"last error: {error}"] if error else [])])


def _leader(election: Json) -> str:
    """Who leads; who is merely named in the Lease does not."""
    if election.get("leading"):
        return f"leading as {election.get('identity')}"
    if leader := election.get("leader"):
        return f"{leader} leads"
    if (settles_s := election.get("settlesInSeconds")) is not None:
        return f"nobody leads (this replica holds the lease and settles, {settles_s:.0f} s left)"
    if (expired_s := election.get("holderExpiredSeconds")) is not None:
        return f"nobody leads (the lease of {election.get('holder')} has run out {_span(expired_s)} ago)"
    return "nobody leads" if election.get("seen") else "who leads is unknown (the lease has not been seen)"


def _ago(seconds: float | None) -> str:
    return "so far" if seconds is None else f"since {_span(seconds)} ago"


def _table(title: str, rows: Any, columns: tuple[str, ...]) -> list[str]:
    if not rows:
        return []
    if failed := _failed(title, rows):
        return ["", failed]
    cells = [(title, *columns)] + [(name, *(_cell(row.get(column)) for column in columns)) for name, row in rows.items()]
    widths = [max(len(row[index]) for row in cells) for index in range(len(columns) + 1)]
    return ["", *("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in cells)]


def _cell(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value)


def _span(seconds: float | None) -> str:
    if seconds is None:
        return "unknown"
    if seconds < 120:
        return f"{seconds:.0f} s"
    if seconds < 7200:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h" if seconds < 172800 else f"{seconds / 86400:.0f} days"
