"""What a pool's status says: how many addresses it has, how many of them are reserved or free, and whether its spec can be
read.

A status is written when it differs from the last one, at most once in EVERY_S for a pool, and guarded by the pool's uid: nobody
else writes it. The metrics of a pool go with it.
Threads: any worker; a pool is in one worker's hands at a time, the lock guards what is remembered of all of them.
Errors:  ApiError, LeaseLost.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Final, Protocol

import attrs

from controllers.pod_ip.adoption import without_reservation
from controllers.pod_ip.known import Known
from controllers.pod_ip.paths import pool_path
from controllers.runtime.api import PatchesMerge, Reads
from controllers.runtime.errors import NotFound
from controllers.runtime.reconcile import Context, Done, Key, Outcome, RequeueAfter
from controllers.runtime.resource import Json
from webhook.addresses.facts import PoolFacts
from webhook.addresses.network import Network
from webhook.addresses.ranges import AddressSet
from webhook.clock import Clock
from webhook.cluster import Status
from webhook.errors import MalformedObject
from webhook.objects import conditions
from webhook.objects.meta import format_time
from webhook.telemetry import Gauge, Telemetry

EVERY_S: Final = 1.0
NETWORK_S: Final = 30.0  # nobody tells when the network takes other addresses than before
# What JSON numbers hold exactly everywhere (RFC 8259 section 6); a /64 has more.
MOST: Final = 2**53
_READY, _EXHAUSTED = "Ready", "Exhausted"  # conditions
_SHORT_S: Final = 0.001  # a queue wakes up a little early


class Api(Reads, PatchesMerge, Protocol):
    """What is needed of `rest.RestClient`."""


@attrs.frozen
class Condition:
    """One of a pool's conditions, but for its time."""

    type: str
    status: bool
    reason: str
    message: str


@attrs.frozen
class PoolStatus:
    """The status of a pool."""

    generation: int
    size: int  # at most MOST, as the others
    used: int
    free: int
    adopted: bool
    conditions: tuple[Condition, ...]


@attrs.define
class _Memory:
    """What is remembered of a pool."""

    uid: str
    written: PoolStatus | None = None
    since_s: dict[tuple[str, bool], float] = attrs.field(factory=dict)  # condition and status -> when it became so
    looked_s: float = float("-inf")  # monotonic
    adopted: int | None = None  # the generation for which nothing was missing
    asked: int | None = None  # the generation whose missing addresses were put in line


def status_of(pool: PoolFacts, used: int, adopted: bool, refused: int = 0) -> PoolStatus:
    """What *pool* says of itself. Pure.

    used: how many of its addresses are reserved. refused: how many of the others the network would refuse, so that no pod gets
    them: they are not free.
    """
    size = pool.addresses.size()
    free = size - used - refused
    if pool.fault:
        ready = Condition(_READY, False, "SpecInvalid", pool.fault)
    elif not size:
        ready = Condition(_READY, False, "NoAddress", "no address is left: spec.exclude takes all of spec.addresses out")
    elif size > MOST:
        ready = Condition(_READY, True, "Counted", f"{size} addresses: more than {MOST}, which is what size and free say")
    else:
        ready = Condition(_READY, True, "Counted", "")
    if free > 0 or pool.fault:
        exhausted = Condition(_EXHAUSTED, False, "AddressesFree", "")
    else:
        why = f"all {size} addresses are reserved" if size else "it has none"
        why = f"of {size} addresses {used} are reserved, and the network refuses {refused}" if refused else why
        exhausted = Condition(_EXHAUSTED, True, "NoAddressFree", why)
    return PoolStatus(pool.generation, min(size, MOST), min(used, MOST), min(free, MOST), adopted, (ready, exhausted))


def status_body(status: PoolStatus, since_s: Callable[[Condition], float]) -> Json:
    """As the API has it. since_s: when a condition became what it is, in seconds since the epoch. Pure."""
    conditions = [
        {
            "type": one.type,
            "status": "True" if one.status else "False",
            "reason": one.reason,
            "message": one.message,
            "lastTransitionTime": format_time(since_s(one)),
            "observedGeneration": status.generation,
        }
        for one in status.conditions
    ]
    return {
        "observedGeneration": status.generation,
        "size": status.size,
        "used": status.used,
        "free": status.free,
        "adopted": status.adopted,
        "conditions": conditions,
    }


class PoolStatuses:
    """The passes over pools, by name."""

    def __init__(
        self,
        api: Api,
        known: Known,
        network: Callable[[], Network],
        add: Callable[[Key], None],
        telemetry: Telemetry,
        clock: Clock,
    ) -> None:
        """network: what it takes now. add: puts the key of an address in line."""
        self._api = api
        self._known = known
        self._network = network
        self._add = add
        self._clock = clock
        self._lock = threading.Lock()  # guards _pools
        self._pools: dict[str, _Memory] = {}

        def gauge(word: str, documentation: str) -> Gauge:
            return telemetry.gauge(f"gatehouse_address_pool_{word}", documentation, ("pool",))

        self._size = gauge("size", "Addresses of a pool.")
        self._used = gauge("used", "Addresses of a pool that are reserved.")
        self._free = gauge("free", "Addresses of a pool that are not reserved, and that the network takes.")

    def look(self, name: str, context: Context, /) -> Outcome:
        """Count the pool, and write what has changed."""
        pool = self._known.pools.get(name)
        if pool is None:
            self._drop(name)
            return Done()
        with self._lock:
            memory = self._pools.get(name)
            if memory is None or memory.uid != pool.uid:
                memory = self._pools[name] = _Memory(pool.uid)
        now_s = self._clock.monotonic_s()
        wait_s = memory.looked_s + EVERY_S - now_s
        if wait_s > _SHORT_S:
            return RequeueAfter(wait_s)
        memory.looked_s = now_s
        adopted = self._adopt(pool, memory)
        network = self._network()
        outside = network.outside(pool.addresses)
        refused = outside.size() - self._count(outside)
        status = status_of(pool, self._count(pool.addresses), adopted or pool.adopted, refused)
        self._size.labels(name).set(status.size)
        self._used.labels(name).set(status.used)
        self._free.labels(name).set(status.free)
        if status != memory.written:
            self._write(pool, status, memory, context)
        if not adopted:
            return RequeueAfter(EVERY_S)
        return RequeueAfter(NETWORK_S) if network.source else Done()

    def forget(self) -> None:
        """This replica does not lead any more."""
        with self._lock:
            names = list(self._pools)
        for name in names:
            self._drop(name)

    # -- inside

    def _adopt(self, pool: PoolFacts, memory: _Memory) -> bool:
        """Whether no pod lacks its reservation; those that do are put in line, once for each generation of the pool."""
        if memory.adopted == pool.generation:
            return True
        missing = without_reservation(pool, self._known)
        if not missing:
            memory.adopted = pool.generation
        elif memory.asked != pool.generation:
            memory.asked = pool.generation
            for address in missing:
                self._add(address.name)
        return not missing

    def _count(self, addresses: AddressSet) -> int:
        return sum(item.facts.address in addresses for item in self._known.reservations.items()) if addresses else 0

    def _write(self, pool: PoolFacts, status: PoolStatus, memory: _Memory, context: Context) -> None:
        path = pool_path(pool.name)
        try:
            if memory.written is None:
                found = self._api.get(path, timeout_s=context.request_timeout_s())
                memory.since_s = _since(found)
            wall_s = self._clock.wall_s()
            memory.since_s = {
                (one.type, one.status): memory.since_s.get((one.type, one.status), wall_s) for one in status.conditions
            }
            body = status_body(status, lambda one: memory.since_s[one.type, one.status])
            patch = {"metadata": {"uid": pool.uid}, "status": body}
            self._api.patch_merge(f"{path}/status", patch, timeout_s=context.request_timeout_s())
        except NotFound:
            return
        memory.written = status

    def _drop(self, name: str) -> None:
        with self._lock:
            known = self._pools.pop(name, None)
        if known is not None and known.looked_s > float("-inf"):
            for metric in (self._size, self._used, self._free):
                metric.remove(name)


def _since(pool: Json) -> dict[tuple[str, bool], float]:
    """When the conditions that stand there became what they are; what cannot be read is not there."""
    since_s = {}
    with suppress(MalformedObject):
        found = conditions.of(pool)
        for kind in (_READY, _EXHAUSTED):
            status, moment_s = conditions.status(found, kind), conditions.since_s(found, kind)
            if status is not None and moment_s is not None:
                since_s[kind, status is Status.TRUE] = moment_s
    return since_s
