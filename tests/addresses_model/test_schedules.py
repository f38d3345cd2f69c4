"""Random histories of two replicas, a leader and their caches: no address twice, none lost, none of a live pod released.

A failure names the number of its history: `run(NUMBER)` repeats it, step by step.
"""

from __future__ import annotations

import pytest

from tests.addresses_model.schedules import FEW, Hurried, Namesakes, Schedule, run

SCHEDULES = 5_000
NAMESAKES = 2_000
PART = 500


@pytest.mark.parametrize("first", range(0, SCHEDULES, PART))
def test_no_history_gives_an_address_twice_or_loses_one(first: int) -> None:
    for number in range(first, first + PART):
        run(number)


@pytest.mark.parametrize("first", range(0, NAMESAKES, PART))
def test_no_history_of_calls_for_the_same_pods_does(first: int) -> None:
    for number in range(first, first + PART):
        run(number, FEW, Namesakes)


@pytest.mark.parametrize(("number", "steps"), [(1_096_016, 270)])
def test_a_history_that_went_wrong_once_goes_well(number: int, steps: int) -> None:
    """1096016: a finished pod that only a cache still had made the leader release what its successor was being given."""
    run(number, steps, Hurried)


def test_a_history_is_repeated_by_its_number() -> None:
    once, again = Schedule(7), Schedule(7)

    once.run()
    again.run()

    assert [change for _, change in once.world.pods.log] == [change for _, change in again.world.pods.log]
    assert [change for _, change in once.world.reservations.log] == [change for _, change in again.world.reservations.log]


def test_the_histories_are_about_something() -> None:
    worlds = [run(number) for number in range(200)]

    assert sum(world.persisted for world in worlds) > 300, "pods that were admitted"
    assert sum(world.refused_posts for world in worlds) > 100, "addresses that two replicas wanted at once"
