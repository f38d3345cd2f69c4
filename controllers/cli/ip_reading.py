"""What `gatehouse ip` asks the API server, and the one thing it writes: the deletion of a reservation.

Reservations are read first, pods second: a pod that came in between is seen. A deletion names uid and resourceVersion of what
was read before the pods were: whoever claims, binds or replaces the reservation in between keeps it.
Errors: ApiError, UndecodableObject. One thread.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from controllers.pod_ip.known import carrier_of
from controllers.pod_ip.paths import pods_path, reservation_path, stateful_set_path
from controllers.pod_ip.plan import StatefulSetFacts, pool_for, situation_of
from controllers.pod_ip.resources import (
    pools_resource,
    reservation_from_object,
    reservations_resource,
    stateful_set_from_object,
)
from controllers.pod_ip.seen import Seen
from controllers.runtime.errors import NotFound
from controllers.runtime.projection import pods_resource
from controllers.runtime.resource import F, Resource
from controllers.runtime.rest import RestClient
from webhook.addresses.address import Address
from webhook.addresses.facts import PoolFacts, ReservationFacts
from webhook.addresses.keys import STATEFUL_SET
from webhook.addresses.marks import Carrier
from webhook.cluster import PodFacts
from webhook.names import ALLOCATED_IP

PAGE: Final = 500  # objects: as kubectl
NOT_INSTALLED: Final = "the API server knows no AddressReservations: apply manifests/base/10-crd-addresses.yaml"


class Reading:
    """Live reads."""

    def __init__(self, client: RestClient) -> None:
        self._client = client

    def reservations(self) -> list[ReservationFacts]:
        """Every reservation, by address. Raises NotFound where the kind is not installed."""
        resource = reservations_resource()
        return sorted(self._all(resource, resource.path, {}), key=lambda one: one.address)

    def pools(self) -> list[PoolFacts]:
        """Every AddressPool, by name."""
        resource = pools_resource()
        return sorted(self._all(resource, resource.path, {}), key=lambda one: one.name)

    def address(self, address: Address) -> Seen:
        """Everything about *address*. Raises NotFound where the kinds are not installed."""
        pools = self.pools()
        reservation = self.reservation(address)
        pods = {pod.uid: pod for pod in self._pods(address, reservation)}
        situation = situation_of(
            address,
            reservation,
            pods.values(),
            stateful_set=None if reservation is None else self._stateful_set(reservation),
            pool=pool_for(address, reservation, pools),
        )
        return Seen(situation, tuple(pool for pool in pools if address in pool.addresses))

    def reservation(self, address: Address) -> ReservationFacts | None:
        """The reservation of *address*; None when there is none."""
        try:
            return reservation_from_object(self._client.get(reservation_path(address)))
        except NotFound:
            return None

    def release(self, reservation: ReservationFacts) -> None:
        """Delete *reservation*. Raises Conflict when it is not what was read any more, NotFound when it is gone."""
        self._client.delete(reservation_path(reservation.address), uid=reservation.uid, version=reservation.version)

    # -- inside

    def _pods(self, address: Address, reservation: ReservationFacts | None) -> Iterator[Carrier]:
        pods = pods_resource()
        labelled = {"labelSelector": f"{ALLOCATED_IP}={address.name}"}
        yield from map(carrier_of, self._all(pods, pods.path, labelled))
        if reservation is not None and reservation.namespace:
            # Also who lost the label, and of two families the one that the label does not have.
            inside = self._all(pods, pods_path(reservation.namespace), {})
            yield from (carrier_of(pod) for pod in inside if _concerns(pod, reservation))

    def _stateful_set(self, reservation: ReservationFacts) -> StatefulSetFacts | None:
        owner = reservation.owner
        if owner.kind != STATEFUL_SET or not owner.name or not reservation.namespace:
            return None
        try:
            return stateful_set_from_object(self._client.get(stateful_set_path(reservation.namespace, owner.name)))
        except NotFound:
            return None

    def _all(self, resource: Resource[F], path: str, params: Mapping[str, str]) -> Iterator[F]:
        token = ""
        while True:
            paging = {"limit": str(PAGE), **({"continue": token} if token else {})}
            page = resource.projection.page(self._client.list_page(path, {**params, **paging}))
            yield from (item.facts for item in page.items)
            if not (token := page.token):
                return


def _concerns(pod: PodFacts, reservation: ReservationFacts) -> bool:
    marks = pod.fixed
    if pod.uid == reservation.bound_uid or pod.name == reservation.pod_name:
        return True
    return marks is not None and (reservation.address in marks.addresses or (bool(marks.key) and marks.key == reservation.key))
