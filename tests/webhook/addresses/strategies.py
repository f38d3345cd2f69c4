"""Addresses, spans and texts for properties."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from webhook.addresses.address import BITS, V4, V6, Address
from webhook.addresses.ranges import AddressSet, Span

# A busy machine is no fault of the code.
CALM = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])


def spans_in(version: int, least: int, most: int) -> st.SearchStrategy[Span]:
    """Spans of one family whose ends lie in [least, most]."""
    ends = st.tuples(st.integers(least, most), st.integers(least, most))
    return ends.map(lambda pair: Span(version, min(pair), max(pair)))


ADDRESSES = st.one_of(
    st.builds(Address, st.just(V4), st.integers(0, 2**32 - 1)),
    st.builds(Address, st.just(V6), st.integers(0, 2**128 - 1)).filter(lambda found: found.value >> 32 != 0xFFFF),
)
# Close together, so that spans meet, overlap and hold each other; at both ends of both families.
NEAR = st.one_of(
    spans_in(V4, 0, 40),
    spans_in(V4, 2**32 - 20, 2**32 - 1),
    spans_in(V6, 0, 40),
    spans_in(V6, 2**128 - 20, 2**128 - 1),
)
SMALL_SETS = st.lists(NEAR, max_size=8).map(AddressSet.of)
# Any size: a /0 is as likely as one address. Nothing in the mapped block, which has no text of its own.
WIDE = st.one_of(spans_in(V4, 0, 2**32 - 1), spans_in(V6, 1 << 48, 2**128 - 1))
WIDE_SETS = st.lists(WIDE, min_size=1, max_size=8).map(AddressSet.of)


def python_text(address: Address) -> str:
    return str(IPv4Address(address.value) if address.version == V4 else IPv6Address(address.value))


def blocks(version: int) -> st.SearchStrategy[tuple[int, int]]:
    """Number and prefix length of a CIDR."""
    bits = BITS[version]
    return st.integers(0, bits).flatmap(
        lambda length: st.integers(0, 2**length - 1).map(lambda network: (network << (bits - length), length))
    )
