"""What the controller writes of reservations: one request each, guarded so that it only hits what the plan has seen.

    status   merge patches under uid and resourceVersion: who claims a reservation meanwhile wins
    delete   with uid and resourceVersion as preconditions: a successor of the same name is never hit (whereabouts#75)
    create   of what a live pod has lost; that it exists is success

Threads: any; an address is in one worker's hands at a time. Each request asks the pass for leave.
Errors:  ApiError (Conflict: somebody wrote in between), LeaseLost.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any, Protocol

from controllers.pod_ip.actions import Bind, Cool, Keep, Restore
from controllers.pod_ip.bodies import bound_patch, cooling_patch, reservation_body, waiting_patch
from controllers.pod_ip.paths import RESERVATIONS_PATH, reservation_path, reservation_status_path
from controllers.runtime.api import Creates, Deletes, PatchesJson, PatchesMerge, Reads
from controllers.runtime.errors import AlreadyExists, NotFound
from controllers.runtime.freshness import OwnWrites
from controllers.runtime.reconcile import Context
from controllers.runtime.resource import Json
from webhook.addresses.address import Address
from webhook.addresses.facts import RESERVATIONS, Asked, OnExhausted, ReservationFacts
from webhook.addresses.ranges import AddressSet, Span
from webhook.clock import Clock


class Api(Reads, Creates, PatchesJson, PatchesMerge, Deletes, Protocol):
    """What is needed of `rest.RestClient`."""


class Writes:
    """The requests of one controller."""

    def __init__(self, api: Api, own_writes: OwnWrites, identity: str, clock: Clock) -> None:
        """identity: of this replica, as it stands in the reservations that it makes."""
        self._api = api
        self._own_writes = own_writes
        self._identity = identity
        self._clock = clock

    def set_status(self, step: Bind | Keep | Cool, context: Context) -> bool:
        """Take *step*; False when the reservation is gone."""
        reservation = step.reservation
        match step:
            case Bind(carrier=pod):
                patch = bound_patch(reservation, pod.name, pod.uid, pod.node)
            case Keep():
                patch = waiting_patch(reservation)
            case Cool():
                patch = cooling_patch(reservation, self._clock.wall_s())
        try:
            written = self._api.patch_merge(
                reservation_status_path(reservation.address), patch, timeout_s=context.request_timeout_s()
            )
        except NotFound:
            return False
        self._note(reservation.address, written)
        return True

    def release(self, reservation: ReservationFacts, context: Context) -> None:
        """Delete it. That it is gone is success."""
        with suppress(NotFound):
            self._api.delete(
                reservation_path(reservation.address),
                uid=reservation.uid,
                version=reservation.version,
                timeout_s=context.request_timeout_s(),
            )

    def restore(self, step: Restore, context: Context) -> bool:
        """Create it; False when it exists."""
        address, carrier = step.address, step.carrier
        asked = Asked(
            namespace=carrier.namespace,
            key=step.key,
            request_uid="",
            app="",
            owner=carrier.owner,
            ordinal=step.ordinal,
            pod_name=step.pod_name,
            pool=step.pool,
            addresses=AddressSet.of([Span(address.version, address.value, address.value)]),
            on_exhausted=OnExhausted.DENY,
        )
        body = reservation_body(asked, address, self._identity)
        try:
            self._note(address, self._api.create(RESERVATIONS_PATH, body, timeout_s=context.request_timeout_s()))
        except AlreadyExists:
            return False
        return True

    def _note(self, address: Address, written: Json) -> None:
        metadata: dict[str, Any] = written.get("metadata") or {}
        self._own_writes.note(address.name, RESERVATIONS, metadata.get("resourceVersion") or "")
