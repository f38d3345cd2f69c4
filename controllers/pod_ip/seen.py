"""One address as somebody has read it: what `gatehouse ip` and `gatehouse explain address` tell of. Pure."""

from __future__ import annotations

import attrs

from controllers.pod_ip.plan import Situation, users_of
from webhook.addresses.facts import LEAST_EXPIRY_S, Phase, PoolFacts, ReservationFacts
from webhook.addresses.marks import Carrier


@attrs.frozen
class Seen:
    """One address, as the API server has it now, or a cache or files have it."""

    situation: Situation
    pools: tuple[PoolFacts, ...]  # that have it, by name

    @property
    def reservation(self) -> ReservationFacts | None:
        """Of the address."""
        return self.situation.reservation

    def live(self) -> tuple[Carrier, ...]:
        """The pods that may use it (`plan.users_of`), by name."""
        return tuple(sorted(users_of(self.situation), key=lambda pod: (pod.namespace, pod.name)))


def in_flight_s(reservation: ReservationFacts, now_s: float) -> float:
    """For how many seconds a create may still be on its way that was given *reservation*; 0 when none is."""
    since_s = reservation.claimed_s if reservation.claim else 0.0
    if reservation.phase is Phase.RESERVED and not reservation.bound_uid:
        since_s = max(since_s, reservation.created_s)
    return max(0.0, LEAST_EXPIRY_S - (now_s - since_s)) if since_s else 0.0
