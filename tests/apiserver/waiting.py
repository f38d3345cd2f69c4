"""Waiting for a condition with a bound: the only way in which these tests let time pass."""

from __future__ import annotations

import time
from collections.abc import Callable

POLL_S = 0.1


def wait_for(met: Callable[[], bool], limit_s: float, what: str) -> float:
    """Wait until *met*; the seconds it took. Fails the test when *what* has not come about after *limit_s*."""
    start_s = time.monotonic()
    while not met():
        if time.monotonic() - start_s > limit_s:
            raise AssertionError(f"{what}: not within {limit_s:g} s")
        time.sleep(POLL_S)
    return time.monotonic() - start_s


def stays(holds: Callable[[], bool], period_s: float, what: str) -> None:
    """Look on for *period_s* and fail the test as soon as *what* no longer holds."""
    end_s = time.monotonic() + period_s
    while time.monotonic() < end_s:
        if not holds():
            raise AssertionError(f"{what}: no longer so after {period_s - (end_s - time.monotonic()):.1f} s")
        time.sleep(POLL_S)
