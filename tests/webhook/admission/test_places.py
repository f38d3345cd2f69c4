"""A rule that hangs takes its own places only, and is named for it."""

from __future__ import annotations

import logging

import pytest

from tests.webhook.admission.test_interceptors import SteppingClock
from webhook.admission.places import OVERDUE_S, SharedPlaces
from webhook.errors import Overloaded
from webhook.telemetry import Telemetry


def places(*names: str, limit: int = 4) -> tuple[SharedPlaces, SteppingClock, Telemetry]:
    clock, telemetry = SteppingClock(), Telemetry()
    return SharedPlaces(names, limit, telemetry, clock), clock, telemetry


def test_one_that_hangs_leaves_the_others_their_share() -> None:
    shared, _, _ = places("hangs", "other")
    for _ in range(2):
        shared.enter("hangs")

    with pytest.raises(Overloaded, match="2 reviews of the rule hangs are being answered, its share"):
        shared.enter("hangs")
    assert shared.enter("other")


def test_all_together_have_no_more_than_the_limit() -> None:
    shared, _, _ = places("a", "b", "c", limit=2)
    shared.enter("a")
    shared.enter("b")

    with pytest.raises(Overloaded, match="2 reviews of rules of plug-ins are being answered, their limit"):
        shared.enter("c")


def test_what_is_given_back_can_be_had_again() -> None:
    shared, _, _ = places("a", limit=1)
    for _ in range(3):
        shared.leave("a", shared.enter("a"))

    assert shared.count() == 0


def test_the_refusal_names_the_rule_whose_calls_are_overdue() -> None:
    shared, clock, _ = places("hangs", "b", "c", limit=2)
    shared.enter("hangs")
    shared.enter("b")
    clock.now_s += OVERDUE_S

    with pytest.raises(Overloaded, match="1 of the rule hangs has been running for up to 30 s"):
        shared.enter("hangs")


def test_its_readiness_fails_and_its_metric_counts_while_a_call_is_overdue() -> None:
    shared, clock, telemetry = places("hangs", "other")
    ticket = shared.enter("hangs")

    def late() -> dict[str, float]:
        return {labels["rule"]: value for _, labels, value in telemetry.samples("gatehouse_rule_overdue_reviews")}

    assert (shared.why_late("hangs"), late()) == (None, {"hangs": 0, "other": 0})
    clock.now_s += OVERDUE_S
    assert shared.why_late("hangs") == "1 of the rule hangs has been running for up to 30 s"
    assert (shared.why_late("other"), late()) == (None, {"hangs": 1, "other": 0})
    shared.leave("hangs", ticket)
    assert shared.why_late("hangs") is None


def test_it_is_logged_once_when_it_begins_and_once_when_it_ends(caplog: pytest.LogCaptureFixture) -> None:
    shared, clock, _ = places("hangs")
    ticket = shared.enter("hangs")
    clock.now_s += OVERDUE_S
    with caplog.at_level(logging.INFO):
        shared.look()
        shared.look()
        shared.leave("hangs", ticket)
        shared.look()
        shared.look()

    told = [(record.levelname, record.facts["rule"]) for record in caplog.records]  # type: ignore[attr-defined]
    assert told == [("ERROR", "hangs"), ("INFO", "hangs")]
