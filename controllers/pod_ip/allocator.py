"""Carries out allocations: the steps of `webhook.addresses.allocating` against the API server, within the time of a review.

Each request gets at most REQUEST_S, and never more than what is left; one without an answer is made once more (`again`): a pod
must not be refused because a kept connection went dark. Of a reservation the steps decide that themselves, since what came of
the first attempt has to be looked into. When the time is up after a reservation was made, it is taken back before anybody hears
of the failure, since no pod can carry it then: it is not for the expiry to clean up.
Lists of all reservations, which only exhaustion asks for, are made once for everybody who waits, and stand for LIST_KEPT_S.

Threads: any; the caller blocks on the API server. Locks guard memory only, but for the one list in progress.
Errors:  Unavailable when the API server cannot be asked, or not in time; Misconfigured when it refuses what is asked.
"""

from __future__ import annotations

import threading
from contextlib import nullcontext
from typing import Any, Final, Protocol

import attrs
import msgspec

from controllers.pod_ip.bodies import claim_patch, reservation_body
from controllers.pod_ip.book import AddressBook
from controllers.pod_ip.failures import undecided
from controllers.pod_ip.paths import PODS_PATH, RESERVATIONS_PATH, pool_path, reservation_path, reservation_status_path
from controllers.pod_ip.resources import reservation_from_object
from controllers.runtime.again import asked_again, may_ask_again, time_left_s
from controllers.runtime.api import Creates, Deletes, PatchesMerge, Reads, ReadsBytes
from controllers.runtime.errors import (
    AlreadyExists,
    ApiError,
    Conflict,
    NotFound,
    TimedOut,
    UndecodableAnswer,
    UndecodableObject,
    Unreachable,
)
from controllers.runtime.resource import Params
from controllers.runtime.transport import on_new_connections
from webhook.addresses.address import Address, AddressError
from webhook.addresses.allocating import Steps, allocate, foreseen
from webhook.addresses.effects import Carriers, Claim, Confirm, Effect, ListAll, Outcome, Reserve, Unanswered, Withdraw
from webhook.addresses.facts import Asked, ReservationFacts
from webhook.addresses.marks import Marks
from webhook.clock import Clock, Deadline
from webhook.logs import get_log
from webhook.names import ALLOCATED_IP
from webhook.telemetry import Telemetry

log = get_log("allocator")

REQUEST_S: Final = 3.0
WITHDRAW_S: Final = 1.0  # each of two attempts, also when the time is up: what is left expires, but only after minutes
LIST_KEPT_S: Final = 1.0

# Kubernetes API concepts, "alternate representations": names and uids without the content. Older servers send all of it.
_METADATA: Final = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json"


class Api(Reads, ReadsBytes, Creates, PatchesMerge, Deletes, Protocol):
    """What an allocation needs of `rest.RestClient`."""


class _Metadata(msgspec.Struct):
    name: str = ""
    uid: str = ""


class _Named(msgspec.Struct):
    metadata: _Metadata = msgspec.field(default_factory=_Metadata)


class _List(msgspec.Struct):
    items: list[_Named] | None = None


@attrs.define(eq=False)
class _Listing:
    """One list of everything, in progress or done."""

    done: threading.Event = attrs.field(factory=threading.Event)
    kept_until_s: float = float("inf")
    error: ApiError | None = None


class Allocator:
    """Gives pods their addresses."""

    def __init__(self, api: Api, book: AddressBook, identity: str, clock: Clock, telemetry: Telemetry) -> None:
        """api: a client of its own, whose rate limit nobody else uses up. identity: the `holder` of what it reserves."""
        self._api = api
        self._book = book
        self._identity = identity
        self._clock = clock
        self._lock = threading.Lock()  # guards _listing; no IO under it
        self._listing: _Listing | None = None
        self._posts = telemetry.counter(
            "gatehouse_address_reservation_posts",
            "Reservations that were tried: created, taken (the address was reserved already), failed.",
            ("result",),
        )

    # -- called by anyone

    def allocate(self, asked: Asked, marks: Marks, deadline: Deadline, *, dry_run: bool = False) -> Outcome:
        """See `webhook.cluster.Addresses.allocate`."""
        if dry_run:
            return foreseen(asked, self._book)
        steps = allocate(asked, marks, self._book, self._clock.wall_s())
        try:
            return self._run(steps, deadline)
        except (ApiError, UndecodableObject) as error:
            subject = f'pod "{asked.namespace}/{asked.pod_name}"' if asked.named else f'a pod of "{asked.namespace}"'
            raise undecided(f"no address could be reserved for {subject}", error) from error

    def reservation(self, address: Address, timeout_s: float) -> ReservationFacts | None:
        """The reservation of *address* now; None when there is none. Raises ApiError, UndecodableObject."""
        try:
            return reservation_from_object(self._api.get(reservation_path(address), timeout_s=timeout_s))
        except NotFound:
            return None

    def has_pool(self, name: str, timeout_s: float) -> bool:
        """Whether there is an AddressPool *name* now. Raises ApiError."""
        try:
            self._api.get(pool_path(name), timeout_s=timeout_s)
        except NotFound:
            return False
        return True

    def carriers(self, address: Address, timeout_s: float) -> tuple[str, ...]:
        """The uids of the pods whose label says *address*, now, in every namespace. Raises ApiError."""
        params = {"labelSelector": f"{ALLOCATED_IP}={address.name}"}
        return tuple(one.uid for one in self._list(PODS_PATH, timeout_s, params))

    # -- inside

    def _run(self, steps: Steps, deadline: Deadline) -> Outcome:
        answer: Any = None
        failure: BaseException | None = None
        while True:
            try:
                effect = steps.send(answer) if failure is None else steps.throw(failure)
            except StopIteration as end:
                outcome: Outcome = end.value
                return outcome
            answer = failure = None
            try:
                answer = self._done(effect, deadline)
            except BaseException as error:  # it is the generator's: it rolls back, and raises it again
                failure = error

    def _done(self, effect: Effect, deadline: Deadline) -> Any:
        match effect:
            case Reserve():
                return self._reserve(effect, deadline)
            case Withdraw():
                return self._withdraw(effect.reservation)
            case _:
                return asked_again(lambda left_s: self._tried(effect, left_s), deadline, most_s=REQUEST_S)

    def _tried(self, effect: Claim | Confirm | Carriers | ListAll, left_s: float) -> Any:
        match effect:
            case Claim():  # the claim of a lost answer is met as a conflict, and found by the read that follows
                return self._claim(effect.reservation, effect.request_uid, left_s)
            case Confirm():
                return self.reservation(effect.address, left_s)
            case Carriers():
                return self.carriers(effect.address, left_s)
            case ListAll():
                return self._list_all(left_s)

    def _reserve(self, effect: Reserve, deadline: Deadline) -> ReservationFacts | Unanswered | None:
        left_s, result = time_left_s(deadline, REQUEST_S), "failed"
        try:
            made = self._posted(effect, left_s)
            result = "taken" if made is None else "created"
        except Unreachable as error:
            if effect.again or not may_ask_again(error, deadline):
                raise
            return Unanswered(self._identity, error)
        finally:
            self._posts.labels(result).inc()
        if made is not None and deadline.expired():
            self._withdraw(made)
            raise TimedOut("the time of the review was up when the reservation was made")
        return made

    def _posted(self, effect: Reserve, left_s: float) -> ReservationFacts | None:
        """The new reservation; None when there is one already."""
        body = reservation_body(effect.asked, effect.address, self._identity)
        try:
            with on_new_connections() if effect.again else nullcontext():
                return reservation_from_object(self._api.create(RESERVATIONS_PATH, body, timeout_s=left_s))
        except AlreadyExists:
            return None

    def _withdraw(self, reservation: ReservationFacts) -> bool:
        path, uid, version = reservation_path(reservation.address), reservation.uid, reservation.version
        deadline = Deadline.after(2 * WITHDRAW_S, self._clock)
        try:
            asked_again(
                lambda left_s: self._api.delete(path, uid=uid, version=version, timeout_s=left_s), deadline, most_s=WITHDRAW_S
            )
        except NotFound:  # also after the lost answer of the first attempt
            return True
        except Conflict:
            return False  # somebody has claimed it
        except ApiError as error:
            log.warning("reservation not withdrawn, it will expire", address=reservation.address.text, error=error)
            return False
        return True

    def _claim(self, reservation: ReservationFacts, request_uid: str, left_s: float) -> ReservationFacts | None:
        patch = claim_patch(reservation, request_uid, self._clock.wall_s())
        try:
            path = reservation_status_path(reservation.address)
            return reservation_from_object(self._api.patch_merge(path, patch, timeout_s=left_s))
        except (NotFound, Conflict):
            return None

    def _list_all(self, left_s: float) -> None:
        listing, mine = self._shared_listing()
        if mine:
            self._make(listing, left_s)
        elif not self._clock.wait(listing.done, left_s):
            raise TimedOut(f"GET {RESERVATIONS_PATH}: the list that others began is not there yet")
        if listing.error is not None:
            raise listing.error

    def _shared_listing(self) -> tuple[_Listing, bool]:
        """The list in progress or still fresh, and whether the caller has to make it."""
        with self._lock:
            listing = self._listing
            if listing is not None and self._clock.monotonic_s() < listing.kept_until_s:
                return listing, False
            listing = self._listing = _Listing()
            return listing, True

    def _make(self, listing: _Listing, left_s: float) -> None:
        began_s = self._clock.monotonic_s()
        # A failure is the caller's own; who waits meanwhile shares it, who comes later asks again.
        kept_until_s, listing.error = began_s, TimedOut("the list of reservations was broken off")
        try:
            found = self._list(RESERVATIONS_PATH, left_s)
            self._book.listed(frozenset(_addresses(found)), began_s)
            kept_until_s, listing.error = began_s + LIST_KEPT_S, None
        except ApiError as error:
            listing.error = error
        finally:
            listing.kept_until_s = kept_until_s
            listing.done.set()

    def _list(self, path: str, timeout_s: float, params: Params | None = None) -> list[_Metadata]:
        body = self._api.get_bytes(path, params, timeout_s=timeout_s, accept=_METADATA)
        try:
            found = msgspec.json.decode(body, type=_List)
        except (ValueError, RecursionError) as error:  # msgspec's errors are ValueErrors
            raise UndecodableAnswer(f"GET {path}: {error}") from error
        return [item.metadata for item in found.items or ()]


def _addresses(found: list[_Metadata]) -> list[Address]:
    addresses = []
    for one in found:
        try:
            addresses.append(Address.from_name(one.name))
        except AddressError:
            continue  # a name that stands for no address holds none
    return addresses
