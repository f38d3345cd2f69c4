"""How runs of creates are put beside each other, and what of it is the target."""

from __future__ import annotations

import pytest

from tests.bench.contenders import GATEHOUSE
from tests.bench.creates import NONE, Run, _medians, _pairs, main


def run(p99_ms: float) -> Run:
    return Run(rate=1000 / p99_ms, p50_ms=p99_ms / 2, p99_ms=p99_ms, processor_us=0.0)


# The machine is twice and four times as slow in the later rounds, for whoever runs then.
RUNS = {NONE: [run(10.0), run(20.0), run(40.0)], GATEHOUSE.name: [run(15.0), run(30.0), run(60.0)]}


def test_a_ratio_is_the_median_over_rounds() -> None:
    found = _pairs(RUNS)[GATEHOUSE.name]

    assert (found["p99_ms"], found["p50_ms"], found["rate"]) == (1.5, 1.5, 0.6667)


def test_the_target_is_held_against_the_run_without_a_webhook_of_the_same_round() -> None:
    assert _pairs(RUNS)[GATEHOUSE.name]["p99_beyond_ms"] == pytest.approx(30.0 - 1.1 * 20.0)


def test_runs_without_a_webhook_are_in_no_pair_and_have_medians() -> None:
    assert NONE not in _pairs(RUNS)
    assert _medians(RUNS)[NONE]["p99_ms"] == 20.0


def test_parts_are_not_offered() -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--only", "sidecar"])

    assert ended.value.code == 2
