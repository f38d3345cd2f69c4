"""What can be done about one address, as values: `plan` chooses them, `reconciler` carries them out. Pure; any thread."""

from __future__ import annotations

from enum import StrEnum
from typing import ClassVar

import attrs

from webhook.addresses.address import Address
from webhook.addresses.facts import ReservationFacts
from webhook.addresses.marks import Carrier


class Cause(StrEnum):
    """Why a reservation is given up."""

    POD_GONE = "PodGone"
    POD_FINISHED = "PodFinished"
    NEVER_BOUND = "NeverBound"  # no pod ever came
    NOT_WANTED = "NotWanted"  # the ordinal is not wanted any more, or has another address now
    COOLED = "Cooled"


@attrs.frozen
class Bind:
    """Write into the status that *carrier* carries it: phase Bound, the pod's name, uid and node, no released time.

    Precondition: the reservation's uid and version.
    """

    live: ClassVar[bool] = False
    reservation: ReservationFacts
    carrier: Carrier


@attrs.frozen
class Keep:
    """Write into the status that it waits for its ordinal: phase Reserved, no pod, no released time.

    Precondition: the reservation's uid and version.
    """

    live: ClassVar[bool] = False
    reservation: ReservationFacts


@attrs.frozen
class Cool:
    """Write into the status that nobody carries it from now on: phase Cooling, no pod, released now.

    Precondition: the reservation's uid and version: who claims it meanwhile wins.
    """

    live: ClassVar[bool] = False
    reservation: ReservationFacts
    cause: Cause


@attrs.frozen
class Release:
    """Delete it. Preconditions: its uid and version; and right before, a plan of what is read live says the same."""

    live: ClassVar[bool] = True
    reservation: ReservationFacts
    cause: Cause


@attrs.frozen
class Restore:
    """Create the reservation that a live pod has lost, or never had, then look again.

    Precondition: a live read right before finds none; that it exists nevertheless is success.
    """

    live: ClassVar[bool] = True
    address: Address
    carrier: Carrier
    key: str
    pod_name: str  # "" for a generated name, as in the reservations that admission makes
    ordinal: int | None
    pool: str


@attrs.frozen
class ReportConflict:
    """Tell everybody that live pods say that they have an address which is another's. Nothing is written but Events.

    holder: whose it is, None when the reservation's pod is still to come; others: who carry it all the same, oldest first.
    """

    live: ClassVar[bool] = False
    address: Address
    holder: Carrier | None
    others: tuple[Carrier, ...]
    reserved_for: str  # in words; "" when there is no reservation


@attrs.frozen
class LookAgain:
    """Time alone may change this plan in *seconds*."""

    live: ClassVar[bool] = False
    seconds: float


Action = Bind | Keep | Cool | Release | Restore | ReportConflict | LookAgain
