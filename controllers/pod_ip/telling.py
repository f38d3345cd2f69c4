"""Addresses in words, rows and JSON. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import attrs

from controllers.pod_ip.actions import Action, Bind, Cool, Keep, LookAgain, Release, ReportConflict, Restore
from controllers.pod_ip.plan import plan
from controllers.pod_ip.seen import Seen
from webhook.addresses.facts import PoolFacts, ReservationFacts
from webhook.addresses.marks import Carrier
from webhook.addresses.policy import AddressPolicy
from webhook.addresses.words import made_for
from webhook.objects.meta import Json, format_time

ROW: Final = ("ADDRESS", "NAMESPACE", "POD", "PHASE", "POOL", "OWNER", "NODE", "AGE")


@attrs.frozen
class Told:
    """What is said of one address."""

    lines: tuple[str, ...]
    next: tuple[str, ...]  # what the leader will do
    conflict: bool


def row(one: ReservationFacts, now_s: float) -> tuple[str, ...]:
    """The cells of a line of the list."""
    cells = (
        one.address.text,
        one.namespace,
        one.bound_name or one.pod_name,
        one.phase.value,
        one.pool,
        _owner(one),
        one.node,
        age(now_s - one.created_s) if one.created_s else "",
    )
    return tuple(cell or "-" for cell in cells)


def row_json(one: ReservationFacts) -> Json:
    """The same for programs: every field, times in RFC 3339, null where there is nothing."""
    return {
        "address": one.address.text,
        "name": one.address.name,
        "namespace": one.namespace,
        "pod": one.bound_name or one.pod_name or None,
        "podUID": one.bound_uid or None,
        "phase": one.phase.value,
        "pool": one.pool or None,
        "app": one.app or None,
        "owner": {"kind": one.owner.kind, "name": one.owner.name, "uid": one.owner.uid} if one.owner.uid else None,
        "ordinal": one.ordinal,
        "node": one.node or None,
        "reservationKey": one.key,
        "holder": one.holder or None,
        "createdTime": format_time(one.created_s) if one.created_s else None,
        "releasedTime": None if one.released_s is None else format_time(one.released_s),
    }


def tell(seen: Seen, now_s: float, policy: AddressPolicy | None = None) -> Told:
    """Everything about one address in lines. policy: None where nobody has read the configuration."""
    situation = seen.situation
    # `gatehouse ip` does not read it; `_step` says so of the one answer that depends on it.
    actions = plan(situation, now_s, policy or AddressPolicy())
    conflicts = [action for action in actions if isinstance(action, ReportConflict)]
    next_steps = tuple(filter(None, map(_step, actions)))
    lines = [f"{situation.address.text}: {_verdict(seen)}"]
    if situation.reservation is not None:
        lines += _reservation_lines(situation.reservation, now_s)
    lines += [f"  pool: {_pool(pool)}" for pool in seen.pools]
    lines += [f"  carried by: {_pod(pod)}" for pod in sorted(situation.carriers, key=lambda pod: (pod.namespace, pod.name))]
    lines += [f"  CONFLICT: {_conflict(conflict)}" for conflict in conflicts]
    lines += [f"  next: {step}" for step in next_steps or ("nothing, it is in order",)]
    return Told(tuple(lines), next_steps, bool(conflicts))


def as_json(seen: Seen, told: Told) -> Json:
    """The same for programs."""
    situation = seen.situation
    answer: dict[str, Any] = {
        "address": situation.address.text,
        "reservation": None if situation.reservation is None else row_json(situation.reservation),
        "pools": [pool.name for pool in seen.pools],
        "carriers": [
            {"namespace": pod.namespace, "name": pod.name, "uid": pod.uid, "phase": pod.phase, "deleting": pod.deleting}
            for pod in situation.carriers
        ],
        "conflict": told.conflict,
        "next": list(told.next),
    }
    return answer


def age(seconds: float) -> str:
    """As kubectl: the biggest unit that gives a number of at least 2, roughly."""
    for unit, size in (("d", 86400), ("h", 3600), ("m", 60)):
        if seconds >= 2 * size:
            return f"{seconds // size:.0f}{unit}"
    return f"{max(0.0, seconds):.0f}s"


def _verdict(seen: Seen) -> str:
    reservation, live = seen.reservation, seen.live()
    if reservation is None:
        return f"not reserved, but carried by {_names(live)}" if live else "free, as far as reservations go"
    if live:
        return f"held by {_names(live)}"
    return {"Reserved": "reserved, no pod has it", "Bound": "bound, but its pod is gone", "Cooling": "cooling, nobody has it"}[
        reservation.phase.value
    ]


def _reservation_lines(one: ReservationFacts, now_s: float) -> Iterator[str]:
    made = f", made {age(now_s - one.created_s)} ago" if one.created_s else ""
    yield f"  reservation: {one.phase.value}{made} by {one.holder or 'the leader'}, key {one.key}"
    yield f"  for: {made_for(one)}{f', {_owner(one)}' if one.pod_name and _owner(one) else ''}"
    if one.bound_name:
        yield f"  last bound to: {one.namespace}/{one.bound_name}{f' on {one.node}' if one.node else ''}"
    if one.released_s is not None:
        yield f"  given back: {age(now_s - one.released_s)} ago"
    if one.claim:
        yield f"  claimed: by request {one.claim}{f', {age(now_s - one.claimed_s)} ago' if one.claimed_s else ''}"


def _step(action: Action) -> str:
    match action:
        case Bind(_, carrier):
            return f"the leader will bind it to {carrier.namespace}/{carrier.name}"
        case Keep(reservation):
            return f"it is kept for ordinal {reservation.ordinal} of StatefulSet {reservation.owner.name}"
        case Cool(_, cause):
            return f"it will be Cooling ({cause.value})"
        case Release(_, cause):
            return f"the leader will release it ({cause.value})"
        case Restore(_, carrier):
            return f"the leader will reserve it for {carrier.namespace}/{carrier.name}"
        case LookAgain(seconds):
            return f"decided in {age(seconds)} at the earliest (by the default expiry, where no pool has another)"
    return ""


def _conflict(conflict: ReportConflict) -> str:
    others = _names(conflict.others)
    if conflict.holder is not None:
        return f"it is {conflict.holder.namespace}/{conflict.holder.name}'s, and {others} carry it as well"
    return f"it is reserved for {conflict.reserved_for or 'nobody'}, and {others} carry it"


def _owner(one: ReservationFacts) -> str:
    if not one.owner.name:
        return ""
    return f"{one.owner.kind}/{one.owner.name}" + ("" if one.ordinal is None else f"[{one.ordinal}]")


def _pool(pool: PoolFacts) -> str:
    state = f"FAULT: {pool.fault}" if pool.fault else "" if pool.adopted else "not adopted yet"
    return f"{pool.name} ({pool.addresses.size()} addresses{f', {state}' if state else ''})"


def _pod(pod: Carrier) -> str:
    state = "deleting" if pod.deleting else pod.phase or "Unknown"
    return f"{pod.namespace}/{pod.name} ({state}{f' on {pod.node}' if pod.node else ''})"


def _names(pods: tuple[Carrier, ...]) -> str:
    return ", ".join(f"{pod.namespace}/{pod.name}" for pod in pods)
