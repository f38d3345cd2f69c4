"""Facts for plans: an address, its reservation for a pod of the ReplicaSet "web", and pods that carry it."""

from __future__ import annotations

from typing import Any

import attrs

from controllers.pod_ip.plan import Situation, StatefulSetFacts, carries, is_live
from webhook.addresses.address import Address
from webhook.addresses.facts import Phase, PodOwner, PoolFacts, ReservationFacts
from webhook.addresses.keys import key_of
from webhook.addresses.marks import Carrier, Marks
from webhook.addresses.ranges import AddressSet, Span

NOW_S = 1_800_000_000.0
ADDRESS = Address.parse("10.0.0.1")
OTHER = Address.parse("10.0.0.2")
WEB = PodOwner("ReplicaSet", "web", "uid-web")
DB = PodOwner("StatefulSet", "db", "uid-db")
DB_0 = key_of("shop", "uid-db", "db-0")


def reservation(**fields: Any) -> ReservationFacts:
    """Reserved ten minutes ago for a pod whose name was still to come."""
    base = ReservationFacts(
        address=ADDRESS,
        key="key-1",
        request_uid="request-1",
        namespace="shop",
        app="web",
        pool="",
        owner=WEB,
        ordinal=None,
        pod_name="",
        holder="replica-a",
        uid="uid-r",
        version="7",
        created_s=NOW_S - 600,
    )
    return attrs.evolve(base, **fields)


def bound(pod: Carrier, **fields: Any) -> ReservationFacts:
    """Bound to *pod*, and made for it."""
    made_for = {"key": pod.marks.key, "owner": pod.owner, "phase": Phase.BOUND, "bound_uid": pod.uid, "bound_name": pod.name}
    return reservation(**(made_for | fields))


def ordinal(**fields: Any) -> ReservationFacts:
    """For db-0 of the StatefulSet "db"."""
    return reservation(**({"key": DB_0, "owner": DB, "ordinal": 0, "pod_name": "db-0"} | fields))


def carrier(name: str = "web-1", **fields: Any) -> Carrier:
    """A running pod that carries ADDRESS with the key of `reservation`."""
    marks = {one: fields.pop(one) for one in ("key", "addresses", "label", "gated", "asks") if one in fields}
    said: dict[str, Any] = {"key": "key-1", "addresses": (ADDRESS,), "label": ADDRESS.name, "asks": True}
    base = Carrier("shop", name, f"uid-{name}", Marks(**(said | marks)), "node-1", "Running", False, WEB, NOW_S - 600)
    return attrs.evolve(base, **fields)


def db_0(**fields: Any) -> Carrier:
    """The pod of `ordinal`."""
    return carrier("db-0", **({"key": DB_0, "owner": DB} | fields))


def stateful_set(replicas: int = 1, **fields: Any) -> StatefulSetFacts:
    """The StatefulSet "db"."""
    return attrs.evolve(StatefulSetFacts("shop", "db", "uid-db", replicas), **fields)


def pool(name: str = "edge", **fields: Any) -> PoolFacts:
    """10.0.0.0 to 10.0.0.9."""
    first = Address.parse("10.0.0.0").value
    return attrs.evolve(PoolFacts(name, f"uid-{name}", 1, AddressSet.of([Span(4, first, first + 9)])), **fields)


def situation(found: ReservationFacts | None, *pods: Carrier, **fields: Any) -> Situation:
    """*pods* as the caches would have them: by address, by key, by uid."""
    address = fields.pop("address", ADDRESS if found is None else found.address)
    base = Situation(
        address,
        found,
        carriers=tuple(pod for pod in pods if carries(pod, address)),
        kin=tuple(pod for pod in pods if found is not None and pod.marks.key == found.key),
        bound=next((pod for pod in pods if found is not None and pod.uid == found.bound_uid), None),
        namesake=next((pod for pod in pods if found is not None and found.pod_name == pod.name and is_live(pod)), None),
    )
    return attrs.evolve(base, **fields)
