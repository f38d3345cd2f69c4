"""What is slow, and marks on slow paths."""

from __future__ import annotations

import pytest

from webhook.serving.slowness import COMPUTING_S, PATHS, PATIENCE_S, QUICK_IN_A_ROW, SHARE, Progress, SlowPaths, is_slow

QUICK = (0.001, 0.001)
SLOW = (0.02, 0.001)


@pytest.mark.parametrize(
    ("took_s", "computed_s", "slow"),
    [
        (PATIENCE_S / 2, 0.0, False),
        (PATIENCE_S, 0.0, True),  # it waits
        (PATIENCE_S, PATIENCE_S, False),  # it computes
        (4 * PATIENCE_S, PATIENCE_S, False),  # so it does beside three others
        (20 * PATIENCE_S, PATIENCE_S, True),  # it waits most of the time
        (COMPUTING_S, COMPUTING_S, True),
    ],
)
def test_who_waits_is_slow_sooner_than_who_computes(took_s: float, computed_s: float, slow: bool) -> None:
    assert is_slow(took_s, computed_s) is slow


def test_progress_counts_from_the_moment_at_which_the_leader_got_on() -> None:
    progress = Progress()
    progress.begin(100.0, 7.0)

    assert not progress.is_slow(100.0 + PATIENCE_S, 7.0 + PATIENCE_S)
    assert progress.is_slow(100.0 + PATIENCE_S, 7.0)


def test_who_computes_and_then_waits_is_slow_after_the_patience_for_waiting() -> None:
    progress = Progress()
    progress.begin(100.0, 7.0)
    computed_s = 7.0 + 0.9 * COMPUTING_S

    assert not progress.is_slow(100.010, computed_s)
    assert not progress.is_slow(100.010 + PATIENCE_S / 2, computed_s)
    assert progress.is_slow(100.010 + 1.01 * PATIENCE_S, computed_s)


def test_who_computes_a_little_between_any_two_looks_is_given_the_time_of_its_share() -> None:
    progress = Progress()
    progress.begin(100.0, 7.0)
    looks = [number * PATIENCE_S for number in range(1, 100)]

    slow_s = next(passed_s for passed_s in looks if progress.is_slow(100.0 + passed_s, 7.0 + passed_s * 1.1 * SHARE))

    assert COMPUTING_S < slow_s <= COMPUTING_S / SHARE


def test_a_request_that_the_leader_began_anew_does_not_inherit_the_waiting_of_the_last_one() -> None:
    progress = Progress()
    progress.begin(100.0, 7.0)
    assert progress.is_slow(100.0 + PATIENCE_S, 7.0)

    progress.begin(100.0 + PATIENCE_S, 7.0)

    assert not progress.is_slow(100.0 + 1.5 * PATIENCE_S, 7.0)


def test_a_marked_path_is_cleared_by_enough_quick_requests_in_a_row() -> None:
    slow = SlowPaths()
    slow.mark("/a")

    for _ in range(QUICK_IN_A_ROW - 1):
        slow.judge("/a", *QUICK)
    assert "/a" in slow
    slow.judge("/a", *QUICK)
    assert "/a" not in slow


def test_one_slow_request_begins_the_count_anew() -> None:
    slow = SlowPaths()
    slow.mark("/a")

    for _ in range(QUICK_IN_A_ROW - 1):
        slow.judge("/a", *QUICK)
    slow.judge("/a", *SLOW)
    for _ in range(QUICK_IN_A_ROW - 1):
        slow.judge("/a", *QUICK)

    assert "/a" in slow


def test_no_more_paths_are_marked_than_the_bound() -> None:
    slow = SlowPaths()

    for number in range(PATHS + 10):
        slow.mark(f"/{number}")

    assert sum(f"/{number}" in slow for number in range(PATHS + 10)) == PATHS
