"""The `timeout` of a query."""

from __future__ import annotations

import pytest

from webhook.admission.timeouts import caller_timeout_s


@pytest.mark.parametrize(
    ("query", "seconds"),
    [
        ("timeout=10s", 10.0),
        ("a=b&timeout=1m30s", 30.0),
        ("timeout=1.5s", 1.5),
        ("timeout=300ms", 0.3),
        ("timeout=%2B2s", 2.0),
        ("timeout=.5s", 0.5),
        ("timeout=1h", 30.0),
        ("timeout=1s&timeout=20s", 1.0),
        (f"x={'y' * 2000}&timeout=2s", 2.0),
    ],
)
def test_a_go_duration_is_read_up_to_what_the_api_server_may_give(query: str, seconds: float) -> None:
    assert caller_timeout_s(query) == pytest.approx(seconds)


@pytest.mark.parametrize(
    "query", ["", "timeout=", "timeout=10", "timeout=-5s", "timeout=0s", "timeout=s", "timeout=1d", "x=1s"]
)
def test_anything_else_is_no_timeout(query: str) -> None:
    assert caller_timeout_s(query) is None
