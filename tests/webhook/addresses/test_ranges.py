from __future__ import annotations

import itertools
import time
from ipaddress import IPv4Address, IPv6Address, ip_network, summarize_address_range

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.webhook.addresses.strategies import CALM, NEAR, SMALL_SETS, WIDE, WIDE_SETS, blocks
from webhook.addresses.address import V4, V6, Address
from webhook.addresses.grammar import parse_annotation, parse_item
from webhook.addresses.ranges import AddressSet, Span


def numbers(spans: list[Span]) -> set[Address]:
    return {Address(span.version, value) for span in spans for value in range(span.first, span.last + 1)}


def read(text: str) -> AddressSet:
    return parse_annotation(text, "list")


@CALM
@given(st.lists(NEAR, max_size=8))
def test_a_set_holds_what_its_spans_hold_in_order(spans: list[Span]) -> None:
    found = AddressSet.of(spans)

    assert list(found) == sorted(numbers(spans))
    assert found.size() == len(numbers(spans))
    assert bool(found) is bool(spans)


@CALM
@given(st.lists(NEAR, max_size=8))
def test_spans_are_sorted_apart_and_never_empty(spans: list[Span]) -> None:
    found = AddressSet.of(spans).spans

    assert all(span.first <= span.last for span in found)
    assert all(
        one.version < two.version or (one.version == two.version and one.last + 1 < two.first)
        for one, two in itertools.pairwise(found)
    )


@CALM
@given(st.lists(NEAR, max_size=8), st.randoms(use_true_random=False))
def test_the_order_of_spans_makes_no_difference(spans: list[Span], chance: object) -> None:
    mixed = sorted(spans, key=lambda _: chance.random())  # type: ignore[attr-defined]

    assert AddressSet.of(mixed) == AddressSet.of(spans)
    assert hash(AddressSet.of(mixed)) == hash(AddressSet.of(spans))


@CALM
@given(SMALL_SETS, SMALL_SETS)
def test_minus_and_common_are_those_of_sets(one: AddressSet, two: AddressSet) -> None:
    assert one.minus(two) == AddressSet.of_addresses(set(one) - set(two))
    assert one.common(two) == AddressSet.of_addresses(set(one) & set(two))


@CALM
@given(WIDE_SETS, WIDE_SETS)
def test_what_is_left_and_what_is_common_make_up_the_set(one: AddressSet, two: AddressSet) -> None:
    left, both = one.minus(two), one.common(two)

    assert AddressSet.of([*left.spans, *both.spans]) == one
    assert left.size() + both.size() == one.size()
    assert not left.common(two)
    assert both == two.common(one)


@CALM
@given(SMALL_SETS)
def test_each_index_leads_to_the_address_at_that_place(found: AddressSet) -> None:
    assert [found.at(index) for index in range(found.size())] == list(found)


@CALM
@given(SMALL_SETS, st.integers(1, 100))
def test_an_index_beyond_the_set_is_refused_at_both_ends(found: AddressSet, beyond: int) -> None:
    with pytest.raises(IndexError):
        found.at(found.size() - 1 + beyond)
    with pytest.raises(IndexError):
        found.at(-beyond)


@CALM
@given(SMALL_SETS, NEAR)
def test_only_the_addresses_of_the_set_are_in_it(found: AddressSet, near: Span) -> None:
    asked = numbers([near])

    assert {address for address in asked if address in found} == asked & set(found)


@CALM
@given(SMALL_SETS)
def test_the_families_come_apart(found: AddressSet) -> None:
    assert found.versions == tuple(sorted({address.version for address in found}))
    assert [*found.only(V4), *found.only(V6)] == list(found)
    assert {address.version for address in found.only(V6)} <= {V6}


def test_the_same_number_in_the_other_family_is_another_address() -> None:
    found = AddressSet.of([Span(V4, 5, 5)])

    assert Address(V4, 5) in found
    assert Address(V6, 5) not in found


def test_the_last_ipv4_address_does_not_meet_the_first_ipv6_one() -> None:
    found = AddressSet.of([Span(V4, 2**32 - 1, 2**32 - 1), Span(V6, 2**32, 2**32)])

    assert len(found.spans) == 2


def test_a_span_that_ends_before_it_begins_adds_nothing() -> None:
    assert AddressSet.of([Span(V4, 5, 4), Span(V4, 7, 7)]) == AddressSet.of([Span(V4, 7, 7)])


def test_single_addresses_make_a_set() -> None:
    found = AddressSet.of_addresses([Address(V6, 1), Address(V4, 2), Address(V4, 1), Address(V4, 2)])

    assert found.spans == (Span(V4, 1, 2), Span(V6, 1, 1))


@CALM
@given(WIDE)
def test_a_span_that_is_written_is_read_back(span: Span) -> None:
    assert parse_item(span.text) == span


@CALM
@given(WIDE_SETS)
def test_a_set_that_is_written_is_read_back(found: AddressSet) -> None:
    assert read(found.text) == found


@CALM
@given(blocks(V4).filter(lambda block: block[1] <= 28))
def test_a_whole_block_is_written_as_one(block: tuple[int, int]) -> None:
    number, length = block
    network = ip_network((number, length))

    found = parse_item(str(network))

    assert found.text == str(network)
    assert (found.first, found.last) == (int(network[0]), int(network[-1]))


@CALM
@given(WIDE)
def test_a_span_is_made_of_the_blocks_that_python_makes_of_it(span: Span) -> None:
    if span.version == V4:
        networks = [str(found) for found in summarize_address_range(IPv4Address(span.first), IPv4Address(span.last))]
    else:
        networks = [str(found) for found in summarize_address_range(IPv6Address(span.first), IPv6Address(span.last))]

    assert AddressSet.of(map(parse_item, networks)).spans == (span,)


@pytest.mark.parametrize(
    ("text", "brief"),
    [
        ("10.0.0.1", "10.0.0.1"),
        ("10.0.0.0/28", "10.0.0.0/28"),
        ("10.0.0.0/29", "10.0.0.0-10.0.0.7"),
        ("10.0.0.2 10.0.0.1 fd00::/64", "10.0.0.1-10.0.0.2, fd00::/64"),
        ("10.0.0.1 10.0.0.3 10.0.0.5 10.0.0.7 10.0.0.9", "10.0.0.1, 10.0.0.3, 10.0.0.5, 10.0.0.7, 10.0.0.9"),
        (
            "10.0.0.1 10.0.0.3 10.0.0.5 10.0.0.7 10.0.0.9 10.1.0.0/24 10.3.0.1",
            "10.0.0.1, 10.0.0.3, 10.0.0.5, 10.0.0.7, 10.0.0.9 and 257 more",
        ),
    ],
)
def test_a_message_names_the_first_few_ranges(text: str, brief: str) -> None:
    assert read(text).brief == brief


def test_an_empty_set_is_false_and_has_no_text() -> None:
    assert (bool(AddressSet()), AddressSet().size(), AddressSet().text, list(AddressSet())) == (False, 0, "", [])


def test_every_address_of_ipv6_is_as_cheap_as_one() -> None:
    found = read("::/0")

    assert found.size() == 2**128
    assert found.at(2**128 - 1) == Address(V6, 2**128 - 1)
    assert next(iter(found)) == Address(V6, 0)
    assert Address(V6, 2**127) in found


def test_a_look_into_many_spans_takes_a_few_steps() -> None:
    found = AddressSet(tuple(Span(V4, 4 * place, 4 * place + 1) for place in range(200_000)))
    begun = time.perf_counter()

    hits = sum(Address(V4, number) in found for number in range(0, 800_000, 80))

    assert hits == 10_000
    assert time.perf_counter() - begun < 2  # 10 ms; one that looks at each span in turn takes minutes
