"""Marks on slow paths."""

from __future__ import annotations

from webhook.serving.slowness import PATHS, QUICK_IN_A_ROW, SlowPaths


def test_a_marked_path_is_cleared_by_enough_quick_requests_in_a_row() -> None:
    slow = SlowPaths(patience_s=0.01)
    slow.mark("/a")

    for _ in range(QUICK_IN_A_ROW - 1):
        slow.judge("/a", 0.001)
    assert "/a" in slow
    slow.judge("/a", 0.001)
    assert "/a" not in slow


def test_one_slow_request_begins_the_count_anew() -> None:
    slow = SlowPaths(patience_s=0.01)
    slow.mark("/a")

    for _ in range(QUICK_IN_A_ROW - 1):
        slow.judge("/a", 0.001)
    slow.judge("/a", 0.02)
    for _ in range(QUICK_IN_A_ROW - 1):
        slow.judge("/a", 0.001)

    assert "/a" in slow


def test_no_more_paths_are_marked_than_the_bound() -> None:
    slow = SlowPaths(patience_s=0.01)

    for number in range(PATHS + 10):
        slow.mark(f"/{number}")

    assert sum(f"/{number}" in slow for number in range(PATHS + 10)) == PATHS
