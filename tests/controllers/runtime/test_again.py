"""Requests that are made once more: when, how often, and what stands."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from controllers.runtime import errors
from controllers.runtime.again import LEAST_S, asked_again, may_ask_again
from controllers.runtime.errors import ApiError
from controllers.testing import FakeClock
from webhook.clock import Deadline

CLOCK = FakeClock()
MOST_S = 3.0


def soon(seconds: float = 5.0) -> Deadline:
    return Deadline.after(seconds, CLOCK)


class Script:
    """Attempts that end as told, the last one for good."""

    def __init__(self, *ends: ApiError | str, takes_s: float = 0.0) -> None:
        self.ends, self.takes_s = list(ends), takes_s
        self.told_s: list[float] = []

    def __call__(self, left_s: float) -> str:
        self.told_s.append(left_s)
        CLOCK.advance(self.takes_s)
        end = self.ends.pop(0)
        if isinstance(end, ApiError):
            raise end
        return end


def test_an_answer_is_asked_for_once() -> None:
    attempt = Script("there")

    assert asked_again(attempt, soon(), most_s=MOST_S) == "there"
    assert attempt.told_s == [MOST_S]


@pytest.mark.parametrize("kind", [errors.Unreachable, errors.TimedOut])
def test_silence_is_asked_once_more(kind: type[ApiError]) -> None:
    attempt = Script(kind("nothing"), "there")

    assert asked_again(attempt, soon(), most_s=MOST_S) == "there"
    assert attempt.told_s == [MOST_S, MOST_S]


def test_each_attempt_is_told_what_is_left() -> None:
    attempt = Script(errors.TimedOut("nothing"), "there", takes_s=1.75)

    asked_again(attempt, soon(2.0), most_s=MOST_S)

    assert attempt.told_s == pytest.approx([2.0, 0.25])


@pytest.mark.parametrize("kind", [errors.Unreachable, errors.Forbidden])
def test_a_second_failure_is_raised_and_names_the_first(kind: Callable[[str], ApiError]) -> None:
    first, second = errors.TimedOut("first"), kind("second")

    with pytest.raises(type(second), match="second") as raised:
        asked_again(Script(first, second), soon(), most_s=MOST_S)

    assert raised.value.__cause__ is first


@pytest.mark.parametrize(
    "kind",
    [
        errors.HeldBack,
        errors.Cancelled,
        errors.Conflict,
        errors.Forbidden,
        errors.NotFound,
        errors.ServerError,
        errors.Throttled,
        errors.UndecodableAnswer,
    ],
)
def test_whatever_is_an_answer_or_our_own_doing_stands(kind: Callable[[str], ApiError]) -> None:
    attempt = Script(kind("so"))

    with pytest.raises(ApiError, match="so"):
        asked_again(attempt, soon(), most_s=MOST_S)

    assert len(attempt.told_s) == 1


def test_without_time_there_is_no_attempt() -> None:
    attempt = Script("there")

    with pytest.raises(errors.TimedOut, match="no time is left"):
        asked_again(attempt, soon(0.0), most_s=MOST_S)

    assert attempt.told_s == []


def test_a_moment_is_not_enough_for_a_second_attempt() -> None:
    attempt = Script(errors.TimedOut("nothing"), takes_s=2.0)

    with pytest.raises(errors.TimedOut, match="nothing"):
        asked_again(attempt, soon(2.0 + LEAST_S / 2), most_s=MOST_S)

    assert len(attempt.told_s) == 1


def test_a_moment_is_enough_for_the_first_one() -> None:
    assert asked_again(Script("there"), soon(LEAST_S / 2), most_s=MOST_S) == "there"


@pytest.mark.parametrize(("left_s", "may"), [(LEAST_S, True), (LEAST_S / 2, False)])
def test_who_asks_again_by_himself_is_told_whether_there_is_time(left_s: float, may: bool) -> None:
    assert may_ask_again(errors.TimedOut("nothing"), soon(left_s)) is may
