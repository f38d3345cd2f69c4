"""The real clock, and one budget that several steps share; the clock of tests: tests/controllers/testing."""

from __future__ import annotations

import threading
import time

import pytest

from controllers.testing import FakeClock
from webhook.clock import Deadline, SystemClock


def test_the_real_clock_is_that_of_the_system() -> None:
    clock = SystemClock()

    assert clock.monotonic_s() <= time.monotonic() <= clock.monotonic_s()
    assert abs(clock.wall_s() - time.time()) < 60.0


def test_a_wait_ends_with_its_event() -> None:
    event = threading.Event()
    event.set()

    assert SystemClock().wait(event, 3600.0) is True


@pytest.mark.parametrize("timeout_s", [0.0, -1.0, -1e9])
def test_a_wait_without_time_does_not_wait(timeout_s: float) -> None:
    assert SystemClock().wait(threading.Event(), timeout_s) is False


def test_a_deadline_is_what_is_left_of_it() -> None:
    clock = FakeClock()
    deadline = Deadline.after(5.0, clock)
    left_s = [deadline.remaining_s()]
    for _ in range(3):
        clock.advance(2.0)
        left_s.append(deadline.remaining_s())

    assert left_s == [5.0, 3.0, 1.0, 0.0]


@pytest.mark.parametrize(("seconds", "expired"), [(0.0, True), (-1.0, True), (0.5, False)])
def test_a_deadline_without_time_has_passed(seconds: float, expired: bool) -> None:
    deadline = Deadline.after(seconds, FakeClock())

    assert deadline.expired() is expired
    assert (deadline.remaining_s() == 0.0) is expired
