"""What is wrong with a value is told by its place and by what stands there."""

from __future__ import annotations

from typing import Any

import pytest

from webhook.objects.faults import QUOTED, Faults, Path, dotted, json_type, listed, quoted, shown


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ((), ""),
        (("a",), "a"),
        (("a", "b", 0, 1, "c"), "a.b[0][1].c"),
        ((0, "a"), "[0].a"),
        (("metadata", "labels", "example.com/a"), "metadata.labels.example.com/a"),
    ],
)
def test_a_path_is_written_as_people_do(path: Path, text: str) -> None:
    assert dotted(path) == text


def test_all_faults_are_in_the_text_each_with_its_place() -> None:
    error = Faults((("a", 0), "is too long"), ((), "must be an object"))

    assert str(error) == "a[0]: is too long; must be an object"
    assert error.faults == ((("a", 0), "is too long"), ((), "must be an object"))


@pytest.mark.parametrize(
    ("value", "name"),
    [
        *((None, "null"), (True, "a boolean"), (False, "a boolean"), (0, "a number"), (1.5, "a number"), ("", "a string")),
        *(([], "a list"), ([1], "a list"), ({}, "an object")),
    ],
)
def test_types_have_their_json_names(value: Any, name: str) -> None:
    assert json_type(value) == name


@pytest.mark.parametrize(
    ("value", "text"),
    [
        *((None, "null"), (True, "true"), (5, "5"), ("ä\n", '"ä\\n"'), ([1, "a"], '[1, "a"]'), ({"a": None}, '{"a": null}')),
        *(("a" * 38, f'"{"a" * 38}"'), ("a" * 39, "a string"), (list(range(40)), "a list"), ({"a": "b" * 40}, "an object")),
        ("\ud800", '"\ud800"'),
    ],
)
def test_a_short_value_is_shown_and_of_a_long_one_its_type(value: Any, text: str) -> None:
    assert shown(value) == text


@pytest.mark.parametrize(
    ("text", "in_quotes"),
    [
        ("", '""'),
        ('a"b\n', '"a\\"b\\n"'),
        ("ä" * QUOTED, f'"{"ä" * QUOTED}"'),
        ("a" * (QUOTED + 1), f'"{"a" * (QUOTED - 3)}..."'),
    ],
)
def test_a_text_is_quoted_and_cut_where_it_is_long(text: str, in_quotes: str) -> None:
    assert quoted(text) == in_quotes


@pytest.mark.parametrize(
    ("names", "text"),
    [([], ""), (["a"], "a"), (["a", "b"], "a, b"), (["a", "b", "c"], "a, b and 1 more"), (["a"] * 9, "a, a and 7 more")],
)
def test_of_many_names_the_first_are_listed_and_the_rest_is_counted(names: list[str], text: str) -> None:
    assert listed(names, 2) == text
