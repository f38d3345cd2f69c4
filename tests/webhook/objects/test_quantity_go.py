"""A quantity is here what it is to k8s.io/apimachinery, by whose amounts Kubernetes decides."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import pytest

from tests.webhook.objects.oracles import Ask, asking
from tests.webhook.objects.quantity_texts import ODD, STRANGE, quantity_texts
from webhook.objects.quantity import Quantity, parse, read

COUNT = 20_000  # tests/soak has the long form


@pytest.fixture(scope="module")
def go(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ask]:
    with asking("quantity", tmp_path_factory.mktemp("oracle")) as ask:
        yield ask


def parsed(text: str) -> Quantity | None:
    try:
        return parse(text)
    except ValueError:
        return None


def canonical_differs(ours: str, theirs: str) -> bool:
    """Go loses the size of what is beyond its last suffix: 2000E is written 2."""
    return ours != theirs and not (ours.partition("e")[0] == theirs and int(ours.partition("e")[2] or 0) > 18)


def agree_on_texts(go: Ask, texts: list[str]) -> None:
    answer = go({"parse": texts})
    ours = [parsed(text) for text in texts]

    differing = [
        (text, str(mine), theirs)
        for text, mine, theirs in zip(texts, ours, answer["canonical"], strict=True)
        if (mine is None) != (theirs is None) or (mine is not None and canonical_differs(str(mine), theirs))
    ]
    assert not differing, f"{len(differing)} differ: {differing[:20]}"
    places = {amount: place for place, amount in enumerate(sorted({one for one in ours if one is not None}), start=1)}
    assert [places[one] if one is not None else 0 for one in ours] == answer["rank"]


def test_generated_texts_are_accepted_ordered_and_written_as_by_go(go: Ask) -> None:
    agree_on_texts(go, list(quantity_texts(COUNT, seed=0)))


@pytest.mark.parametrize("value", [*ODD, *STRANGE])
def test_a_text_in_json_is_read_as_by_go(go: Ask, value: str) -> None:
    agree_on_json(go, value)


@pytest.mark.parametrize(
    "value",
    [0, 1, -1, 10**18, 10**30, -(10**30), 0.5, 1.5, 1e3, 1e21, 1e22, 1e-7, 1.25e-9, 0.1, True, False, None, [], {}, ["1"]],
)
def test_a_value_in_json_is_read_as_by_go(go: Ask, value: Any) -> None:
    agree_on_json(go, value)


@pytest.mark.parametrize("blank", [" ", "  ", "\x85", "\xa0", "\u2003", "\u3000", "\u200b", "\t", "\n", "\u2028"])
def test_blanks_around_a_text_in_json_are_taken_as_by_go(go: Ask, blank: str) -> None:
    agree_on_json(go, f"{blank}1Gi{blank}")


def agree_on_json(go: Ask, value: Any) -> None:
    theirs = go({"json": [value]})["canonical"][0]

    try:
        ours = read(value)
    except ValueError:
        ours = None

    assert (ours is None) == (theirs is None), (ours, theirs)
    assert ours is None or not canonical_differs(str(ours), str(parse(theirs)))


def test_sums_and_differences_are_written_as_by_go(go: Ask) -> None:
    texts = [
        text for text in quantity_texts(4000, seed=7) if parsed(text) is not None and len(text) < 16 and "99999" not in text
    ]
    pairs = list(itertools.pairwise(texts))

    theirs = go({"sum": pairs})["canonical"]

    ours = [str(result) for left, right in pairs for result in (parse(left) + parse(right), parse(left) - parse(right))]
    differing = [
        (pairs[index // 2], mine, other)
        for index, (mine, other) in enumerate(zip(ours, theirs, strict=True))
        if canonical_differs(mine, other)
    ]
    assert len(pairs) > 1000
    assert not differing, f"{len(differing)} differ: {differing[:20]}"
