"""What a user reads when no address is free."""

from __future__ import annotations

from tests.webhook.addresses.allocations import DB, ONE, THREE, TWO, asked, reservation
from webhook.addresses.address import Address
from webhook.addresses.effects import Exhausted
from webhook.addresses.exhaustion import exhausted, exhaustion_message
from webhook.addresses.facts import Phase, PodOwner

ADVICE = "a workload needs replicas + maxSurge addresses, or maxSurge: 0"


def test_holders_are_counted_the_biggest_first() -> None:
    held = [reservation(ONE, phase=Phase.BOUND), reservation(TWO, asked(owner=DB)), reservation(THREE)]

    found = exhausted(4, 5, held)

    assert found == Exhausted(
        4, 5, (("ReplicaSet shop/web-1", 2), ("StatefulSet shop/db", 1)), cooling=0, unbound=2, elsewhere=2
    )


def test_a_pod_without_an_owner_is_named_itself() -> None:
    bare = asked(owner=PodOwner(), pod_name="alone")

    assert exhausted(4, 1, [reservation(ONE, bare)]).held == (("Pod shop/alone", 1),)


def test_a_pod_that_nobody_has_named_yet_is_unnamed() -> None:
    assert exhausted(4, 1, [reservation(ONE, asked(owner=PodOwner()))]).held == (("Pod shop/(unnamed)", 1),)


def test_cooling_ones_are_counted_apart() -> None:
    found = exhausted(4, 1, [reservation(ONE, phase=Phase.COOLING)])

    assert (found.cooling, found.unbound) == (1, 0)


def test_sizes_that_no_json_number_holds_are_capped() -> None:
    found = exhausted(6, 2**64, [])

    assert (found.size, found.elsewhere) == (2**53, 2**53)


def test_the_message_names_pool_size_holders_states_and_advice() -> None:
    found = Exhausted(4, 6, (("ReplicaSet shop/web-1", 4),), cooling=1, unbound=2, elsewhere=2)

    assert exhaustion_message(found, asked()) == (
        'none of the 6 IPv4 addresses of AddressPool "edge" is free; ReplicaSet shop/web-1 has 4; 2 of these wait for a pod, '
        f"1 cool down, 2 are just being reserved or in use without a reservation; {ADVICE}"
    )


def test_a_list_of_the_pod_itself_is_called_by_its_label() -> None:
    found = Exhausted(6, 1, (("Pod shop/alone", 1),))

    assert exhaustion_message(found, asked(pool="")) == (
        f"the only IPv6 address of allocatable-ips is not free; Pod shop/alone has 1; {ADVICE}"
    )


def test_only_the_biggest_holders_are_named() -> None:
    found = Exhausted(4, 28, tuple((f"Pod shop/p{number}", 7 - number) for number in range(7)))

    assert "Pod shop/p4 has 3 and 2 other owners;" in exhaustion_message(found, asked())


def test_a_last_owner_is_one() -> None:
    found = Exhausted(4, 28, tuple((f"Pod shop/p{number}", 7 - number) for number in range(6)))

    assert "Pod shop/p4 has 3 and 1 other owner;" in exhaustion_message(found, asked())


def test_an_empty_set_is_no_matter_of_replicas() -> None:
    assert exhaustion_message(Exhausted(4, 0), asked()) == 'AddressPool "edge" has no IPv4 address to give'
    assert exhaustion_message(Exhausted(0, 0), asked()) == 'AddressPool "edge" has no address to give'


def test_addresses_beyond_the_cap_are_still_one_sentence() -> None:
    found = exhausted(6, 2**64, [reservation(Address.parse("fd00::1"))])

    assert f"none of the {2**53} IPv6 addresses" in exhaustion_message(found, asked())
