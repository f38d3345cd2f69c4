"""In which order free addresses are given away. Pure: chance and time are arguments; whoever has a `Line` locks it.

Every replica has a share of the addresses, by rendezvous hashing over the replicas that reserve, so that two replicas which
choose at the same moment seldom choose the same address. Inside a share whoever was released first comes first, because the
network may lag behind (projectcalico/calico#4694: Calico frees an address up to 15 minutes later when its node is lost);
before these, those of which nobody knows anything, by the hash that won them: in an order that looks random, is another one
for each replica, and that the others can tell. Who has used up its own share takes from the far end of another's.

Source: Thaler and Ravishankar, "Using name-based mappings to increase hit rates" (rendezvous hashing); Blumofe and Leiserson,
        "Scheduling multithreaded computations by work stealing" (owner and thief at two ends).
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Final
from zlib import crc32

from webhook.addresses.address import Address
from webhook.addresses.ranges import AddressSet

WHOLE: Final = 16_384  # addresses of a set that a Line keeps; of bigger sets only samples are looked at
SAMPLE: Final = 64

_BEST: Final = (False, float("-inf"))
_MASK: Final = 2**64 - 1


def salt_of(replica: str) -> int:
    """What stands for *replica* in `standing`."""
    return _mixed(crc32(replica.encode()) * 0x9E3779B97F4A7C15)


def standing(address: Address, own: int, others: Iterable[int]) -> tuple[bool, int]:
    """Whether *address* is in the share of the replica with the salt *own*, beside those with the salts *others*; and the hash
    that decides it: of a share the highest hash is taken first.
    """
    value = address.value
    mine = _mixed(value ^ own)
    theirs = max((_mixed(value ^ other) for other in others), default=-1)
    return (True, mine) if mine >= theirs else (False, theirs)


def _mixed(number: int) -> int:
    # The finalizer of splitmix64 (Steele, Lea, Flood): every bit of the number reaches every bit of the result.
    number = (number ^ (number >> 64)) & _MASK
    number = (number ^ (number >> 30)) * 0xBF58476D1CE4E5B9 & _MASK
    number = (number ^ (number >> 27)) * 0x94D049BB133111EB & _MASK
    return number ^ (number >> 31)


class Line:
    """The free addresses of one set and family, first come first. Every change costs O(1), whatever the size."""

    def __init__(self, addresses: AddressSet, epoch: int) -> None:
        """An empty line for *addresses*; *epoch* says by which shares it was sorted."""
        self.addresses = addresses
        self.epoch = epoch
        self._ours: OrderedDict[Address, None] = OrderedDict()
        self._others: OrderedDict[Address, None] = OrderedDict()

    def __len__(self) -> int:
        return len(self._ours) + len(self._others)

    def add(self, address: Address, *, ours: bool) -> None:
        """*address* is free from now on: the last one to be given."""
        queue = self._ours if ours else self._others
        queue[address] = None
        queue.move_to_end(address)

    def drop(self, address: Address) -> None:
        """*address* is not free any more."""
        if address in self._ours:
            del self._ours[address]
        else:
            self._others.pop(address, None)

    def first(self, reach: int, random: Callable[[], float]) -> Address | None:
        """The one to be given next; it stays. None when there is none.

        reach: when it has to be another's, it is one of so many at the far end: more than one where several may come for it.
        """
        for address in self._ours:
            return address
        if not self._others:
            return None
        return next(islice(reversed(self._others), int(random() * min(reach, len(self._others))), None))


def sampled(
    addresses: AddressSet,
    busy: int,
    is_free: Callable[[Address], bool],
    rank: Callable[[Address], tuple[bool, float]],
    random: Callable[[], float],
) -> Address | None:
    """A free address of a set that is too big to be kept: the best of a random sample by *rank*, else the next free one.

    busy: how many addresses are not free at most; no more than this and SAMPLE are looked at.
    rank: whether it is another's, and the time of release: False and -inf are the best there is, and end the search.
    """
    size, best, found = addresses.size(), _BEST, None
    for _ in range(SAMPLE):
        address = addresses.at(int(random() * size))
        if is_free(address):
            ranked = rank(address)
            if ranked == _BEST:
                return address
            if found is None or ranked < best:
                best, found = ranked, address
    if found is not None:
        return found
    start = int(random() * size)
    return next(filter(is_free, _from(addresses, start, size, min(size, busy + SAMPLE))), None)


def _from(addresses: AddressSet, start: int, size: int, count: int) -> Iterator[Address]:
    return (addresses.at((start + step) % size) for step in range(count))
