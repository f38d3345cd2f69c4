"""The model is only worth what it notices: each fault below is one that somebody has shipped, and a few schedules find it."""

from __future__ import annotations

from collections.abc import Callable
from math import inf

import attrs
import pytest

from controllers.pod_ip import plan as planning
from controllers.pod_ip.actions import Bind, LookAgain
from controllers.pod_ip.book import AddressBook
from controllers.pod_ip.known import Sightings
from tests.addresses_model import leader
from tests.addresses_model.schedules import FEW, STEPS, Namesakes, Schedule, run
from tests.addresses_model.world import Violation, World
from webhook.addresses import allocating
from webhook.addresses.effects import Confirm, Reserve, Unanswered

MOST = 400  # schedules until a fault is noticed; most need a few
LONG = 3 * STEPS  # the longer, the more meets

Breaks = Callable[[pytest.MonkeyPatch], None]


def reserves_in_memory_only(patch: pytest.MonkeyPatch) -> None:
    """Siemens-Healthineers/K2s#2200: whoever looks first, takes; a second look of another replica takes it, too."""
    reserve = World.reserve

    def reserve_over(self: World, asked, address, holder):
        self.reservations.items.pop(address, None)
        return reserve(self, asked, address, holder)

    patch.setattr(World, "reserve", reserve_over)


def gives_again_without_a_write(patch: pytest.MonkeyPatch) -> None:
    """spiderpool#3751: the cache has the reservation of the pod that comes back, and the leader is deleting it."""

    def claimed(reservation, key, asked, book):
        return reservation
        yield

    patch.setattr(allocating, "_claimed", claimed)


def gives_again_without_a_date(patch: pytest.MonkeyPatch) -> None:
    """The same with a write that nobody heeds: the leader releases what was claimed for a pod on its way."""
    claim = World.claim

    def undated(self: World, seen, request_uid, wall_s):
        written = claim(self, seen, request_uid, wall_s)
        return written and attrs.evolve(self.write(written, claim="", claimed_s=0.0), claim=request_uid)

    patch.setattr(World, "claim", undated)


def times_claims_by_the_clocks_of_others(patch: pytest.MonkeyPatch) -> None:
    """A leader whose clock is ahead by the expiry takes every claim for an old one."""
    see = Sightings.see
    patch.setattr(Sightings, "see", lambda self, reservation, now_s: (see(self, reservation, now_s)[0], inf))


def forgets_who_has_the_name(patch: pytest.MonkeyPatch) -> None:
    """A pod that ends and has lost its marks before it was bound still uses its address."""
    patch.setattr(planning, "_may_use", lambda namesake: False)


def keeps_what_nobody_asks_for_any_more(patch: pytest.MonkeyPatch) -> None:
    """A StatefulSet's template has lost the label, and its ordinals are waited for for ever."""
    situation_of = planning.situation_of

    def blind(*args, **fields):
        found = situation_of(*args, **fields)
        stops = found.namesake is not None and not found.namesake.deleting
        return attrs.evolve(found, namesake=None) if stops else found

    patch.setattr(planning, "situation_of", blind)


def believes_copied_marks(patch: pytest.MonkeyPatch) -> None:
    """openshift-velero-plugin#408: a manifest with the marks of another pod is created as it is."""

    def reinvoked(asked, marks, book, wall_s):
        found = allocating.Allocated(marks.key, marks.addresses, reused=True)
        return found if marks.key and set(marks.addresses) <= set(asked.addresses) else None
        yield

    patch.setattr(allocating, "_reinvoked", reinvoked)


def believes_its_own_lost_reservation_that_somebody_has_claimed_since(patch: pytest.MonkeyPatch) -> None:
    """Ours: found after a lost answer, it was withdrawn in the version that another call for the same pod had been given."""

    def posted(asked, address):
        answer = yield Reserve(asked, address)
        if isinstance(answer, Unanswered):
            answer = yield Reserve(asked, address, again=True)
            found = None if answer is not None else (yield Confirm(address))
            if found is not None and (found.key, found.request_uid) == (asked.key, asked.request_uid):
                answer = attrs.evolve(found, claim="")
        return answer

    patch.setattr(allocating, "_posted", posted)


def takes_for_its_own_what_another_replica_made(patch: pytest.MonkeyPatch) -> None:
    """Ours: the API server asked again, and the call that it had given up withdrew what the new one took for its own."""
    is_ours = allocating._is_ours
    patch.setattr(allocating, "_is_ours", lambda found, asked, holder: is_ours(found, asked, found.holder))


def asks_no_carriers(patch: pytest.MonkeyPatch) -> None:
    """Fresh marks are believed, although a pod has them already."""
    patch.setattr(World, "labelled", lambda self, address: ())


def deletes_without_preconditions(patch: pytest.MonkeyPatch) -> None:
    """whereabouts#75: a late clean-up frees what the address's next owner has."""
    initial = World.__init__

    def careless(self, random):
        initial(self, random)
        self.checks_versions = False

    patch.setattr(World, "__init__", careless)


def releases_without_a_second_look(patch: pytest.MonkeyPatch) -> None:
    """whereabouts#207: the pod came between two reads."""
    initial = leader.Leader.__init__

    def hasty(self, *args):
        initial(self, *args)
        self.looks_live = False

    patch.setattr(leader.Leader, "__init__", hasty)


def expires_too_soon(patch: pytest.MonkeyPatch) -> None:
    """kubernetes#37488: a reservation is freed between the answer and the pod."""
    patch.setattr(planning, "_terms", lambda pool, policy: (3.0, 0.0))
    patch.setattr(planning, "WATCHED_S", 0.0)


def frees_what_is_terminating(patch: pytest.MonkeyPatch) -> None:
    """spiderpool#2967: a pod that is being deleted still uses its address."""
    patch.setattr(planning, "is_live", lambda carrier: carrier.phase not in planning.FINISHED and not carrier.deleting)


def never_expires(patch: pytest.MonkeyPatch) -> None:
    """kubemacpool#37: what was reserved for pods that were refused is never given back."""
    patch.setattr(planning, "_after", lambda wait_s, action: (LookAgain(60.0),))


def releases_nothing_of_finished_pods(patch: pytest.MonkeyPatch) -> None:
    """antrea#7571: pods that have ended keep their addresses."""
    patch.setattr(planning, "is_live", lambda carrier: True)


def forgets_to_ask_whose_pod_it_is(patch: pytest.MonkeyPatch) -> None:
    """whereabouts#176: bound by name, so that a pod's successor is taken for it."""

    def written(self, action):
        if isinstance(action, Bind):
            action = attrs.evolve(action, carrier=attrs.evolve(action.carrier, uid=action.carrier.name))
        return write(self, action)

    write = leader.Leader._write
    patch.setattr(leader.Leader, "_write", written)


def keeps_a_mark_for_ever(patch: pytest.MonkeyPatch) -> None:
    """kubernetes#136475: what this process believes and what is stored drift apart."""
    patch.setattr(AddressBook, "_expire", lambda self, now_s: None)


FAULTS = (
    reserves_in_memory_only,
    gives_again_without_a_write,
    gives_again_without_a_date,
    times_claims_by_the_clocks_of_others,
    forgets_who_has_the_name,
    keeps_what_nobody_asks_for_any_more,
    believes_copied_marks,
    asks_no_carriers,
    deletes_without_preconditions,
    releases_without_a_second_look,
    expires_too_soon,
    frees_what_is_terminating,
    never_expires,
    releases_nothing_of_finished_pods,
    forgets_to_ask_whose_pod_it_is,
    keeps_a_mark_for_ever,
)
AMONG_NAMESAKES = (
    believes_its_own_lost_reservation_that_somebody_has_claimed_since,
    takes_for_its_own_what_another_replica_made,
)


@pytest.mark.parametrize("breaks", FAULTS, ids=lambda breaks: breaks.__name__)
def test_a_fault_is_noticed(breaks: Breaks, monkeypatch: pytest.MonkeyPatch) -> None:
    breaks(monkeypatch)

    with pytest.raises(Violation, match=r"schedule \d+ of \d+ steps: "):
        _run_many(MOST, LONG, Schedule)


@pytest.mark.parametrize("breaks", AMONG_NAMESAKES, ids=lambda breaks: breaks.__name__)
def test_a_fault_is_noticed_where_many_want_the_same_pod(breaks: Breaks, monkeypatch: pytest.MonkeyPatch) -> None:
    breaks(monkeypatch)

    with pytest.raises(Violation, match=r"schedule \d+ of \d+ steps: "):
        _run_many(10 * MOST, FEW, Namesakes)  # they are short


def _run_many(count: int, steps: int, kind: type[Schedule]) -> None:
    for number in range(count):
        run(number, steps, kind)
