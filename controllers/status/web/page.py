"""The page as a whole: head, first answers, then a section each. Pure.

Nothing that a section holds can take the page with it: one that the status could not make, or that has another shape than this
program knows, is one line that says so. Rows are bounded (`parts.LISTED`), and the status bounds the length of what is in them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import attrs

from controllers.status.answers import Level, answers, failure
from controllers.status.shortening import shortened
from controllers.status.web import features, sections
from controllers.status.web.markup import Html, element, html
from controllers.status.web.opening import cards, heading, icon
from controllers.status.web.parts import badge
from controllers.status.web.style import CSS
from webhook.objects.meta import Json


@attrs.frozen
class Section:
    """One table of the page."""

    key: str  # its anchor
    title: str
    find: Callable[[Json], Any]  # of the status, what it shows; None = switched off
    draw: Callable[[Any, float], Html]  # with the time, seconds since the epoch
    feature: bool = False  # to be named when it is switched off


def _led(status: Json) -> Any:
    election = status.get("leaderElection")
    return election if failure(election) or not isinstance(election, dict) else election.get("controllers")


def _checks(status: Json) -> Any:
    process = status.get("process")
    return process if failure(process) or not isinstance(process, dict) else process.get("checks")


SECTIONS: Final = (
    Section("silent-nodes", "Silent nodes", lambda status: status.get("silentNodes"), sections.silent_nodes),
    Section("services", "Services", lambda status: status.get("services"), sections.services),
    Section("refusals", "Last refusals", lambda status: status.get("services"), sections.refusals),
    Section("certificates", "Certificates", lambda status: status.get("certificate"), sections.certificate),
    Section("kubernetes", "Kubernetes", lambda status: status.get("kubernetes"), sections.kubernetes),
    Section("caches", "Caches", lambda status: status.get("caches"), sections.caches),
    Section("checks", "Checks", _checks, sections.checks),
    Section("controllers", "Led controllers", _led, sections.controllers),
    Section("plugins", "Plugins", lambda status: status.get("plugins"), sections.plugins),
    Section("sidecars", "Sidecar entries", lambda status: status.get("sidecars"), features.sidecars),
    Section("coverage", "Sidecar coverage", lambda status: status.get("coverage"), features.coverage, True),
    Section("addresses", "Fixed addresses", lambda status: status.get("addresses"), features.addresses, True),
    Section("databases", "Databases", lambda status: status.get("databases"), features.databases, True),
)


def page(status: Json, now_s: float, refresh_s: int | None = None) -> str:
    """The page for *status*, which is what /statusz says. now_s: seconds since the epoch. refresh_s: None = never by itself."""
    status = shortened(status)
    process = status.get("process")
    known: Json = process if isinstance(process, dict) else {}
    first = _guarded(lambda: cards(answers(status)), "The first answers")
    found = [(section, section.find(status)) for section in SECTIONS]
    on = [(section, content) for section, content in found if content is not None]
    off = [section.title for section, content in found if content is None and section.feature]
    links = [element("li", element("a", section.title, href=f"#{section.key}")) for section, _ in on]
    body = html(
        heading(known, now_s, refresh_s),
        element(
            "main",
            first,
            element("nav", element("ul", links), class_="sections", aria_label="Sections"),
            [_drawn(section, content, now_s) for section, content in on],
        ),
        _footer(off),
    )
    return f"<!DOCTYPE html>\n{element('html', _head(known, refresh_s), element('body', body), lang='en')}\n"


def _head(process: Json, refresh_s: int | None) -> Html:
    ready = bool(process.get("ready"))
    title = f"{'ready' if ready else 'NOT READY'}: {process.get('host') or 'Gatehouse'}"
    return element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="color-scheme", content="light dark"),
        element("meta", http_equiv="refresh", content=refresh_s) if refresh_s is not None else None,
        element("title", title),
        element("link", rel="icon", href=icon(ready)),
        element("style", Html(CSS)),
    )


def _drawn(section: Section, content: Any, now_s: float) -> Html:
    heading_key = f"{section.key}-title"
    failed = failure(content)
    drawn = _unknown(failed) if failed else _guarded(lambda: section.draw(content, now_s), section.title)
    title = element("h2", section.title, id=heading_key)
    return element("section", title, drawn, id=section.key, class_="section", aria_labelledby=heading_key)


def _guarded(draw: Callable[[], Html], what: str) -> Html:
    """What *draw* makes; a line in its place when it cannot."""
    try:
        return draw()
    except Exception as error:  # the crash guard of one section: the others must be seen
        return html(element("p", f"{what} cannot be shown."), _unknown(type(error).__name__))


def _unknown(why: str) -> Html:
    return element("p", badge(Level.UNKNOWN, "unknown"), f" {why}: the log says more", class_="failed")


def _footer(off: list[str]) -> Html:
    return element(
        "footer",
        element("p", f"Switched off: {', '.join(off)}.") if off else None,
        element(
            "p",
            "What this one replica knows. The same as JSON: ",
            element("a", "/statusz", href="/statusz"),
            ", counted since the start: ",
            element("a", "/metrics", href="/metrics"),
            ". What to do about an alert: docs/runbooks.md.",
        ),
    )
