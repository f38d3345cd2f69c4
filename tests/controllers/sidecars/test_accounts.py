"""Each namespace has room for its entries, and what found none gets in when there is some."""

from __future__ import annotations

import pytest

from controllers.sidecars.accounts import NAMESPACE_SIZE, Accounts

MOST = NAMESPACE_SIZE
HALF = NAMESPACE_SIZE // 2


@pytest.fixture
def accounts() -> Accounts:
    return Accounts()


def test_a_config_map_has_the_room_that_the_others_of_its_namespace_leave(accounts: Accounts) -> None:
    accounts.book("shop/a", HALF)

    assert accounts.room("shop/a") == MOST  # its own entries make room for their next version
    assert accounts.room("shop/b") == MOST - HALF
    assert accounts.room("bank/a") == MOST


def test_a_new_version_replaces_the_size_of_the_old_one(accounts: Accounts) -> None:
    for size in (HALF, 10, 0, 20):
        accounts.book("shop/a", size)
        assert accounts.room("shop/b") == MOST - size


def test_what_found_no_room_waits_until_there_is_some(accounts: Accounts) -> None:
    accounts.book("shop/a", MOST)
    accounts.book("shop/b", 0, needed=HALF)
    assert (accounts.fits_now("shop/b"), accounts.waiting("shop")) == (False, [])

    accounts.book("shop/a", MOST - HALF + 1)
    assert (accounts.fits_now("shop/b"), accounts.waiting("shop")) == (False, [])

    accounts.book("shop/a", MOST - HALF)
    assert (accounts.fits_now("shop/b"), accounts.waiting("shop")) == (True, ["shop/b"])


def test_what_keeps_an_older_version_needs_only_what_that_does_not_have(accounts: Accounts) -> None:
    accounts.book("shop/a", HALF)
    accounts.book("shop/b", HALF, needed=MOST)
    assert accounts.waiting("shop") == []

    accounts.book("shop/a", 0)

    assert accounts.waiting("shop") == ["shop/b"]


def test_what_got_in_or_went_does_not_wait(accounts: Accounts) -> None:
    accounts.book("shop/b", 0, needed=HALF)
    accounts.book("shop/c", 0, needed=HALF)

    accounts.book("shop/b", HALF)
    accounts.book("shop/c", 0)

    assert (accounts.waiting("shop"), accounts.fits_now("shop/b"), accounts.fits_now("shop/c")) == ([], False, False)


def test_of_a_namespace_that_nobody_knows_nothing_waits(accounts: Accounts) -> None:
    assert (accounts.waiting("shop"), accounts.fits_now("shop/a"), accounts.room("shop/a")) == ([], False, MOST)
