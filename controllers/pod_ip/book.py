"""Who has which address, as this replica knows it: caches, what this process has in flight, and what it was told since.

An address is busy while any of these says so:
    cached    the watch cache of reservations
    learned   a reservation that we made or read, until the cache has heard of it
    carried   a live pod that bears it, with or without a reservation
    taken     an allocation of this process that is about to reserve it
    refused   the API server knows more than our cache: for REFUSED_S, or until the cache says something
    network   Calico still has it in a block, although no reservation says so
A reservation that a live read did not find is not believed any longer, whatever the cache still says of this very object.

Every change costs a few look-ups; free addresses stand in line (`webhook.addresses.choosing`), a line for each set that pods
asked for lately, so that taking one does not depend on how many there are.

Threads: any. One lock guards everything; memory only, nothing is called back under it.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from heapq import heappop, heappush
from itertools import islice
from random import random as system_random
from typing import Final

import attrs

from controllers.pod_ip.releases import Releases
from controllers.pod_ip.shares import Shares
from controllers.runtime.store import Change, Deletion
from webhook.addresses.address import Address
from webhook.addresses.choosing import WHOLE, Line, sampled
from webhook.addresses.facts import Asked, ReservationFacts
from webhook.addresses.ranges import AddressSet
from webhook.clock import Clock
from webhook.cluster import PodFacts
from webhook.objects.pods import FINISHED

REFUSED_S: Final = 5.0  # far longer than a cache is behind; an address that was free all the time is missed no longer
OVERLAY_S: Final = 60.0  # a cache that is further behind than this has other troubles, and a collision costs one POST
STICKY_LOOK: Final = 64  # addresses that an owner had, looked at for each of its pods
LINES: Final = 512  # sets kept in line
LINED: Final = 262_144  # addresses kept in line; each costs about 150 bytes
BLOCK_BITS: Final = 8  # of 256 addresses: a change looks only at the sets that have some of the address's block

_Key = tuple[str, int] | AddressSet  # pool and family, or the list that pods bring
_Block = tuple[int, int]  # family and number


@attrs.frozen
class _KeptLine:
    """A line, and the set as it was asked for."""

    asked: AddressSet
    line: Line

    def is_for(self, addresses: AddressSet) -> bool:
        """Whether it was made for *addresses*: a pool may have got others since."""
        return self.asked is addresses or self.asked == addresses

    def blocks(self) -> Iterator[_Block]:
        """The blocks that have some of its addresses; a block may come twice."""
        for version, first, last in self.line.addresses.spans:
            for block in range(first >> BLOCK_BITS, (last >> BLOCK_BITS) + 1):
                yield version, block


class AddressBook:
    """Implements `webhook.addresses.book.Book`."""

    def __init__(self, identity: str, clock: Clock, random: Callable[[], float] = system_random) -> None:
        """*identity*: of this replica, as its reservations name their `holder`."""
        self._clock = clock
        self._random = random
        self._lock = threading.Lock()  # guards everything below
        self._cached: dict[Address, ReservationFacts] = {}
        self._heard_s: dict[Address, float] = {}  # since when an object is known, of `cached` and `learned`
        self._learned: dict[Address, tuple[ReservationFacts, float]] = {}  # until
        self._gone: dict[Address, tuple[str, float]] = {}  # uid of an object that exists no longer, until
        self._refused: dict[Address, float] = {}  # until
        self._taken: set[Address] = set()
        self._carriers: dict[Address, set[str]] = {}  # uids of pods
        self._pods: dict[str, tuple[Address, ...]] = {}  # by uid: what they carry
        self._blocks: dict[str, frozenset[Address]] = {}
        self._network: set[Address] = set()
        self._keys: dict[str, set[Address]] = {}
        self._ends: list[tuple[float, Address]] = []  # heap: when to look at an address again
        self._busy: set[Address] = set()
        self._lines: OrderedDict[_Key, _KeptLine] = OrderedDict()
        self._by_block: dict[_Block, dict[_Key, _KeptLine]] = {}  # by block: the lines that have some of its addresses
        self._lined = 0
        self._releases = Releases()
        self._shares = Shares(identity)

    # -- called by allocations

    def take(self, asked: Asked, version: int) -> Address | None:
        with self._lock:
            address = self._chosen(asked, version)
            if address is not None:
                self._taken.add(address)
                self._settle(address)
            return address

    def foresee(self, asked: Asked, version: int) -> Address | None:
        with self._lock:
            return self._chosen(asked, version)

    def refused(self, address: Address) -> None:
        with self._lock:
            self._taken.discard(address)
            until_s = self._refused[address] = self._clock.monotonic_s() + REFUSED_S
            heappush(self._ends, (until_s, address))
            self._settle(address)

    def learned(self, reservation: ReservationFacts) -> None:
        address = reservation.address
        with self._lock:
            self._taken.discard(address)
            self._refused.pop(address, None)
            known, gone = self._cached.get(address), self._gone.get(address)
            if gone is not None and gone[0] == reservation.uid:
                pass  # the answer came after the news of its end
            elif known is None or known.uid != reservation.uid or known.claim != reservation.claim:
                now_s, before = self._clock.monotonic_s(), self._learned.get(address)
                self._learned[address] = (reservation, now_s + OVERLAY_S)
                if before is not None:
                    self._unfile(before[0])
                self._heard_s[address] = now_s
                self._keys.setdefault(reservation.key, set()).add(address)
                heappush(self._ends, (now_s + OVERLAY_S, address))
                self._releases.forget(address)
            self._settle(address)

    def vanished(self, reservation: ReservationFacts) -> None:
        with self._lock:
            self._lose(reservation, self._clock.monotonic_s())

    def by_key(self, key: str) -> Sequence[ReservationFacts]:
        with self._lock:
            found = [self._effective(address) for address in self._keys.get(key, ())]
        return [one for one in found if one is not None and one.key == key]

    def reservation(self, address: Address) -> ReservationFacts | None:
        with self._lock:
            return self._effective(address)

    def within(self, addresses: AddressSet) -> Sequence[ReservationFacts]:
        with self._lock:
            known = self._cached.keys() | self._learned.keys()
            asked = addresses if addresses.size() < len(known) else filter(addresses.__contains__, known)
            found = [self._effective(address) for address in asked]
        return [one for one in found if one is not None]

    # -- called by those who follow the API server

    def reservation_changed(self, change: Change[ReservationFacts]) -> None:
        """Hear of a change in the cache of reservations: a handler of its informer."""
        facts = change.item.facts
        with self._lock:
            self._expire(self._clock.monotonic_s())  # also where nobody asks for addresses
            if isinstance(change, Deletion):
                self._uncache(facts)
            else:
                self._cache(facts)

    def pod_changed(self, change: Change[PodFacts]) -> None:
        """Hear of a change in the cache of pods: a handler of its informer."""
        facts = change.item.facts
        if facts.fixed is None and facts.uid not in self._pods:
            return  # nearly every pod; only this thread adds to _pods
        # On its node's network nobody gives it what its annotation says.
        uses = not isinstance(change, Deletion) and facts.phase not in FINISHED and not facts.on_host_network
        with self._lock:
            self._carry(facts, facts.fixed.addresses if uses and facts.fixed is not None else ())

    def block_changed(self, block: str, held: Collection[Address]) -> None:
        """The network's *block* has exactly *held* in use; nothing when it is gone."""
        with self._lock:
            before, now = self._blocks.pop(block, frozenset()), frozenset(held)
            if now:
                self._blocks[block] = now
            self._network -= before - now
            self._network |= now
            for address in before ^ now:
                self._settle(address)

    def listed(self, addresses: Collection[Address], began_s: float) -> None:
        """A live list, begun at *began_s* (monotonic seconds), has reservations of exactly *addresses*. O(reservations)."""
        with self._lock:
            now_s = self._clock.monotonic_s()
            for address in [*(self._cached.keys() | self._learned.keys())]:
                known = self._effective(address)
                if known is not None and address not in addresses and self._heard_s.get(address, now_s) < began_s:
                    self._lose(known, now_s)
            for address in [one for one, until_s in self._refused.items() if until_s - REFUSED_S < began_s]:
                if address not in addresses:  # whoever had it then has given it back
                    del self._refused[address]
                    self._settle(address)
            for address in addresses:
                # What we heard of its end since then is younger than the list.
                if address not in self._busy and self._releases.when_s(address) < began_s:
                    self._refused[address] = now_s + REFUSED_S
                    heappush(self._ends, (now_s + REFUSED_S, address))
                    self._settle(address)

    # -- inside: what is known of one address

    def _effective(self, address: Address) -> ReservationFacts | None:
        overlay = self._learned.get(address)
        known = self._cached.get(address) if overlay is None else overlay[0]
        gone = self._gone.get(address)
        return None if known is None or (gone is not None and gone[0] == known.uid) else known

    def _is_busy(self, address: Address) -> bool:
        return (
            address in self._taken
            or address in self._refused
            or address in self._carriers
            or address in self._network
            or self._effective(address) is not None
        )

    def _settle(self, address: Address) -> None:
        busy = self._is_busy(address)
        if busy is (address in self._busy):
            return
        kept = self._by_block.get((address.version, address.value >> BLOCK_BITS), {}).values()
        if busy:
            self._busy.add(address)
            for one in kept:
                one.line.drop(address)
            return
        self._busy.discard(address)
        ours, _ = self._shares.standing(address)
        for one in kept:
            if address in one.line.addresses:
                one.line.add(address, ours=ours)

    def _cache(self, facts: ReservationFacts) -> None:
        address = facts.address
        before = self._cached.get(address)
        self._cached[address] = facts
        overlay, gone = self._learned.get(address), self._gone.get(address)
        if overlay is not None and overlay[0].uid == facts.uid:
            del self._learned[address]
        if gone is not None and gone[0] != facts.uid:
            del self._gone[address]
        if before is None or before.uid != facts.uid:
            self._heard_s[address] = self._clock.monotonic_s()
            self._shares.saw(facts.holder, facts.created_s, self._clock.wall_s())
        if before is not None and before.key != facts.key:
            self._unfile(before)
        self._keys.setdefault(facts.key, set()).add(address)
        self._refused.pop(address, None)
        self._releases.forget(address)
        self._settle(address)

    def _uncache(self, facts: ReservationFacts) -> None:
        address, now_s = facts.address, self._clock.monotonic_s()
        self._cached.pop(address, None)
        self._lose(facts, now_s)
        if address not in self._learned:
            self._heard_s.pop(address, None)
            self._releases.note(address, now_s, facts.owner.uid)
        self._unfile(facts)

    def _unfile(self, facts: ReservationFacts) -> None:
        """Take it out of the index of keys, unless another source says the same."""
        address, overlay = facts.address, self._learned.get(facts.address)
        cached = self._cached.get(address)
        if (overlay is not None and overlay[0].key == facts.key) or (cached is not None and cached.key == facts.key):
            return
        filed = self._keys.get(facts.key)
        if filed is not None:
            filed.discard(address)
            if not filed:
                del self._keys[facts.key]

    def _lose(self, reservation: ReservationFacts, now_s: float) -> None:
        address = reservation.address
        overlay = self._learned.get(address)
        if overlay is not None and overlay[0].uid == reservation.uid:
            self._drop_overlay(address)
        # Also when the cache does not have it: what we hear of this object after its end is old.
        self._gone[address] = (reservation.uid, now_s + OVERLAY_S)
        heappush(self._ends, (now_s + OVERLAY_S, address))
        self._settle(address)

    def _drop_overlay(self, address: Address) -> None:
        overlay, _ = self._learned.pop(address)
        if address not in self._cached:
            self._heard_s.pop(address, None)
        self._unfile(overlay)

    def _carry(self, pod: PodFacts, addresses: Iterable[Address]) -> None:
        before, now = self._pods.get(pod.uid, ()), tuple(addresses)
        if before == now:
            return
        if now:
            self._pods[pod.uid] = now
        else:
            del self._pods[pod.uid]
        for address in now:
            self._carriers.setdefault(address, set()).add(pod.uid)
            self._settle(address)
        for address in set(before).difference(now):
            carriers = self._carriers[address]
            carriers.discard(pod.uid)
            if not carriers:
                del self._carriers[address]
                if address not in self._cached and address not in self._learned:
                    self._releases.note(address, self._clock.monotonic_s(), pod.owner_uid)
            self._settle(address)

    def _expire(self, now_s: float) -> None:
        while self._ends and self._ends[0][0] <= now_s:
            _, address = heappop(self._ends)
            if self._refused.get(address, now_s + 1) <= now_s:
                del self._refused[address]
            if address in self._learned and self._learned[address][1] <= now_s:
                self._drop_overlay(address)
            if address in self._gone and self._gone[address][1] <= now_s:
                del self._gone[address]
            self._settle(address)

    # -- inside: what is free

    def _chosen(self, asked: Asked, version: int) -> Address | None:
        self._expire(self._clock.monotonic_s())
        self._shares.look(self._clock.wall_s())
        sticky = self._sticky(asked, version) if asked.owner.uid else None
        return self._first(asked, version) if sticky is None else sticky

    def _sticky(self, asked: Asked, version: int) -> Address | None:
        found = []
        for address in islice(self._releases.of(asked.owner.uid), STICKY_LOOK):
            if address.version == version and address not in self._busy and address in asked.addresses:
                if self._shares.standing(address)[0]:
                    return address
                found.append(address)
        return found[-1 - int(self._random() * min(self._shares.reach, len(found)))] if found else None

    def _first(self, asked: Asked, version: int) -> Address | None:
        key: _Key = (asked.pool, version) if asked.pool else asked.addresses.only(version)
        kept = self._lines.get(key)
        if kept is not None and kept.line.epoch == self._shares.epoch and kept.is_for(asked.addresses):
            self._lines.move_to_end(key)
            return kept.line.first(self._shares.reach, self._random)
        family = asked.addresses.only(version)
        if family.size() > WHOLE:
            return sampled(family, len(self._busy), self._is_free, self._rank, self._random)
        return self._keep_line(key, asked.addresses, family).line.first(self._shares.reach, self._random)

    def _keep_line(self, key: _Key, asked: AddressSet, family: AddressSet) -> _KeptLine:
        self._forget_line(key)
        kept = self._lines[key] = _KeptLine(asked, Line(family, self._shares.epoch))
        for *_, ours, address in sorted(self._places(family)):
            kept.line.add(address, ours=ours)
        for block in kept.blocks():
            self._by_block.setdefault(block, {})[key] = kept
        self._lined += family.size()
        while len(self._lines) > LINES or (self._lined > LINED and len(self._lines) > 1):
            self._forget_line(next(iter(self._lines)))
        return kept

    def _places(self, family: AddressSet) -> Iterator[tuple[float, int, bool, Address]]:
        for address in family:
            if address not in self._busy:
                ours, weight = self._shares.standing(address)
                yield self._releases.when_s(address), -weight, ours, address

    def _forget_line(self, key: _Key) -> None:
        kept = self._lines.pop(key, None)
        if kept is None:
            return
        self._lined -= kept.line.addresses.size()
        for block in kept.blocks():
            others = self._by_block.get(block, {})
            others.pop(key, None)
            if not others:
                self._by_block.pop(block, None)

    def _is_free(self, address: Address) -> bool:
        return address not in self._busy

    def _rank(self, address: Address) -> tuple[bool, float]:
        return not self._shares.standing(address)[0], self._releases.when_s(address)
