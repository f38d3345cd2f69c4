"""What the controller tells of addresses: a log line each, and an Event where a person might ask what happened.

An address that is bound or given back in the ordinary way is a line of the log only: a rollout of a thousand pods must not be
two thousand Events.
Threads: any; nothing blocks.
"""

from __future__ import annotations

from controllers.pod_ip.actions import Cause, ReportConflict, Restore
from controllers.runtime.events import Announcer, Reference
from webhook.addresses.address import Address
from webhook.addresses.facts import ReservationFacts
from webhook.addresses.marks import Carrier
from webhook.clock import Clock
from webhook.logs import Throttle, get_log
from webhook.names import Reason

log = get_log("pod-ip")

LINES = 3  # about one pod that waits in Throttle.PERIOD_S

_WHY = {
    Cause.POD_GONE: "its pod is gone",
    Cause.POD_FINISHED: "its pod has finished",
    Cause.NEVER_BOUND: "no pod ever came for it",
    Cause.NOT_WANTED: "nobody needs it any more",
    Cause.COOLED: "it has cooled down",
}
_API_VERSIONS = {"ReplicaSet": "apps/v1", "StatefulSet": "apps/v1", "DaemonSet": "apps/v1", "Job": "batch/v1"}


class News:
    """The voice of the controller."""

    def __init__(self, announcer: Announcer, clock: Clock) -> None:
        self._announcer = announcer
        self._clock = clock
        self._throttle = Throttle(LINES)

    def bound(self, address: Address, carrier: Carrier) -> None:
        """*carrier* carries *address*."""
        log.debug("address bound", address=address.text, pod=_name(carrier))

    def cooling(self, reservation: ReservationFacts, cause: Cause) -> None:
        """Nobody carries it; it will be free later."""
        log.info("address cools", address=reservation.address.text, why=_WHY[cause])

    def released(self, reservation: ReservationFacts, cause: Cause) -> None:
        """It is free."""
        log.info("address free", address=reservation.address.text, why=_WHY[cause])
        if cause is Cause.NEVER_BOUND and reservation.owner.uid:
            owner = reservation.owner
            about = Reference(owner.kind, owner.name, reservation.namespace, _API_VERSIONS.get(owner.kind, ""), owner.uid)
            note = (
                f"address {reservation.address.text} is free again: it was reserved for a pod that never came, since something"
                " refused the pod after the address was chosen (a quota, another webhook, a field that is not valid)"
            )
            self._tell(about, Reason.ADDRESS_EXPIRED, "ReleaseAddress", note, warning=True)

    def restored(self, step: Restore) -> None:
        """A live pod has a reservation again."""
        log.warning("reservation made for a pod that had none", address=step.address.text, pod=_name(step.carrier))
        note = f"address {step.address.text} had no AddressReservation although the pod carries it: made one"
        self._tell(_pod(step.carrier), Reason.ADDRESS_RESTORED, "RestoreReservation", note)

    def conflict(self, found: ReportConflict) -> None:
        """Several live pods carry an address, or one that is another's."""
        others = ", ".join(map(_name, found.others))
        holder = f"pod {_name(found.holder)}" if found.holder is not None else found.reserved_for
        log.error("address carried by pods that it does not belong to", address=found.address.text, of=holder, pods=others)
        for carrier in found.others:
            note = (
                f"address {found.address.text} belongs to {holder}, and this pod carries it, too: nothing was changed;"
                " delete this pod, and it will get another address if its manifest does not bring one"
            )
            self._tell(_pod(carrier), Reason.ADDRESS_CONFLICT, "CompareCarriers", note, warning=True)
        if found.holder is not None:
            note = f"address {found.address.text} is carried by {others}, too: nothing was changed"
            self._tell(_pod(found.holder), Reason.ADDRESS_CONFLICT, "CompareCarriers", note, warning=True)

    def conflict_over(self, address: Address) -> None:
        """Only one pod has it now."""
        log.info("address has one carrier again", address=address.text)

    def ungated(self, carrier: Carrier, what: str) -> None:
        """*carrier* need not wait any more."""
        log.info("pod need not wait for an address any more", pod=_name(carrier), what=what)
        self._tell(_pod(carrier), Reason.POD_UNGATED, "LiftGate", f"got {what}, and may be scheduled")

    def waits(self, carrier: Carrier, why: str) -> None:
        """*carrier* gets no address now."""
        admitted, held_back = self._throttle.admits(_name(carrier), self._clock.monotonic_s())
        if admitted:
            log.info("pod waits for an address", pod=_name(carrier), why=why, alike_before=held_back)
        self._tell(_pod(carrier), Reason.ADDRESS_AWAITED, "LookForAddress", f"waits for an address: {why}", warning=True)

    def given_back(self, address: Address, carrier: Carrier) -> None:
        """The pod that was to get *address* is gone."""
        log.info("address given back, its pod went meanwhile", address=address.text, pod=_name(carrier))

    def _tell(self, about: Reference, reason: Reason, action: str, note: str, *, warning: bool = False) -> None:
        self._announcer.record(about, reason=reason.value, action=action, note=note, warning=warning)


def _pod(carrier: Carrier) -> Reference:
    return Reference("Pod", carrier.name, carrier.namespace, "v1", carrier.uid)


def _name(carrier: Carrier) -> str:
    return f"{carrier.namespace}/{carrier.name}"
