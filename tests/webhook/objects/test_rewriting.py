"""Files with some of their documents changed: everything else keeps its bytes."""

from __future__ import annotations

import codecs
import json
from functools import partial
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tests.webhook.objects.test_documents import CALM, JSON_VALUES
from webhook.objects.documents import DocumentError, read_documents, write_yaml
from webhook.objects.rewriting import LEFT_OUT, join, rewrite


def changed(source: str | bytes, **values: Any) -> str:
    """*source* with document n replaced by the value of `dn`."""
    raw = source.encode() if isinstance(source, str) else source
    return rewrite(raw, read_documents(raw, "f"), {int(key[1:]): value for key, value in values.items()}).decode()


def values(source: str | bytes) -> list[Any]:
    return [document.value for document in read_documents(source, "f")]


# -- one file --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        pytest.param("a: 1\n---\nb: 2\n", "c: 3\n---\nb: 2\n", id="the first of two"),
        pytest.param("# head\n\na: 1 # gone\n", "# head\n\nc: 3\n# gone\n", id="comments around it"),
        pytest.param("a: 1\n  # deep\n---\nb: 2", "c: 3\n# deep\n---\nb: 2", id="an indented comment behind it"),
        pytest.param("--- {a: 1} # x\n---\nb: 2\n", "---\nc: 3\n# x\n---\nb: 2\n", id="on the line of its marker"),
        pytest.param("--- !!map\na: 1\n...\n# end\n", "---\nc: 3\n...\n# end\n", id="a tag, an end marker"),
        pytest.param("--- &x # y\na: 1\n", "---\nc: 3\n", id="an anchor"),
        pytest.param("  a: 1\n  b: 2\n", "c: 3\n", id="indented as a whole"),
        pytest.param("%YAML 1.1\n---\na: 1\n", "%YAML 1.1\n---\nc: 3\n", id="a directive"),
        pytest.param("a: |\n  x\n\n\n---\nb: 2\n", "c: 3\n---\nb: 2\n", id="a block of text"),
        pytest.param("a:\n---\nb: 2\n", "c: 3\n---\nb: 2\n", id="an empty value"),
        pytest.param("a: [1,\n 2]\n\n\n---\n\nb: 2\n", "c: 3\n\n\n---\n\nb: 2\n", id="blank lines"),
        pytest.param("a: 1\r\n---\r\nb: 'x\r\n\r\n  y'\r\n", "c: 3\r\n---\r\nb: 'x\r\n\r\n  y'\r\n", id="CR LF"),
        pytest.param("a: 1", "c: 3\n", id="no line break at the end"),
        pytest.param("é: 😀\n---\n# ü\nb: 2\n", "c: 3\n---\n# ü\nb: 2\n", id="characters beyond ASCII"),
        pytest.param("\ufeffa: 1\n---\nb: 2\n", "\ufeffc: 3\n---\nb: 2\n", id="a byte order mark"),
        pytest.param('{"a": 1}\n', '{"c": 3}\n', id="JSON on a line"),
        pytest.param('{"a":1}\n\n{"b":2}', '{"c":3}\n\n{"b":2}', id="several JSON values"),
        pytest.param('{\n    "a": 1\n}\n', '{\n    "c": 3\n}\n', id="indented JSON"),
        pytest.param('{\r\n\t"a": 1\r\n}', '{\r\n\t"c": 3\r\n}', id="JSON indented by tabs"),
        pytest.param('{"😀": "é"}\n', '{"c": 3}\n', id="JSON beyond ASCII"),
        pytest.param('--- {"a": 1}\n---\nb: 2\n', '--- {"c": 3}\n---\nb: 2\n', id="JSON among YAML"),
    ],
)
def test_only_the_document_itself_is_written_anew(source: str, expected: str) -> None:
    assert changed(source, d0={"c": 3}) == expected


def test_the_last_of_several_can_change() -> None:
    assert changed("a: 1\n\n# b\n---\n\n# c\nb: 2\n", d1={"c": 3}) == "a: 1\n\n# b\n---\n\n# c\nc: 3\n"


def test_neighbours_can_change_both() -> None:
    assert changed("--- {a: 1}\n--- {b: 2}\n", d0=[1], d1={"c": 3}) == "---\n- 1\n---\nc: 3\n"


def test_a_document_can_be_left_out() -> None:
    assert values(changed("# x\na: 1 # y\n---\nb: 2\n---\n{c: 3}\n", d0=LEFT_OUT, d2=LEFT_OUT)) == [{"b": 2}]
    assert values(changed('{"a": 1}\n{"b": 2}\n', d0=LEFT_OUT)) == [{"b": 2}]


@pytest.mark.parametrize("text", ["😀", "\x7f", "\u2028 \ufeff"])
@pytest.mark.parametrize("source", ['{"a": 1}\n', '{"a": "é"}\n', '--- {"a": 1}\n'])
def test_json_that_changes_can_be_read_where_it_stands(source: str, text: str) -> None:
    assert values(changed(source, d0={"c": text})) == [{"c": text}]


@pytest.mark.parametrize("text", ["x\n", "x\n\n\n", "x", "x\n ", "\n", "x\n# y"])
def test_what_follows_a_block_of_text_never_becomes_part_of_it(text: str) -> None:
    result = changed("a: 1\n\n\n     # deep\n\n---\nb: 2\n", d0={"a": {"b": text}})

    assert values(result) == [{"a": {"b": text}}, {"b": 2}]
    assert "# deep" in result


@pytest.mark.parametrize(
    ("mark", "encoding"), [(codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"), (codecs.BOM_UTF8, "utf-8")]
)
def test_a_file_keeps_its_encoding(mark: bytes, encoding: str) -> None:
    source = mark + "a: 1\r\n---\r\nb: ü\r\n".encode(encoding)

    assert rewrite(source, read_documents(source, "f"), {0: {"c": "ß"}}) == mark + "c: ß\r\n---\r\nb: ü\r\n".encode(encoding)


SEPARATORS = st.sampled_from(["---\n", "\n---\n# c\n", "...\n---\n", "  # deep\n\n--- # c\n", "---\n\n---\n"])
STYLES = st.sampled_from([write_yaml, partial(json.dumps, ensure_ascii=False), partial(json.dumps, indent=2)])
ROOTS = st.dictionaries(st.text(max_size=4), JSON_VALUES, min_size=1, max_size=3)


def is_readable(source: bytes) -> bool:
    try:
        return bool(values(source))
    except DocumentError:
        return False


@CALM
@given(st.lists(st.tuples(ROOTS, STYLES, SEPARATORS, st.none() | ROOTS), min_size=1, max_size=4))
def test_changed_documents_read_back_and_the_others_stay(parts: list[tuple[Any, Any, str, Any]]) -> None:
    source = "".join(style(value).rstrip("\n") + "\n" + separator for value, style, separator, _ in parts).encode()
    new = {index: change for index, (_, _, _, change) in enumerate(parts) if change is not None}
    assume(is_readable(source))  # YAML lacks some escapes and characters of JSON

    result = rewrite(source, read_documents(source, "f"), new)

    assert values(result) == values("---\n".join(write_yaml(change or value) for value, _, _, change in parts))
    assert new or result == source


# -- several files ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        (["a: 1"], "a: 1"),
        (["\ufeffa: 1\r\n", ""], "\ufeffa: 1\r\n"),
        (["a: 1", "b: 2\n"], "a: 1\n---\nb: 2\n"),
        (["a: 1\n", "# c\n---\nb: 2\n"], "a: 1\n# c\n---\nb: 2\n"),
        (["a: 1\n", "\ufeff--- {b: 2}\n"], "a: 1\n--- {b: 2}\n"),
        (["a: 1\n", "%YAML 1.1\n---\nb: 2\n"], "a: 1\n...\n%YAML 1.1\n---\nb: 2\n"),
        (['{"a": 1}', '{"b": 2}\n'], '{"a": 1}\n{"b": 2}\n'),
        (['{"a": "\\ud83d\\ude00"}', "b: 2\n"], '{"a": "😀"}\n---\nb: 2\n'),
        (['{"a":1}\n{"c":1}', "b: 2\n"], '{"a":1}\n---\n{"c":1}\n---\nb: 2\n'),
    ],
)
def test_files_become_one(parts: list[str], expected: str) -> None:
    joined = join([part.encode() for part in parts]).decode()

    assert joined == expected
    assert values(joined) == [value for part in parts for value in values(part)]


def test_encodings_become_utf8_when_files_become_one() -> None:
    assert join(["a: ü\n".encode("utf-16"), "b: ß\n".encode()]) == "a: ü\n---\nb: ß\n".encode()
