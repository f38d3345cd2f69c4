"""What the API server says right now of who carries an address: what a plan is made of again before anything is deleted.

The pods are those with the address in their label, in all namespaces; of an IPv6 address, which the label of a dual-stack pod
does not have, also those with the IPv4 address of the same key, or where that is gone all of the namespace with such a label;
and by their names the pod that the reservation is bound to, and the one it was made for. Pods that only the cache knows still
count: who took the label off uses the address all the same. The reservation itself is not read again: it was there before the
pods, and the delete is guarded by its version.
Threads: any; each read asks the pass for leave.
Errors:  ApiError, UndecodableObject, LeaseLost.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from controllers.pod_ip.known import Known, carrier_of
from controllers.pod_ip.paths import PODS_PATH, pod_path, pods_path, reservation_path, stateful_set_path
from controllers.pod_ip.plan import Situation, StatefulSetFacts, situation_of
from controllers.pod_ip.resources import reservation_from_object, stateful_set_from_object
from controllers.runtime.api import Reads, read_or_none
from controllers.runtime.projection import pods_resource
from controllers.runtime.reconcile import Context
from controllers.runtime.resource import Json
from webhook.addresses.address import V4, V6, Address
from webhook.addresses.facts import ReservationFacts
from webhook.addresses.keys import STATEFUL_SET
from webhook.addresses.marks import Carrier
from webhook.names import ALLOCATED_IP


class Live:
    """Live reads of addresses and who carries them."""

    def __init__(self, api: Reads, known: Known) -> None:
        self._api = api
        self._known = known
        self._pods = pods_resource().projection

    def situation(self, seen: Situation, context: Context) -> Situation:
        """*seen*, with the pods and the StatefulSet as they are now."""
        reservation = seen.reservation
        if reservation is None:
            return seen
        pods = {pod.uid: pod for pod in (*seen.carriers, *seen.kin)}
        # A pod that was deleted in the meantime stays, as the cache has it: then the next pass finds it gone.
        pods |= {pod.uid: pod for pod in self._carriers(reservation, context)}
        return situation_of(
            seen.address,
            reservation,
            pods.values(),
            stateful_set=self._stateful_set(reservation, context),
            pool=seen.pool,
            known_s=seen.known_s,
            claim_known_s=seen.claim_known_s,
        )

    def reservation(self, address: Address, context: Context) -> ReservationFacts | None:
        """The reservation of *address*; None when there is none."""
        found = read_or_none(self._api, reservation_path(address), context.request_timeout_s())
        return None if found is None else reservation_from_object(found)

    def pod(self, namespace: str, name: str, context: Context) -> Json | None:
        """The pod; None when it is gone."""
        return read_or_none(self._api, pod_path(namespace, name), context.request_timeout_s())

    def carrier(self, pod: Json) -> Carrier:
        """A pod that was read."""
        return carrier_of(self._pods.convert(pod).facts)

    def _carriers(self, reservation: ReservationFacts, context: Context) -> Iterator[Carrier]:
        for name in sorted({reservation.bound_name, reservation.pod_name} - {""}):
            pod = self.pod(reservation.namespace, name, context)
            if pod is not None:
                yield self.carrier(pod)
        labels = [f"{ALLOCATED_IP}={reservation.address.name}"]
        beside = [one.address.name for one in self._known.siblings(reservation) if one.address.version == V4]
        if reservation.address.version == V6:
            labels += [f"{ALLOCATED_IP}={name}" for name in beside]
        for selector in labels:
            yield from self._listed(PODS_PATH, selector, context)
        if reservation.address.version == V6 and not beside:
            yield from self._listed(pods_path(reservation.namespace), ALLOCATED_IP, context)

    def _listed(self, path: str, selector: str, context: Context) -> Iterator[Carrier]:
        page: dict[str, Any] = self._api.get(path, {"labelSelector": selector}, timeout_s=context.request_timeout_s())
        for pod in page.get("items") or ():
            yield self.carrier(pod)

    def _stateful_set(self, reservation: ReservationFacts, context: Context) -> StatefulSetFacts | None:
        if reservation.owner.kind != STATEFUL_SET or not reservation.owner.name:
            return None
        found = read_or_none(
            self._api, stateful_set_path(reservation.namespace, reservation.owner.name), context.request_timeout_s()
        )
        return None if found is None else stateful_set_from_object(found)
