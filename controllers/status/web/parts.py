"""What pages are made of: badges, tables that stay tables on a phone, lists of facts, "and 12 more". Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

import attrs

from controllers.status.answers import Level
from controllers.status.web.markup import Content, Html, element, html

LISTED: Final = 25  # rows of one table; the number of the others is said
NO_VALUE: Final = "–"
# A word beside it says the same: neither the sign nor its colour is ever alone.
SIGNS: Final = {Level.OK: "✓", Level.ATTENTION: "!", Level.BAD: "✕", Level.OFF: "–", Level.UNKNOWN: "?"}
LOOKS: Final = {level: level.value for level in (Level.OK, Level.ATTENTION, Level.BAD)} | {Level.UNKNOWN: "attention"}


@attrs.frozen
class Column:
    """One column of a table."""

    title: str
    number: bool = False


def sign(level: Level) -> Html:
    """The sign alone, for who sees; the words stand beside it."""
    return element("span", SIGNS[level], class_="sign", aria_hidden="true")


def badge(level: Level, word: str) -> Html:
    """A sign and a word."""
    marked = element("span", SIGNS[level], aria_hidden="true")
    return element("span", marked, element("span", word), class_=f"badge {LOOKS.get(level, '')}".strip())


def name(text: object) -> Html:
    """Something that users named: kept apart from the direction of the text around it."""
    return element("bdi", str(text))


def code(text: object) -> Html:
    """A path, a reason code, a revision."""
    return element("code", str(text))


def small(*content: Content) -> Html:
    """A second line in a cell."""
    return element("small", *content)


def table(caption: str, columns: Sequence[Column], rows: Iterable[Sequence[Content]]) -> Html:
    """A table; the first cell of each row is its heading.

    Roles are written out: where a narrow screen turns rows into blocks, browsers would forget that it is a table.
    """
    head = [element("th", one.title, scope="col", role="columnheader", class_=_kind(one)) for one in columns]
    body = [element("tr", _cells(columns, row), role="row") for row in rows]
    return element(
        "table",
        element("caption", caption),
        element("thead", element("tr", head, role="row"), role="rowgroup"),
        element("tbody", body, role="rowgroup"),
        role="table",
        class_="figures" if sum(one.number for one in columns) > 1 else None,  # a narrow screen sets them side by side
    )


def _cells(columns: Sequence[Column], row: Sequence[Content]) -> Html:
    first, *others = zip(columns, row, strict=True)
    heading = element("th", first[1], scope="row", role="rowheader")
    return html(heading, [_cell(column, content) for column, content in others])


def _cell(column: Column, content: Content) -> Html:
    empty = content is None or content == ""
    shown = element("span", NO_VALUE if empty else content)
    kinds = " ".join(word for word in (_kind(column), "empty" if empty else None) if word)
    return element("td", shown, role="cell", class_=kinds or None, data_label=column.title)


def _kind(column: Column) -> str | None:
    return "number" if column.number else None


def facts(sentences: Iterable[Content]) -> Html | None:
    """A list of short sentences; None without any."""
    items = [element("li", sentence) for sentence in sentences]
    return element("ul", items, class_="facts") if items else None


def more(hidden: int, where: str = "gatehouse status -o json") -> Html | None:
    """That *hidden* rows are not shown, and who shows them; None when all are."""
    return element("p", f"and {hidden:,} more: ", code(where), class_="more") if hidden > 0 else None
