"""The patches of a finalizer, applied as an API server applies them."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controllers.runtime.finalizers import addition, removal
from controllers.testing.patches import PatchRefused, json_patch

OURS = "databaseinstance.example.com/finalizer"
OTHERS = st.lists(st.sampled_from(["example.com/a", "example.com/b", "foregroundDeletion", "orphan"]), unique=True)


def obj(finalizers: list[str] | None, version: str = "7") -> dict[str, Any]:
    metadata: dict[str, Any] = {"uid": "u", "resourceVersion": version}
    return {"metadata": metadata | ({} if finalizers is None else {"finalizers": finalizers})}


@given(OTHERS, st.booleans())
def test_adding_keeps_every_other_one(others: list[str], absent: bool) -> None:
    before = obj(None if absent and not others else others)

    after = json_patch(before, addition("u", "7", others, OURS))

    assert after["metadata"]["finalizers"] == [*others, OURS]


@given(OTHERS, st.integers(0, 4))
def test_dropping_keeps_every_other_one_in_order(others: list[str], place: int) -> None:
    held = [*others[:place], OURS, *others[place:]]

    after = json_patch(obj(held), removal("u", held, OURS))

    assert after["metadata"]["finalizers"] == others


@given(OTHERS, OTHERS, st.integers(0, 4), st.integers(0, 4))
def test_dropping_from_a_list_that_has_changed_takes_ours_or_nothing(
    seen: list[str], now: list[str], place: int, moved: int
) -> None:
    held, actual = [*seen[:place], OURS, *seen[place:]], [*now[:moved], OURS, *now[moved:]]

    try:
        after = json_patch(obj(actual, "8"), removal("u", held, OURS))["metadata"]["finalizers"]
    except PatchRefused:
        return

    assert after == now


def test_nothing_is_sent_when_nothing_has_to_change() -> None:
    assert addition("u", "7", [OURS], OURS) == []
    assert removal("u", ["example.com/a"], OURS) == []


def test_an_object_that_was_written_in_between_refuses_the_addition() -> None:
    with pytest.raises(PatchRefused):
        json_patch(obj([], "8"), addition("u", "7", [], OURS))
