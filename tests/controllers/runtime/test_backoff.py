"""Delays after failures in a row."""

from __future__ import annotations

from controllers.runtime.backoff import Backoff, BackoffPolicy


def delays(count: int, *, random: float = 0.0) -> list[float]:
    backoff, now_s, found = Backoff(), 0.0, []
    for _ in range(count):
        backoff, delay_s = backoff.next(now_s, random)
        now_s += delay_s
        found.append(delay_s)
    return found


def test_delays_double_up_to_the_cap() -> None:
    assert delays(8) == [0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 30.0, 30.0]


def test_jitter_adds_up_to_the_delay_itself() -> None:
    assert delays(2, random=0.5) == [0.8 * 1.5, 1.6 * 1.5]


def test_two_minutes_without_a_failure_begin_anew() -> None:
    backoff, _ = Backoff().next(0.0, 0.0)
    backoff, delay_s = backoff.next(10.0, 0.0)
    assert delay_s == 1.6

    _, delay_s = backoff.next(10.0 + 1.6 + 120.0, 0.0)

    assert delay_s == 0.8


def test_a_long_outage_does_not_overflow() -> None:
    backoff = Backoff(failures=5000, until_s=0.0)

    assert backoff.next(1.0, 0.0)[1] == 30.0


def test_the_server_may_ask_for_longer() -> None:
    assert Backoff().next(0.0, 0.0, at_least_s=5.0)[1] == 5.0
    assert Backoff().next(0.0, 0.0, at_least_s=0.1)[1] == 0.8


def test_the_shape_is_the_callers() -> None:
    policy = BackoffPolicy(initial_s=0.005, cap_s=1.0, jitter=0.0)

    assert Backoff(policy).next(0.0, 0.9)[1] == 0.005
