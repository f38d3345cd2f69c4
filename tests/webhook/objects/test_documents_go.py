"""Every text means here what it means to sigs.k8s.io/yaml, the reader of kubectl and of the API server."""

from __future__ import annotations

import json
import math
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from webhook.objects.documents import DocumentError, read_documents, write_yaml

ORACLE = Path(__file__).parents[2] / "oracles" / "yaml"

Read = Callable[[str], dict[str, Any]]


@pytest.fixture(scope="module")
def go_reads(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Read]:
    """Asks the Go program what a text means."""
    if shutil.which("go") is None:
        pytest.fail("the Go toolchain is missing: these tests compare with sigs.k8s.io/yaml (see README, Requirements)")
    binary = tmp_path_factory.mktemp("oracle") / "yaml"
    built = subprocess.run(
        ["go", "build", "-o", str(binary), "."], cwd=ORACLE, capture_output=True, text=True, timeout=300, check=False
    )
    assert built.returncode == 0, built.stderr
    with subprocess.Popen([str(binary)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        stdin, stdout = process.stdin, process.stdout
        assert stdin and stdout

        def read(text: str) -> dict[str, Any]:
            stdin.write(json.dumps(text) + "\n")
            stdin.flush()
            answer: dict[str, Any] = json.loads(stdout.readline())
            return answer

        yield read
        stdin.close()


def we_read(text: str) -> tuple[str, Any]:
    """Why we refuse *text* ("": we do not), and its first document, None when there is none."""
    try:
        documents = read_documents(text, "f.yaml")
    except DocumentError as error:
        return error.message, None
    return "", documents[0].value if documents else None


def same(ours: Any, theirs: Any) -> bool:
    """Equal, and equal in kind: true is not 1, but 1.0 and 1 are one number in JSON."""
    if isinstance(ours, bool) or isinstance(theirs, bool) or ours is None or theirs is None:
        return ours is theirs
    if isinstance(ours, int | float) and isinstance(theirs, int | float):
        return ours == theirs or math.isclose(ours, theirs, rel_tol=1e-15)
    if isinstance(ours, dict) and isinstance(theirs, dict):
        return ours.keys() == theirs.keys() and all(same(ours[key], theirs[key]) for key in ours)
    if isinstance(ours, list) and isinstance(theirs, list):
        return len(ours) == len(theirs) and all(map(same, ours, theirs))
    return type(ours) is type(theirs) and ours == theirs


def agree(go_reads: Read, text: str) -> None:
    go = go_reads(text)
    refusal, ours = we_read(text)
    if refusal:
        # Go never looks at what follows the first document, not even whether it is one; and it takes `1` and `"1"` for two
        # keys until they have become one, and keeps either.
        deliberate = "<document start>" in refusal or "is already set" in refusal
        assert "error" in go["strict"] or deliberate, f"only we refuse: {refusal}"
        return
    theirs = go["strict"] if "json" in go["strict"] else go["lenient"] if "already set" in go["strict"]["error"] else {}
    assert "json" in theirs, f"only Go refuses: {go['strict']}"
    assert same(ours, theirs["json"]), (ours, theirs["json"])


_WORDS = """
    08 0o17 017 0O17 0o 0o8 0x1F 0X1f 0x 0xG 0b11 0B11 0b2 0b -0b11 -0B1 +0b1 -0x1F +017 1_000 1__0 _1 1_ 0_8 0x_1
    1e3 1E3 1e+3 1e-3 1e 1e400 -1e400 1e21 1e20 1e-7 .5 -.5 +.5 .5_0 ._5 .1__2 .1_ . .. ... .e1 5. 5.e3 1.5.2 .1e400
    0 -0 +0 -0.0 00 0.0 9223372036854775807 9223372036854775808 -9223372036854775808 -9223372036854775809
    +9223372036854775808 18446744073709551615 18446744073709551616 0xFFFFFFFFFFFFFFFF 0x1FFFFFFFFFFFFFFFF
    0777777777777777777777 07777777777777777777777777 0b1111111111111111111111111111111111111111111111111111111111111111
    22:22 190:20:30.15 2001-01-01 2001-12-14t21:59:43.10-05:00 2001-1-1 2001- 20011-01-01
    y Y yes Yes YES yEs n N no No NO on On ON oN off Off OFF true True TRUE tRue false False FALSE t f
    null Null NULL nUll ~ ~x .nan .NaN .NAN .Nan .inf .Inf +.inf -.inf -.INF .iNf inf nan Infinity
    = << == 1K 100m 1Gi 1e3Ki 1.2.3.4 10.0.0.0/8 a:b http://x:80 +1 ++1 - -- +- 1- 1+1 0.1e1 1_2.3_4 0x1p4 .0x1 é 日本 ١٢
"""
WORDS = _WORDS.split()


@pytest.mark.parametrize("word", WORDS)
def test_a_word_means_what_it_means_to_go(go_reads: Read, word: str) -> None:
    agree(go_reads, f"value: {word}\n")


@pytest.mark.parametrize("word", WORDS)
def test_a_word_as_a_key_means_what_it_means_to_go(go_reads: Read, word: str) -> None:
    agree(go_reads, f"? {word}\n: 1\n")


@pytest.mark.parametrize("tag", ["str", "int", "float", "bool", "null", "binary", "timestamp", "seq", "map", "merge", "x"])
@pytest.mark.parametrize("word", ["", "12", "1.5", "yes", "~", "x", "aGk=", "2001-01-01", "'12'", "<<"])
def test_a_tagged_word_means_what_it_means_to_go(go_reads: Read, tag: str, word: str) -> None:
    agree(go_reads, f"value: !!{tag} {word}\n")


TEXTS = [
    "",
    "# only a comment\n",
    "%YAML 1.1\n---\na: 1\n",
    "%YAML 1.2\n---\na: 1\n",
    "a: 1\na: 2\n",
    "true: 1\nyes: 2\n",
    "{a: 1, a: 2}",
    "a: {b: 1, b: 1}\n",
    "[1]: 2\n",
    "{a: b}: 2\n",
    "a: &x [1, 2]\nb: *x\n",
    "a: &x {b: {c: [1]}}\nd: *x\n",
    "a: &x 1\n*x : 2\n",
    "a: &x 1.5\nb: *x\n*x : 2\n",
    "a: *x\n",
    "a: &x [*x]\n",
    "a: &x {b: *x}\n",
    "a: &x 1\nb: &x 2\nc: *x\n",
    "a: &x {b: 1}\nc: {<<: *x, d: 2}\n",
    "a: &x {b: 1}\nc: {<<: *x, b: 2}\n",
    "a: &x {b: 1}\nc: {b: 2, <<: *x}\n",
    "a: &x {b: 1}\nd: &y {b: 2, e: 3}\nc: {<<: [*x, *y]}\n",
    "a: &x {b: 1}\nd: &y {b: 2}\nc: {<<: *x, <<: *y}\n",
    "a: &x {b: 1}\nd: &y {e: 2}\nc: {<<: *x, <<: *y}\n",
    "a: &x [{b: 1}]\nc: {<<: *x}\n",
    "a: {<<: [{b: 1}, {c: 2}]}\n",
    "a: {<<: {b: 1}}\n",
    "a: {<<: 1}\n",
    "a: {<<: }\n",
    "a: {<<: [1]}\n",
    "a: {'<<': 1}\n",
    "a: {!!merge x: 1}\n",
    "a: <<\n",
    "a: ! 12\n",
    "a: !foo {b: 1}\n",
    "!<tag:yaml.org,2002:int> '3': 4\n",
    "? a\n",
    "? \n: 1\n",
    ": 1\n",
    "null: 1\n",
    "'': 1\n",
    "a: |\n  x\n  y\n\nb: >-\n  x\n  y\n",
    'a: "\\x41\\u00e9\\U0001F600\\n"\n',
    "a: 'it''s'\n",
    "a:\tb\n",
    "a:\n\t- b\n",
    "a: b: c\n",
    "- a\n-  - b\n   - c\n",
    "a:\n- b\n- c\n",
    "a: [1, 2,]\n",
    "a: {b, c: }\n",
    "{a:1}\n",
    "[a:b]\n",
    "{'a':1}\n",
    '{"a":1}\n',
    "a: @x\n",
    "a: `x`\n",
    "a: %x\n",
    "a: x #y\nb: x#y\n",
    "a: 'x\n\n  y'\n",
    "a: x\n  y\n",
    "a: 1 2\n",
    "a: \x07\n",
    "a: \x85b\n",
    "a: \u2028b\n",
    "\ufeffa: 1\n",
    "a: b\ufeff\n",
    "a: .nan\n",
    "a: -.inf\n",
    "- - - - a\n",
    "a\n",
    "12\n",
    "'12'\n",
    "null\n",
    "a: 1\r\nb: 2\r\n",
    "? |\n  block key\n: 1\n",
    '"a": "b" "c"\n',
    "a: [\n",
    "a: 'x\n",
    "a: !!binary |\n  aGVs\n  bG8=\n",
    "a: &anchor\nb: *anchor\n",
    "&a a: &b b\n*b : *a\n",
    "- &a 1\n- *a\n- {*a : x}\n",
]


@pytest.mark.parametrize("text", TEXTS)
def test_a_text_means_what_it_means_to_go(go_reads: Read, text: str) -> None:
    agree(go_reads, text)


def bomb(levels: int, width: int) -> str:
    lines = ["a0: &a0 [x]"]
    lines += [f"a{level}: &a{level} [{', '.join([f'*a{level - 1}'] * width)}]" for level in range(1, levels)]
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize(("levels", "width"), [(2, 2), (3, 5), (4, 9), (6, 9), (7, 9), (9, 9), (3, 300), (2, 1000)])
def test_go_and_we_draw_the_same_line_at_aliases(go_reads: Read, levels: int, width: int) -> None:
    agree(go_reads, bomb(levels, width))


# -- texts that nobody thought of ----------------------------------------------------------------------------------

NUMBERISH = st.text("0123456789+-._eExXoObBaAfF:", min_size=1, max_size=8)
SCALARS = st.one_of(
    st.sampled_from(WORDS),
    NUMBERISH,
    st.text(st.characters(codec="utf-8", categories=("L", "N", "P", "S", "Zs")), max_size=6),
    st.text("ab'\"#:-{}[],&*!|>%@` ~?=<\t", max_size=6),
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
FAST = settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)


@FAST
@given(words=st.lists(SCALARS, min_size=1, max_size=4), shape=st.sampled_from(["block", "flow", "keys", "list", "bare"]))
def test_no_scalar_is_read_differently(go_reads: Read, words: list[str], shape: str) -> None:
    text = {
        "block": "".join(f"k{index}: {word}\n" for index, word in enumerate(words)),
        "flow": "{" + ", ".join(f"k{index}: {word}" for index, word in enumerate(words)) + "}",
        "keys": "".join(f"{word}: {index}\n" for index, word in enumerate(words)),
        "list": "".join(f"- {word}\n" for word in words),
        "bare": "\n".join(words),
    }[shape]
    # The Go function reads the first document only. And libyaml and go-yaml v2 split words differently where `?` or `:`
    # stands inside a flow collection, and where a tag ends without a blank (`![`): YAML 1.1 leaves both in the dark.
    assume(not any(line.startswith(("---", "...", "%")) for line in text.splitlines()))
    assume(shape == "flow" or text.lstrip()[:1] not in ("{", "["))  # a flow collection, then whatever
    assume("!" not in text and not (set("?:") & set("".join(words)) and set("[{") & set(text)))

    agree(go_reads, text)


@FAST
@given(VALUES)
def test_what_we_write_is_read_by_go_as_it_was(go_reads: Read, value: Any) -> None:
    read = go_reads(write_yaml(value))["strict"]

    assert same(value, read.get("json")), read
