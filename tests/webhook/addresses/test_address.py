from __future__ import annotations

from ipaddress import IPv6Address, ip_address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.webhook.addresses.strategies import ADDRESSES, CALM, python_text
from webhook.addresses.address import V4, V6, Address, AddressError, mapped, quoted


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("0.0.0.0", Address(V4, 0)),
        ("10.0.0.1", Address(V4, 0x0A000001)),
        ("255.255.255.255", Address(V4, 2**32 - 1)),
        ("::", Address(V6, 0)),
        ("::1", Address(V6, 1)),
        ("fd00::", Address(V6, 0xFD00 << 112)),
        ("FD00::A", Address(V6, 0xFD00 << 112 | 10)),
        ("fd00:0:0:0:0:0:0:a", Address(V6, 0xFD00 << 112 | 10)),
        ("1:2:3:4:5:6:7::", Address(V6, 0x00010002000300040005000600070000)),
        ("::10.0.0.1", Address(V6, 0x0A000001)),
        ("64:ff9b::10.0.0.1", Address(V6, 0x0064FF9B << 96 | 0x0A000001)),
    ],
)
def test_a_text_is_an_address(text: str, address: Address) -> None:
    assert Address.parse(text) == address


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "10.0.0.1 ",
        " 10.0.0.1",
        "10.0.0.1\n",
        "10.0.0",
        "10.0.0.",
        "10.0.0.1.",
        "10.0.0.1.1",
        "10..0.1",
        "10.0.0.256",
        "10.0.0.-1",
        "10.0.0.+1",
        "10.0.0.1_0",
        "10.0.0.0x1",
        "167772161",
        "1" * 5000,
        "10.0.0.٣",
        "１０.0.0.1",
        "::1 ",
        "::1\n",
        ":",
        ":::",
        "1::2::3",
        "1:::2",
        ":1:2:3:4:5:6:7",
        "1:2:3:4:5:6:7:",
        "1:2:3:4:5:6:7",
        "1:2:3:4:5:6:7:8:9",
        "1:2:3:4::5:6:7:8",
        "00001::",
        "g::",
        "::١",
        "[::1]",
        "::10.0.0.01",
        "localhost",
        "\ud800",
        "\0",
    ],
)
def test_a_text_that_is_no_address_is_refused_with_the_text_quoted(text: str) -> None:
    with pytest.raises(AddressError) as caught:
        Address.parse(text)

    assert str(caught.value).startswith(f"{quoted(text)} is no IP address")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("fe80::1%eth0", '"fe80::1%eth0" is no IP address: it names a zone'),
        ("10.0.0.1/32", '"10.0.0.1/32" is no IP address: it names a range of them'),
        ("fd00::1/128", '"fd00::1/128" is no IP address: it names a range of them'),
        ("10.0.0.010", '"10.0.0.010" is no IP address: a part of it begins with 0'),
        ("::ffff:10.0.0.1", '"::ffff:10.0.0.1" is an IPv4 address written as IPv6: write 10.0.0.1'),
        ("::FFFF:A00:1", '"::FFFF:A00:1" is an IPv4 address written as IPv6: write 10.0.0.1'),
    ],
)
def test_an_address_with_something_more_is_refused_and_told_so(text: str, message: str) -> None:
    with pytest.raises(AddressError) as caught:
        Address.parse(text)

    assert str(caught.value) == message


@CALM
@given(ADDRESSES)
def test_an_address_is_written_as_python_writes_it_and_read_back(address: Address) -> None:
    assert address.text == python_text(address)
    assert Address.parse(address.text) == address


@CALM
@given(ADDRESSES)
def test_an_address_is_read_back_from_its_name(address: Address) -> None:
    assert Address.from_name(address.name) == address


@CALM
@given(st.text("0123456789abcdefABCDEF:.%/ ", max_size=45) | st.text(max_size=20))
def test_every_text_is_read_as_python_reads_it_or_refused(text: str) -> None:
    try:
        expected = ip_address(text)
    except ValueError:
        expected = None
    if isinstance(expected, IPv6Address) and (expected.scope_id is not None or expected.ipv4_mapped is not None):
        expected = None

    try:
        found = Address.parse(text)
    except AddressError:
        found = None

    assert found == (None if expected is None else Address(expected.version, int(expected)))


@CALM
@given(st.lists(st.sampled_from(["", "0", "1", "ffff", "FFFF", "abcd", "00001", "10.0.0.1"]), max_size=10).map(":".join))
def test_every_text_of_groups_is_read_as_python_reads_it(text: str) -> None:
    try:
        expected = IPv6Address(text)
    except ValueError:
        expected = None

    try:
        found: int | None = Address.parse(text).value
    except AddressError:
        found = None

    # A single group may be an IPv4 address; a mapped address has a property of its own.
    if ":" in text:
        assert found == (None if expected is None or expected.ipv4_mapped is not None else int(expected))


@pytest.mark.parametrize(
    "name",
    ["fd00--1", "fd00-0-0-0-0-0-0-1", "FD00-0000-0000-0000-0000-0000-0000-0001", "fd00:0000:0000:0000:0000:0000:0000:0001"],
)
def test_another_spelling_is_no_name(name: str) -> None:
    with pytest.raises(AddressError, match='expected "fd00-0000-0000-0000-0000-0000-0000-0001"'):
        Address.from_name(name)


@pytest.mark.parametrize("name", ["", "-", "web-0", "10.0.0.1-", "10-0-0-1", "0000-0000-0000-0000-0000-ffff-0a00-0001"])
def test_a_text_that_names_no_address_is_refused(name: str) -> None:
    with pytest.raises(AddressError):
        Address.from_name(name)


def test_the_name_of_an_ipv6_address_begins_and_ends_with_a_digit_as_label_values_must() -> None:
    assert Address.parse("::").name == "0000-0000-0000-0000-0000-0000-0000-0000"
    assert Address.parse("fd00::").name == "fd00-0000-0000-0000-0000-0000-0000-0000"


def test_addresses_are_ordered_by_family_then_by_number() -> None:
    texts = ["::1", "10.0.0.10", "fd00::1", "10.0.0.9", "9.255.0.0"]

    assert [found.text for found in sorted(map(Address.parse, texts))] == [
        "9.255.0.0",
        "10.0.0.9",
        "10.0.0.10",
        "::1",
        "fd00::1",
    ]


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("::ffff:10.0.0.1", Address(V4, 0x0A000001)),
        ("::ffff:a00:1", Address(V4, 0x0A000001)),
        ("10.0.0.1", None),
        ("fd00::1", None),
        ("nothing", None),
    ],
)
def test_a_mapped_address_is_the_ipv4_one_that_go_reads(text: str, address: Address | None) -> None:
    assert mapped(text) == address


def test_a_long_text_is_quoted_from_its_beginning() -> None:
    assert quoted("1" * 5000) == '"' + "1" * 64 + '…"'


@pytest.mark.parametrize(("text", "shown"), [("a\nb", '"a\\nb"'), ("\ud800", '"\\ud800"'), ("é", '"é"')])
def test_a_quoted_text_is_one_line_that_can_be_sent(text: str, shown: str) -> None:
    assert quoted(text) == shown
    assert quoted(text).encode()


def test_an_error_says_which_field_it_is_about() -> None:
    error = AddressError('"x" is no IP address').within("spec.addresses[3]")

    assert (str(error), error.field, error.message) == (
        'spec.addresses[3]: "x" is no IP address',
        "spec.addresses[3]",
        '"x" is no IP address',
    )
