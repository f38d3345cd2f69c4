"""Votes: how they are read, and how long they count."""

from __future__ import annotations

import pytest

from webhook.cluster import Status, Vote
from webhook.names import Reason
from webhook.objects.selectors import Selector
from webhook.objects.votes import Protocol, VotePolicy, guard, vouched
from webhook.testing.facts import node_facts

DAY_S = 24 * 3600.0


@pytest.mark.parametrize(
    ("value", "vote"),
    [("true", Vote.HEALTHY), ("false", Vote.UNHEALTHY), ("True", Vote.UNKNOWN), ("", Vote.UNKNOWN), (None, Vote.UNKNOWN)],
)
def test_the_annotation_has_two_values_and_all_else_is_unknown(value: str | None, vote: Vote) -> None:
    annotations = {} if value is None else {"superedgehealth/node-health": value}

    assert VotePolicy().read(annotations) == (vote, None)


@pytest.mark.parametrize(("value", "vote"), [(None, Vote.HEALTHY), ("yes", Vote.UNHEALTHY), ("no", Vote.UNKNOWN)])
def test_released_superedge_writes_only_what_is_bad(value: str | None, vote: Vote) -> None:
    annotations = {} if value is None else {"nodeunhealth": value}

    assert VotePolicy(protocol=Protocol.SUPEREDGE).read(annotations)[0] is vote


def test_an_empty_healthy_value_never_matches_an_absent_annotation() -> None:
    assert VotePolicy(healthy_value="").read({})[0] is Vote.UNKNOWN


def test_the_time_of_a_vote_is_read_where_it_is_configured() -> None:
    policy = VotePolicy(time_annotation="example.com/voted-at")

    assert policy.read({"example.com/voted-at": "1970-01-01T00:01:00Z"})[1] == 60.0
    assert policy.read({"superedgehealth/node-health": "true"}) == (Vote.HEALTHY, None)
    assert VotePolicy().read({"example.com/voted-at": "1970-01-01T00:01:00Z"})[1] is None
    assert policy.annotation_keys() == {"superedgehealth/node-health", "example.com/voted-at"}


@pytest.mark.parametrize(
    ("policy", "facts", "now_s", "reason"),
    [
        (VotePolicy(), {}, 60.0, Reason.GUARDED),
        (VotePolicy(), {"ready": Status.FALSE}, 60.0, Reason.NODE_NOT_SILENT),
        (VotePolicy(), {"ready": None}, 60.0, Reason.NODE_NOT_SILENT),
        (VotePolicy(), {"vote": Vote.UNHEALTHY}, 60.0, Reason.VOTE_UNHEALTHY),
        (VotePolicy(), {"vote": Vote.UNKNOWN}, 60.0, Reason.VOTE_MISSING),
        (VotePolicy(), {}, DAY_S, Reason.GUARDED),
        (VotePolicy(), {}, DAY_S + 1, Reason.VOTE_EXPIRED),
        (VotePolicy(), {"ready_since_s": 1000.0}, 100.0, Reason.GUARDED),  # our clock is slow
        (VotePolicy(max_guard_s=0), {}, 99 * DAY_S, Reason.GUARDED),
        (VotePolicy(), {"ready_since_s": None}, 60.0, Reason.VOTE_EXPIRED),
        (VotePolicy(max_guard_s=0), {"ready_since_s": None}, 60.0, Reason.GUARDED),
        (VotePolicy(time_annotation="t", max_age_s=30), {"vote_time_s": 100.0}, 130.0, Reason.GUARDED),
        (VotePolicy(time_annotation="t", max_age_s=30), {"vote_time_s": 100.0}, 131.0, Reason.VOTE_EXPIRED),
        (VotePolicy(time_annotation="t", max_age_s=30), {"vote_time_s": 400.0}, 100.0, Reason.GUARDED),
        (VotePolicy(time_annotation="t", max_age_s=30), {"vote_time_s": 401.0}, 100.0, Reason.VOTE_EXPIRED),
        (VotePolicy(time_annotation="t", max_age_s=30), {}, DAY_S + 1, Reason.VOTE_EXPIRED),
        (VotePolicy(time_annotation="t"), {"vote_time_s": 2 * DAY_S}, 2 * DAY_S, Reason.VOTE_EXPIRED),
        (VotePolicy(node_selector=Selector.parse("edge=yes")), {}, 60.0, Reason.NODE_NOT_SELECTED),
        (VotePolicy(node_selector=Selector.parse("edge=yes")), {"labels": {"edge": "yes"}}, 60.0, Reason.GUARDED),
    ],
)
def test_a_node_is_guarded_while_it_is_silent_and_vouched_for(policy, facts, now_s, reason) -> None:
    decided = guard(node_facts(**facts), policy, now_s)

    assert decided.reason is reason
    assert decided.active is (reason is Reason.GUARDED)


@pytest.mark.parametrize("time", ["a minute ago", "2026-01-01 00:00:00Z", "2026-01-01T00:00:00", " 2026-01-01T00:00:00Z", ""])
def test_a_vote_whose_time_cannot_be_read_is_unknown(time: str) -> None:
    policy = VotePolicy(time_annotation="example.com/voted-at", max_age_s=30)

    assert policy.read({"superedgehealth/node-health": "true", "example.com/voted-at": time}) == (Vote.UNKNOWN, None)


def test_an_unknown_node_is_not_guarded() -> None:
    assert guard(None, VotePolicy(), 0.0).reason is Reason.NODE_UNKNOWN
    assert not vouched(None, VotePolicy())
