r"""HTML that is made of elements: whatever is not `Html` is text, and text is escaped.

    element("td", "a < b", class_="number")     -> <td class="number">a &lt; b</td>

Characters that cannot be seen (control, bidirectional, unassigned, lone surrogates) are written out, as \x1b or \u202e, so that
a name can neither hide nor turn what stands beside it. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from typing import Final, TypeAlias

VOID: Final = frozenset({"meta", "link", "br"})


class Html(str):
    """Markup, as opposed to text."""

    __slots__ = ()


Content: TypeAlias = "Html | str | int | float | Iterable[Content] | None"


def html(*content: Content) -> Html:
    """All of *content* in a row: markup as it is, the rest as text; None is nothing, an iterable is its parts."""
    return Html("".join(_one(part) for part in content))


def element(tag: str, /, *content: Content, **attributes: str | int | float | bool | None) -> Html:
    """One element. Attributes: `class_` is class, `aria_label` is aria-label; None and False leave one out, True has no value.

    Names of elements and attributes are the program's own; values are escaped.
    """
    written = "".join(_attribute(key, value) for key, value in attributes.items())
    if tag in VOID:
        return Html(f"<{tag}{written}>")
    return Html(f"<{tag}{written}>{html(*content)}</{tag}>")


def visible(text: str) -> str:
    """*text* with whatever cannot be seen written out."""
    return text if text.isprintable() else "".join(one if one.isprintable() else ascii(one)[1:-1] for one in text)


def _one(part: Content) -> str:
    if part is None:
        return ""
    if isinstance(part, Html):
        return part
    if isinstance(part, str):
        return escape(visible(part))
    if isinstance(part, int | float):
        return escape(str(part))
    return "".join(_one(inner) for inner in part)


def _attribute(key: str, value: str | int | float | bool | None) -> str:
    name = key.rstrip("_").replace("_", "-")
    if value is None or value is False:
        return ""
    return f" {name}" if value is True else f' {name}="{escape(visible(str(value)))}"'
