from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from controllers.runtime.errands import Errands
from controllers.runtime.errors import TimedOut
from controllers.testing import FakeClock
from webhook.clock import Deadline


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def errands(clock: FakeClock) -> Iterator[Errands]:
    made = Errands("errands", clock)
    made.start()
    yield made
    assert made.stop(Deadline.after(5, clock))


def test_a_call_that_hangs_says_for_how_long(errands: Errands, clock: FakeClock) -> None:
    hang = Hang()
    before = errands.hanging_s()
    run_late(errands, clock, hang)  # 3 s
    clock.advance(4)
    during = errands.hanging_s()
    hang.release.set()
    errands.run(lambda: None, 3.0)

    assert (before, during, errands.hanging_s()) == (0.0, 7.0, 0.0)


class Hang:
    def __init__(self) -> None:
        self.release = threading.Event()

    def __call__(self) -> str:
        self.release.wait(10)
        return "late"


def run_late(errands: Errands, clock: FakeClock, hang: Hang) -> list[str]:
    """Run *hang* and let its time run out: what the caller was told."""
    told: list[str] = []

    def call() -> None:
        try:
            errands.run(hang, 3.0)
        except TimedOut as error:
            told.append(str(error))

    caller = threading.Thread(target=call)
    caller.start()
    clock.until_waiting()
    clock.advance(3)
    caller.join(5)
    return told


def test_an_answer_comes_back(errands: Errands) -> None:
    assert errands.run(lambda: 42, 1.0) == 42


def test_an_error_comes_back(errands: Errands) -> None:
    def fail() -> int:
        raise ZeroDivisionError("boom")

    with pytest.raises(ZeroDivisionError, match="boom"):
        errands.run(fail, 1.0)


def test_calls_run_on_the_named_thread(errands: Errands) -> None:
    assert errands.run(lambda: threading.current_thread().name, 1.0) == "errands"


def test_a_caller_stops_waiting_for_a_call_that_hangs(errands: Errands, clock: FakeClock) -> None:
    hang = Hang()

    told = run_late(errands, clock, hang)

    hang.release.set()
    assert told == ["no answer within 3.0 s"]


def test_a_late_answer_is_not_taken_for_that_of_the_next_call(errands: Errands, clock: FakeClock) -> None:
    hang = Hang()
    run_late(errands, clock, hang)
    hang.release.set()

    assert errands.run(lambda: "fresh", 1.0) == "fresh"


def test_while_a_call_hangs_the_next_one_does_not_begin(errands: Errands, clock: FakeClock) -> None:
    hang, second = Hang(), Hang()
    run_late(errands, clock, hang)

    told = run_late(errands, clock, second)

    hang.release.set()
    assert told == ["the request before this one still hangs"]


def test_a_thread_that_was_never_started_stops(clock: FakeClock) -> None:
    assert Errands("errands", clock).stop(Deadline.after(5, clock))
