"""What is written to the API server for a reservation: the object, and patches of its status. Pure.

The name is the address, which is what makes it unique. Patches are RFC 7386 merge patches of the status subresource; uid and
version in them are preconditions (409 otherwise).
Source: manifests/base/10-crd-addresses.yaml; Kubernetes docs: label syntax.
"""

from __future__ import annotations

import re
from typing import Any, Final

from controllers.pod_ip.paths import API_VERSION
from controllers.runtime.resource import Json
from webhook.addresses.address import Address
from webhook.addresses.facts import RESERVATION_KIND, Asked, Phase, ReservationFacts
from webhook.names import RESERVATION_APP, RESERVATION_KEY, RESERVATION_OWNER, RESERVATION_POOL
from webhook.objects.meta import format_time

_LABEL_VALUE: Final = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?", re.ASCII)


def reservation_body(asked: Asked, address: Address, holder: str) -> Json:
    """The AddressReservation of *address* for *asked*, made by the replica *holder*. Its status is empty: Reserved."""
    owner = asked.owner
    spec: Json = {
        "ip": address.text,
        "reservationKey": asked.key,
        "requestUID": asked.request_uid,
        "namespace": asked.namespace,
        "app": asked.app,
        "pool": asked.pool,
        "podName": asked.pod_name,
        "holder": holder,
        "ordinal": asked.ordinal,
        "owner": {"kind": owner.kind, "name": owner.name, "uid": owner.uid} if owner.uid else None,
    }
    labels = {
        RESERVATION_POOL: asked.pool,
        RESERVATION_APP: asked.app,
        RESERVATION_OWNER: owner.uid,
        RESERVATION_KEY: asked.key,
    }
    return {
        "apiVersion": API_VERSION,
        "kind": RESERVATION_KIND,
        # Labels are for people and lists; what is no label value is left out, and stays readable in the spec.
        "metadata": {
            "name": address.name,
            "labels": {key: value for key, value in labels.items() if _LABEL_VALUE.fullmatch(value)},
        },
        "spec": {key: value for key, value in spec.items() if value is not None and value != ""},
    }


def claim_patch(reservation: ReservationFacts, request_uid: str, wall_s: float) -> Json:
    """A later request is given the reservation again: it must not be released while that may be on its way."""
    status: dict[str, Any] = {"claim": request_uid, "claimedTime": format_time(wall_s)}
    if reservation.phase is not Phase.BOUND:
        status |= {"phase": Phase.RESERVED.value, "releasedTime": None}
    return _patch(reservation, status)


def bound_patch(reservation: ReservationFacts, pod_name: str, pod_uid: str, node: str) -> Json:
    """A live pod carries it. *node* is "" until the pod is scheduled."""
    status = {"phase": Phase.BOUND.value, "podName": pod_name, "podUID": pod_uid, "node": node or None, "releasedTime": None}
    return _patch(reservation, status)


def waiting_patch(reservation: ReservationFacts) -> Json:
    """Nobody carries it, and it waits for the pod that it was made for."""
    return _patch(reservation, {**_NOBODY, "phase": Phase.RESERVED.value, "releasedTime": None})


def cooling_patch(reservation: ReservationFacts, wall_s: float) -> Json:
    """Nobody carries it from *wall_s* on."""
    return _patch(reservation, {**_NOBODY, "phase": Phase.COOLING.value, "releasedTime": format_time(wall_s)})


_NOBODY: Final[dict[str, Any]] = {"podName": None, "podUID": None, "node": None}


def _patch(reservation: ReservationFacts, status: dict[str, Any]) -> Json:
    return {"metadata": {"uid": reservation.uid, "resourceVersion": reservation.version}, "status": status}
