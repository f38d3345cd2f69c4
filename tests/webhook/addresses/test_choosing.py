"""The order in which free addresses are given away."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.webhook.addresses.allocations import addresses, span
from tests.webhook.addresses.strategies import ADDRESSES, CALM
from webhook.addresses.choosing import SAMPLE, Line, salt_of, sampled, standing

SET = addresses(span("10.0.0.0", 8))
FIRST, SECOND, THIRD, *_ = SET
A, B, C = map(salt_of, ("replica-a", "replica-b", "replica-c"))


def zero() -> float:
    return 0.0


# -- lines


def test_who_was_added_first_comes_first() -> None:
    line = Line(SET, 0)
    for address in (THIRD, FIRST, SECOND):
        line.add(address, ours=True)

    assert line.first(1, zero) == THIRD
    line.drop(THIRD)
    assert line.first(1, zero) == FIRST


def test_who_is_added_again_comes_last() -> None:
    line = Line(SET, 0)
    for address in (FIRST, SECOND, FIRST):
        line.add(address, ours=True)

    assert line.first(1, zero) == SECOND


def test_our_share_comes_before_the_others() -> None:
    line = Line(SET, 0)
    line.add(FIRST, ours=False)
    line.add(SECOND, ours=True)

    assert line.first(1, zero) == SECOND


def test_of_others_shares_the_last_comes_first() -> None:
    line = Line(SET, 0)
    for address in (FIRST, SECOND, THIRD):
        line.add(address, ours=False)

    assert line.first(1, zero) == THIRD


@pytest.mark.parametrize(("chance", "chosen"), [(0.0, THIRD), (0.6, SECOND), (0.99, SECOND)])
def test_where_several_may_come_for_the_same_end_chance_decides(chance: float, chosen: object) -> None:
    line = Line(SET, 0)
    for address in (FIRST, SECOND, THIRD):
        line.add(address, ours=False)

    assert line.first(2, lambda: chance) == chosen


def test_nobody_is_left() -> None:
    line = Line(SET, 0)
    line.add(FIRST, ours=True)
    line.add(SECOND, ours=False)

    line.drop(FIRST)
    line.drop(SECOND)
    line.drop(THIRD)

    assert line.first(1, zero) is None
    assert len(line) == 0


# -- shares


@CALM
@given(ADDRESSES, st.lists(st.integers(0, 2**64 - 1), min_size=1, max_size=5, unique=True))
def test_every_address_is_in_exactly_one_share(address, salts) -> None:
    owners = [salt for salt in salts if standing(address, salt, [one for one in salts if one != salt])[0]]

    assert len(owners) == 1


@CALM
@given(ADDRESSES)
def test_all_replicas_agree_about_the_place_in_a_share(address) -> None:
    assert len({standing(address, own, others)[1] for own, others in ((A, (B, C)), (B, (C, A)), (C, (A, B)))}) == 1


@pytest.mark.parametrize("prefix", ["10.0.0.0", "fd00::"])
def test_shares_are_about_equal(prefix: str) -> None:
    mine = sum(standing(address, A, (B, C))[0] for address in addresses(span(prefix, 3000)))

    assert 900 < mine < 1100


def test_a_replica_that_leaves_changes_only_its_own_share() -> None:
    kept = [address for address in addresses(span("10.0.0.0", 500)) if standing(address, A, (B, C))[0]]

    assert all(standing(address, A, (B,))[0] for address in kept)


# -- sets that are too big to be kept


def unknown(address) -> tuple[bool, float]:
    return (False, float("-inf"))


def test_of_a_huge_set_nearly_nothing_is_looked_at() -> None:
    huge, looked = addresses(span("fd00::", 2**64)), []

    found = sampled(huge, 0, lambda address: looked.append(address) or True, unknown, Random(1).random)

    assert found in huge
    assert len(looked) == 1


def test_the_best_of_a_sample_is_chosen() -> None:
    huge, looked = addresses(span("10.0.0.0", 2**20)), []

    def rank(address) -> tuple[bool, float]:
        looked.append((bool(address.value % 2), float(address.value)))
        return looked[-1]

    found = sampled(huge, 0, lambda address: True, rank, Random(1).random)

    assert (bool(found.value % 2), float(found.value)) == min(looked)
    assert len(looked) == SAMPLE


def test_the_only_free_one_is_found_without_looking_at_more_than_are_busy() -> None:
    some, looked = addresses(span("10.0.0.0", 5000)), []
    free = some.at(17)

    def is_free(address) -> bool:
        looked.append(address)
        return address == free

    found = sampled(some, 4999, is_free, unknown, lambda: 0.5)

    assert found == free
    assert len(looked) <= 2 * SAMPLE + 5000


def test_where_nothing_is_free_the_search_ends() -> None:
    assert sampled(addresses(span("fd00::", 2**64)), 1000, lambda address: False, unknown, Random(1).random) is None
