"""FakeClock: threads that wait without time passing by itself."""

from __future__ import annotations

import threading

import pytest

from controllers.testing import FakeClock
from webhook.clock import Clock, Deadline


def waiting(clock: FakeClock, event: threading.Event, timeout_s: float) -> tuple[threading.Thread, list[bool]]:
    answers: list[bool] = []
    thread = threading.Thread(target=lambda: answers.append(clock.wait(event, timeout_s)))
    thread.start()
    clock.until_waiting()
    return thread, answers


def test_a_wait_ends_when_time_reaches_it() -> None:
    clock = FakeClock()
    thread, answers = waiting(clock, threading.Event(), 30.0)

    clock.advance(29.9)
    assert answers == []
    clock.advance(0.1)
    thread.join(5.0)

    assert answers == [False]


def test_a_wait_ends_when_its_event_is_set() -> None:
    clock, event = FakeClock(), threading.Event()
    thread, answers = waiting(clock, event, 30.0)

    event.set()
    thread.join(5.0)

    assert answers == [True]


def test_a_set_event_is_not_waited_for() -> None:
    clock, event = FakeClock(), threading.Event()
    event.set()

    assert clock.wait(event, 30.0)
    assert clock.waits == []


def test_an_automatic_clock_passes_the_time_that_is_waited_for() -> None:
    clock = FakeClock(auto_advance=True)
    began_s = clock.monotonic_s()

    assert not clock.wait(threading.Event(), 3600.0)

    assert clock.monotonic_s() - began_s == 3600.0
    assert clock.waits == [3600.0]


def test_deadlines_follow_the_clock() -> None:
    clock: Clock = FakeClock()
    deadline = Deadline.after(10.0, clock)

    assert isinstance(clock, FakeClock)
    clock.advance(4.0)
    assert deadline.remaining_s() == pytest.approx(6.0)
    clock.advance(6.0)
    assert deadline.expired()


def test_the_wall_clock_can_jump_alone() -> None:
    clock = FakeClock()
    monotonic_s, wall_s = clock.monotonic_s(), clock.wall_s()

    clock.step_wall(-30.0)

    assert (clock.monotonic_s(), clock.wall_s()) == (monotonic_s, wall_s - 30.0)


def test_nobody_waiting_is_an_error_and_not_a_hang() -> None:
    with pytest.raises(TimeoutError, match="0 of 1 waits"):
        FakeClock().until_waiting(within_s=0.01)
