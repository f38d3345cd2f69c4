"""What one allocation asks of the API server, as values: `allocating` yields them, a doer sends back what came of it.

Any failure but the ones named here is thrown into the generator as the ApiError that it is. Pure.
"""

from __future__ import annotations

import attrs

from webhook.addresses.address import Address
from webhook.addresses.facts import Asked, ReservationFacts


@attrs.frozen
class Reserve:
    """POST the reservation of *address*. *again*: the second time, and on a new connection.

    Sent back: ReservationFacts; None when there is one already (409 AlreadyExists); Unanswered, but not *again*.
    """

    asked: Asked
    address: Address
    again: bool = False


@attrs.frozen
class Unanswered:
    """Nothing was heard of a Reserve, which may have got through, and there is time for another.

    holder: what it wrote as the one who made it. failure: what is known of its fate.
    """

    holder: str
    failure: Exception


@attrs.frozen
class Withdraw:
    """DELETE *reservation* (uid and version are preconditions), because its pod cannot come about.

    Sent back: whether it is gone for certain; what is left expires. Never throws.
    """

    reservation: ReservationFacts


@attrs.frozen
class Claim:
    """Write *request_uid* and the time into the reservation's claim, guarded by its version. What is Cooling becomes Reserved.

    Sent back: ReservationFacts as written, or None when somebody wrote in between or it is gone (409, 404).
    """

    reservation: ReservationFacts
    request_uid: str


@attrs.frozen
class Confirm:
    """GET the reservation of *address* now. Sent back: ReservationFacts or None."""

    address: Address


@attrs.frozen
class Carriers:
    """LIST the pods that carry *address* now, in every namespace. Sent back: tuple of their uids."""

    address: Address


@attrs.frozen
class ListAll:
    """LIST every reservation now; the answer may be up to a second old. Sent back: None; the book has heard of it by then."""


Effect = Reserve | Withdraw | Claim | Confirm | Carriers | ListAll


@attrs.frozen
class Allocated:
    """The addresses that the pod gets, IPv4 first, under *key* (or what a dry run would have given)."""

    key: str
    addresses: tuple[Address, ...]
    reused: bool = False  # nothing was written for it


@attrs.frozen
class Exhausted:
    """No address is free."""

    version: int  # the family that ran out first; 0 when there was nothing to give of any
    size: int  # addresses that the pod may have of that family
    held: tuple[tuple[str, int], ...] = ()  # "Kind namespace/name", how many of them: the biggest holders first
    cooling: int = 0
    unbound: int = 0  # reserved, and nobody carries them yet
    elsewhere: int = 0  # held by Calico, or by pods without a reservation


Outcome = Allocated | Exhausted
