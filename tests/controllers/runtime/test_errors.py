"""Typed errors of the API server's answers."""

from __future__ import annotations

import json

import pytest

from controllers.runtime import errors
from controllers.runtime.errors import ApiError, error_from_answer


def refused(code: int, **status: object) -> ApiError:
    return error_from_answer("GET /api/v1/nodes", code, json.dumps({"kind": "Status", "code": code, **status}).encode(), None)


@pytest.mark.parametrize(
    ("code", "reason", "kind"),
    [
        (400, "BadRequest", errors.BadRequest),
        (401, "Unauthorized", errors.Unauthorized),
        (403, "Forbidden", errors.Forbidden),
        (404, "NotFound", errors.NotFound),
        (409, "Conflict", errors.Conflict),
        (409, "AlreadyExists", errors.AlreadyExists),
        (410, "Expired", errors.Gone),
        (410, "Gone", errors.Gone),
        (422, "Invalid", errors.Invalid),
        (429, "TooManyRequests", errors.Throttled),
        (500, "InternalError", errors.ServerError),
        (503, "ServiceUnavailable", errors.ServerError),
        (504, "Timeout", errors.ServerError),
        (418, "", errors.UnexpectedStatus),
    ],
)
def test_each_status_has_its_type(code: int, reason: str, kind: type[ApiError]) -> None:
    error = refused(code, reason=reason)

    assert type(error) is kind
    assert (error.status, error.reason) == (code, reason)


@pytest.mark.parametrize(
    "status",
    [
        {"details": {"causes": [{"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}]}},
        {"message": "Too large resource version: 9, current: 5"},
    ],
)
def test_a_version_from_the_future_is_told_from_other_timeouts(status: dict[str, object]) -> None:
    assert type(refused(504, reason="Timeout", **status)) is errors.TooLargeResourceVersion


def test_retry_after_comes_from_the_header_before_the_body() -> None:
    body = b'{"code":429,"details":{"retryAfterSeconds":7}}'

    assert error_from_answer("GET /", 429, body, "2").retry_after_s == 2
    assert error_from_answer("GET /", 429, body, None).retry_after_s == 7
    assert error_from_answer("GET /", 429, body, "Fri, 31 Dec 1999 23:59:59 GMT").retry_after_s == 7


@pytest.mark.parametrize(("header", "seconds"), [("1e9", 60), ("86400", 60), ("-3", 0), ("inf", None), ("nan", None)])
def test_retry_after_is_a_length_of_time_of_at_most_a_minute(header: str, seconds: float | None) -> None:
    assert error_from_answer("GET /", 429, b"", header).retry_after_s == seconds
    assert errors.Throttled("a", retry_after_s=float(header)).retry_after_s == seconds


def test_retry_after_in_the_body_is_at_most_a_minute() -> None:
    body = b'{"code":429,"details":{"retryAfterSeconds":1e300}}'

    assert error_from_answer("GET /", 429, body, None).retry_after_s == 60


@pytest.mark.parametrize("body", [b"", b"<html>secret</html>", b"\xff\xfe", b'{"code":"x"}', b"[]", b"null"])
def test_a_body_that_is_no_status_is_not_quoted(body: bytes) -> None:
    error = error_from_answer("GET /api/v1/nodes", 502, body, None)

    assert type(error) is errors.ServerError
    assert str(error) == "GET /api/v1/nodes: 502 no message"


def test_long_messages_are_cut() -> None:
    assert len(str(refused(422, reason="Invalid", message="x" * 10_000))) < 400
