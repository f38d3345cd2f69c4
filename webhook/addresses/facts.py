"""AddressReservation and AddressPool, as the caches keep them, and what is asked for one pod. Pure.

One reservation exists for each address that is handed out, named by the address: the API server itself refuses a second one.
Source: gatehouse.dev/v1alpha1 (manifests/base).
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final

import attrs

from webhook.addresses.address import Address
from webhook.addresses.ranges import AddressSet
from webhook.objects.selectors import Selector

GROUP: Final = "gatehouse.dev"
VERSION: Final = "v1alpha1"
RESERVATION_KIND: Final = "AddressReservation"
RESERVATIONS: Final = "addressreservations"
POOL_KIND: Final = "AddressPool"
POOLS: Final = "addresspools"

# An unbound reservation may belong to a create that is still on its way: at most 34 s in the API server, 60 s for its client.
LEAST_EXPIRY_S: Final = 60.0
EXPIRY_S: Final = 120.0


class Phase(StrEnum):
    """Where a reservation stands."""

    RESERVED = "Reserved"  # no pod is known to carry it: a create on its way, one that failed, or an ordinal that waits
    BOUND = "Bound"  # a live pod carries it
    COOLING = "Cooling"  # nobody carries it; it is given away when the pool's cooldown has passed


class OnExhausted(StrEnum):
    """What becomes of a pod for which no address is free."""

    DENY = "deny"
    GATE = "gate"  # it waits behind a scheduling gate until one is


@attrs.frozen
class PodOwner:
    """The controlling owner of a pod; all "" for a bare pod."""

    kind: str = ""
    name: str = ""
    uid: str = ""


@attrs.frozen
class ReservationFacts:
    """An AddressReservation. The spec never changes; all below `uid` is the object's own state."""

    address: Address
    key: str  # ties it to the pod, whose annotation says the same
    request_uid: str  # of the admission request that made it; "" when the leader did
    namespace: str
    app: str
    pool: str  # name of the AddressPool, "" = from the pod's own list
    owner: PodOwner
    ordinal: int | None  # of a StatefulSet's pod
    pod_name: str  # "" where the API server was still to generate it
    holder: str  # the replica that made it
    uid: str = ""
    version: str = ""  # metadata.resourceVersion
    created_s: float = 0.0
    phase: Phase = Phase.RESERVED
    bound_name: str = ""  # status.podName
    bound_uid: str = ""  # status.podUID
    node: str = ""
    released_s: float | None = None  # since when it is Cooling
    claim: str = ""  # uid of the latest request that was given this reservation again (reinvocation, or a pod's name came back)
    deleting: bool = False  # metadata.deletionTimestamp is set: a finalizer keeps it for now
    claimed_s: float = 0.0  # when: its pod may be on its way, so nobody releases the reservation within the expiry after it


@attrs.frozen
class PoolFacts:
    """An AddressPool."""

    name: str
    uid: str
    generation: int
    addresses: AddressSet  # without the excluded ones
    namespaces: Selector | None = None  # None = every namespace may use it
    on_exhausted: OnExhausted = OnExhausted.DENY
    cooldown_s: float = 0.0
    expiry_s: float = EXPIRY_S
    adopted: bool = False  # the leader has made reservations for the pods that were there before the pool
    fault: str = ""  # what is wrong with the spec, "" when nothing is: it then gives nothing


@attrs.frozen
class Asked:
    """What one pod is to be given, and on whose behalf."""

    namespace: str
    key: str  # by which a later call for the same pod finds what it was given
    request_uid: str
    app: str
    owner: PodOwner
    ordinal: int | None
    pod_name: str  # "" for generateName
    pool: str  # "" = from its own list
    addresses: AddressSet  # one of each family that it holds
    on_exhausted: OnExhausted

    @property
    def named(self) -> bool:
        """Whether the key stands for a name, which only one pod can bear at a time."""
        return bool(self.pod_name)
