"""What the benchmark of caches is told to measure."""

from __future__ import annotations

import argparse
import os
import time

import pytest

from tests.bench.caches import WHOLE, Follower, _ratios, _size, main
from tests.cluster.processes import Process


def test_a_size_is_a_kind_and_a_count() -> None:
    assert [_size("nodes=5000"), _size("pods=50000")] == [("nodes", 5000), ("pods", 50000)]


@pytest.mark.parametrize("text", ["nodes", "nodes=", "nodes=-1", "nodes=many", "services=5", ""])
def test_other_sizes_are_wrong_use(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match="COUNT"):
        _size(text)


@pytest.mark.parametrize("part", [["--short"], ["--only", "nodes=5"]])
def test_a_part_of_the_benchmark_is_not_written_down(part: list[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main([*part, "--write"])

    assert ended.value.code == 2


def test_ratios_are_medians_of_neighbours() -> None:
    ours, theirs = {"sync_s": [1.0, 4.0, 2.0], "behind_s": [0.0]}, {"sync_s": [2.0, 4.0, 8.0], "behind_s": [0.0]}

    assert _ratios(ours, theirs) == {"sync_s": 0.5}


def test_many_objects_are_synced_less_often_and_every_size_in_bursts_alike() -> None:
    assert [WHOLE.rounds_of(count) for _, count in WHOLE.sizes] == [7, 7, 3, 3]
    assert WHOLE.bursts >= 7


def test_the_clock_of_a_process_is_its_own_processor_time() -> None:
    mine = Follower("this", Process.of(os.getpid()))

    before, asked, after = time.process_time(), mine.processor_s(), time.process_time()

    assert before <= asked <= after
