"""AddressReservations, AddressPools and StatefulSets become facts: what the caches keep of them.

    AddressReservation  spec    ip reservationKey requestUID namespace app pool owner{kind name uid} ordinal podName holder
                        status  phase podName podUID node releasedTime claim claimedTime
    AddressPool         spec    addresses[] exclude[] namespaceSelector onExhausted cooldown expiry
                        status  adopted

A reservation whose name is no address, or not the one in its spec, is an UndecodableObject: it would hold something else than
it says. A pool whose spec cannot be read is kept with its `fault`, and gives nothing. Pure; any thread.
Source: manifests/base/10-crd-addresses.yaml; apps/v1 StatefulSet (Kubernetes API reference).
"""

from __future__ import annotations

from sys import intern
from typing import Any, Final

import attrs
import msgspec

from controllers.pod_ip.paths import API_VERSION, POOLS_PATH, RESERVATIONS_PATH, STATEFUL_SETS_PATH
from controllers.pod_ip.plan import StatefulSetFacts
from controllers.runtime.decoding import Projected, StructProjection
from controllers.runtime.resource import Item, Json, Resource
from webhook.addresses.address import Address, AddressError
from webhook.addresses.facts import (
    EXPIRY_S,
    LEAST_EXPIRY_S,
    POOL_KIND,
    POOLS,
    RESERVATION_KIND,
    RESERVATIONS,
    OnExhausted,
    Phase,
    PodOwner,
    PoolFacts,
    ReservationFacts,
)
from webhook.addresses.grammar import parse_items
from webhook.addresses.ranges import AddressSet
from webhook.objects.durations import parse_duration_s
from webhook.objects.faults import Faults
from webhook.objects.meta import parse_time_s
from webhook.objects.selectors import Selector

BY_KEY: Final = "key"  # index of reservations: spec.reservationKey
BY_OWNER: Final = "owner"  # index of reservations: spec.owner.uid
BY_NAME: Final = "name"  # index of reservations: namespace/name of the pod that they were made for
BY_POD: Final = "pod"  # index of reservations: status.podUID


class _Struct(msgspec.Struct, rename="camel", gc=False):
    """Camel case, as the API writes its fields."""


class _Meta(_Struct):
    name: str | None = None
    namespace: str | None = None
    uid: str | None = None
    resource_version: str | None = None
    generation: int | None = None
    creation_timestamp: str | None = None
    deletion_timestamp: str | None = None


class _Owner(_Struct):
    kind: str | None = None
    name: str | None = None
    uid: str | None = None


class _ReservationSpec(_Struct):
    ip: str | None = None
    reservation_key: str | None = None
    request_uid: str | None = msgspec.field(default=None, name="requestUID")
    namespace: str | None = None
    app: str | None = None
    pool: str | None = None
    owner: _Owner | None = None
    ordinal: int | None = None
    pod_name: str | None = None
    holder: str | None = None


class _ReservationStatus(_Struct):
    phase: str | None = None
    pod_name: str | None = None
    pod_uid: str | None = msgspec.field(default=None, name="podUID")
    node: str | None = None
    released_time: str | None = None
    claim: str | None = None
    claimed_time: str | None = None


class _Reservation(Projected):
    metadata: _Meta = msgspec.field(default_factory=_Meta)
    spec: _ReservationSpec | None = None
    status: _ReservationStatus | None = None


class _PoolSpec(_Struct):
    addresses: list[str] | None = None
    exclude: list[str] | None = None
    namespace_selector: Any = None
    on_exhausted: str | None = None
    cooldown: str | None = None
    expiry: str | None = None


class _PoolStatus(_Struct):
    adopted: bool | None = None


class _Pool(Projected):
    metadata: _Meta = msgspec.field(default_factory=_Meta)
    spec: _PoolSpec | None = None
    status: _PoolStatus | None = None


class _Ordinals(_Struct):
    start: int | None = None


class _StatefulSetSpec(_Struct):
    replicas: int | None = None
    ordinals: _Ordinals | None = None


class _StatefulSet(Projected):
    metadata: _Meta = msgspec.field(default_factory=_Meta)
    spec: _StatefulSetSpec | None = None


def reservations_resource() -> Resource[ReservationFacts]:
    """All AddressReservations. Their key in the store is the address's name."""
    indexes = {
        BY_KEY: lambda one: (one.key,) if one.key else (),
        BY_OWNER: lambda one: (one.owner.uid,) if one.owner.uid else (),
        BY_NAME: lambda one: (f"{one.namespace}/{one.pod_name}",) if one.pod_name else (),
        BY_POD: lambda one: (one.bound_uid,) if one.bound_uid else (),
    }
    return Resource(RESERVATIONS, RESERVATIONS_PATH, _RESERVATIONS, indexes=indexes)


def pools_resource() -> Resource[PoolFacts]:
    """All AddressPools."""
    return Resource(POOLS, POOLS_PATH, _POOLS)


def stateful_sets_resource() -> Resource[StatefulSetFacts]:
    """All StatefulSets; a cache of its own beside the one for databases, which keeps other fields."""
    return Resource("statefulsets/ordinals", STATEFUL_SETS_PATH, _STATEFUL_SETS)


# Of objects that were read by themselves. Unknown fields are ignored; raise UndecodableObject.


def reservation_from_object(obj: Json) -> ReservationFacts:
    """The facts of an AddressReservation, as the answer to a write has it."""
    return _RESERVATIONS.convert(obj).facts


def pool_from_object(obj: Json) -> PoolFacts:
    """The facts of an AddressPool."""
    return _POOLS.convert(obj).facts


def stateful_set_from_object(obj: Json) -> StatefulSetFacts:
    """The facts of a StatefulSet."""
    return _STATEFUL_SETS.convert(obj).facts


def _reservation_item(seen: _Reservation) -> Item[ReservationFacts]:
    meta, spec = seen.metadata, seen.spec or _ReservationSpec()
    status, owner = seen.status or _ReservationStatus(), spec.owner or _Owner()
    name = meta.name or ""
    try:
        address = Address.from_name(name)
    except AddressError as error:
        raise ValueError(f"metadata.name: {error}") from error
    if spec.ip not in (None, address.text, address.name):
        raise ValueError(f'spec.ip is "{spec.ip}", and the name says {address.text}')
    facts = ReservationFacts(
        address=address,
        key=spec.reservation_key or "",
        request_uid=spec.request_uid or "",
        namespace=intern(spec.namespace or ""),
        app=intern(spec.app or ""),
        pool=intern(spec.pool or ""),
        owner=PodOwner(intern(owner.kind or ""), intern(owner.name or ""), intern(owner.uid or "")),
        ordinal=spec.ordinal,
        pod_name=spec.pod_name or "",
        holder=intern(spec.holder or ""),
        uid=meta.uid or "",
        version=meta.resource_version or "",
        created_s=_time(meta.creation_timestamp) or 0.0,
        # Without a status, or with one of a later version of ours, nobody is known to carry it.
        phase=_PHASES.get(status.phase or "", Phase.RESERVED),
        bound_name=status.pod_name or "",
        bound_uid=status.pod_uid or "",
        node=intern(status.node or ""),
        released_s=_time(status.released_time),
        claim=status.claim or "",
        claimed_s=_time(status.claimed_time) or 0.0,
        deleting=bool(meta.deletion_timestamp),
    )
    return Item(name, facts.uid, facts.version, facts)


def _pool_item(seen: _Pool) -> Item[PoolFacts]:
    meta, spec = seen.metadata, seen.spec or _PoolSpec()
    if not meta.name:
        raise ValueError("metadata.name is missing")
    addresses, terms, fault = AddressSet(), _Terms(), ""
    try:
        terms = _terms(spec)
        addresses = parse_items(spec.addresses or (), "spec.addresses").minus(parse_items(spec.exclude or (), "spec.exclude"))
    except ValueError as error:  # AddressError is one, too
        fault = str(error)
    facts = PoolFacts(
        name=meta.name,
        uid=meta.uid or "",
        generation=meta.generation or 0,
        addresses=addresses,
        namespaces=terms.namespaces,
        on_exhausted=terms.on_exhausted,
        cooldown_s=terms.cooldown_s,
        expiry_s=terms.expiry_s,
        adopted=bool(seen.status and seen.status.adopted),
        fault=fault,
    )
    return Item(facts.name, facts.uid, meta.resource_version or "", facts)


@attrs.frozen
class _Terms:
    namespaces: Selector | None = None
    on_exhausted: OnExhausted = OnExhausted.DENY
    cooldown_s: float = 0.0
    expiry_s: float = EXPIRY_S


def _terms(spec: _PoolSpec) -> _Terms:
    """What the schema of the CRD should have refused is refused here, with the field. Raises ValueError."""
    try:
        selector = None if spec.namespace_selector is None else Selector.from_object(spec.namespace_selector)
    except Faults as error:
        raise ValueError(f"spec.namespaceSelector: {error}") from error
    if spec.on_exhausted not in (None, *OnExhausted):
        raise ValueError(f'spec.onExhausted: "{spec.on_exhausted}" is neither deny nor gate')
    expiry_s = _seconds("spec.expiry", spec.expiry, EXPIRY_S)
    if expiry_s < LEAST_EXPIRY_S:
        raise ValueError(
            f"spec.expiry: {spec.expiry} is less than {LEAST_EXPIRY_S:.0f}s, for so long a create may be on its way"
        )
    on_exhausted = OnExhausted(spec.on_exhausted or OnExhausted.DENY)
    return _Terms(selector, on_exhausted, _seconds("spec.cooldown", spec.cooldown, 0.0), expiry_s)


def _seconds(field: str, text: str | None, otherwise: float) -> float:
    if text is None:
        return otherwise
    try:
        found = parse_duration_s(text)
    except ValueError as error:
        raise ValueError(f"{field}: {error}") from error
    if found < 0:
        raise ValueError(f"{field}: {text} is less than nothing")
    return found


def _stateful_set_item(seen: _StatefulSet) -> Item[StatefulSetFacts]:
    meta, spec = seen.metadata, seen.spec or _StatefulSetSpec()
    if not meta.name:
        raise ValueError("metadata.name is missing")
    facts = StatefulSetFacts(
        namespace=intern(meta.namespace or "default"),
        name=meta.name,
        uid=meta.uid or "",
        start=(spec.ordinals and spec.ordinals.start) or 0,
        replicas=1 if spec.replicas is None else spec.replicas,  # the API server's default
        deleting=bool(meta.deletion_timestamp),
    )
    return Item(f"{facts.namespace}/{facts.name}", facts.uid, meta.resource_version or "", facts)


def _time(text: str | None) -> float | None:
    return parse_time_s(text) if text else None


_PHASES: Final = {phase.value: phase for phase in Phase}
_RESERVATIONS: Final = StructProjection(API_VERSION, RESERVATION_KIND, _Reservation, _reservation_item)
_POOLS: Final = StructProjection(API_VERSION, POOL_KIND, _Pool, _pool_item)
_STATEFUL_SETS: Final = StructProjection("apps/v1", "StatefulSet", _StatefulSet, _stateful_set_item)
