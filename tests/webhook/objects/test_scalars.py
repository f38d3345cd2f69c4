"""An unquoted word is here what it is to Go's YAML; compared with Go itself, word by word: test_documents_go."""

from __future__ import annotations

import math
from typing import Any

import pytest

from webhook.objects.scalars import json_number, key_text, resolve_plain, resolve_tagged


def same(one: Any, other: Any) -> bool:
    """Equal, of the same type; NaN is NaN."""
    if isinstance(one, float) and math.isnan(one):
        return isinstance(other, float) and math.isnan(other)
    return type(one) is type(other) and one == other


@pytest.mark.parametrize(
    ("word", "value"),
    [
        *((word, True) for word in ("true", "True", "yes", "YES", "on", "y")),
        *((word, False) for word in ("false", "False", "no", "NO", "off", "n")),
        *((word, None) for word in ("", "~", "null", "Null", "NULL")),
        *((word, word) for word in ("tRUE", "yEs", "nil", "None", "oN", "nULL", "truely", " true")),
        *(("0", 0), ("-0", 0), ("+1", 1), ("017", 15), ("0o17", 15), ("0x1F", 31), ("0b101", 5), ("-0x10", -16)),
        *(("1_000", 1000), ("1__0", 10), ("0x_ff", 255), ("_1", "_1"), ("+_1", 1), ("0_7", 7)),
        *(("08", 8.0), ("09.5", 9.5), ("0o8", "0o8"), ("0b2", "0b2"), ("0x", "0x"), ("0xg", "0xg")),
        *(("1.5", 1.5), ("1.", 1.0), (".5", 0.5), ("-.5", -0.5), ("1e3", 1000.0), ("1E-2", 0.01), ("1e", "1e"), (".", ".")),
        *((".5_0", 0.5), ("._5", "._5"), (".5_", ".5_")),
        *(("1e400", "1e400"), ("-1e400", "-1e400"), ("1e-400", 0.0)),
        *((".inf", math.inf), ("-.INF", -math.inf), (".NaN", math.nan), ("inf", "inf"), ("nan", "nan"), ("-.nan", "-.nan")),
        *(("9223372036854775807", 2**63 - 1), ("9223372036854775808", 2**63), ("18446744073709551615", 2**64 - 1)),
        *(("18446744073709551616", float(2**64)), ("-9223372036854775808", -(2**63)), ("-9223372036854775809", -float(2**63))),
        ("+9223372036854775808", float(2**63)),  # signed: Go reads it as an int64 or not at all
        ("9" * 100_000, "9" * 100_000),
        *(
            (word, word)
            for word in ("2026-01-01", "12:30:45", "1:2", "1.2.3", "1,000", "1 000", "٣", "-", "+", "--1", "0x1.8p1")
        ),
    ],
)
def test_a_plain_word_means_what_it_means_to_go(word: str, value: Any) -> None:
    assert same(resolve_plain(word), value), resolve_plain(word)


@pytest.mark.parametrize(
    ("tag", "word", "value"),
    [
        ("str", "5", "5"),
        ("str", "", ""),
        ("int", "0x10", 16),
        ("bool", "on", True),
        ("null", "~", None),
        ("float", "5", 5.0),
        ("float", ".inf", math.inf),
        ("timestamp", "2026-01-01", "2026-01-01"),
        ("binary", "aGk=", "hi"),
        ("binary", "aG\nk=\r\n", "hi"),
        ("binary", "", ""),
        ("set", "5", "5"),
    ],
)
def test_a_tag_of_yaml_decides_the_type(tag: str, word: str, value: Any) -> None:
    assert same(resolve_tagged(f"tag:yaml.org,2002:{tag}", word), value)


@pytest.mark.parametrize(
    ("tag", "word"),
    [
        *(("int", "x"), ("int", "1.5"), ("int", "true"), ("int", ""), ("bool", "1"), ("bool", "maybe"), ("null", "0")),
        *(("float", "x"), ("float", "true"), ("timestamp", "yesterday"), ("timestamp", "5")),
        *(("binary", "?"), ("binary", "aGk"), ("binary", "/w=="), ("binary", "aG k=")),
    ],
)
def test_a_word_that_is_not_of_its_tags_type_is_an_error(tag: str, word: str) -> None:
    with pytest.raises(ValueError, match=r"!!"):
        resolve_tagged(f"tag:yaml.org,2002:{tag}", word)


@pytest.mark.parametrize("tag", ["!", "!local", "tag:example.com,2026:int", ""])
def test_a_tag_of_somebody_elses_leaves_a_string(tag: str) -> None:
    assert resolve_tagged(tag, "5") == "5"


@pytest.mark.parametrize(
    ("value", "number"),
    [
        *((1000.0, 1000), (-0.0, 0), (1.5, 1.5), (2.0**62, 2**62), (2.0**63, 2.0**63), (-(2.0**63), -(2**63))),
        *((-(2.0**64), -(2.0**64)), (1e300, 1e300), (5e-324, 5e-324)),
    ],
)
def test_a_whole_number_of_64_bits_is_an_integer(value: float, number: float) -> None:
    assert same(json_number(value), number)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_what_json_cannot_hold_is_an_error(value: float) -> None:
    with pytest.raises(ValueError, match="is not a number that JSON can hold"):
        json_number(value)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        *(("a", "a"), ("", ""), (True, "true"), (False, "false"), (0, "0"), (-5, "-5"), (2**63 - 1, "9223372036854775807")),
        *(
            (1.5, "1.5"),
            (0.1, "0.1"),
            (100000.0, "100000"),
            (1e6, "1e+06"),
            (1e-5, "1e-05"),
            (0.0001, "0.0001"),
            (1e300, ".inf"),
        ),
        *(
            (math.inf, ".inf"),
            (-math.inf, "-.inf"),
            (-1e300, "-.inf"),
            (math.nan, ".nan"),
            (0.0, "0"),
            (16777217.0, "1.6777216e+07"),
        ),
    ],
)
def test_a_key_is_the_string_that_go_makes_of_it(value: Any, text: str) -> None:
    assert key_text(value) == text


@pytest.mark.parametrize(("value", "message"), [(None, "a key is missing or null"), (2**63, "is out of range")])
def test_a_key_that_go_refuses_is_an_error(value: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        key_text(value)
