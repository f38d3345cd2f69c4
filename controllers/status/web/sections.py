"""The tables that every process has: silent nodes, services, refusals, certificates, caches, checks and controllers.

Each takes its section of the status, and what a section lacks is left out. Pure; a section of another shape than the status has
raises, which `page` turns into a line in its place.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from controllers.status.answers import GUARD_OLD_S, Level
from controllers.status.web.markup import Content, Html, element, html
from controllers.status.web.parts import LISTED, Column, badge, code, facts, more, name, small, table
from controllers.wording import expiry, latency, rate, span
from webhook.objects.meta import Json, parse_time_s

SILENT_LISTED: Final = 12  # guarded and unguarded nodes each: they come first, and the services have to be near
SILENT_LONG_S: Final = 300.0  # as the alert GatehouseCacheSilent has it


def silent_nodes(section: Json, now_s: float) -> Html:
    """Each silent node: whether it is guarded, by what vote, of what age, until when."""
    rows = _soonest(section.get("nodes", ()))
    if not rows:
        return element("p", "No node is silent.")
    columns = [Column("Node"), Column("Guard"), Column("Vote"), Column("Why"), Column("Age", True), Column("Ends in", True)]
    cells = [
        (
            name(row["node"]),
            _guard(row),
            row["vote"],
            code(row["reason"]),
            _span(row.get("ageSeconds")),
            _span(row.get("endsInSeconds")) or ("no limit" if row["guarded"] else None),
        )
        for row in rows
    ]
    return html(
        table("Nodes whose kubelet says nothing; the age is of the vote, or since the silence began", columns, cells),
        more(section.get("count", 0) - len(rows)),
    )


def _soonest(rows: Iterable[Json]) -> list[Json]:
    """Those whose guard ends first, and then those that have none; SILENT_LISTED of each."""
    known = sorted(rows, key=lambda row: (math.inf if row.get("endsInSeconds") is None else row["endsInSeconds"], row["node"]))
    return [row for row in known if row["guarded"]][:SILENT_LISTED] + [row for row in known if not row["guarded"]][
        :SILENT_LISTED
    ]


def _guard(row: Json) -> Html:
    if not row["guarded"]:
        return badge(Level.BAD, "not guarded")
    old = (row.get("ageSeconds") or 0.0) >= GUARD_OLD_S
    return badge(Level.ATTENTION, "guarded, for long") if old else badge(Level.OK, "guarded")


def services(section: Mapping[str, Json], now_s: float) -> Html:
    """Each service: ready, rate, latencies, what was refused and what was not decided."""
    columns = [
        Column("Service"),
        Column("State"),
        Column("Rate", True),
        Column("p50", True),
        Column("p99", True),
        Column("Refused", True),
        Column("Undecided", True),
    ]
    shown = list(section.items())[:LISTED]
    window_s = max((row.get("windowSeconds", 0.0) for row in section.values()), default=0.0)
    caption = f"Rate of the last {span(min(60.0, window_s))}; the rest of the last {span(window_s)}, and since the start"
    return html(table(caption, columns, [_service(title, row) for title, row in shown]), more(len(section) - len(shown)))


def _service(title: str, row: Json) -> tuple[Content, ...]:
    path = html(title, small(code(row["path"])) if row["path"] != f"/{title}" else None)
    if row.get("on") is False:
        return path, badge(Level.OFF, "off"), None, None, None, None, None
    waits = row.get("waitsFor", ())
    state = badge(Level.OK, "ready") if row["ready"] else badge(Level.BAD, "not ready")
    return (
        path,
        html(state, small("; ".join(waits)) if waits else None),
        rate(row["perSecond"]) if "perSecond" in row else None,
        latency(row["p50Seconds"]) if row.get("p50Seconds") is not None else None,
        latency(row["p99Seconds"]) if row.get("p99Seconds") is not None else None,
        _number(row, "refused"),
        _number(row, "undecided"),
    )


def _number(row: Json, key: str) -> Content:
    if key not in row:
        return None
    lately, total = row[key], row.get(f"{key}Total", 0)
    shown = badge(Level.ATTENTION, f"{lately:,}") if lately and key == "undecided" else f"{lately:,}"
    return html(shown, small(f"{total:,} in all")) if total else "0"


def refusals(section: Mapping[str, Json], now_s: float) -> Html:
    """The last request that each service refused, and the last that it could not decide; newest first."""
    found: list[tuple[float, str, str, Json]] = []
    for title, row in section.items():
        for done, key in (("refused", "lastRefusal"), ("undecided", "lastUndecided")):
            if (last := row.get(key)) is not None:
                found.append((parse_time_s(last["time"]) or 0.0, title, done, last))
    if not found:
        return element("p", "Nothing was refused, and nothing left undecided, since the start.")
    found.sort(key=lambda one: one[0], reverse=True)
    columns = [Column("Service"), Column("When"), Column("Object"), Column("Why")]
    cells = [
        (
            html(title, small(badge(Level.BAD if done == "undecided" else Level.OFF, done))),
            html(_ago(max(0.0, now_s - at_s)), small(element("time", last["time"], datetime=last["time"]))),
            html(name(last["object"]), small("of ", name(last["user"])) if last["user"] else None),
            html(name(last["message"]), small(code(last["reason"]))),
        )
        for at_s, title, done, last in found[:LISTED]
    ]
    return html(table("The last of each service, newest first", columns, cells), more(len(found) - len(cells)))


def certificate(section: Json, now_s: float) -> Html:
    """What is served, what is trusted, and how long."""
    leaf_s, ca_s, trusted = section.get("expiresInSeconds"), section.get("caExpiresInSeconds"), section.get("trusted") or {}
    source = f"Source: {section.get('source', 'unknown')}"
    told = f"{source}, Secret {section['secret']}" if section.get("secret") else source
    lines = [html("Served certificate: ", _expiry(leaf_s))]
    if ca_s is not None:
        count = section.get("authorities") or 1
        lines.append(html("CA: ", _expiry(ca_s), f" ({count} trusted at the moment)" if count > 1 else ""))
    for kind, trusts in trusted.items():
        lines.append(html(f"{kind}: ", badge(Level.OK, "trusts it") if trusts else badge(Level.BAD, "caBundle lacks our CA")))
    lines += [html(badge(Level.BAD, "not valid for"), " ", name(one)) for one in (section.get("uncovered") or ())[:LISTED]]
    if total := (handshakes := section.get("handshakes") or {}).get("failedTotal"):
        lately = sum(handshakes["failed"].values())
        window = span(handshakes["windowSeconds"])
        lines.append(html(f"TLS handshakes that failed: {lately:,} in the last {window}, {total:,} in all"))
    return html(element("p", told), facts(lines))


def _expiry(seconds: float | None) -> Html:
    level = Level.UNKNOWN if seconds is None else Level.BAD if seconds <= 0 else Level.OK
    return badge(level, f"expires {expiry(seconds)}" if seconds is None or seconds > 0 else expiry(seconds))


def caches(section: Mapping[str, Json], now_s: float) -> Html:
    """Each cache: its size, and how long ago the API server was last heard."""
    shown = list(section.items())[:LISTED]
    columns = [Column("Cache"), Column("State"), Column("Objects", True), Column("Last event", True)]
    cells = [_followed(title, row) for title, row in shown]
    if any(row.get("trouble") for _, row in shown):
        columns.append(Column("Trouble"))
        cells = [(*cell, row.get("trouble")) for cell, (_, row) in zip(cells, shown, strict=True)]
    caption = "Facts that decisions are made from; the last event may be a bookmark, which says that nothing has changed"
    return html(table(caption, columns, cells), more(len(section) - len(shown)))


def _followed(title: str, row: Json) -> tuple[Content, ...]:
    objects = f"{row['objects']:,}" if "objects" in row else None
    return title, _cache(row), objects, _ago(row.get("silenceSeconds"))


def _cache(row: Json) -> Html:
    if not row.get("synced"):
        return badge(Level.BAD, "not synced")
    if row.get("trouble") or (row.get("silenceSeconds") or 0.0) >= SILENT_LONG_S:
        return badge(Level.ATTENTION, "synced, silent")
    return badge(Level.OK, "synced")


def kubernetes(section: Json, now_s: float) -> Html:
    """The API server's version, and what it is too old for."""
    version, tested = section.get("version"), section.get("tested")
    if version is None:
        return element("p", "The API server has not said its version yet.")
    told = badge(Level.OK, "tested with") if tested else badge(Level.ATTENTION, "not tested with")
    old = [
        html(badge(Level.ATTENTION, "too old"), f" for {one['part']}: {one['minimum']} or newer")
        for one in section.get("tooOldFor", ())[:LISTED]
    ]
    return html(element("p", f"API server {version} ", told), facts(old))


def plugins(section: Sequence[Json], now_s: float) -> Html:
    """Rules and controllers from other packages, which run in this process."""
    columns = [Column("Name"), Column("Kind"), Column("Package"), Column("Entry point")]
    cells = [
        (
            name(row["name"]),
            html(row["kind"], small(badge(Level.OFF, "off")) if row.get("on") is False else None),
            name(f"{row['package']} {row['version']}"),
            code(row["entryPoint"]),
        )
        for row in section[:LISTED]
    ]
    return html(table("They run in this process, with its rights", columns, cells), more(len(section) - len(cells)))


def checks(section: Mapping[str, str | None], now_s: float) -> Html:
    """Every check of the probes."""
    items = [
        badge(Level.OK, title) if why is None else badge(Level.BAD, f"{title}: {why}")
        for title, why in list(section.items())[:LISTED]
    ]
    return html(element("ul", [element("li", item) for item in items], class_="checks"), more(len(section) - len(items)))


def controllers(section: Mapping[str, Json], now_s: float) -> Html:
    """The controllers that only a leader runs."""
    if not section:
        return element("p", "None is switched on.")
    cells = [
        (title, badge(Level.OK, "runs here") if row["running"] else badge(Level.OFF, "does not run here"), f"{row['queued']:,}")
        for title, row in list(section.items())[:LISTED]
    ]
    columns = [Column("Controller"), Column("State"), Column("Queued", True)]
    return html(table("They run in the replica that leads", columns, cells), more(len(section) - len(cells)))


def _span(seconds: float | None) -> str | None:
    return None if seconds is None else span(seconds)


def _ago(seconds: float | None) -> str | None:
    if seconds is None:
        return None
    return "just now" if seconds < 1 else f"{span(seconds)} ago"
