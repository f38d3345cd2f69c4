"""What a pod says that it has, and whether a reservation agrees. Pure; any thread; raises MalformedObject.

    misfit    why a reservation is not that of a pod which asks; "" when it is
    stranger  why a pod which does not ask may not have an address that is reserved; "" when the reservation is its own

A pod without a name of its own (generateName) is known by its key and, once the leader has seen it, by its uid; a pod that was
named by its name, which one pod can bear at a time.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Final, Self

import attrs

from webhook.addresses.address import Address, AddressError
from webhook.addresses.facts import PodOwner, ReservationFacts
from webhook.addresses.keys import key_of
from webhook.addresses.marks import Marks, marks_of, past_ipam, read_calico
from webhook.addresses.owners import owner_of
from webhook.addresses.words import whose
from webhook.names import ALLOCATED_IP, APP_LABEL, CALICO_ADDRESSES, PROJECT, RESERVATION_KEY
from webhook.objects import meta, pods
from webhook.objects.meta import Json


@attrs.frozen
class Texts:
    """The marks as they stand there, "" for what does not."""

    label: str  # allocated-ip
    addresses: str  # ipAddrs
    key: str
    past_ipam: str  # ipAddrsNoIpam

    def lost_in(self, after: Texts) -> tuple[str, ...]:
        """What is there, and is not in *after*, or says something else; not ipAddrsNoIpam, which we never write."""
        pairs = (
            (f"label {ALLOCATED_IP}", self.label, after.label),
            (f"annotation {CALICO_ADDRESSES}", self.addresses, after.addresses),
            (f"annotation {RESERVATION_KEY}", self.key, after.key),
        )
        return tuple(name for name, old, new in pairs if old and old != new)

    def ours_gained_in(self, after: Texts) -> tuple[str, ...]:
        """What only we write, and *after* has it where it was not here, or says something else."""
        pairs = (
            (f"label {ALLOCATED_IP}", self.label, after.label),
            (f"annotation {RESERVATION_KEY}", self.key, after.key),
        )
        return tuple(name for name, old, new in pairs if new and old != new)

    def addresses_gained_in(self, after: Texts) -> bool:
        """Whether *after* says something of addresses for the network that is not said here."""
        pairs = ((self.addresses, after.addresses), (self.past_ipam, after.past_ipam))
        return any(new and old != new for old, new in pairs)


NO_TEXTS: Final = Texts("", "", "", "")


@attrs.frozen
class Bearer:
    """A pod and what it bears."""

    namespace: str
    name: str
    uid: str
    generated: bool  # the API server has made up its name, or will
    owner: PodOwner
    marks: Marks
    texts: Texts
    asks: bool  # never on the host network, where no CNI gives anything
    on_host_network: bool
    is_finished: bool  # its phase says so: what it bears matters no more
    is_deleting: bool  # it may use its address until its object is gone
    is_labelled_ours: bool
    is_new: bool  # it has no address yet that was ever checked

    @classmethod
    def of(cls, pod: Json, namespace: str, *, is_new: bool) -> Self:
        """What the raw *pod* says."""
        metadata, spec = meta.metadata(pod), pods.spec(pod)
        labels, annotations = meta.labels_of(pod), meta.annotations_of(pod)
        marks = marks_of(metadata, spec) or Marks()
        on_host_network = pods.uses_host_network(pod)
        return cls(
            namespace=namespace,
            name=meta.text(metadata, "name", "metadata"),
            uid=meta.text(metadata, "uid", "metadata"),
            generated=bool(meta.text(metadata, "generateName", "metadata")),
            owner=owner_of(pod),
            marks=marks,
            texts=Texts(marks.label, annotations.get(CALICO_ADDRESSES, ""), marks.key, past_ipam(annotations)),
            asks=marks.asks and not on_host_network,
            on_host_network=on_host_network,
            is_finished=meta.text(meta.mapping(pod, "status", ""), "phase", "status") in pods.FINISHED,
            is_deleting=meta.is_deleting(pod),
            is_labelled_ours=labels.get(APP_LABEL) == PROJECT,
            is_new=is_new,
        )

    @property
    def addresses(self) -> tuple[Address, ...]:
        """Those that Calico gives it."""
        return self.marks.addresses

    @property
    def borne(self) -> tuple[Address, ...]:
        """Each address that it says to have in any way, past Calico's own book or by the label alone: others count it then."""
        found = [*self.marks.addresses, *read_calico(self.texts.past_ipam)[0]]
        with suppress(AddressError):
            found.append(Address.from_name(self.marks.label))
        return tuple(dict.fromkeys(found))

    @property
    def is_ours(self) -> bool:
        """Whether it asked, or somebody reserved something for it."""
        return self.asks or bool(self.marks.key)


def misfit(reservation: ReservationFacts | None, bearer: Bearer) -> str:
    """Why *reservation*, that of an address which *bearer* bears, is not its own; "" when it is."""
    if reservation is None:
        return "no AddressReservation of it exists"
    if reservation.key != bearer.marks.key or reservation.namespace != bearer.namespace:
        return f"it is reserved for {whose(reservation)}, with another {RESERVATION_KEY}"
    if reservation.bound_uid and reservation.bound_uid == bearer.uid:
        return ""
    if reservation.pod_name:
        return "" if _is_named(reservation, bearer) else f"it is reserved for {whose(reservation)}"
    if reservation.bound_uid:
        return f"{whose(reservation)} has it"
    # Until the leader has bound it, the key is all that is known of a pod without a name; a pod that runs had time enough.
    is_kin = bearer.is_new and bearer.generated and reservation.owner.uid == bearer.owner.uid
    return "" if is_kin else "it is reserved for a pod that is being created"


def stranger(reservation: ReservationFacts, bearer: Bearer) -> str:
    """Why *bearer*, who does not ask, may not have the address of *reservation*; "" when it is its own all the same."""
    if reservation.bound_uid and reservation.bound_uid == bearer.uid:
        return ""
    if reservation.namespace == bearer.namespace and _is_named(reservation, bearer):
        return ""
    return f"{reservation.address.text} is reserved for {whose(reservation)}"


def _is_named(reservation: ReservationFacts, bearer: Bearer) -> bool:
    """Whether it was made for the name that *bearer* bears, under the same owner."""
    named = bool(bearer.name) and reservation.pod_name == bearer.name
    return named and reservation.key == key_of(bearer.namespace, bearer.owner.uid, bearer.name)
