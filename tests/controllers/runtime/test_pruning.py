"""What is nested too deeply is cut out of JSON text, and nothing else of it changes."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from controllers.runtime.pruning import LEVELS, is_pruned, pruned

VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(st.sampled_from('a"\\[]{},:\n\t\r'), max_size=8),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(st.sampled_from('a"\\[{}]'), max_size=3), inner, max_size=4)
    ),
    max_leaves=20,
)


def nested(levels: int, inner: str = "1") -> str:
    """Objects and lists in turn, *levels* of them around *inner*."""
    opening = "".join('{"a":' if level % 2 else "[" for level in range(levels))
    closing = "".join("}" if level % 2 else "]" for level in reversed(range(levels)))
    return opening + inner + closing


def read(text: bytes) -> Any:
    return msgspec.json.decode(text)


@given(VALUES)
def test_what_is_not_deep_stays_as_it_is(value: Any) -> None:
    text = json.dumps(value).encode()

    assert pruned(text) == text
    assert not is_pruned(text)


@pytest.mark.parametrize(("levels", "cut"), [(0, False), (1, False), (LEVELS, False), (LEVELS + 1, True), (10_000, True)])
def test_only_what_has_too_many_levels_around_it_is_cut(levels: int, cut: bool) -> None:
    text = nested(levels).encode()

    found = pruned(text)

    assert is_pruned(found) is cut
    assert (found == text) is not cut
    assert read(found) is not None


def test_in_the_place_of_what_is_cut_stands_null_and_its_neighbours_stay() -> None:
    deep, at = nested(5), nested(LEVELS - 1, '{"before":1,"deep":[%s,2],"after":"]}"}')

    value = read(pruned(at.replace("%s", deep).encode()))

    for level in range(LEVELS - 1):
        value = value["a" if level % 2 else 0]
    assert value == {"before": 1, "deep": None, "after": "]}"}


@settings(max_examples=10)
@given(st.lists(VALUES, min_size=1, max_size=4), st.integers(LEVELS + 1, LEVELS + 40))
def test_of_several_objects_only_the_deep_one_is_cut(values: list[Any], levels: int) -> None:
    text = f'{{"items":[{",".join(map(json.dumps, values))},{nested(levels)}]}}'

    *others, last = read(pruned(text.encode()))["items"]

    assert others == values
    assert isinstance(last, list)


@pytest.mark.parametrize("wrap", [bytes, bytearray, memoryview, msgspec.Raw])
def test_every_kind_of_buffer_is_taken(wrap: Any) -> None:
    text = nested(LEVELS + 1).encode()

    assert pruned(wrap(text)) == pruned(text)
    assert is_pruned(wrap(pruned(text)))


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b'"',
        b'"\\',
        b'{"a',
        b"]" * 2000,
        b"}]}]",
        b"[" * 2000,
        b'["' + b"[" * 2000,
        b"\xff[\xfe]",
        nested(LEVELS + 1).encode()[:-3],
    ],
)
def test_what_is_no_json_gives_no_json_and_no_error(text: bytes) -> None:
    with pytest.raises((ValueError, RecursionError)):
        read(pruned(text))


@pytest.mark.parametrize("unit", [b'"' + b"\\" * 2, b'"a', b"[", b"\\", b'"\\"'])
def test_a_long_text_takes_no_longer_than_its_length(unit: bytes) -> None:
    pruned(unit * (2**18 // len(unit)))  # what went back over it for each quote would take hours
