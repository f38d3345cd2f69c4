"""Requests that are made once more: when, how often, and what stands."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from controllers.runtime import errors
from controllers.runtime.again import asked_again
from controllers.runtime.errors import ApiError
from controllers.testing import FakeClock
from webhook.clock import Deadline

CLOCK = FakeClock()


def soon(seconds: float = 5.0) -> Deadline:
    return Deadline.after(seconds, CLOCK)


class Script:
    """Attempts that end as told, the last one for good."""

    def __init__(self, *ends: ApiError | str) -> None:
        self.ends = list(ends)
        self.told: list[bool] = []

    def __call__(self, again: bool) -> str:
        self.told.append(again)
        end = self.ends.pop(0)
        if isinstance(end, ApiError):
            raise end
        return end


def test_an_answer_is_asked_for_once() -> None:
    attempt = Script("there")

    assert asked_again(attempt, soon()) == "there"
    assert attempt.told == [False]


@pytest.mark.parametrize("kind", [errors.Unreachable, errors.TimedOut])
def test_silence_is_asked_once_more_and_the_second_attempt_knows_that_it_is_one(kind: type[ApiError]) -> None:
    attempt = Script(kind("nothing"), "there")

    assert asked_again(attempt, soon()) == "there"
    assert attempt.told == [False, True]


def test_the_second_silence_is_raised() -> None:
    attempt = Script(errors.TimedOut("first"), errors.Unreachable("second"))

    with pytest.raises(errors.Unreachable, match="second"):
        asked_again(attempt, soon())


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
        asked_again(attempt, soon())

    assert attempt.told == [False]


def test_without_time_there_is_no_second_attempt() -> None:
    attempt = Script(errors.TimedOut("nothing"))

    with pytest.raises(errors.TimedOut):
        asked_again(attempt, soon(0.0))

    assert attempt.told == [False]
