"""What the benchmark of caches is told to measure."""

from __future__ import annotations

import argparse

import pytest

from tests.bench.caches import _size, main


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
