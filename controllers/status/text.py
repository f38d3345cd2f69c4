"""The status as text, one line a fact: what `gatehouse status` prints. The first answers come first.

The process that is asked may be of another release: a section of a shape that is not known here costs its own lines only.

Pure.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from controllers.columns import aligned
from controllers.coverage import tally
from controllers.sidecars.catalog import STATES
from controllers.status.answers import answers, failure
from controllers.status.shortening import shortened
from controllers.wording import latency, rate, span
from webhook.objects.meta import Json

LISTED: Final = 100  # rows of each list; the whole is in /statusz


def describe(page: Json) -> str:
    """The page for a person: one line a fact."""
    page = shortened(page)
    first, *others = answers(page)
    lines = [f"{first.subject}: {first.headline}", *(f"  {fact}" for fact in first.facts), *(other.line() for other in others)]
    for key, title, say in _SECTIONS:
        if section := page.get(key):
            lines += _said(title, section, say)
    return "\n".join(lines)


def _said(title: str, section: Any, say: Callable[[Any], list[str]]) -> list[str]:
    """What *say* makes of *section*; a line in its place where it failed, or where its shape is not known here."""
    if failed := failure(section):
        return ["", f"{title}: unknown, {failed}"]
    try:
        return say(section)
    except Exception as error:  # the crash guard of one section: the others must be seen
        return ["", f"{title}: cannot be read ({type(error).__name__}): is the process of another release? -o json shows it"]


def _kubernetes(section: Json) -> list[str]:
    """What the API server is too old for; nothing else of its version matters at 3 a.m."""
    rows = section.get("tooOldFor", ())
    return [f"Kubernetes {section['version']} is TOO OLD for {row['part']}, which needs {row['minimum']}" for row in rows]


def _silent(section: Json) -> list[str]:
    lines = []
    for row in section.get("nodes", ())[:LISTED]:
        state = "guarded" if row["guarded"] else "not guarded"
        ends = "" if row.get("endsInSeconds") is None else f", ends in {span(row['endsInSeconds'])}"
        lines.append(f"  {row['node']}: {state}, {row['reason']}, vote {row['vote']}, age {span(row['ageSeconds'])}{ends}")
    return lines + _more(section.get("nodes", ()), section.get("count"))


def _caches(section: Json) -> list[str]:
    return _table("cache", section, ("synced", "objects", "silenceSeconds", "trouble"))


def _plugins(section: Sequence[Json]) -> list[str]:
    """Rules and controllers of other packages, a row each."""
    rows = [
        (
            row["name"],
            f"{row['kind']}{', off' if row.get('on') is False else ''}",
            f"{row['package']} {row['version']}",
            row["entryPoint"],
        )
        for row in section[:LISTED]
    ]
    return ["", *aligned([("plug-in", "kind", "package", "entry point"), *rows]), *_more(section)]


def _sidecars(section: Json) -> list[str]:
    counts = ", ".join(f"{section.get(state, 0)} {state}" for state in STATES)
    lines = ["", f"sidecar entries: {section.get('count', 0)} ({counts})"]
    for row in section.get("entries", ())[:LISTED]:
        shadow = row.get("shadowedBy")
        unused = f", not in use: {shadow} has an entry of that name, and comes first" if shadow else ""
        lines.append(f"  {row['entry']} of {row['source']}: {row['state']}, revision {row['revision'] or 'none'}{unused}")
        for fault in row["faults"]:
            path = f"{fault['path']}: " if fault["path"] else ""
            lines.append(f"    data.{fault['key']}:{fault['line']}:{fault['column']}: {path}{fault['message']}")
    return lines + _more(section.get("entries", ()), section.get("count"))


def _coverage(section: Json) -> list[str]:
    return ["", *tally.describe(section)]


def _databases(section: Json) -> list[str]:
    counts = [f"{section.get(word, 0)} {word}" for word in ("protected", "deleting")]
    counts += [f"{section[word]} {word}" for word in ("failing", "unreadable") if section.get(word)]
    oldest_s = section.get("oldestDeletionSeconds")
    oldest = "" if oldest_s is None else f"; the oldest deletion was asked for {span(oldest_s)} ago"
    lines = ["", f"databases: {section.get('count', 0)} ({', '.join(counts)}){oldest}"]
    deletions, failures = section.get("deletions", ()), section.get("failures", ())
    for row in deletions[:LISTED]:
        waits = f", {row['waitsFor']}" if row.get("waitsFor") else ""
        lines.append(f"  {row['instance']}: being deleted for {span(row['ageSeconds'])}{waits}")
    lines += _more(deletions, section.get("deleting"))
    lines += [f"  {row['instance']}: FAILS: {row['error']}" for row in failures[:LISTED]]
    return lines + _more(failures, section.get("failing"))


def _addresses(section: Json) -> list[str]:
    phases = ", ".join(f"{section.get(phase, 0)} {phase}" for phase in ("bound", "reserved", "cooling"))
    lines = ["", f"fixed addresses: {section.get('reservations', 0)} ({phases})"]
    if (oldest_s := section.get("oldestUnboundSeconds")) is not None:
        lines[-1] += f", the oldest without a pod since {span(oldest_s)}"
    if waiting := section.get("waitingFor"):
        lines.append(f"  WAITS for {', '.join(waiting)}: pods that ask are refused until then")
    network = section.get("network") or {}
    obstacles = [f"{pool['name']} {pool['obstacle']}" for pool in network.get("pools", ()) if pool["obstacle"]]
    lines.append(f"  the network's pools: {network.get('source') or 'unknown, any address will do'}")
    lines += [f"    {obstacle}" for obstacle in obstacles[:LISTED]] + _more(obstacles)
    pools = section.get("pools", ())
    for pool in pools[:LISTED]:
        state = f", FAULT: {pool['fault']}" if pool["fault"] else "" if pool["adopted"] else ", not adopted yet"
        lines.append(f"  pool {pool['name']}: {pool['used']} of {pool['size']} used, {pool['free']} free{state}")
    return lines + _more(pools)


def _more(rows: Sequence[Any], count: object = None) -> list[str]:
    """That there are more than LISTED *rows*; *count*: of all, where the status has not even the rest."""
    hidden = max(len(rows), count if isinstance(count, int) else 0) - min(len(rows), LISTED)
    return [f"  and {hidden:,} more: gatehouse status -o json"] if hidden > 0 and rows else []


def _services(section: Json) -> list[str]:
    columns = ("path", "ready", "rate", "p50", "p99", "refused", "undecided")
    lines = _table("service", {name: _service_row(row) for name, row in section.items()}, columns)
    for name, row in section.items():
        lines += [f"  {name} waits: {why}" for why in row.get("waitsFor", ()) if row.get("on") is not False]
        for done, key in (("refused", "lastRefusal"), ("did not decide", "lastUndecided")):
            if (last := row.get(key)) is not None:
                by = f" of {last['user']}" if last["user"] else ""
                lines.append(
                    f"  {name} last {done} {last['object']}{by} at {last['time']}: {last['reason']}: {last['message']}"
                )
    return lines


def _service_row(row: Json) -> Json:
    if row.get("on") is False:
        return {"path": row["path"], "ready": "off"}
    if "perSecond" not in row:
        return row
    shown = {"rate": rate(row["perSecond"]), "p50": latency(row["p50Seconds"]), "p99": latency(row["p99Seconds"])}
    return {**row, **shown}


def _table(title: str, rows: Json, columns: tuple[str, ...]) -> list[str]:
    cells = [(title, *columns)] + [(name, *(_cell(row.get(column)) for column in columns)) for name, row in rows.items()]
    return ["", *aligned(cells)]


def _cell(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value)


# What comes after the first answers, in this order: (key in the status, title where it cannot be told, its lines).
_SECTIONS: Final[tuple[tuple[str, str, Callable[[Any], list[str]]], ...]] = (
    ("kubernetes", "Kubernetes", _kubernetes),
    ("silentNodes", "silent nodes", _silent),
    ("services", "service", _services),
    ("caches", "cache", _caches),
    ("plugins", "plug-ins", _plugins),
    ("sidecars", "sidecar entries", _sidecars),
    ("addresses", "fixed addresses", _addresses),
    ("coverage", "sidecar coverage", _coverage),
    ("databases", "databases", _databases),
)
