"""What pods and pools are to an address, before anything is planned."""

from __future__ import annotations

from typing import Any

import pytest

from controllers.pod_ip.known import carrier_of
from controllers.pod_ip.plan import Situation, pool_for, situation_of, users_of
from controllers.runtime.projection import pods_resource
from tests.controllers.pod_ip.facts import ADDRESS, OTHER, bound, carrier, reservation
from tests.controllers.pod_ip.objects import pod, pool, pool_facts
from webhook.addresses.facts import PoolFacts, ReservationFacts
from webhook.addresses.marks import Carrier


def situation(found: ReservationFacts | None, *pods: Carrier) -> Situation:
    return situation_of(ADDRESS, found, pods, stateful_set=None, pool=None)


def names(pods: tuple[Carrier, ...]) -> list[str]:
    return [one.name for one in pods]


def test_pods_are_carriers_kin_and_bound_by_what_they_say() -> None:
    has, silent, other = carrier("has", key="k"), carrier("silent", addresses=()), carrier("other", key="", addresses=(OTHER,))

    found = situation(reservation(bound_uid="uid-other"), has, silent, other)

    assert (names(found.carriers), names(found.kin), found.bound) == (["has", "silent"], ["silent"], other)


def test_a_reservation_without_a_key_has_no_kin() -> None:
    assert situation(reservation(key=""), carrier(key="", addresses=())).kin == ()


def test_a_reservation_that_is_bound_to_nobody_is_not_bound_to_a_pod_without_a_uid() -> None:
    assert situation(reservation(), carrier(uid="")).bound is None


def test_users_are_the_carriers_the_bound_pod_and_who_has_the_key_alone() -> None:
    gone = carrier("gone", addresses=(), label="")
    pods = (carrier("c", key="k"), carrier("b", key="", addresses=(), label=""), gone)

    assert names(users_of(situation(reservation(bound_uid="uid-b"), *pods))) == ["b", "c", "gone"]


@pytest.mark.parametrize(
    "idle",
    [
        carrier(phase="Failed"),
        carrier(addresses=(OTHER,)),
        carrier(addresses=(), label="", gated=True),
        carrier(addresses=(), label="", namespace="elsewhere"),
    ],
    ids=["finished", "with another address", "gated", "with a copied key"],
)
def test_who_cannot_use_the_address_is_no_user(idle: Carrier) -> None:
    assert users_of(situation(reservation(), idle)) == ()


def test_without_a_reservation_the_carriers_are_the_users() -> None:
    assert names(users_of(situation(None, carrier("a"), carrier("b", addresses=(OTHER,))))) == ["a"]


def test_the_terms_are_those_of_the_pool_that_the_reservation_names_whatever_it_has_by_now() -> None:
    shrunk, wide = pool_facts(pool("shrunk", ["10.9.9.9"])), pool_facts(pool("wide"))

    assert pool_for(ADDRESS, bound(carrier(), pool="shrunk"), [wide, shrunk]) is shrunk
    assert pool_for(ADDRESS, bound(carrier(), pool="gone"), [wide, shrunk]) is None


@pytest.mark.parametrize("found", [None, reservation()], ids=["not reserved", "from a list"])
def test_otherwise_they_are_those_of_the_first_pool_by_name_that_has_the_address(found: ReservationFacts | None) -> None:
    pools: list[PoolFacts] = [pool_facts(pool(name)) for name in ("c", "b")]

    assert pool_for(ADDRESS, found, [pool_facts(pool("a", ["10.9.9.9"])), *pools]) is pools[1]


@pytest.mark.parametrize(
    "more",
    [{}, {"os": {"name": "windows"}}, {"labels": {"app.kubernetes.io/name": "gatehouse"}}, {"mirror": "x"}],
    ids=["plain", "Windows", "ours", "mirror"],
)
def test_a_pod_on_its_nodes_network_carries_nothing_whatever_else_it_is(more: dict[str, Any]) -> None:
    obj = pod(labels=more.get("labels", {}))
    obj["spec"] |= {"hostNetwork": True, "os": more.get("os")}
    obj["metadata"]["annotations"] |= {"kubernetes.io/config.mirror": more["mirror"]} if "mirror" in more else {}

    found = carrier_of(pods_resource(addressed=True).projection.convert(obj).facts)

    assert (found.marks.addresses, found.marks.key) == ((), "")
