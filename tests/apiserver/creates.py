"""Pod creates at a steady rate, as users bring them: each has a time at which it is due, whatever became of those before it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

import attrs

from tests.cluster import Api, Json

CALLERS = 32


@attrs.frozen
class Create:
    """One create: how long it took from the moment at which it was due, and what came of it."""

    late_s: float  # by how much it began after it was due
    took_s: float
    pod: Json | None
    error: str = ""


def at_a_rate(api: Api, path_of: Callable[[int], str], body_of: Callable[[int], Json], rate: float, count: int) -> list[Create]:
    """*count* creates, *rate* a second, of `body_of(number)` at `path_of(number)`."""
    begin_s = time.monotonic() + 0.2
    pacing = threading.Event()  # never set: waits are its only use

    def create(number: int) -> Create:
        due_s = begin_s + number / rate
        pacing.wait(max(0.0, due_s - time.monotonic()))
        start_s = time.monotonic()
        try:
            pod, error = api.create(path_of(number), body_of(number)), ""
        except Exception as fault:  # counted by the caller, who knows which faults are expected
            pod, error = None, repr(fault)
        return Create(start_s - due_s, time.monotonic() - start_s, pod, error)

    with ThreadPoolExecutor(CALLERS) as callers:
        return list(callers.map(create, range(count)))


def quantile_s(creates: Sequence[Create], share: float) -> float:
    """The time within which *share* of the creates were answered."""
    times = sorted(create.took_s for create in creates)
    return times[min(len(times) - 1, int(share * len(times)))]
