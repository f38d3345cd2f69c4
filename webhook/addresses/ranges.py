"""Sets of addresses as sorted ranges: a /64 costs as little as one address. Pure; any thread."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from itertools import accumulate
from typing import Final, NamedTuple

import attrs

from webhook.addresses.address import BITS, V6, Address

_BEYOND: Final = 1 << BITS[V6]  # no address has so high a number
_NAMED_LIMIT: Final = 5  # ranges that a message names before it only counts
_LEAST_BLOCK: Final = 16  # addresses; smaller ranges are written by their ends, as people do


class Span(NamedTuple):
    """The addresses of one family from *first* to *last*, both included."""

    version: int
    first: int
    last: int

    @property
    def size(self) -> int:
        return self.last - self.first + 1

    @property
    def text(self) -> str:
        """As an item that `grammar` reads back: "10.0.0.1", "10.0.0.1-10.0.0.9" or, where it is one, "10.0.0.0/24"."""
        first, size = Address(self.version, self.first).text, self.size
        if size == 1:
            return first
        if size >= _LEAST_BLOCK and size & (size - 1) == 0 and self.first % size == 0:
            return f"{first}/{BITS[self.version] + 1 - size.bit_length()}"
        return f"{first}-{Address(self.version, self.last).text}"


@attrs.frozen(cache_hash=True)  # a key wherever free addresses are kept, and thousands of spans long at times
class AddressSet:
    """Addresses as spans that are sorted, apart from each other and never empty. Made by `of` only. False when empty."""

    spans: tuple[Span, ...] = ()
    # How many addresses there are up to the end of each span.
    _counts: tuple[int, ...] = attrs.field(init=False, eq=False, repr=False)

    @_counts.default
    def _count(self) -> tuple[int, ...]:
        return tuple(accumulate(last - first + 1 for _, first, last in self.spans))

    @classmethod
    def of(cls, spans: Iterable[Span]) -> AddressSet:
        """The union of *spans*, in any order, overlapping or not. One that ends before it begins adds nothing."""
        apart: list[Span] = []
        version = end = -1
        for span in sorted(spans):
            family, first, last = span
            if family == version and first <= end + 1:
                if last > end:
                    end = last
                    apart[-1] = Span(version, apart[-1].first, end)
            elif first <= last:
                version, end = family, last
                apart.append(span)
        return cls(tuple(apart))

    @classmethod
    def of_addresses(cls, addresses: Iterable[Address]) -> AddressSet:
        """The set of single *addresses*."""
        return cls.of(Span(address.version, address.value, address.value) for address in addresses)

    @property
    def versions(self) -> tuple[int, ...]:
        """The families in it, IPv4 first."""
        return tuple(sorted({span.version for span in self.spans}))

    def only(self, version: int) -> AddressSet:
        """Those of one family."""
        return AddressSet(tuple(span for span in self.spans if span.version == version))

    def size(self) -> int:
        """How many there are."""
        return self._counts[-1] if self._counts else 0

    def at(self, index: int) -> Address:
        """The address at *index* of the sorted sequence. Raises IndexError."""
        if not 0 <= index < self.size():
            raise IndexError(f"index {index} of {self.size()} addresses")
        place = bisect_right(self._counts, index)
        span = self.spans[place]
        return Address(span.version, span.last - (self._counts[place] - 1 - index))

    def __contains__(self, address: Address) -> bool:
        """Binary search."""
        version, value = address
        place = bisect_right(self.spans, (version, value, _BEYOND)) - 1
        if place < 0:
            return False
        span = self.spans[place]
        return span.version == version and value <= span.last

    def __bool__(self) -> bool:
        return bool(self.spans)

    def __iter__(self) -> Iterator[Address]:
        """In order; lazily, since there may be 2^64."""
        for version, first, last in self.spans:
            for value in range(first, last + 1):
                yield Address(version, value)

    def minus(self, other: AddressSet) -> AddressSet:
        """Those that *other* has not. O(n + m) in spans."""
        left: list[Span] = []
        place = 0
        for version, first, last in self.spans:
            while place < len(other.spans) and other.spans[place][::2] < (version, first):  # version and last
                place += 1
            begin, ahead = first, place
            while ahead < len(other.spans) and other.spans[ahead][:2] <= (version, last):
                cut = other.spans[ahead]
                if begin < cut.first:
                    left.append(Span(version, begin, cut.first - 1))
                begin = cut.last + 1
                ahead += 1
            if begin <= last:
                left.append(Span(version, begin, last))
            place = max(place, ahead - 1)
        return AddressSet(tuple(left))

    def common(self, other: AddressSet) -> AddressSet:
        """Those that both have. O(n + m) in spans."""
        both: list[Span] = []
        mine = theirs = 0
        while mine < len(self.spans) and theirs < len(other.spans):
            one, two = self.spans[mine], other.spans[theirs]
            first, last = max(one.first, two.first), min(one.last, two.last)
            if one.version == two.version and first <= last:
                both.append(Span(one.version, first, last))
            if one[::2] < two[::2]:  # version and last: the one that ends first has nothing more in common
                mine += 1
            else:
                theirs += 1
        return AddressSet(tuple(both))

    @property
    def text(self) -> str:
        """All of them, as a list that `grammar` reads back: "10.0.0.1, 10.0.0.4-10.0.0.9"."""
        return ", ".join(span.text for span in self.spans)

    @property
    def brief(self) -> str:
        """The first few of them, for messages: "10.0.0.1, 10.0.0.4-10.0.0.9 and 250 more"."""
        if len(self.spans) <= _NAMED_LIMIT:
            return self.text
        named = ", ".join(span.text for span in self.spans[:_NAMED_LIMIT])
        return f"{named} and {self.size() - self._counts[_NAMED_LIMIT - 1]} more"
