"""Our own limit on requests."""

from __future__ import annotations

import pytest

from controllers.runtime.rate import RateLimit
from controllers.testing import FakeClock


def test_a_burst_passes_at_once_and_then_the_rate_rules() -> None:
    limit = RateLimit(10.0, 3, FakeClock())

    waits = [limit.reserve(60.0) for _ in range(5)]

    assert waits == pytest.approx([0.0, 0.0, 0.0, 0.1, 0.2])


def test_tokens_come_back_with_time_up_to_the_burst() -> None:
    clock = FakeClock()
    limit = RateLimit(10.0, 2, clock)
    assert [limit.reserve(60.0) for _ in range(2)] == [0.0, 0.0]

    clock.advance(3600.0)

    assert [limit.reserve(60.0) for _ in range(3)] == pytest.approx([0.0, 0.0, 0.1])


def test_who_cannot_wait_takes_no_token() -> None:
    limit = RateLimit(1.0, 1, FakeClock())
    assert limit.reserve(0.0) == 0.0

    assert limit.reserve(0.5) is None
    assert limit.reserve(1.0) == pytest.approx(1.0)
