"""Contenders are compared by what they do to the object, and by nothing else."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from tests.bench.equality import decision, difference
from tests.bench.reviews import Review

SENT = Review("pod", "/mutate", json.dumps({"request": {"object": {"spec": {"volumes": [{"name": "a"}]}}}}).encode(), True)


def answer(*patch: dict[str, Any], **more: Any) -> dict[str, Any]:
    carried = {"patch": base64.b64encode(json.dumps(patch).encode()).decode()} if patch else {}
    return {"allowed": True, **carried, **more}


def test_two_patches_with_one_result_are_equal() -> None:
    whole = answer({"op": "replace", "path": "/spec/volumes", "value": [{"name": "a"}, {"name": "b"}]})
    appended = answer({"op": "add", "path": "/spec/volumes/-", "value": {"name": "b"}})

    assert decision(whole, SENT) == decision(appended, SENT)


@pytest.mark.parametrize("nothing", [None, {}, []])
def test_what_a_typed_language_writes_for_nothing_is_no_difference(nothing: object) -> None:
    assert decision(answer({"op": "add", "path": "/status", "value": nothing}), SENT) == decision(answer(), SENT)


@pytest.mark.parametrize("other", [{"allowed": False}, {"warnings": ["beware"]}])
def test_a_refusal_and_a_warning_are_differences(other: dict[str, Any]) -> None:
    assert decision(answer() | other, SENT) != decision(answer(), SENT)


def test_words_are_no_difference() -> None:
    one, other = answer(warnings=["beware"]), answer(warnings=["take care"], auditAnnotations={"a": "b"})

    assert decision(one, SENT) == decision(other, SENT)


def test_a_difference_is_named_where_it_begins() -> None:
    one, other = {"a": [{"b": 1}, {"b": 2}]}, {"a": [{"b": 1}, {"b": 3}]}

    assert difference(one, other) == ("/a/1/b", "2", "3")
