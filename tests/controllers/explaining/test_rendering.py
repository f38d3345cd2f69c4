"""Answers as lines and as JSON: everything that was said, once."""

from __future__ import annotations

from typing import Any

import attrs
import pytest

from controllers.explaining.asking import QuestionAnswer, RuleAnswer, ServiceAnswer
from controllers.explaining.differences import ADDED, CHANGED, REMOVED, Change
from controllers.explaining.rendering import answer_lines, as_json, blocks, change_line, page, texts

ENVOY = Change(ADDED, "container", "envoy", "spec.containers[1]")
PASSED = RuleAnswer("sidecar", "Injected", "envoy came", False, ())
REFUSED = RuleAnswer("limits", "TooMuch", "memory 9Gi exceeds 8Gi", True, ("mind the cpu",))
MUTATE = ServiceAnswer("mutate", "/mutate", True, "", rules=(PASSED,), changes=(ENVOY,))
ANSWER = QuestionAnswer("when it is created", "CREATE", "pods", "jane", (MUTATE,))


def said(*services: ServiceAnswer, above: str = "") -> list[str]:
    """The lines below the heading."""
    return answer_lines(attrs.evolve(ANSWER, services=services), above)[1:]


def test_a_question_that_is_nobodys_business_has_no_lines() -> None:
    assert answer_lines(attrs.evolve(ANSWER, services=())) == []


@pytest.mark.parametrize(("user", "heading"), [("jane", "CREATE pods by jane"), ("", "CREATE pods")])
def test_the_heading_says_what_is_done_and_by_whom(user: str, heading: str) -> None:
    assert answer_lines(attrs.evolve(ANSWER, user=user))[0] == f"when it is created: {heading}"


def test_a_service_tells_its_rules_and_then_what_changes() -> None:
    assert said(MUTATE) == [
        "  mutate at /mutate",
        "    sidecar: Injected: envoy came",
        "    + container envoy  (spec.containers[1])",
    ]


def test_a_refusal_and_its_warnings_are_told() -> None:
    assert said(attrs.evolve(MUTATE, rules=(REFUSED,), changes=(), why="its labels decide")) == [
        "  mutate at /mutate (its labels decide)",
        "    limits: REFUSED, TooMuch: memory 9Gi exceeds 8Gi",
        "      warning: mind the cpu",
    ]


@pytest.mark.parametrize(
    ("service", "line"),
    [
        (attrs.evolve(MUTATE, is_asked=False, why="another operation"), "  mutate: not asked, another operation"),
        (attrs.evolve(MUTATE, is_decided=False, why="no cache"), "  mutate at /mutate: NOT DECIDED, no cache"),
    ],
)
def test_a_service_that_said_nothing_says_why(service: ServiceAnswer, line: str) -> None:
    assert said(service) == [line]


@pytest.mark.parametrize(("length", "shown"), [(4096, "n" * 4096), (4097, "n" * 4096 + "…"), (60_000, "n" * 4096 + "…")])
def test_a_line_is_no_longer_than_one_reads(length: int, shown: str) -> None:
    assert page(["a", "n" * length, "b"]) == f"a\n{shown}\nb"


def test_a_service_without_a_rule_for_it_says_so() -> None:
    assert said(ServiceAnswer("mutate", "/mutate", True, "")) == ["  mutate at /mutate", "    has no rule for it"]


@pytest.mark.parametrize(
    ("count", "last"), [(20, "    + label l19"), (21, "    and 1 more change"), (300, "    and 280 more changes")]
)
def test_of_many_changes_the_rest_is_counted(count: int, last: str) -> None:
    changes = tuple(Change(ADDED, "label", f"l{index}", "") for index in range(count))

    assert said(attrs.evolve(MUTATE, changes=changes))[-1] == last


def test_what_stands_above_is_not_said_again() -> None:
    above = "envoy came\n  + container envoy  (spec.containers[1])\nmind the cpu"
    limits = attrs.evolve(MUTATE, service="limits", rules=(REFUSED,), changes=(attrs.evolve(ENVOY, name="log"),))

    assert said(MUTATE, limits, above=above) == [
        "  mutate at /mutate",
        "    sidecar: Injected",
        "  limits at /mutate",
        "    limits: REFUSED, TooMuch: memory 9Gi exceeds 8Gi",
        "    + container log  (spec.containers[1])",
    ]


def test_a_message_of_which_a_part_is_new_is_said_whole() -> None:
    rule = attrs.evolve(PASSED, message="envoy came; log came")

    assert "    sidecar: Injected: envoy came; log came" in said(attrs.evolve(MUTATE, rules=(rule,)), above="envoy came")


@pytest.mark.parametrize("above", ["memory 9Gi exceeds 8Gi", "pod web: memory 9Gi exceeds 8Gi (here)"])
def test_a_warning_in_other_words_about_the_same_fact_is_not_said_again(above: str) -> None:
    rule = attrs.evolve(
        PASSED, message="", warnings=("deployment web: its pods will be refused: memory 9Gi exceeds 8Gi (there)",)
    )

    assert said(attrs.evolve(MUTATE, rules=(rule,), changes=()), above=above) == [
        "  mutate at /mutate",
        "    sidecar: Injected",
    ]


@pytest.mark.parametrize(
    ("change", "line"),
    [
        (ENVOY, "  + container envoy  (spec.containers[1])"),
        (Change(REMOVED, "volume", "tmp", ""), "  - volume tmp"),
        (
            Change(CHANGED, "container", "app", "spec.containers[0]", ("image", "variable A")),
            "  ~ container app  (spec.containers[0]): image, variable A",
        ),
        (Change("odd", "field", "x", ""), "  ~ field x"),
    ],
)
def test_a_change_is_one_line(change: Change, line: str) -> None:
    assert change_line(change) == line


def test_the_json_has_null_where_there_is_nothing() -> None:
    silent = ServiceAnswer("validate", "/validate", False, "", conditions=("true",))
    answer = attrs.evolve(ANSWER, user="", services=(attrs.evolve(MUTATE, rules=(attrs.evolve(REFUSED, message=""),)), silent))

    found = as_json(answer)

    assert (found["question"], found["operation"], found["resource"], found["user"]) == (
        "when it is created",
        "CREATE",
        "pods",
        None,
    )
    asked, not_asked = found["services"]
    assert asked["rules"] == [
        {"rule": "limits", "reason": "TooMuch", "message": None, "refused": True, "warnings": ["mind the cpu"]}
    ]
    assert asked["changes"] == [attrs.asdict(ENVOY)]
    assert (asked["asked"], asked["decided"], asked["refused"], asked["why"]) == (True, True, True, None)
    assert (not_asked["asked"], not_asked["decided"], not_asked["refused"]) == (False, None, False)
    assert not_asked["conditions"] == ["true"]


def test_blocks_have_an_empty_line_before_them_and_empty_ones_are_left_out() -> None:
    assert list(blocks(("a", ["1", "2"]), ("nothing", []), ("", iter(["3"])))) == ["", "a", "1", "2", "", "3"]


@pytest.mark.parametrize(("value", "shown"), [(None, "–"), ("", "–"), ("a", "a"), (0, "0"), (False, "False"), ([], "[]")])
def test_a_scalar_that_is_missing_is_a_dash(value: Any, shown: str) -> None:
    assert texts(value) == shown
