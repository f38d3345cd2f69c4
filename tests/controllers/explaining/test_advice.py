"""Whatever a rule answers, it is said what would change it, in the words of the configuration."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from controllers.explaining.advice import STANDING, advised, of_votes
from controllers.explaining.asking import QuestionAnswer, RuleAnswer, ServiceAnswer
from controllers.explaining.pod_advice import ADVICE
from webhook.names import Reason
from webhook.objects.selectors import Selector
from webhook.objects.votes import Protocol, VotePolicy

ROOT = Path(__file__).parents[3]
# Nothing is amiss, and nothing has to change.
FINE = {
    Reason.NOT_APPLICABLE,
    Reason.NOTHING_TO_DO,
    Reason.WITHIN_LIMITS,
    Reason.COMPLIANT,
    Reason.CREATOR_ALLOWED,
    Reason.ADDRESS_IN_ORDER,
    Reason.ADDRESS_KEPT,
    Reason.ALREADY_ALLOCATED,
    Reason.DEFAULTED,
    Reason.TUNED,
    Reason.GUARANTEED,
    Reason.CRITICAL_POD,
}


def test_every_reason_that_a_rule_can_give_has_its_advice_or_needs_none() -> None:
    sources = [*(ROOT / "webhook" / "features").glob("*.py"), ROOT / "webhook" / "objects" / "votes.py"]
    given = {
        Reason[node.attr]
        for path in sources
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "Reason"
    }

    assert len(given) > 40
    assert given - STANDING.keys() - ADVICE.keys() - of_votes(VotePolicy()).keys() - FINE == set()
    for text in (*STANDING.values(), *of_votes(VotePolicy()).values()):
        assert text == text.strip()
        assert "\n" not in text


@pytest.mark.parametrize(
    ("votes", "reason", "part"),
    [
        (VotePolicy(), Reason.VOTE_MISSING, 'write superedgehealth/node-health: "true" on the Node'),
        (VotePolicy(annotation="a/b", healthy_value="up"), Reason.VOTE_UNHEALTHY, 'write a/b: "up" on the Node'),
        (VotePolicy(time_annotation="a/at", max_age_s=60.0), Reason.VOTE_EXPIRED, "a/at: the time anew, or raise"),
        (VotePolicy(time_annotation="a/at", max_age_s=60.0), Reason.VOTE_EXPIRED, "votes.maxAge (60 s)"),
        (VotePolicy(max_guard_s=3600.0), Reason.VOTE_EXPIRED, "raise votes.maxGuard (60 min since Ready changed)"),
        (VotePolicy(protocol=Protocol.SUPEREDGE), Reason.TAINT_REMOVED, 'write nodeunhealth: "yes" on the Node'),
        (VotePolicy(node_selector=Selector.parse("zone=a")), Reason.NODE_NOT_SELECTED, "votes.nodeSelector asks (zone=a)"),
    ],
)
def test_advice_about_votes_is_in_the_words_of_the_configuration(votes: VotePolicy, reason: Reason, part: str) -> None:
    assert part in of_votes(votes)[reason]


def answered(*told: RuleAnswer) -> QuestionAnswer:
    return QuestionAnswer("when", "CREATE", "pods", "", (ServiceAnswer("a", "/a", True, "", rules=told),))


def test_a_rules_own_advice_goes_before_ours_and_nothing_is_said_twice() -> None:
    own = RuleAnswer("whim", Reason.VOTE_MISSING, "", False, (), "ask its author")
    kept, dropped = (RuleAnswer("x", reason, "", False, ()) for reason in (Reason.ADDRESSES_KEPT_READY, Reason.TAINT_REMOVED))

    found = advised([answered(own, kept, dropped)], VotePolicy())

    assert [reason for reason, _ in found] == ["VoteMissing", "AddressesKeptReady"]
    assert found[0][1] == "ask its author"


def test_a_reason_of_somebody_elses_has_no_advice_of_ours() -> None:
    assert advised([answered(RuleAnswer("whim", "Whimsical", "", False, ()))], VotePolicy()) == ()
