"""The led controller `pod-ip`: caches -> keys -> `reconciler.PodIp`.

An address comes up when its reservation changes, when a pod that carries it, or has its key or its name, or is bound to it
appears, goes, finishes or says something else, and when the StatefulSet of its ordinal is scaled. Heartbeats make no keys. At
the start every address comes up, also those that pods carry and nobody has reserved.
Threads: `Controller`'s workers; the key functions run on the reflectors' threads and only look into memory.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence

import attrs

from controllers.pod_ip.gates import GateLine, Gates
from controllers.pod_ip.known import Known
from controllers.pod_ip.live import Live
from controllers.pod_ip.news import News
from controllers.pod_ip.plan import StatefulSetFacts, is_wanted
from controllers.pod_ip.pools import PoolStatuses
from controllers.pod_ip.reconciler import GATES, POOL, PodIp
from controllers.pod_ip.resources import BY_KEY, BY_NAME, BY_OWNER, BY_POD
from controllers.pod_ip.writes import Api, Writes
from controllers.runtime.controller import AddKey, Controller, Detach, Policy, Source, informer_source, memory_source
from controllers.runtime.errors import OnDeath
from controllers.runtime.events import Announcer
from controllers.runtime.freshness import OwnWrites
from controllers.runtime.informer import Informer
from controllers.runtime.limiters import limiter_up_to
from controllers.runtime.reconcile import Key, Leadership
from controllers.runtime.store import Addition, Change, Deletion, Update
from controllers.runtime.workqueue import LIVE
from webhook.addresses.address import Address, AddressError
from webhook.addresses.facts import RESERVATIONS, Phase, PoolFacts, ReservationFacts
from webhook.addresses.network import Network
from webhook.addresses.policy import AddressPolicy
from webhook.admission.service import Rule
from webhook.clock import Clock
from webhook.cluster import PodFacts
from webhook.objects.pods import FINISHED
from webhook.telemetry import Telemetry

NAME = "pod-ip"
# A thousand pods may go at once, and each address costs some requests in a row (a pod, a list, the delete; more of a named pod
# and of IPv6) before the next pod can have it.
PACE = Policy(workers=8, timeout_s=30.0)
LONGEST_BACKOFF_S = 30.0


@attrs.frozen
class Sources:
    """What the controller follows."""

    pods: Informer[PodFacts]  # `projection.pods_resource(addressed=True)`
    reservations: Informer[ReservationFacts]
    pools: Informer[PoolFacts]
    stateful_sets: Informer[StatefulSetFacts]

    def known(self, clock: Clock) -> Known:
        """What the caches have."""
        return Known(self.pods.store, self.reservations.store, self.pools.store, self.stateful_sets.store, clock)

    def synced_events(self) -> Sequence[threading.Event]:
        """One of each."""
        return [one.synced_event for one in (self.pods, self.reservations, self.pools, self.stateful_sets)]


def pod_ip(
    api: Api,
    sources: Sources,
    rule: Rule,
    policy: AddressPolicy,
    identity: str,
    announcer: Announcer,
    telemetry: Telemetry,
    clock: Clock,
    on_death: OnDeath,
    *,
    leadership: Leadership,
    network: Callable[[], Network],
    waits_for: Sequence[threading.Event] = (),
) -> Controller:
    """The controller, not started. To be started while *leadership* is ours, and stopped before it is given up.

    api:       a client of its own: a thousand addresses that come free are some thousands of requests.
    rule:      admission's `pod-ip`, by which pods that wait get their address.
    identity:  of this replica, as in the reservations that it makes.
    network:   what it takes now: the rest of a pool is not free.
    waits_for: what else *rule* needs to have synced.
    """
    known = sources.known(clock)
    own_writes = OwnWrites({RESERVATIONS: lambda: sources.reservations.store.version}, clock, telemetry)
    news, live, line, queue = News(announcer, clock), Live(api, known), GateLine(), _Queue()
    writes = Writes(api, own_writes, identity, clock)
    statuses = PoolStatuses(api, known, network, queue.add, telemetry, clock)
    gates = Gates(api, line, rule, known, live, writes, news, telemetry, clock)
    reconcile = PodIp(known, live, writes, statuses, gates, policy, news, telemetry, clock)
    _measure(known, telemetry, clock)
    return Controller(
        NAME,
        reconcile,
        # Memory is the last: it ends when nothing fills it any more.
        [queue.attach, *_attached(sources, known, line), memory_source(reconcile.forget)],
        telemetry,
        clock,
        on_death,
        leadership=leadership,
        waits_for=(*sources.synced_events(), *waits_for),
        own_writes=own_writes,
        policy=PACE,
        limiter=lambda: limiter_up_to(LONGEST_BACKOFF_S, clock),
    )


def _attached(sources: Sources, known: Known, line: GateLine) -> Iterator[Source]:
    yield informer_source(sources.stateful_sets, stateful_set_keys(known))
    yield informer_source(sources.pools, pool_keys(known, line))
    yield informer_source(sources.reservations, reservation_keys(known, line))
    yield informer_source(sources.pods, pod_keys(known, line))


def _measure(known: Known, telemetry: Telemetry, clock: Clock) -> None:
    oldest = telemetry.gauge(
        "gatehouse_address_reservations_unbound_oldest_seconds", "Age of the oldest reservation that waits for its pod."
    )
    oldest.set_function(lambda: oldest_unbound_s(known, clock.wall_s()))


def oldest_unbound_s(known: Known, now_s: float) -> float:
    """Age of the oldest reservation that has no pod and will expire, in seconds; 0 without one. O(reservations)."""
    unbound = (
        now_s - one.created_s
        for one in (item.facts for item in known.reservations.items())
        if one.phase is Phase.RESERVED and not is_wanted(one, known.stateful_set(one))
    )
    return max(unbound, default=0.0)


def pod_keys(known: Known, line: GateLine) -> Callable[[Change[PodFacts]], Iterable[Key]]:
    """The addresses that it carries, is bound to or named for, before and after; the gates if it waits. Keeps *line* up."""

    def keys(change: Change[PodFacts]) -> Iterable[Key]:
        waits = line.heard(change)
        if isinstance(change, Update) and _gist(change.old.facts) == _gist(change.item.facts):
            return ()
        seen = (change.old.facts, change.item.facts) if isinstance(change, Update) else (change.item.facts,)
        found = {name for pod in seen for name in _addresses_of(pod, known)}
        return found | {GATES} if waits else found

    return keys


def reservation_keys(known: Known, line: GateLine) -> Callable[[Change[ReservationFacts]], Iterable[Key]]:
    """Its address; the pools that have it when it comes or goes; the gates when it goes."""

    def keys(change: Change[ReservationFacts]) -> Iterable[Key]:
        address = change.item.facts.address
        yield address.name
        if isinstance(change, Update) or (isinstance(change, Addition) and change.initial):
            return
        for pool in known.all_pools():
            if address in pool.addresses:
                yield f"{POOL}{pool.name}"
        if isinstance(change, Deletion):
            known.gone(change.item.facts)
            if len(line):
                yield GATES

    return keys


def pool_keys(known: Known, line: GateLine) -> Callable[[Change[PoolFacts]], Iterable[Key]]:
    """The pool, and what is reserved of it since its terms may be others; the gates. Our own writes of its status make none."""

    def keys(change: Change[PoolFacts]) -> Iterable[Key]:
        pool = change.item.facts
        if isinstance(change, Update) and attrs.evolve(change.old.facts, adopted=pool.adopted) == pool:
            return
        yield f"{POOL}{pool.name}"
        if isinstance(change, Addition) and change.initial:
            return
        for item in known.reservations.items():
            if item.facts.pool == pool.name:
                yield item.key
        if len(line):
            yield GATES

    return keys


def stateful_set_keys(known: Known) -> Callable[[Change[StatefulSetFacts]], Iterable[Key]]:
    """The addresses of its ordinals, when other ordinals are wanted than before. Those of a first list come by themselves."""

    def keys(change: Change[StatefulSetFacts]) -> Iterable[Key]:
        if isinstance(change, Addition) and change.initial:
            return ()
        if isinstance(change, Update) and _wants(change.old.facts) == _wants(change.item.facts):
            return ()
        return [one.address.name for one in known.reservations.by_index(BY_OWNER, change.item.uid)]

    return keys


def _addresses_of(pod: PodFacts, known: Known) -> Iterator[Key]:
    for index, value in ((BY_POD, pod.uid), (BY_NAME, f"{pod.namespace}/{pod.name}")):
        yield from (one.address.name for one in known.reservations.by_index(index, value))
    marks = pod.fixed
    if marks is None:
        return
    yield from (address.name for address in marks.addresses)
    if marks.key:
        yield from (one.address.name for one in known.reservations.by_index(BY_KEY, marks.key))
    try:
        yield Address.from_name(marks.label).name
    except AddressError:  # people write what they like into labels
        return


def _gist(pod: PodFacts) -> object:
    """What of *pod* can change a plan."""
    return (pod.uid, pod.fixed, pod.phase in FINISHED, pod.deleting)


def _wants(one: StatefulSetFacts) -> object:
    return (one.uid, one.start, one.replicas, one.deleting)


class _Queue:
    """The queue of the controller while it runs, for those who find work for others."""

    def __init__(self) -> None:
        self._add: AddKey | None = None

    def attach(self, add: AddKey) -> Detach:
        """As a source."""
        self._add = add
        return self._detach

    def add(self, key: Key) -> None:
        """Put *key* in line."""
        add = self._add
        if add is not None:
            add(key, LIVE)

    def _detach(self) -> None:
        self._add = None
