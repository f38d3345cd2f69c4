"""Reading: documents, Lists, positions, errors with their place, and what may not be read at all."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from webhook.objects.documents import DocumentError, objects, read_documents, write_yaml

# A busy machine is no fault of the code.
CALM = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])

JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)


def values(source: str | bytes) -> list[Any]:
    return [document.value for document in read_documents(source, "file.yaml")]


def attempt(source: str) -> tuple[DocumentError | None, list[Any]]:
    try:
        return None, values(source)
    except DocumentError as error:
        return error, []


def refusal(source: str | bytes, file: str = "file.yaml") -> str:
    with pytest.raises(DocumentError) as found:
        read_documents(source, file)
    assert str(found.value) == f"{file}:{found.value.line}:{found.value.column}: {found.value.message}"
    return str(found.value)


# -- documents -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "source", ["", "\n", "# a comment\n", "---\n", "---\n# a comment\n---\n", "null\n", "--- ~\n", b"\xef\xbb\xbf"]
)
def test_what_holds_nothing_gives_no_document(source: str | bytes) -> None:
    assert values(source) == []


def test_documents_come_in_order_with_their_lines_and_without_the_empty_ones() -> None:
    source = "# head\na: 1\n---\n# nothing\n---\n\nb: 2\n...\n---\n- c\n"

    found = read_documents(source, "file.yaml")

    assert [(document.value, document.line) for document in found] == [({"a": 1}, 2), ({"b": 2}, 7), (["c"], 10)]


def test_an_anchor_ends_with_its_document() -> None:
    assert refusal("a: &x 1\n---\nb: *x\n") == "file.yaml:3:4: anchor 'x' is not defined before this"


def test_an_alias_is_a_copy_of_its_own() -> None:
    (value,) = values("a: &x {b: [1]}\nc: *x\n")

    value["a"]["b"].append(2)

    assert value["c"] == {"b": [1]}


def test_json_values_may_follow_each_other() -> None:
    found = read_documents('{"a": 1}\n{"b": 2} [3]\n', "file.json")

    assert [(document.value, document.line, document.json_text) for document in found] == [
        ({"a": 1}, 1, '{"a": 1}'),
        ({"b": 2}, 2, '{"b": 2}'),
        ([3], 2, "[3]"),
    ]


def test_json_escapes_that_yaml_does_not_know_are_read() -> None:
    assert values('{"a": "\\ud83d\\ude00\\/"}') == [{"a": "😀/"}]


def test_yaml_that_starts_like_json_is_read_as_yaml() -> None:
    assert values("{a: 1, b: [NaN, x]}\n") == [{"a": 1, "b": ["NaN", "x"]}]


def test_utf16_from_windows_is_read() -> None:
    assert values("a: é\r\nb: 2\r\n".encode("utf-16")) == [{"a": "é", "b": 2}]


# -- Lists -----------------------------------------------------------------------------------------------------------


def test_lists_are_replaced_by_their_items_wherever_they_stand() -> None:
    source = """\
kind: List
apiVersion: v1
items:
- kind: Pod
  apiVersion: v1
- kind: PodList
  apiVersion: v1
  items:
  - metadata: {name: web}
---
kind: Node
"""
    found = list(objects(read_documents(source, "file.yaml", positions=True)))

    assert [(document.value, document.line) for document in found] == [
        ({"kind": "Pod", "apiVersion": "v1"}, 4),
        ({"kind": "Pod", "apiVersion": "v1", "metadata": {"name": "web"}}, 9),
        ({"kind": "Node"}, 11),
    ]


def test_a_kind_that_only_sounds_like_a_list_is_an_object() -> None:
    source = "kind: AccessList\nspec: {}\n"

    assert [document.value["kind"] for document in objects(read_documents(source, "file.yaml"))] == ["AccessList"]


# -- positions -------------------------------------------------------------------------------------------------------

SECTIONS = """\
# a configuration
webhook:
  limits:
    threads: 5
  hosts:
  - a
  - b: 1
base: &base
  x: 1
more:
  <<: *base
  z: 2
"""


@pytest.mark.parametrize(
    ("path", "place"),
    [
        ((), (2, 1)),
        (("webhook",), (2, 1)),
        (("webhook", "limits", "threads"), (4, 5)),
        (("webhook", "hosts", 1), (7, 5)),
        (("webhook", "hosts", 1, "b"), (7, 5)),
        (("webhook", "limits", "missing"), (3, 3)),
        (("webhook", "hosts", 7), (5, 3)),
        (("more", "x"), (9, 3)),
        (("more", "z"), (12, 3)),
        (("nothing", "at", "all"), (2, 1)),
    ],
)
def test_a_path_leads_to_the_place_of_its_key_or_of_what_is_nearest(
    path: tuple[str | int, ...], place: tuple[int, int]
) -> None:
    (document,) = read_documents(SECTIONS, "file.yaml", positions=True)

    assert document.position(path) == place


def test_a_path_in_json_has_a_place_too() -> None:
    (document,) = read_documents('\n{\n  "a": {\n    "b": [1,\n      2]\n  }\n}\n', "file.json", positions=True)

    assert document.line == 2
    assert document.position(("a", "b", 1)) == (5, 7)


def test_a_path_in_a_later_json_value_counts_from_the_start_of_the_file() -> None:
    first, second = read_documents('{"a": 1} {"b":\n  {"c": 2}}\n', "file.json", positions=True)

    assert first.position(("a",)) == (1, 2)
    assert second.position(("b",)) == (1, 11)
    assert second.position(("b", "c")) == (2, 4)


# -- errors ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("a: b: c\n", "1:5: mapping values are not allowed in this context"),
        ("a: 1\nb: 'x\n", "3:1: found unexpected end of stream (while scanning a quoted scalar from line 2)"),
        ("a:\n\t- b\n", "2:1: found character that cannot start any token (while scanning for the next token from line 2)"),
        ("a: 1\nb:\n  c: 1\n  c: 2\n", '4:3: key "c" is already set in line 3'),
        ("a: 1\n'a': 2\n", '2:1: key "a" is already set in line 1'),
        ("1: a\n'1': b\n", '2:1: key "1" is already set in line 1'),
        ("b: &x {a: 1}\nc:\n  a: 2\n  <<: *x\n", "4:3: '<<' brings key \"a\", already set in line 3"),
        ("c:\n  <<: 1\n", "2:3: the value of '<<' must be a mapping, or a list of mappings"),
        ("a: .nan\n", "1:4: nan is not a number that JSON can hold"),
        ("a: [1, -.inf]\n", "1:8: -inf is not a number that JSON can hold"),
        ("a: !!int x\n", "1:4: cannot read 'x' as a !!int"),
        ("~: 1\n", "1:1: a key is missing or null (write it in quotes when it is meant as text)"),
        ("? [a]\n: 1\n", "1:3: a key must be a scalar"),
        ("a: &a [*a]\n", "1:8: anchor 'a' contains itself"),
        ("%YAML 1.2\n---\na: 1\n", "1:1: only %YAML 1.1 is read, as by the Go API machinery"),
        ("é: 1\nb: \x07\n", "2:4: control characters are not allowed"),
        ("a: \ud800\n", "1:4: half of a surrogate pair"),
        (b"a: 1\nb: \xff\n", "2:4: not UTF-8: invalid start byte"),
        ('{"a": 1,\n "a": 2}', '2:2: key "a" is already set in line 1'),
        ('{"a": NaN}', "1:1: NaN is not JSON"),
        ('\n{"a": 1,\n "b": 1e999}', "2:1: the number 1e999 is out of range"),
        ('{"a": "\\ud800"}', "1:1: a string holds half of a surrogate pair"),
        ('{"a": 1} x', "1:10: "),
        ('{"a": 1}\n{"b": ', "2:7: not JSON: expecting value"),
        ("[" * 400 + "]" * 400, "1:1: nested deeper than 256 levels"),
        ("- " * 400 + "a", "1:513: nested deeper than 256 levels"),
        ('{"a":' * 400 + "1" + "}" * 400, "1:1: nested deeper than 256 levels"),
        ("[" * 100_000 + "]" * 100_000, "1:1001: exceeded maximum nesting depth"),
    ],
)
def test_an_error_names_file_line_and_column(source: str | bytes, message: str) -> None:
    assert refusal(source).startswith(f"file.yaml:{message}")


def test_a_tab_is_called_a_tab() -> None:
    assert refusal("a:\n\t- b\n").endswith("this is a tab; YAML indents with spaces")


def test_deep_aliases_count_as_depth() -> None:
    lines = ["a0: &a0 [x]"] + [f"a{level}: &a{level} [*a{level - 1}]" for level in range(1, 300)]

    assert "nested deeper than 256 levels" in refusal("\n".join(lines))


def test_a_bomb_of_aliases_is_refused_before_it_goes_off() -> None:
    lines = ["a0: &a0 [lol]"] + [f"a{level}: &a{level} [{', '.join([f'*a{level - 1}'] * 9)}]" for level in range(1, 12)]
    started_s = time.process_time()

    found = refusal("\n".join(lines))

    assert "excessive aliasing" in found
    assert time.process_time() - started_s < 5


def test_an_override_of_a_merged_key_counts() -> None:
    (value,) = values("base: &base {a: 1, b: 1}\nuse:\n  <<: *base\n  b: 2\n")

    assert value["use"] == {"a": 1, "b": 2}


def test_of_merged_mappings_the_earlier_wins() -> None:
    (value,) = values("x: &x {a: 1}\ny: &y {a: 2, b: 2}\nuse: {<<: [*x, *y]}\n")

    assert value["use"] == {"a": 1, "b": 2}


# -- properties ------------------------------------------------------------------------------------------------------


def same(first: Any, second: Any) -> bool:
    """Equal, and equal in type, but for whole floats, which JSON cannot tell from integers."""
    return json.dumps(normal(first), sort_keys=True) == json.dumps(normal(second), sort_keys=True)


def normal(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: normal(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [normal(inner) for inner in value]
    return int(value) if isinstance(value, float) and value.is_integer() and abs(value) < 2**63 else value


@CALM
@given(JSON_VALUES.filter(lambda value: value is not None))
def test_what_was_written_reads_back_the_same(value: Any) -> None:
    (found,) = values(write_yaml(value))

    assert same(found, value)


@CALM
@given(st.dictionaries(st.text(max_size=8), JSON_VALUES, max_size=4))
def test_json_reads_the_same_as_json_and_as_yaml(value: dict[str, Any]) -> None:
    (found,) = values(json.dumps(value))

    assert same(found, value)


@CALM
@given(st.text(max_size=40) | st.text("ab:-{}[]\"'&*!|>%@#,?<\n\t ~=0.", max_size=40))
def test_every_text_is_documents_or_an_error_with_its_place(text: str) -> None:
    fault, found = attempt(text)

    assert fault is None or (fault.line >= 1 and fault.column >= 1)
    json.dumps(found, allow_nan=False)


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("a: bcd", 7),
        ("{}", 1),
        ("[a, b]", 5),
        ("- &x abc\n- *x", 9),
        ("a: &x {b: c}\nd: *x\n", 15),
        ("a: b\n---\nc: d", 10),
        ("", 0),
    ],
)
def test_a_text_that_grows_beyond_its_bound_is_refused_where_it_does(text: str, size: int) -> None:
    assert values(text) == [document.value for document in read_documents(text, "f", size_limit=size)]
    if size > 1:
        with pytest.raises(DocumentError, match="the text grows too large here, with what its aliases stand for"):
            read_documents(text if text != "[a, b]" else "# yaml\n" + text, "f", size_limit=size - 1)
