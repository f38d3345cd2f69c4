"""A page as a browser's parser sees it: elements, attributes, and the text between them."""

from __future__ import annotations

from html.parser import HTMLParser
from typing import Any

import attrs

VOID = {"meta", "link", "br"}


@attrs.define
class Element:
    """One start tag."""

    tag: str
    attributes: dict[str, str]
    text: str = ""  # of everything inside it


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[Element] = []
        self.open: list[Element] = []

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        found = Element(tag, {key: value or "" for key, value in attributes})
        self.elements.append(found)
        if tag not in VOID:
            self.open.append(found)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop().tag == tag, f"</{tag}> closes another element"

    def handle_data(self, data: str) -> None:
        for one in self.open:
            one.text += data


def read(text: str) -> list[Element]:
    """The elements of *text* in order. Fails on a page that is not nested."""
    reader = _Reader()
    reader.feed(text)
    reader.close()
    assert reader.open == []
    return reader.elements


def all_of(elements: list[Element], tag: str, **attributes: Any) -> list[Element]:
    """Those with that tag and these attributes."""
    wanted = {key.rstrip("_").replace("_", "-"): value for key, value in attributes.items()}
    return [one for one in elements if one.tag == tag and wanted.items() <= one.attributes.items()]


def section(elements: list[Element], key: str) -> Element:
    """The section with that anchor."""
    (found,) = all_of(elements, "section", id=key)
    return found
