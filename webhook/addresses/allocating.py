"""The steps of one allocation. Pure: what has to be asked or written is yielded as an effect, and what came of it sent back.

The API server decides: a reservation is an object named by its address, and the second POST of it is refused. Memory only says
what is worth trying.

Nothing is handed out again without a write. A cache that is behind may show a reservation that the leader is deleting at this
moment, and a pod shows up in no list before it is stored, up to 34 s after its admission: so what an earlier pod or call was
given is *claimed*, which changes the version that a deletion is guarded by, and is dated, so that nobody releases it within
the next expiry. Only a claim that this very request made needs no second one.

A POST of which nothing was heard is made again. What exists then is ours only as long as nobody was given it, and was made by
this call (`_is_ours`): the API server asks twice for one pod, and what one call takes for its own it may withdraw.

Named pods    the key stands for the name, which one pod can bear at a time: their reservation is theirs in whatever phase.
generateName  the key stands for the request. The API server calls again with the marks of the first call on the pod
              (reinvocation), but marks are also copied with manifests. They are believed only for a fresh reservation of the
              same owner that no pod carries, and only once.

Source: kubernetes pkg/registry/core/service/ipallocator (only AlreadyExists moves on: kubernetes/kubernetes#135333);
        Kubernetes docs, dynamic admission control: reinvocation policy, idempotence.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Any, Final

import attrs

from webhook.addresses.address import Address
from webhook.addresses.book import Book
from webhook.addresses.effects import (
    Allocated,
    Carriers,
    Claim,
    Confirm,
    Effect,
    Exhausted,
    ListAll,
    Outcome,
    Reserve,
    Unanswered,
    Withdraw,
)
from webhook.addresses.exhaustion import exhausted
from webhook.addresses.facts import Asked, Phase, ReservationFacts
from webhook.addresses.marks import Marks

# A create takes at most 34 s in the API server (apiserver endpoints/handlers); later its marks can only be a copy.
FRESH_S: Final = 40.0
CLAIMS: Final = 3  # times that somebody may write in between

Steps = Generator[Effect, Any, Outcome]


@attrs.define
class _Made:
    """What this call has so far."""

    key: str
    addresses: list[Address] = attrs.field(factory=list)
    created: list[ReservationFacts] = attrs.field(factory=list)


def allocate(asked: Asked, marks: Marks, book: Book, wall_s: float) -> Steps:
    """Reserve one address of each family of *asked*, or find what its key has. Nothing stays reserved unless all are.

    marks: what the pod bears when it comes. wall_s: seconds since the epoch.
    A failure that the effects do not name may be thrown in at any step: what was reserved is withdrawn, and it is raised.
    """
    if not asked.addresses:
        return _exhausted(asked, book, 0)
    if not asked.named and marks.addresses:
        believed = yield from _reinvoked(asked, marks, book, wall_s)
        if believed is not None:
            return believed
    made = _Made(asked.key)
    try:
        for version in asked.addresses.versions:
            kept = yield from _kept(asked, marks, book, version)
            if kept is None:
                kept = yield from _reserved(asked, book, version)
                if kept is None:
                    found = _exhausted(asked, book, version)
                    yield from _withdrawn(made, book)
                    return found
                if not kept.claim:  # else another call of this request may have answered with it: it is not ours to withdraw
                    made.created.append(kept)
            made.addresses.append(kept.address)
    except GeneratorExit:  # nobody is there any more to do it
        raise
    except BaseException:
        yield from _withdrawn(made, book)
        raise
    return Allocated(made.key, tuple(made.addresses), reused=not made.created)


def foreseen(asked: Asked, book: Book) -> Outcome:
    """What `allocate` would probably answer. Nothing is marked or written: for dry runs."""
    addresses = []
    if not asked.addresses:
        return _exhausted(asked, book, 0)
    for version in asked.addresses.versions:
        kept = _candidates(asked, book.by_key(asked.key), version)
        address = kept[0].address if kept else book.foresee(asked, version)
        if address is None:
            return _exhausted(asked, book, version)
        addresses.append(address)
    return Allocated(asked.key, tuple(addresses))


def _exhausted(asked: Asked, book: Book, version: int) -> Exhausted:
    family = asked.addresses.only(version)
    return exhausted(version, family.size(), book.within(family))


def _reserved(asked: Asked, book: Book, version: int) -> Generator[Effect, Any, ReservationFacts | None]:
    """A new reservation; None when no address is free, also according to the API server."""
    listed = False
    while True:
        address = book.take(asked, version)
        if address is None:
            if listed:
                return None
            yield ListAll()
            listed = True
            continue
        try:
            found = yield from _posted(asked, address)
        except BaseException:
            book.refused(address)  # it may exist: whoever has this key finds it, or it expires
            raise
        if found is None:
            book.refused(address)
        else:
            book.learned(found)
            return found


def _posted(asked: Asked, address: Address) -> Generator[Effect, Any, ReservationFacts | None]:
    """The reservation of *address* that this call made; None when somebody else has it."""
    answer: ReservationFacts | Unanswered | None = yield Reserve(asked, address)
    if not isinstance(answer, Unanswered):
        return answer
    try:
        made: ReservationFacts | None = yield Reserve(asked, address, again=True)
        if made is not None:
            return made
        found: ReservationFacts | None = yield Confirm(address)
    except Exception as second:
        raise second from answer.failure
    return found if found is not None and _is_ours(found, asked, answer.holder) else None


def _is_ours(found: ReservationFacts, asked: Asked, holder: str) -> bool:
    """Whether a POST of this call, whose answer was lost, made *found*, and nobody else was given it since.

    The same request may be worked on elsewhere, when the API server asked again: what the other call made, it may withdraw.
    Within a replica no two calls take the same address.
    """
    made = (found.request_uid, found.holder) == (asked.request_uid, holder)
    return made and _may_have(found, asked.key, asked) and _unclaimed(found, asked)


def _withdrawn(made: _Made, book: Book) -> Generator[Effect, Any, None]:
    for reservation in made.created:
        gone: bool = yield Withdraw(reservation)
        if gone:
            book.vanished(reservation)
    made.created.clear()


def _kept(asked: Asked, marks: Marks, book: Book, version: int) -> Generator[Effect, Any, ReservationFacts | None]:
    """What this key has already, claimed for this request; None when it has nothing that the pod may keep."""
    known = _candidates(asked, book.by_key(asked.key), version)
    for reservation in known:
        claimed = yield from _claimed(reservation, asked.key, asked, book)
        if claimed is not None:
            return claimed
    if marks.key == asked.key and not known:
        # Another replica was asked first, and its reservation has not reached our cache.
        for address in marks.addresses:
            if address.version == version and address in asked.addresses:
                found: ReservationFacts | None = yield Confirm(address)
                if found is not None and _may_have(found, asked.key, asked):
                    return (yield from _claimed(found, asked.key, asked, book))
    return None


def _candidates(asked: Asked, found: Sequence[ReservationFacts], version: int) -> list[ReservationFacts]:
    usable = [
        one
        for one in found
        if one.address.version == version and _may_have(one, asked.key, asked) and one.address in asked.addresses
    ]
    if len(usable) > 1:
        mine = asked.request_uid
        usable.sort(key=lambda one: (one.claim != mine, one.request_uid != mine, not one.bound_uid, one.created_s))
    return usable


def _may_have(reservation: ReservationFacts, key: str, asked: Asked) -> bool:
    # One that is being deleted goes with its last finalizer, whatever is written into it.
    return reservation.key == key and reservation.namespace == asked.namespace and not reservation.deleting


def _claimed(
    reservation: ReservationFacts, key: str, asked: Asked, book: Book
) -> Generator[Effect, Any, ReservationFacts | None]:
    """*reservation* with our claim on it; None when it is gone or somebody else's."""
    for _ in range(CLAIMS):
        if reservation.claim == asked.request_uid:
            return reservation
        written: ReservationFacts | None = yield Claim(reservation, asked.request_uid)
        if written is not None:
            book.learned(written)
            return written
        fresh: ReservationFacts | None = yield Confirm(reservation.address)
        if fresh is None or fresh.uid != reservation.uid:
            book.vanished(reservation)
        if fresh is None or not _may_have(fresh, key, asked) or not (asked.named or _unclaimed(fresh, asked)):
            return None
        reservation = fresh
    return None


def _reinvoked(asked: Asked, marks: Marks, book: Book, wall_s: float) -> Generator[Effect, Any, Allocated | None]:
    """What an earlier call for the same pod gave it; None when the marks are no proof of that."""
    addresses = tuple(sorted(marks.addresses))
    if not marks.key or tuple(one.version for one in addresses) != asked.addresses.versions:
        return None
    found: list[ReservationFacts] = []
    for address in addresses:
        reservation = book.reservation(address)
        if reservation is None or reservation.key != marks.key:
            reservation = yield Confirm(address)
        if reservation is None or address not in asked.addresses or not _credible(reservation, asked, marks, wall_s):
            return None
        found.append(reservation)
    if any(one.claim != asked.request_uid for one in found):
        carriers: tuple[str, ...] = yield Carriers(addresses[0])  # their label has the first one
        if carriers:
            return None
    for reservation in found:
        claimed = yield from _claimed(reservation, marks.key, asked, book)
        if claimed is None:
            return None
    return Allocated(marks.key, addresses, reused=True)


def _credible(reservation: ReservationFacts, asked: Asked, marks: Marks, wall_s: float) -> bool:
    return (
        _may_have(reservation, marks.key, asked)
        and reservation.owner.uid == asked.owner.uid
        and not reservation.pod_name  # the key of a named pod is no key of a request
        and wall_s - reservation.created_s < FRESH_S
        and _unclaimed(reservation, asked)
    )


def _unclaimed(reservation: ReservationFacts, asked: Asked) -> bool:
    fresh = reservation.phase is Phase.RESERVED and not reservation.bound_uid
    return fresh and reservation.claim in ("", asked.request_uid)
