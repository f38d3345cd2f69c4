"""The client of kube-apiserver, whose pool of connections has no limit, with few callers and with many."""

from __future__ import annotations

from pathlib import Path

import attrs

from tests.load.program import Result, run
from tests.server.figures import TRIES, Figures, best_of
from tests.server.replica import Replica, replica

CALLERS = (4, 8, 16, 64)
MANY = 256
SECONDS = 1.5
STALL_US = 1_000_000
SHARP_RATIO = 0.8


def call(running: Replica, callers: int, **options: float) -> Result:
    return run(running.load(callers=callers, warm_up=4 * callers, **{"duration_s": SECONDS, **options}))


@attrs.frozen
class Outcome:
    """Results by the number of callers."""

    results: dict[int, Result]

    @property
    def ratio(self) -> float:
        """Throughput with the most callers to that with the fewest."""
        return self.results[max(CALLERS)].rps / self.results[min(CALLERS)].rps

    @property
    def longest_us(self) -> int:
        """The longest that any call took."""
        return max(result.latency_us.max for result in self.results.values())

    @property
    def badness(self) -> float:
        """Up to 1 when ratio and latency are what a quiet machine gives."""
        return max(SHARP_RATIO / self.ratio, self.longest_us / STALL_US)


def test_throughput_does_not_collapse_from_4_callers_to_64_and_nothing_fails(tmp_path: Path, figures: Figures) -> None:
    with replica(tmp_path) as running:

        def measure() -> Outcome:
            outcome = Outcome({callers: call(running, callers) for callers in CALLERS})
            for callers, result in outcome.results.items():
                assert result.errors == {}, f"{callers} callers: {result}"
            return outcome

        best = best_of(measure, lambda outcome: outcome.badness, 1.0)

    rates = ", ".join(f"{callers}: {result.rps:.0f}/s" for callers, result in best.results.items())
    figures.add(f"unrestricted Go client ({rates}): 64 callers to 4", f"{best.ratio:.2f}", ">= 0.8", best.ratio >= SHARP_RATIO)
    assert best.ratio >= 0.5
    assert best.longest_us < STALL_US, best


def test_256_callers_get_answers_or_clean_503s_and_none_waits_until_its_timeout(tmp_path: Path, figures: Figures) -> None:
    with replica(tmp_path) as running:
        result = call(running, MANY, duration_s=3.0)
        again = run(running.load(callers=MANY, requests=2000, retry=True))
        assert "Traceback" not in running.served.log()

    figures.add("256 callers: p99", f"{result.latency_us.p99 / 1000:.0f} ms", "< 1000 ms", result.latency_us.p99 < STALL_US)
    assert set(result.errors) <= {"status"}, result
    assert set(result.statuses) <= {"200", "503"}, result
    assert result.done > 0
    assert (again.done, again.errors) == (2000, {})  # each 503 names Retry-After, so that calling again helps


def test_eight_callers_would_stop_a_server_whose_threads_wait_for_clients(tmp_path: Path) -> None:
    with replica(tmp_path, weakened=["waits-for-requests"]) as running:
        load = running.load(callers=8, duration_s=1.0, timeout_s=1.5)
        # It takes a connection that the client has opened and then does not need, which is a matter of chance.
        assert any(run(load).errors for _ in range(TRIES))
