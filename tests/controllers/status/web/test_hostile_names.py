"""Names come from users' objects: whatever is in them is text on the page, and can be seen."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from controllers.status.web.markup import Html, element, html, visible
from controllers.status.web.page import page
from tests.controllers.status.web.reading import read
from tests.controllers.status.web.scenes import NOW_S, busy, cache

BITES = st.sampled_from(
    [
        "<script>alert(1)</script>",
        "<img src=x onerror=alert(1)>",
        '"><svg onload=alert(1)>',
        "' onmouseover='alert(1)",
        "</style><script>",
        "]]><!--",
        "&lt;b&gt;&#x27;",
        "javascript:alert(1)",
        "\u202egnp.exe",
        "\x00\x1b[31m",
        "\ud800",
    ]
)
TEXTS = st.text(st.characters(exclude_categories=()), max_size=30)
HOSTILE = st.builds("".join, st.lists(BITES | TEXTS, min_size=1, max_size=3)).filter(bool)  # without a text a part is left out


def filled(value: Any, text: str) -> Any:
    """*value* with *text* for every string that it holds, keys of objects that users name too."""
    if isinstance(value, str):
        return text
    if isinstance(value, list):
        return [filled(one, text) for one in value]
    if isinstance(value, dict):
        return {key: filled(one, text) for key, one in value.items()}
    return value


def shape(text: str) -> list[tuple[str, frozenset[str]]]:
    return [(one.tag, frozenset(one.attributes)) for one in read(text)]


PLAIN = shape(page({**filled(busy(), "x"), "caches": {"x": cache(1)}}, NOW_S))


@given(HOSTILE)
@settings(deadline=None, max_examples=40)
def test_no_text_makes_an_element_or_an_attribute(text: str) -> None:
    assert shape(page({**filled(busy(), text), "caches": {text: cache(1)}}, NOW_S)) == PLAIN


@given(HOSTILE)
@settings(deadline=None, max_examples=40)
def test_a_page_can_always_be_sent(text: str) -> None:
    assert page(filled(busy(), text), NOW_S).encode("utf-8")


@given(HOSTILE)
def test_text_is_read_back_as_it_can_be_seen(text: str) -> None:
    (found,) = read(element("td", text, title=text))

    assert found.text == visible(text) == found.attributes["title"]
    assert found.text.isprintable()


@pytest.mark.parametrize("key", ["node", "vote", "reason"])
def test_the_name_of_a_node_is_shown_letter_by_letter(key: str) -> None:
    status = copy.deepcopy(busy())
    status["silentNodes"]["nodes"][0][key] = "<b>edge & 'co'</b>"

    text = page(status, NOW_S)

    assert "&lt;b&gt;edge &amp; &#x27;co&#x27;&lt;/b&gt;" in text
    assert "<b>" not in text


def test_markup_stays_markup_and_what_joins_it_is_text() -> None:
    assert html(Html("<b>"), "<i>", None, 5, ["<u>", Html("</b>")]) == "<b>&lt;i&gt;5&lt;u&gt;</b>"
    assert type(Html("<b>") + "<i>") is str  # joined by hand it is text again, and gets escaped
