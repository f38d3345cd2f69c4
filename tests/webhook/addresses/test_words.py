from __future__ import annotations

import pytest

from tests.webhook.addresses.allocations import ONE, asked, asked_by_name, reservation
from webhook.addresses.facts import Asked, PodOwner
from webhook.addresses.words import made_for, owner, whose

BARE = asked(owner=PodOwner())


@pytest.mark.parametrize(
    ("of", "words"),
    [
        (asked_by_name(), "pod shop/db-0"),
        (asked(), "a pod of ReplicaSet shop/web-1"),
        (BARE, "a pod of namespace shop"),
    ],
)
def test_a_reservation_is_for_a_name_or_for_a_pod_that_has_none_yet(of: Asked, words: str) -> None:
    assert made_for(reservation(ONE, of)) == whose(reservation(ONE, of)) == words


def test_once_a_pod_has_it_that_one_is_named() -> None:
    found = reservation(ONE, bound_name="web-1-x")

    assert (whose(found), made_for(found)) == ("pod shop/web-1-x", "a pod of ReplicaSet shop/web-1")


@pytest.mark.parametrize(
    ("of", "words"),
    [(asked_by_name(), "StatefulSet shop/db"), (asked(), "ReplicaSet shop/web-1"), (BARE, "Pod shop/(unnamed)")],
)
def test_addresses_are_counted_by_workload(of: Asked, words: str) -> None:
    assert owner(reservation(ONE, of)) == words
