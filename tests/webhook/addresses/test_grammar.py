from __future__ import annotations

import json
import time
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.webhook.addresses.strategies import ADDRESSES, CALM, WIDE_SETS, blocks, spans_in
from webhook.addresses.address import V4, V6, Address, AddressError, quoted
from webhook.addresses.grammar import LABEL_LIMIT, MAX_ITEMS, parse_annotation, parse_items, parse_label
from webhook.addresses.ranges import AddressSet, Span
from webhook.objects.pod_rules import ANNOTATIONS_LIMIT

FULL_V6 = "fd00-0000-0000-0000-0000-0000-0000-00ab"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("10.0.0.1", "10.0.0.1"),
        ("10.0.0.1_10.0.0.3", "10.0.0.1, 10.0.0.3"),
        ("10.0.0.3_10.0.0.1_10.0.0.3", "10.0.0.1, 10.0.0.3"),
        ("10.0.0.10-19", "10.0.0.10-10.0.0.19"),
        ("10.0.0.10-10", "10.0.0.10"),
        ("10.0.0.200-210", "10.0.0.200-10.0.0.210"),
        ("10.0.0.10-10.0.1.9", "10.0.0.10-10.0.1.9"),
        ("10.0.0.0-255", "10.0.0.0/24"),
        ("10.0.0.10-19_10.0.0.15-30_10.0.0.40", "10.0.0.10-10.0.0.30, 10.0.0.40"),
        (
            "100.100.100.100_100.100.100.102_100.100.100.104_100.100.100.106",
            "100.100.100.100, 100.100.100.102, 100.100.100.104, 100.100.100.106",
        ),
        (
            "100.100.100.100-100.100.100.110_200.200.200.200-200.200.200.210",
            "100.100.100.100-100.100.100.110, 200.200.200.200-200.200.200.210",
        ),
        (FULL_V6, "fd00::ab"),
        (FULL_V6.upper(), "fd00::ab"),
        (f"10.0.0.1_{FULL_V6}", "10.0.0.1, fd00::ab"),
    ],
)
def test_a_label_names_addresses(text: str, expected: str) -> None:
    assert len(text) <= LABEL_LIMIT
    assert parse_label(text, "label").text == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty: it names no address"),
        (" ", '" " is no IP address'),
        ("10.0.0.300", '"10.0.0.300" is no IP address'),
        ("10.0.0.1_10.0.0.01", '"10.0.0.01" is no IP address: a part of it begins with 0'),
        ("10.0.0.1_web", '"web" is no IP address'),
        ("10.0.0.1__10.0.0.2", 'an item is empty: items are joined by one "_"'),
        ("10.0.0.1_", 'an item is empty: items are joined by one "_"'),
        ("10.0.0.1,10.0.0.2", '"10.0.0.1,10.0.0.2" is no IP address'),
        ("10.0.0.19-10", '"10.0.0.19-10" ends before it begins'),
        ("10.0.0.130-127", '"10.0.0.130-127" ends before it begins'),
        ("10.0.1.1-10.0.0.9", '"10.0.1.1-10.0.0.9" ends before it begins'),
        ("10.0.0.1-256", '"10.0.0.1-256" is no range of addresses: "256" is neither an address nor a last octet'),
        ("10.0.0.1-09", '"10.0.0.1-09" is no range of addresses: "09" is neither an address nor a last octet'),
        ("10.0.0.1-", '"10.0.0.1-" is no range of addresses: "" is neither an address nor a last octet'),
        ("10.0.0.1-٣", '"10.0.0.1-٣" is no range of addresses: "٣" is neither an address nor a last octet'),
        ("-10.0.0.1", '"-10.0.0.1" is no range of addresses: "" is no IP address'),
        ("1-2-3", '"1-2-3" is no range of addresses: "1" is no IP address'),
        ("10.0.0.1-2-3", '"10.0.0.1-2-3" is no range of addresses: "2-3" is neither an address nor a last octet'),
        ("10.0.0.1-2.3", '"10.0.0.1-2.3" is no range of addresses: "2.3" is no IP address'),
        ("fd00-0-0-0-0-0-0-1", '"fd00-0-0-0-0-0-0-1" is no range of addresses: "fd00" is no IP address'),
        ("fd00--1", '"fd00--1" is no range of addresses: "fd00" is no IP address'),
        (
            "0000-0000-0000-0000-0000-ffff-0a00-0001",
            '"0000-0000-0000-0000-0000-ffff-0a00-0001" is an IPv4 address written as IPv6',
        ),
        ("10.0.0.0/24", '"10.0.0.0/24" cannot stand in a label: write the list in the annotation'),
        ("fd00::1", '"fd00::1" cannot stand in a label: write the list in the annotation'),
        ("!10.0.0.1", '"!10.0.0.1" is no IP address'),
        ('["10.0.0.1"]', '"["10.0.0.1"]" is no IP address'),
        ("\ud800", '"\\ud800" is no IP address'),
        (
            "_".join(["100.100.100.100"] * 4 + ["1.1.1.1"]),
            '"100.100.100.100_100.100.100.100_100.100.100.100_100.100.100.100_…" has 71 characters, a label takes 63: '
            "write the list in the annotation",
        ),
    ],
)
def test_a_label_that_cannot_be_read_is_refused_with_the_item_quoted(text: str, message: str) -> None:
    with pytest.raises(AddressError) as caught:
        parse_label(text, "metadata.labels[x]")

    assert str(caught.value) == f"metadata.labels[x]: {message}"
    assert caught.value.field == "metadata.labels[x]"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("10.0.0.1", "10.0.0.1"),
        ("10.0.0.1,10.0.0.3", "10.0.0.1, 10.0.0.3"),
        (" 10.0.0.1 ,\n10.0.0.3,\r\n\t10.0.0.5,\n", "10.0.0.1, 10.0.0.3, 10.0.0.5"),
        ("10.0.0.1\n10.0.0.3", "10.0.0.1, 10.0.0.3"),
        ("10.0.0.1 10.0.0.1", "10.0.0.1"),
        ("10.0.0.10-19", "10.0.0.10-10.0.0.19"),
        ("10.0.0.10-10.0.0.19", "10.0.0.10-10.0.0.19"),
        ("10.0.0.0/30", "10.0.0.0-10.0.0.3"),
        ("10.0.0.5/32", "10.0.0.5"),
        ("0.0.0.0/0", "0.0.0.0/0"),
        ("fd00::1", "fd00::1"),
        ("fd00::1-fd00::9", "fd00::1-fd00::9"),
        ("FD00::/64", "fd00::/64"),
        ("fd00::5/128", "fd00::5"),
        ("10.0.0.1, fd00::1", "10.0.0.1, fd00::1"),
        ("10.0.0.0/29 !10.0.0.0 !10.0.0.7", "10.0.0.1-10.0.0.6"),
        ("!10.0.0.4-5 10.0.0.0/29", "10.0.0.0-10.0.0.3, 10.0.0.6-10.0.0.7"),
        ("10.0.0.0/29 !10.0.0.0/30", "10.0.0.4-10.0.0.7"),
        ("10.0.0.1 !10.9.9.9", "10.0.0.1"),
        ("fd00::/64 !fd00::", "fd00::1-fd00::ffff:ffff:ffff:ffff"),
        ('["10.0.0.1", "fd00::1"]', "10.0.0.1, fd00::1"),
        (' [ "10.0.0.0/28",\n"!10.0.0.0/29" ] \n', "10.0.0.8-10.0.0.15"),
        ('["10.0.0.1-3"]', "10.0.0.1-10.0.0.3"),
    ],
)
def test_an_annotation_names_addresses(text: str, expected: str) -> None:
    assert parse_annotation(text, "annotation").text == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", '"" names no address'),
        (" ,\n", '" ,\\n" names no address'),
        ("[]", '"[]" names no address'),
        ("!10.0.0.1", '"!10.0.0.1" names no address'),
        ("10.0.0.1 !10.0.0.0/24", '"10.0.0.1 !10.0.0.0/24" names no address that it does not exclude'),
        ("10.0.0.1 10.0.0.300", '"10.0.0.300" is no IP address'),
        ("10.0.0.1;10.0.0.2", '"10.0.0.1;10.0.0.2" is no IP address'),
        ("10.0.0.1_10.0.0.2", '"10.0.0.1_10.0.0.2" is no IP address'),
        ("10.0.0.1\u00a010.0.0.2", '"10.0.0.1\\u00a010.0.0.2" is no IP address'),
        ("10.0.0.9-10.0.0.1", '"10.0.0.9-10.0.0.1" ends before it begins'),
        ("fd00::9-fd00::1", '"fd00::9-fd00::1" ends before it begins'),
        ("10.0.0.1-fd00::1", '"10.0.0.1-fd00::1" begins in one family and ends in the other'),
        ("fd00::1-10.0.0.1", '"fd00::1-10.0.0.1" begins in one family and ends in the other'),
        ("fd00::1-9", '"fd00::1-9" is no range of addresses: "9" is no IP address'),
        ("fe80::1%eth0", '"fe80::1%eth0" is no IP address: it names a zone'),
        (
            "fe80::1%a-fe80::9%a",
            '"fe80::1%a-fe80::9%a" is no range of addresses: "fe80::1%a" is no IP address: it names a zone',
        ),
        ("::ffff:10.0.0.1", '"::ffff:10.0.0.1" is an IPv4 address written as IPv6: write 10.0.0.1'),
        ("10.0.0.5/30", '"10.0.0.5/30" is no CIDR: write "10.0.0.4/30", or the address alone'),
        ("fd00::1/64", '"fd00::1/64" is no CIDR: write "fd00::/64", or the address alone'),
        ("10.0.0.0/33", '"10.0.0.0/33" is no CIDR: expected a number from 0 to 32 after the slash'),
        ("fd00::/129", '"fd00::/129" is no CIDR: expected a number from 0 to 128 after the slash'),
        ("10.0.0.0/024", '"10.0.0.0/024" is no CIDR: expected a number from 0 to 32 after the slash'),
        ("10.0.0.0/-1", '"10.0.0.0/-1" is no CIDR: expected a number from 0 to 32 after the slash'),
        ("10.0.0.0/", '"10.0.0.0/" is no CIDR: expected a number from 0 to 32 after the slash'),
        ("10.0.0.0/255.255.255.0", '"10.0.0.0/255.255.255.0" is no CIDR: expected a number from 0 to 32 after the slash'),
        ("10.0.0.0/" + "9" * 20, f'"10.0.0.0/{"9" * 20}" is no CIDR: expected a number from 0 to 32 after the slash'),
        ("10.0.0/24", '"10.0.0/24" is no CIDR: "10.0.0" is no IP address'),
        ("10.0.0.0/24/8", '"10.0.0.0/24/8" is no CIDR: expected a number from 0 to 32 after the slash'),
        ("10.0.0.0/30-10.0.0.9", '"10.0.0.0/30-10.0.0.9" is no CIDR: expected a number from 0 to 32 after the slash'),
        ("10.0.0.1 !", '"!" excludes nothing: an address, range or CIDR follows at once'),
        ("10.0.0.1 ! 10.0.0.2", '"!" excludes nothing: an address, range or CIDR follows at once'),
        ("10.0.0.1 !!10.0.0.2", '"!!10.0.0.2": "!10.0.0.2" is no IP address'),
        ("10.0.0.1 !x", '"!x": "x" is no IP address'),
        ("[10.0.0.1]", '"[10.0.0.1]" is no JSON list of addresses: expected ["10.0.0.1"]'),
        ('["10.0.0.1"', '"["10.0.0.1"" is no JSON list of addresses: expected ["10.0.0.1"]'),
        ('["10.0.0.1"] x', '"["10.0.0.1"] x" is no JSON list of addresses: expected ["10.0.0.1"]'),
        ('["10.0.0.1", 7]', "item 1 of the JSON list is no string"),
        ("[null]", "item 0 of the JSON list is no string"),
        ("[NaN]", "item 0 of the JSON list is no string"),
        ('[["10.0.0.1"]]', "item 0 of the JSON list is no string"),
        ('[{"a": 1}]', "item 0 of the JSON list is no string"),
        ('["10.0.0.1, 10.0.0.2"]', '"10.0.0.1, 10.0.0.2" is no IP address'),
        ('[""]', '"" is no IP address'),
        ('["\\ud800"]', '"\\ud800" is no IP address'),
        ('{"a":1}', '"{"a":1}" is no IP address'),
        ("[" * 100_000, f'"{"[" * 64}…" is no JSON list of addresses: expected ["10.0.0.1"]'),
        ("[" + "9" * 10_000 + "]", f'"[{"9" * 63}…" is no JSON list of addresses: expected ["10.0.0.1"]'),
        ("10.0.0.1 " * (MAX_ITEMS + 1), "has 4097 items, at most 4096 are read: write ranges or a CIDR"),
        (json.dumps(["10.0.0.1"] * (MAX_ITEMS + 1)), "has 4097 items, at most 4096 are read: write ranges or a CIDR"),
        (" " * (ANNOTATIONS_LIMIT + 1), "has 262145 characters: annotations take 262144"),
    ],
)
def test_an_annotation_that_cannot_be_read_is_refused_with_the_item_quoted(text: str, message: str) -> None:
    with pytest.raises(AddressError) as caught:
        parse_annotation(text, "metadata.annotations[x]")

    assert str(caught.value) == f"metadata.annotations[x]: {message}"


def answer(parse: Callable[[str, str], AddressSet], text: str) -> tuple[int, str]:
    """How many addresses *text* names, and the field of the error when it names none."""
    try:
        return parse(text, "the.field").size(), ""
    except AddressError as error:
        return 0, error.field


ADDRESS_CHARACTERS = '0123456789abcdefABCDEF.:-_/!, \n[]"%'


@CALM
@given(st.text(ADDRESS_CHARACTERS, max_size=70) | st.text(max_size=70))
def test_any_label_names_some_addresses_or_is_refused_by_its_field(text: str) -> None:
    size, field = answer(parse_label, text)

    assert size > 0 if not field else field == "the.field"
    assert field or len(text) <= LABEL_LIMIT


@CALM
@given(st.text(ADDRESS_CHARACTERS, max_size=70) | st.text(max_size=70))
def test_any_annotation_names_some_addresses_or_is_refused_by_its_field(text: str) -> None:
    size, field = answer(parse_annotation, text)

    assert size > 0 if not field else field == "the.field"


V4_ITEMS = st.one_of(
    st.integers(0, 2**32 - 1).map(lambda number: Span(V4, number, number)),
    spans_in(V4, 0, 2**32 - 1),
    spans_in(V4, 0x0A000000, 0x0A0000FF),
)


def label_item(span: Span) -> str:
    first, last = Address(V4, span.first).text, Address(V4, span.last).text
    if span.first == span.last:
        return first
    return f"{first}-{span.last & 255}" if span.first >> 8 == span.last >> 8 else f"{first}-{last}"


@CALM
@given(st.lists(V4_ITEMS, min_size=1, max_size=5))
def test_what_is_read_from_a_label_reads_the_same_in_an_annotation(spans: list[Span]) -> None:
    text = "_".join(map(label_item, spans))

    if len(text) > LABEL_LIMIT:
        with pytest.raises(AddressError, match="write the list in the annotation"):
            parse_label(text, "label")
        assert parse_annotation(text.replace("_", ","), "annotation") == AddressSet.of(spans)
    else:
        found = parse_label(text, "label")
        assert found == AddressSet.of(spans)
        assert parse_annotation(found.text, "annotation") == found


@CALM
@given(ADDRESSES)
def test_the_name_of_an_address_names_it_in_a_label(address: Address) -> None:
    assert list(parse_label(address.name, "label")) == [address]


@CALM
@given(WIDE_SETS, WIDE_SETS)
def test_what_is_excluded_is_taken_out_wherever_it_stands(wanted: AddressSet, excluded: AddressSet) -> None:
    items = [*(span.text for span in wanted.spans), *(f"!{span.text}" for span in excluded.spans)]
    left = wanted.minus(excluded)

    for text in (", ".join(items), "\n".join(reversed(items)), json.dumps(items)):
        if left:
            assert parse_annotation(text, "annotation") == left
        else:
            with pytest.raises(AddressError, match="that it does not exclude"):
                parse_annotation(text, "annotation")


@CALM
@given(st.one_of(blocks(V4).map(lambda block: (V4, *block)), blocks(V6).map(lambda block: (V6, *block))))
def test_a_cidr_names_all_its_addresses_also_the_first_and_the_last(block: tuple[int, int, int]) -> None:
    version, number, length = block
    bits = 32 if version == V4 else 128
    if version == V6 and number >> 32 == 0xFFFF:
        return

    found = parse_annotation(f"{Address(version, number).text}/{length}", "annotation")

    assert found.spans == (Span(version, number, number + 2 ** (bits - length) - 1),)


def test_a_pool_names_the_item_that_cannot_be_read() -> None:
    with pytest.raises(AddressError) as caught:
        parse_items(["10.0.0.1", "10.0.0.0/24", "10.0.0.256"], "spec.addresses")

    assert str(caught.value) == 'spec.addresses[2]: "10.0.0.256" is no IP address'


@pytest.mark.parametrize("item", [None, 7, True, ["10.0.0.1"], {}])
def test_an_item_of_a_pool_is_a_string(item: object) -> None:
    with pytest.raises(AddressError) as caught:
        parse_items(["10.0.0.1", item], "spec.exclude")

    assert str(caught.value) == "spec.exclude[1]: expected a string"


@pytest.mark.parametrize("item", ["!10.0.0.1", "", " ", "10.0.0.1 10.0.0.2", '["10.0.0.1"]'])
def test_an_item_of_a_pool_is_one_item(item: str) -> None:
    with pytest.raises(AddressError) as caught:
        parse_items([item], "spec.addresses")

    assert str(caught.value) == f"spec.addresses[0]: {quoted(item)} is no IP address"


def test_a_pool_may_name_nothing() -> None:
    assert parse_items([], "spec.exclude") == AddressSet()


def test_a_pool_has_bounded_items() -> None:
    assert parse_items(["10.0.0.1"] * MAX_ITEMS, "spec.addresses").size() == 1
    with pytest.raises(AddressError, match=r"spec\.addresses: has 4097 items"):
        parse_items(["10.0.0.1"] * (MAX_ITEMS + 1), "spec.addresses")


@pytest.mark.parametrize(
    ("text", "size"),
    [
        (",".join(f"10.{place >> 8}.{place & 255}.1" for place in range(MAX_ITEMS)), MAX_ITEMS),
        (",".join(f"10.{place >> 8}.{place & 255}.1-9" for place in range(MAX_ITEMS)), 9 * MAX_ITEMS),
        (",".join(f"fd00::{place:x}:1" for place in range(MAX_ITEMS)), MAX_ITEMS),
        (json.dumps([f"10.{place >> 8}.{place & 255}.1" for place in range(MAX_ITEMS)]), MAX_ITEMS),
        ("10.0.0.0/16", 2**16),
        ("fd00::/64", 2**64),
        ("1:" * 100_000 + " 10.0.0.1", None),
        ("10.0.0.1-" * 20_000, None),
        ("!" * 200_000, None),
    ],
    ids=["addresses", "ranges", "ipv6", "json", "a /16", "a /64", "colons", "hyphens", "marks"],
)
def test_the_longest_list_is_read_while_an_admission_waits(text: str, size: int | None) -> None:
    begun = time.perf_counter()

    try:
        found: int | None = parse_annotation(text, "annotation").size()
    except AddressError:
        found = None

    assert found == size
    assert time.perf_counter() - begun < 2  # about 10 ms
