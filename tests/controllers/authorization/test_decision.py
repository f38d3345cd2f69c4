"""What is read out of a header and out of the API server's answers."""

from __future__ import annotations

import pytest

from controllers.authorization.decision import Caller, Unusable, access_review, bearer_token, caller_of, is_allowed


@pytest.mark.parametrize(
    ("header", "token"),
    [
        ("Bearer abc.DEF-1_2~3+4/5==", "abc.DEF-1_2~3+4/5=="),
        ("bearer   abc", "abc"),
        ("Bearer abc ", "abc"),
        ("", None),
        ("Bearer", None),
        ("Bearer ", None),
        ("Basic YTpi", None),
        ("Bearer a b", None),
        ("Bearer a, Bearer b", None),
        ("Bearer a=b", None),
        ("Bearer caf\xe9", None),
        ("Bearer " + "a" * 16384, "a" * 16384),
        ("Bearer " + "a" * 16385, None),
    ],
)
def test_one_token_is_read_and_nothing_is_guessed(header: str, token: str | None) -> None:
    assert bearer_token(header) == token


def test_a_caller_is_who_the_api_server_says() -> None:
    user = {"username": "ann", "uid": "7", "groups": ["a", "b"], "extra": {"scopes": ["x"]}}

    assert caller_of({"status": {"authenticated": True, "user": user}}) == Caller("ann", "7", ("a", "b"), (("scopes", ("x",)),))


@pytest.mark.parametrize(
    "status",
    [None, {}, {"authenticated": False}, {"authenticated": "true", "user": {"username": "ann"}}, {"error": "invalid"}],
)
def test_whoever_is_not_said_to_be_authenticated_is_not(status: object) -> None:
    assert caller_of({"status": status}) is None


@pytest.mark.parametrize(
    "answer",
    [
        {"status": "yes"},
        {"status": {"authenticated": True}},
        {"status": {"authenticated": True, "user": {"username": ""}}},
        {"status": {"authenticated": True, "user": {"username": "ann", "groups": "admins"}}},
        {"status": {"authenticated": True, "user": {"username": "ann", "extra": {"scopes": "x"}}}},
    ],
)
def test_an_answer_that_is_none_lets_nobody_in(answer: dict) -> None:
    with pytest.raises(Unusable):
        caller_of(answer)


@pytest.mark.parametrize(
    ("status", "allowed"),
    [
        ({"allowed": True}, True),
        ({"allowed": True, "denied": True}, False),
        ({"allowed": False}, False),
        ({"allowed": "true"}, False),
        ({"allowed": False, "evaluationError": "role not found"}, False),
        ({}, False),
    ],
)
def test_only_a_plain_yes_is_one(status: dict, allowed: bool) -> None:
    assert is_allowed({"status": status}) is allowed


def test_the_question_names_everything_that_is_known_of_the_caller() -> None:
    spec = access_review(Caller("ann", "7", ("a",), (("scopes", ("x",)),)), "get", "/metrics")["spec"]

    assert spec == {
        "nonResourceAttributes": {"path": "/metrics", "verb": "get"},
        "user": "ann",
        "uid": "7",
        "groups": ["a"],
        "extra": {"scopes": ["x"]},
    }
