from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.webhook.addresses.strategies import CALM, SMALL_SETS
from webhook.addresses.grammar import parse_annotation
from webhook.addresses.network import Network, NetworkPool
from webhook.addresses.ranges import AddressSet

CALICO = Network(
    (
        NetworkPool("default", parse_annotation("10.244.0.0/16", "pool")),
        NetworkPool("old", parse_annotation("10.245.0.0/16", "pool"), "is disabled"),
        NetworkPool("tunnels", parse_annotation("10.246.0.0/16", "pool"), "is not for workloads"),
        NetworkPool("six", parse_annotation("fd00::/64", "pool")),
    ),
    "Calico",
)


def read(text: str) -> AddressSet:
    return parse_annotation(text, "list")


def test_any_address_will_do_where_nobody_says() -> None:
    assert not Network().outside(read("10.0.0.1, fd00::1"))
    assert Network().refusal(read("10.0.0.1, fd00::1")) == ""


@pytest.mark.parametrize("text", ["10.244.0.0", "10.244.255.255", "10.244.0.0/16", "fd00::/64", "10.244.3.7, fd00::3"])
def test_an_address_of_a_pool_will_do(text: str) -> None:
    assert CALICO.refusal(read(text)) == ""


@pytest.mark.parametrize(
    ("text", "refusal"),
    [
        ("10.0.0.1", "10.0.0.1 is not among the addresses of Calico (10.244.0.0/16, fd00::/64)"),
        ("10.0.0.1-2", "10.0.0.1-10.0.0.2 are not among the addresses of Calico (10.244.0.0/16, fd00::/64)"),
        ("10.244.0.1, fd01::1", "fd01::1 is not among the addresses of Calico (10.244.0.0/16, fd00::/64)"),
        ("10.245.0.1", '10.245.0.1 is in pool "old" of Calico, which is disabled'),
        ("10.246.0.1-9", '10.246.0.1-10.246.0.9 are in pool "tunnels" of Calico, which is not for workloads'),
        ("10.244.255.255-10.245.0.1", '10.245.0.0-10.245.0.1 are in pool "old" of Calico, which is disabled'),
    ],
)
def test_a_refusal_names_the_addresses_and_the_pool(text: str, refusal: str) -> None:
    assert CALICO.refusal(read(text)) == refusal


def test_calico_without_a_pool_takes_no_address() -> None:
    found = Network((), "Calico")

    assert found.refusal(read("10.0.0.1")) == "10.0.0.1 is not among the addresses of Calico (it has none)"
    assert list(found.outside(read("10.0.0.1-2"))) == list(read("10.0.0.1-2"))


def test_a_network_without_an_open_pool_takes_none() -> None:
    closed = Network((NetworkPool("old", read("10.245.0.0/16"), "is disabled"),), "Calico")

    assert closed.refusal(read("10.0.0.1")) == "10.0.0.1 is not among the addresses of Calico (it has none)"


def test_an_address_in_an_open_pool_and_a_closed_one_will_do() -> None:
    both = Network((NetworkPool("old", read("10.0.0.0/8"), "is disabled"), NetworkPool("new", read("10.0.0.0/24"))), "Calico")

    assert both.refusal(read("10.0.0.1")) == ""
    assert both.refusal(read("10.0.1.1")) == '10.0.1.1 is in pool "old" of Calico, which is disabled'


@CALM
@given(st.lists(st.tuples(SMALL_SETS, st.booleans()), min_size=1, max_size=4), SMALL_SETS)
def test_what_is_outside_lies_in_no_open_pool(pools: list[tuple[AddressSet, bool]], asked: AddressSet) -> None:
    network = Network(tuple(NetworkPool("a", found, "" if is_open else "is disabled") for found, is_open in pools), "Calico")

    allowed = {address for found, is_open in pools if is_open for address in found}
    assert list(network.outside(asked)) == sorted(set(asked) - allowed)
    assert bool(network.refusal(asked)) is bool(network.outside(asked))
