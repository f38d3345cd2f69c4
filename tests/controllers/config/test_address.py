"""Bind addresses follow Go's grammar."""

from __future__ import annotations

import pytest

from controllers.config.address import Address


@pytest.mark.parametrize(
    ("text", "address"),
    [
        (":9443", Address("", 9443)),
        (":0", Address("", 0)),
        ("127.0.0.1:0", Address("127.0.0.1", 0)),
        ("0.0.0.0:65535", Address("0.0.0.0", 65535)),
        ("[::]:9443", Address("::", 9443)),
        ("[0:0::1]:1", Address("::1", 1)),
        ("localhost:8080", Address("localhost", 8080)),
        ("edge-1.example.com:8080", Address("edge-1.example.com", 8080)),
        ("0", Address("", 0, enabled=False)),
    ],
)
def test_an_address_is_read_as_go_reads_it(text: str, address: Address) -> None:
    assert Address.parse(text) == address


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "has no port"),
        ("9443", 'has no port: write ":9443"'),
        ("localhost", "has no port"),
        ("::1:9443", "an IPv6 address stands in brackets"),
        ("[::1]", "an IPv6 address stands in brackets"),
        ("[::g]:1", "is not an IPv6 address"),
        ("[127.0.0.1]:1", "is not an IPv6 address"),
        ("300.0.0.1:1", "is not an IPv4 address"),
        ("a b:1", "neither an IP address nor a host name"),
        ("http://x:1", "an IPv6 address stands in brackets"),
        (":", "a port is a number"),
        (":65536", "a port is a number"),
        (":-1", "a port is a number"),
        (":http", "a port is a number"),
        (":٣", "a port is a number"),
    ],
)
def test_what_is_no_address_is_refused_with_the_reason(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=r"address|port") as refusal:
        Address.parse(text)

    assert message in str(refusal.value)


@pytest.mark.parametrize("text", [":9443", "127.0.0.1:0", "[::1]:80", "localhost:1", "0"])
def test_a_written_address_reads_back_the_same(text: str) -> None:
    assert str(Address.parse(text)) == text


@pytest.mark.parametrize(
    ("text", "loopback"),
    [("127.0.0.2:1", True), ("[::1]:1", True), ("localhost:1", True), (":1", False), ("10.0.0.1:1", False), ("a.b:1", False)],
)
def test_loopback_is_what_only_this_machine_reaches(text: str, loopback: bool) -> None:
    assert Address.parse(text).is_loopback() is loopback
