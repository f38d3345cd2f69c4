"""What an allocation may ask of memory. Implemented by `controllers.pod_ip.book`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from webhook.addresses.address import Address
from webhook.addresses.facts import Asked, ReservationFacts
from webhook.addresses.ranges import AddressSet


class Book(Protocol):
    """Who has which address, as this replica knows it. Any thread; never IO. It may be stale: that costs a collision only."""

    def take(self, asked: Asked, version: int) -> Address | None:
        """The free address of family *version* that *asked* should get, marked as being reserved by this process.

        None when there is none. First what the same owner had last, then this replica's share, then the others', each by the
        time of release; never one that the network still has in use. Microseconds, whatever the size of the set.
        """

    def foresee(self, asked: Asked, version: int) -> Address | None:
        """What `take` might choose; nothing is marked."""

    def refused(self, address: Address) -> None:
        """The API server says that somebody else has it, or did not say: not to be tried again until the cache knows more."""

    def learned(self, reservation: ReservationFacts) -> None:
        """It exists, in this version: what `take` marked, or what was claimed or read live."""

    def vanished(self, reservation: ReservationFacts) -> None:
        """It exists no longer, whatever the cache says."""

    def by_key(self, key: str) -> Sequence[ReservationFacts]:
        """The reservations made for *key*: one of each family, more when replicas knew nothing of each other."""

    def reservation(self, address: Address) -> ReservationFacts | None:
        """The reservation of *address*."""

    def within(self, addresses: AddressSet) -> Sequence[ReservationFacts]:
        """The reservations of *addresses*, in no order. O(the smaller of both): for messages only."""
