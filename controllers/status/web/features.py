"""The tables of features that may be off: sidecar entries and coverage, fixed addresses, databases. Pure; see `sections`."""

from __future__ import annotations

from typing import Final

from controllers.status.answers import Level
from controllers.status.web.markup import Content, Html, element, html
from controllers.status.web.parts import LISTED, Column, badge, code, facts, more, name, small, table
from controllers.wording import span
from webhook.objects.meta import Json

FAULTS_SHOWN: Final = 3  # of one entry
STATES: Final = {"good": Level.OK, "stale": Level.ATTENTION, "broken": Level.BAD}
SCARCE: Final = 0.9  # used share, as the alert GatehouseAddressesScarce has it


def sidecars(section: Json, now_s: float) -> Html:
    """Each entry: what is in force, and what the lint says of its newest version; faulty ones first."""
    rows = section.get("entries", ())[:LISTED]
    if not rows:
        return element("p", "No ConfigMap holds an entry.")
    counts = ", ".join(f"{section.get(state, 0):,} {state}" for state in STATES)
    columns = [Column("Entry"), Column("ConfigMap"), Column("Lint"), Column("Revision"), Column("Faults")]
    cells = [(name(row["entry"]), _source(row), _lint(row), _revision(row), _faults(row)) for row in rows]
    caption = f"{counts}; of a stale one the last good version is injected, a broken one has none"
    return html(table(caption, columns, cells), more(section.get("count", 0) - len(rows)))


def _source(row: Json) -> Html:
    shadow = row.get("shadowedBy")
    return html(name(row["source"]), small("not in use: ", name(shadow), " comes first") if shadow else None)


def _lint(row: Json) -> Html:
    return badge(STATES.get(row["state"], Level.UNKNOWN), row["state"])


def _revision(row: Json) -> Html | None:
    return code(row["revision"]) if row["revision"] else None


def _faults(row: Json) -> Html | None:
    faults = row["faults"]
    told: list[Content] = [
        html(
            code(f"{one['key']}:{one['line']}:{one['column']}"),
            " ",
            name(f"{one['path']}: " if one["path"] else ""),
            name(one["message"]),
        )
        for one in faults[:FAULTS_SHOWN]
    ]
    hidden = len(faults) - FAULTS_SHOWN
    return facts([*told, f"and {hidden} more"] if hidden > 0 else told)


def coverage(section: Json, now_s: float) -> Html:
    """How many pods have the sidecars that they ask for, and whose have not."""
    if not section.get("counting"):
        return element("p", "Counted by the leader; this replica does not lead.")
    pods = ", ".join(f"{number:,} {state.replace('_', ' ')}" for state, number in section["pods"].items() if number)
    columns = [Column("Owner"), Column("State"), Column("Pods", True), Column("Entries"), Column("Example")]
    bare = [(row, badge(Level.BAD, "bare")) for row in section.get("bare", ())[:LISTED]]
    drifted = [(row, badge(Level.ATTENTION, "drifted")) for row in section.get("drifted", ())[: LISTED - len(bare)]]
    cells = [
        (name(row["owner"]), state, f"{row['pods']:,}", name(", ".join(row["entries"])), row.get("example"))
        for row, state in bare + drifted
    ]
    summary = f"Pods: {pods or 'none asks for a sidecar'}."
    if not cells:
        return element("p", summary)
    hidden = section.get("bareOwners", 0) + section.get("driftedOwners", 0) - len(cells)
    return html(
        element("p", summary), table("Owners of pods that lack a sidecar or have an old one", columns, cells), more(hidden)
    )


def addresses(section: Json, now_s: float) -> Html:
    """Reservations by phase, the network's obstacles, and each pool."""
    phases = ", ".join(f"{section.get(phase, 0):,} {phase}" for phase in ("bound", "reserved", "cooling"))
    lines: list[Content] = [f"Reservations: {section.get('reservations', 0):,} ({phases})"]
    if (oldest_s := section.get("oldestUnboundSeconds")) is not None:
        lines.append(f"The oldest without a pod: {span(oldest_s)}")
    if waiting := section.get("waitingFor"):
        lines.append(html(badge(Level.BAD, "waits"), f" for {', '.join(waiting)}: pods that ask are refused until then"))
    network = section.get("network") or {}
    lines.append(f"The network's pools: {network.get('source') or 'unknown, any address will do'}")
    obstacles = [pool for pool in network.get("pools", ()) if pool["obstacle"]]
    lines += [
        html(badge(Level.ATTENTION, "obstacle"), " ", name(f"{pool['name']} {pool['obstacle']}")) for pool in obstacles[:LISTED]
    ]
    rows = section.get("pools", ())[:LISTED]
    columns = [Column("Pool"), Column("State"), Column("Used"), Column("Free", True), Column("Size", True)]
    cells = [(name(row["name"]), _pool(row), _used(row), f"{row['free']:,}", f"{row['size']:,}") for row in rows]
    shown = table("Pools of fixed addresses", columns, cells) if cells else element("p", "There is no AddressPool.")
    return html(facts(lines), shown, more(section.get("poolCount", len(rows)) - len(rows)))


def _pool(row: Json) -> Html:
    if row["fault"]:
        return html(badge(Level.BAD, "fault"), small(name(row["fault"])))
    if not row["adopted"]:
        return badge(Level.ATTENTION, "not adopted yet")
    return (
        badge(Level.ATTENTION, "scarce") if row["size"] and row["used"] >= SCARCE * row["size"] else badge(Level.OK, "in use")
    )


def _used(row: Json) -> Content:
    size, used = row["size"], row["used"]
    if not size:
        return "0"
    words = f"{used:,} of {size:,}"
    bar = element("meter", words, min=0, max=size, value=used, high=SCARCE * size, optimum=0, aria_hidden="true")
    return html(bar, words)


def databases(section: Json, now_s: float) -> Html:
    """How many are protected, what deletions wait for, and what fails."""
    counts = [f"{section.get(word, 0):,} {word}" for word in ("protected", "deleting")]
    counts += [f"{section[word]:,} {word}" for word in ("failing", "unreadable") if section.get(word)]
    parts: list[Content] = [element("p", f"DatabaseInstances: {section.get('count', 0):,} ({', '.join(counts)}).")]
    if deletions := section.get("deletions", ())[:LISTED]:
        columns = [Column("Instance"), Column("Asked for", True), Column("Waits for")]
        cells = [
            (name(row["instance"]), f"{span(row['ageSeconds'])} ago", code(row["waitsFor"]) if row.get("waitsFor") else None)
            for row in deletions
        ]
        parts += [table("Deletions, oldest first", columns, cells), more(section.get("deleting", 0) - len(deletions))]
    if failures := section.get("failures", ())[:LISTED]:
        cells = [(name(row["instance"]), badge(Level.BAD, "fails"), name(row["error"])) for row in failures]
        columns = [Column("Instance"), Column("State"), Column("Error")]
        parts += [table("What fails", columns, cells), more(section.get("failing", 0) - len(failures))]
    return html(parts)
