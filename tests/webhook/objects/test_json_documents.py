"""JSON is read strictly: what two readers would understand differently is refused, with its place."""

from __future__ import annotations

from typing import Any

import pytest

from webhook.objects.json_documents import BadJson, looks_like_json, read_json
from webhook.objects.sources import MAX_DEPTH, TOO_DEEP, DocumentError


def values(text: str) -> list[Any]:
    return [document.value for document in read_json(text, "f")]


def test_values_may_follow_each_other_with_or_without_blanks() -> None:
    text = '{"a": 1}[2]\r\n\t {"b": []} \n'

    found = list(read_json(text, "f"))

    assert [document.value for document in found] == [{"a": 1}, [2], {"b": []}]
    assert [document.json_text for document in found] == ['{"a": 1}', "[2]", '{"b": []}']
    assert [(document.mark.line, document.mark.column) for document in found] == [(1, 1), (1, 9), (2, 3)]
    assert [text[slice(*document.span)] for document in found] == [document.json_text for document in found]


@pytest.mark.parametrize("text", ["", " \n\t\r"])
def test_nothing_is_no_document(text: str) -> None:
    assert values(text) == []


@pytest.mark.parametrize(
    ("text", "is_json"),
    [
        ("{", True),
        (" \n[", True),
        ("", False),
        ("a: 1", False),
        ("- a", False),
        ('"a"', False),
        ("\ufeff{", False),
        ("\xa0{", False),
    ],
)
def test_text_that_begins_with_a_bracket_may_be_json(text: str, is_json: bool) -> None:
    assert looks_like_json(text) is is_json


@pytest.mark.parametrize(
    ("number", "value"),
    [
        *(("0", 0), ("-0", 0), ("-0.0", 0), ("1.0", 1), ("1e3", 1000), ("1.5", 1.5), ("1e-400", 0)),
        *(("9223372036854775807", 2**63 - 1), ("-9223372036854775808", -(2**63)), ("1" + "0" * 300, 1e300)),
    ],
)
def test_numbers_are_what_they_are_to_go(number: str, value: float) -> None:
    ((found,),) = values(f"[{number}]")

    assert (found, type(found)) == (value, type(value))


@pytest.mark.parametrize(
    ("text", "place", "message"),
    [
        ('{"a": 1} 5', "1:10", "not JSON: after an object or list only another one may come"),
        ('{"a": 1},', "1:9", "not JSON: after an object or list"),
        ("5", "1:1", "not JSON: after an object or list"),
        ('{"a": 1}\n  {"b"', "2:7", "not JSON: "),
        ("[1,]", "1:", "not JSON: "),
        ("[01]", "1:3", "not JSON: "),
        ("[+1]", "1:2", "not JSON: "),
        ("['a']", "1:2", "not JSON: "),
        ('["\t"]', "1:3", "not JSON: invalid control character"),
        ('["\\x"]', "1:3", "not JSON: invalid \\escape"),
        ("[1] // no", "1:5", "not JSON: "),
        ('\n {"a": 1, "b": {"c": 1, "c": 2}}', "2:2", 'key "c" is set twice'),
        ('{"\\u0061": 1, "a": 2}', "1:1", 'key "a" is set twice'),
    ],
)
def test_what_is_no_json_may_still_be_yaml_and_says_where_it_is_wrong(text: str, place: str, message: str) -> None:
    with pytest.raises(DocumentError) as caught:
        values(text)

    assert type(caught.value) is DocumentError
    assert str(caught.value).startswith(f"f:{place}")
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[NaN]", "NaN is not JSON"),
        ("[-Infinity]", "-Infinity is not JSON"),
        ("[1e400]", "the number 1e400 is out of range"),
        ("[" + "9" * 5000 + "]", "the number " + "9" * 32 + " is out of range"),
        ('["\\ud800"]', "a string holds half of a surrogate pair"),
        ('{"\\udc00": 1}', "a string holds half of a surrogate pair"),
        ("[" * (MAX_DEPTH + 1) + "]" * (MAX_DEPTH + 1), TOO_DEEP),
        ("[" * (MAX_DEPTH + 1) + "1" + "]" * (MAX_DEPTH + 1), TOO_DEEP),
        ('{"a":' * (MAX_DEPTH + 1) + "1" + "}" * (MAX_DEPTH + 1), TOO_DEEP),
    ],
)
def test_what_can_only_be_meant_as_json_is_not_read_as_yaml(text: str, message: str) -> None:
    with pytest.raises(BadJson) as caught:
        values("{}\n" + text)

    assert str(caught.value) == f"f:2:1: {message}"


def test_text_that_nests_without_end_is_an_error_of_ours() -> None:
    with pytest.raises(DocumentError, match=TOO_DEEP):
        values("[" * 100_000)


def test_the_deepest_value_and_many_brackets_side_by_side_are_read() -> None:
    assert values("[" * MAX_DEPTH + "]" * MAX_DEPTH + '{"a":' * MAX_DEPTH + "1" + "}" * MAX_DEPTH)
    assert len(values("[" + ",".join(["[]"] * 5000) + "]")[0]) == 5000


def test_a_whole_surrogate_pair_is_a_character() -> None:
    assert values('["\\ud83d\\ude00"]') == [["\U0001f600"]]
