"""Whose an address is, in words. Pure; any thread."""

from __future__ import annotations

from webhook.addresses.facts import ReservationFacts


def whose(reservation: ReservationFacts) -> str:
    """Whom the address is reserved for: the pod that has it or had it last, else the one that it was made for."""
    if reservation.bound_name:
        return f"pod {reservation.namespace}/{reservation.bound_name}"
    return made_for(reservation)


def made_for(reservation: ReservationFacts) -> str:
    """Whom the reservation was made for; a pod that the API server was still to name is known by its owner alone."""
    if reservation.pod_name:
        return f"pod {reservation.namespace}/{reservation.pod_name}"
    if reservation.owner.name:
        return f"a pod of {reservation.owner.kind} {reservation.namespace}/{reservation.owner.name}"
    return f"a pod of namespace {reservation.namespace}"


def owner(reservation: ReservationFacts) -> str:
    """By whom addresses are counted: the workload, or a pod that has none."""
    kind, name = reservation.owner.kind, reservation.owner.name
    if not kind:
        kind, name = "Pod", reservation.pod_name or reservation.bound_name or "(unnamed)"
    return f"{kind} {reservation.namespace}/{name}"
