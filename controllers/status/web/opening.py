"""The head of the page and the four first answers, before anything that has to be searched. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Final
from urllib.parse import quote

from controllers.status.answers import Answer, Level
from controllers.status.web.markup import Html, element
from controllers.status.web.parts import LOOKS, facts, name, sign
from webhook.objects.meta import Json

REFRESHES_S: Final = (5, 30)  # what the page offers; the query takes any

# A filled circle with a tick, or a square with a cross: told apart by their form in a row of tabs.
_ICON: Final = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16">{0}</svg>'
_WELL: Final = _ICON.format(
    '<circle cx="8" cy="8" r="8" fill="#1a7f37"/><path d="M4 8l3 3 5-6" stroke="#fff" stroke-width="2" fill="none"/>'
)
_ILL: Final = _ICON.format(
    '<rect width="16" height="16" fill="#c21f3a"/><path d="M4 4l8 8M12 4l-8 8" stroke="#fff" stroke-width="2"/>'
)


def icon(well: bool) -> str:
    """The address of the icon, which is its own content."""
    return f"data:image/svg+xml,{quote(_WELL if well else _ILL)}"


def heading(process: Json, now_s: float, refresh_s: int | None) -> Html:
    """Which replica this is, of which moment, and how to have it anew."""
    moment = datetime.fromtimestamp(now_s, UTC).isoformat(sep=" ", timespec="seconds").removesuffix("+00:00")
    version, local = process.get("version", "of unknown version"), ", on files" if process.get("local") else ""
    return element(
        "header",
        element("h1", "Gatehouse ", element("small", name(process.get("host") or "this replica"), f", {version}{local}")),
        element("p", "As of ", element("time", f"{moment} UTC", datetime=f"{moment.replace(' ', 'T')}Z")),
        element("nav", element("ul", [_refresh(seconds, refresh_s) for seconds in (None, *REFRESHES_S)]), aria_label="Refresh"),
    )


def _refresh(seconds: int | None, current_s: int | None) -> Html:
    words, target = ("off", "/status") if seconds is None else (f"{seconds} s", f"/status?refresh={seconds}")
    return element("li", element("a", words, href=target, aria_current="true" if seconds == current_s else None))


def cards(answers: Sequence[Answer]) -> Html:
    """The answers, side by side where there is room."""
    return element("div", [_card(answer) for answer in answers], class_="answers")


def _card(answer: Answer) -> Html:
    grave = {Level.BAD: "Fault: ", Level.ATTENTION: "Attention: ", Level.UNKNOWN: "Attention: "}.get(answer.level, "")
    spoken = element("span", grave, class_="spoken") if grave else None
    return element(
        "section",
        element("h2", answer.question),
        element("p", sign(answer.level), element("span", spoken, answer.headline), class_="headline"),
        facts([name(fact) for fact in answer.facts]),
        class_=f"answer {LOOKS.get(answer.level, '')}".strip(),
    )
