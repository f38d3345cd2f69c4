"""What Calico itself says of addresses: its pools, and the blocks in which it notes what is in use. Read only.

Whether Calico is there is known, never guessed: the API server is asked for the resources of its group until it answers.
While it answers that there are none, it is asked again every RECHECK_S, since Calico may be installed later. Once found, Calico
is followed by two informers until the process ends.
Threads: `calico/discovery`, which ends with the discovery; a reflector for each informer. The rest: any.
Errors:  none; what fails is in the log and tried again. A fault of ours ends the thread and is told to `on_death`.
Source:  projectcalico/calico libcalico-go/lib/ipam and lib/clientv3 (which pools an address may be assigned from),
         lib/backend/model AllocationBlock (`allocations`: an index into `attributes` for each address in use, else null).
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Sequence
from ipaddress import ip_network
from random import random
from typing import Any, Final

import attrs
import msgspec

from controllers.runtime.backoff import Backoff, BackoffPolicy
from controllers.runtime.decoding import Projected, StructProjection
from controllers.runtime.errors import ApiError, Cancelled, NotFound, OnDeath, UndecodableAnswer
from controllers.runtime.informer import Informer
from controllers.runtime.resource import F, Item, ListWatch, Resource
from controllers.runtime.store import Change, Deletion
from webhook.addresses.address import Address
from webhook.addresses.network import Network, NetworkPool
from webhook.addresses.ranges import AddressSet, Span
from webhook.clock import Clock, Deadline
from webhook.logs import get_log
from webhook.telemetry import Telemetry

log = get_log("calico")

GROUP: Final = "crd.projectcalico.org/v1"
GROUP_PATH: Final = f"/apis/{GROUP}"
IP_POOLS: Final = "ippools"
BLOCKS: Final = "ipamblocks"
SOURCE: Final = "Calico"
THREAD_NAME: Final = "calico/discovery"
RECHECK_S: Final = 30.0  # while it is not installed
_BACKOFF: Final = BackoffPolicy(initial_s=0.5, cap_s=15.0)
_WORKLOAD: Final = "Workload"

OnBlock = Callable[[str, Collection[Address]], None]  # its name, and which addresses it has in use now


@attrs.frozen
class Block:
    """Successive addresses of one family, and those of them in use: bit i stands for the i-th."""

    version: int
    first: int
    used: int

    def held(self) -> Collection[Address]:
        """The addresses in use."""
        used, found = self.used, []
        while used:
            place = (used & -used).bit_length() - 1
            found.append(Address(self.version, self.first + place))
            used &= used - 1
        return found


class _Meta(msgspec.Struct, rename="camel", gc=False):
    name: str | None = None
    uid: str | None = None
    resource_version: str | None = None
    deletion_timestamp: str | None = None


class _Condition(msgspec.Struct, gc=False):
    type: str | None = None
    status: str | None = None


class _PoolSpec(msgspec.Struct, rename="camel", gc=False):
    cidr: str | None = None
    disabled: bool | None = None
    allowed_uses: list[str] | None = None


class _PoolStatus(msgspec.Struct, gc=False):
    conditions: list[_Condition] | None = None


class _Pool(Projected):
    metadata: _Meta = msgspec.field(default_factory=_Meta)
    spec: _PoolSpec | None = None
    status: _PoolStatus | None = None


class _BlockSpec(msgspec.Struct, gc=False):
    cidr: str | None = None
    allocations: list[int | None] | None = None
    deleted: bool | None = None


class _Block(Projected):
    metadata: _Meta = msgspec.field(default_factory=_Meta)
    spec: _BlockSpec | None = None


class _Named(msgspec.Struct):
    name: str = ""


class _Resources(msgspec.Struct):
    """An APIResourceList."""

    resources: list[_Named]


def ip_pools_resource() -> Resource[NetworkPool]:
    """All of Calico's IPPools."""
    return Resource(IP_POOLS, f"{GROUP_PATH}/{IP_POOLS}", _POOLS)


def blocks_resource() -> Resource[Block]:
    """All of Calico's IPAMBlocks."""
    return Resource(BLOCKS, f"{GROUP_PATH}/{BLOCKS}", _BLOCKS)


class Calico:
    """Discovery, and what is followed once it has found something."""

    def __init__(self, client: ListWatch, telemetry: Telemetry, clock: Clock, on_death: OnDeath, *, on_block: OnBlock) -> None:
        """on_block: told of every block that changes; called by the reflector of the blocks."""
        self._client = client
        self._telemetry = telemetry
        self._clock = clock
        self._on_death = on_death
        self._on_block = on_block
        self._cancellation = client.cancellation()
        self._stop = threading.Event()
        self._lock = threading.Lock()  # guards _pools and _blocks against a stop in the middle of `_follow`
        self._absent_at_first = False
        self._pools: Informer[NetworkPool] | None = None
        self._blocks: Informer[Block] | None = None
        self._changes = 0  # of pools; written by their reflector
        self._network: tuple[int, Network] = (-1, Network())
        self._thread = threading.Thread(target=self._run, name=THREAD_NAME, daemon=True)

    # -- called by the owner

    def start(self) -> None:
        """Begin to look for it."""
        self._thread.start()

    def signal_stop(self) -> None:
        """Ask every thread to end."""
        self._stop.set()
        self._cancellation.cancel()
        for informer in self.informers():
            informer.signal_stop()

    def stop(self, deadline: Deadline) -> None:
        """End every thread."""
        self.signal_stop()
        if self._thread.ident is not None:
            self._thread.join(deadline.remaining_s())
        for informer in self.informers():
            informer.stop(deadline)

    # -- called by anyone

    def informers(self) -> Sequence[Informer[Any]]:
        """Those of pools and blocks; none while Calico has not been found."""
        with self._lock:
            return () if self._pools is None or self._blocks is None else (self._pools, self._blocks)

    def alive(self) -> bool:
        """Whether what has to run runs."""
        informers = self.informers()
        return (
            all(informer.alive() for informer in informers)
            if informers
            else self._thread.ident is None or self._thread.is_alive()
        )

    def synced(self) -> bool:
        """Whether it is known what Calico says, or that it is not there. Stays true when it comes later."""
        return self._absent_at_first or self._has_synced()

    def network(self) -> Network | None:
        """Its pools; None while it is not there, or its first lists are not."""
        pools = self._pools
        if pools is None or not self._has_synced():
            return None
        changes, network = self._network
        if changes != (now := self._changes):  # read before the store, which has every change that was counted
            found = sorted((item.facts for item in pools.store.items()), key=lambda pool: pool.name)
            network = Network(tuple(found), SOURCE)
            self._network = (now, network)
        return network

    # -- the thread

    def _run(self) -> None:
        backoff = Backoff(_BACKOFF)
        try:
            while not self._stop.is_set():
                try:
                    if self.look():
                        return
                    wait_s = RECHECK_S
                except Cancelled:
                    return
                except ApiError as error:
                    backoff, wait_s = backoff.next(self._clock.monotonic_s(), random(), at_least_s=error.retry_after_s or 0.0)
                    log.warning("whether Calico is installed is not known, waiting", error=error, seconds=round(wait_s, 1))
                self._clock.wait(self._stop, wait_s)
        except Exception as error:  # the thread's top frame
            log.error("discovery died", exc_info=error)
            self._on_death(THREAD_NAME, error)

    def look(self) -> bool:
        """Ask once; whether it is there and followed from now on. Raises ApiError. The thread's step; tests call it alone."""
        if not self._is_there():
            if not self._absent_at_first:
                log.info("calico is not installed: addresses are judged without its pools and blocks", group=GROUP)
            self._absent_at_first = True
            return False
        self._follow()
        return True

    def _is_there(self) -> bool:
        try:
            body = self._client.list_page(GROUP_PATH, {}, cancellation=self._cancellation)
        except NotFound:
            return False
        try:
            found = {resource.name for resource in msgspec.json.decode(body, type=_Resources).resources}
        except (ValueError, RecursionError) as error:  # msgspec's errors are ValueErrors
            raise UndecodableAnswer(f"GET {GROUP_PATH}: {error}") from error
        return {IP_POOLS, BLOCKS} <= found

    def _follow(self) -> None:
        pools, blocks = self._informer(ip_pools_resource()), self._informer(blocks_resource())
        pools.add_handler(self._count)
        blocks.add_handler(self._tell)
        with self._lock:
            if self._stop.is_set():
                return
            self._pools, self._blocks = pools, blocks
        log.info("calico is installed: its pools and blocks are followed", group=GROUP)
        for informer in (pools, blocks):
            informer.start()

    def _has_synced(self) -> bool:
        pools, blocks = self._pools, self._blocks
        return pools is not None and blocks is not None and pools.has_synced() and blocks.has_synced()

    def _informer(self, resource: Resource[F]) -> Informer[F]:
        return Informer(resource, self._client, self._telemetry, self._clock, self._on_death)

    def _tell(self, change: Change[Block]) -> None:
        self._on_block(change.item.key, () if isinstance(change, Deletion) else change.item.facts.held())

    def _count(self, change: Change[NetworkPool]) -> None:
        self._changes += 1


def _pool_item(seen: _Pool) -> Item[NetworkPool]:
    meta, spec = seen.metadata, seen.spec or _PoolSpec()
    name = _name(meta)
    conditions = (seen.status and seen.status.conditions) or ()
    obstacle = ""
    if meta.deletion_timestamp:
        obstacle = "is being deleted"
    elif spec.disabled:
        obstacle = "is disabled"
    elif any(one.type == "Allocatable" and one.status == "False" for one in conditions):
        obstacle = "is not allocatable"
    elif spec.allowed_uses and _WORKLOAD not in spec.allowed_uses:  # none named = every use
        obstacle = "is not for workloads"
    facts = NetworkPool(name, AddressSet.of((_cidr(spec.cidr),)), obstacle)
    return Item(name, meta.uid or "", meta.resource_version or "", facts)


def _block_item(seen: _Block) -> Item[Block]:
    meta, spec = seen.metadata, seen.spec or _BlockSpec()
    name = _name(meta)
    version, first, _ = _cidr(spec.cidr)
    used = 0
    # `deleted`: a block that Calico has given up, but not yet removed.
    for place, attribute in enumerate((not spec.deleted and spec.allocations) or ()):
        if attribute is not None:
            used |= 1 << place
    return Item(name, meta.uid or "", meta.resource_version or "", Block(version, first, used))


def _cidr(text: str | None) -> Span:
    """Raises ValueError."""
    network = ip_network(text or "", strict=False)
    return Span(network.version, int(network.network_address), int(network.broadcast_address))


def _name(meta: _Meta) -> str:
    if not meta.name:
        raise ValueError("metadata.name is missing")
    return meta.name


_POOLS: Final = StructProjection(GROUP, "IPPool", _Pool, _pool_item)
_BLOCKS: Final = StructProjection(GROUP, "IPAMBlock", _Block, _block_item)
