"""Six hundred strangers who keep the server waiting, beside a caller: it loses nothing and hardly a moment."""

from __future__ import annotations

from pathlib import Path

import attrs
import pytest

from tests.load.program import Result, run
from tests.server.crowd import Crowd, Kinds
from tests.server.figures import Figures, best_of
from tests.server.replica import Replica, replica

CALLERS = 4
SECONDS = 2.0
STALL_US = 1_000_000
SHARP_P99_US = 50_000
SHARP_RATIO = 0.6


@attrs.frozen
class Outcome:
    """The same calls without and with the crowd."""

    alone: Result
    beside: Result

    @property
    def added_p99_us(self) -> int:
        """What the crowd costs at the 99th percentile."""
        return self.beside.latency_us.p99 - self.alone.latency_us.p99

    @property
    def ratio(self) -> float:
        """Throughput beside the crowd to that without it."""
        return self.beside.rps / self.alone.rps

    @property
    def badness(self) -> float:
        """Up to 1 when added latency and ratio are what a quiet machine gives."""
        return max(self.added_p99_us / SHARP_P99_US, SHARP_RATIO / self.ratio)

    def nothing_lost(self) -> bool:
        """Whether every call was answered as it should be."""
        return self.beside.done == self.beside.requests > 0


def call(running: Replica, **options: float) -> Result:
    return run(running.load(callers=CALLERS, warm_up=100, **{"duration_s": SECONDS, **options}))


def test_a_crowd_of_silent_idle_and_dripping_clients_costs_a_caller_nothing(tmp_path: Path, figures: Figures) -> None:
    with replica(tmp_path) as running:

        def measure() -> Outcome:
            alone = call(running)
            with Crowd(running.address, running.trusting()) as crowd:
                crowd.settle()
                outcome = Outcome(alone, call(running))
                crowd.settle()  # they have not simply been got rid of
            assert outcome.nothing_lost(), outcome.beside
            return outcome

        best = best_of(measure, lambda outcome: outcome.badness, 1.0)
        assert "Traceback" not in running.served.log()

    figures.add(
        f"620 silent, idle, dripping clients ({best.ratio:.2f} of the throughput): p99 of a caller at 4 connections",
        f"{best.added_p99_us / 1000:+.1f} ms",
        "<= +50 ms",
        best.added_p99_us <= SHARP_P99_US,
    )
    assert best.beside.latency_us.max < STALL_US
    assert best.ratio >= 0.5


@pytest.mark.parametrize(
    ("protection", "kinds"),
    [
        ("waits-for-handshakes", Kinds(20, 0, 0, 0, 0)),
        ("waits-for-handshakes", Kinds(0, 20, 0, 0, 0)),
        ("waits-for-requests", Kinds(0, 0, 20, 0, 0)),
        ("waits-for-requests", Kinds(0, 0, 0, 2, 0)),
        ("waits-for-requests", Kinds(0, 0, 0, 0, 2)),
    ],
    ids=["silent", "half hellos", "idle", "heads", "bodies"],
)
def test_each_kind_of_stranger_would_stop_a_server_whose_threads_wait_for_clients(
    tmp_path: Path, protection: str, kinds: Kinds
) -> None:
    with (
        replica(tmp_path, weakened=[protection]) as running,
        Crowd(running.address, running.trusting(), kinds) as crowd,
    ):
        crowd.settle(1 / len(kinds.each()))
        result = run(running.load(callers=CALLERS, duration_s=1.0, timeout_s=1.5))

    assert result.done < result.requests
