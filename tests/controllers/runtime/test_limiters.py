from __future__ import annotations

import pytest

from controllers.runtime.limiters import ExponentialPerKey, LongestOf, Overall, default_limiter
from controllers.testing import FakeClock


def test_each_failure_of_a_key_doubles_its_wait_up_to_the_limit() -> None:
    limiter = ExponentialPerKey[str](0.005, 1000.0)

    waits = [limiter.delay_s("a") for _ in range(20)]

    assert waits[:4] == [0.005, 0.01, 0.02, 0.04]
    assert waits[-2:] == [1000.0, 1000.0]
    assert limiter.delay_s("b") == 0.005


def test_a_key_that_fails_for_weeks_does_not_overflow() -> None:
    limiter = ExponentialPerKey[str]()

    waits = [limiter.delay_s("a") for _ in range(5000)]

    assert waits[-1] == 1000.0
    assert limiter.failures("a") == 5000


def test_a_forgotten_key_begins_anew() -> None:
    limiter = ExponentialPerKey[str]()
    limiter.delay_s("a")
    limiter.delay_s("a")

    limiter.forget("a")

    assert limiter.failures("a") == 0
    assert limiter.delay_s("a") == 0.005


def test_beyond_the_burst_all_keys_together_wait_for_tokens() -> None:
    clock = FakeClock()
    limiter = Overall(clock, per_second=10.0, burst=2)

    waits = [limiter.delay_s(key) for key in "abcd"]
    clock.advance(10)

    assert waits == pytest.approx([0.0, 0.0, 0.1, 0.2])
    assert limiter.delay_s("e") == 0.0


def test_however_many_fail_at_once_nobody_waits_longer_than_the_longest_wait() -> None:
    clock = FakeClock()
    limiter = Overall(clock, longest_s=20.0)

    waits = [limiter.delay_s(f"node-{number}") for number in range(5000)]
    clock.advance(20.0)

    assert max(waits) <= 20.0
    assert limiter.delay_s("fresh") == pytest.approx(0.0, abs=0.2)  # whose turn came too late owes nothing


def test_those_beyond_the_longest_wait_do_not_come_all_at_once() -> None:
    limiter = Overall(FakeClock(), per_second=1.0, burst=1, longest_s=20.0)

    waits = [limiter.delay_s(number) for number in range(1021)][21:]

    assert min(waits) >= 10.0
    assert len(set(waits)) == 1000


def test_of_several_limiters_the_longest_wait_holds() -> None:
    limiter = LongestOf(ExponentialPerKey[str](1.0, 8.0), ExponentialPerKey[str](0.5, 100.0))

    waits = [limiter.delay_s("a") for _ in range(7)]
    limiter.forget("a")

    assert waits == [1.0, 2.0, 4.0, 8.0, 8.0, 16.0, 32.0]
    assert limiter.failures("a") == 0


def test_the_limiter_of_controllers_lets_a_burst_of_single_failures_pass() -> None:
    limiter = default_limiter(FakeClock())

    waits = [limiter.delay_s(number) for number in range(120)]

    assert waits[:100] == [0.005] * 100
    assert waits[-1] == pytest.approx(2.0)
