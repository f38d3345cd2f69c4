"""What becomes of one address: each rule of its life, and the mistakes that others have made with it."""

from __future__ import annotations

from typing import Any

import attrs
import pytest

from controllers.pod_ip.actions import Bind, Cause, Cool, Keep, LookAgain, Release, ReportConflict, Restore
from controllers.pod_ip.plan import carries, plan
from tests.controllers.pod_ip.facts import (
    ADDRESS,
    DB_0,
    NOW_S,
    OTHER,
    bound,
    carrier,
    db_0,
    ordinal,
    pool,
    reservation,
    situation,
    stateful_set,
)
from webhook.addresses.facts import Phase, PodOwner, ReservationFacts
from webhook.addresses.keys import key_of_request
from webhook.addresses.marks import Carrier
from webhook.addresses.policy import AddressPolicy


def planned(found: ReservationFacts | None, *pods: Carrier, policy: AddressPolicy = AddressPolicy(), **fields: Any) -> Any:
    """The only action, None when there is none."""
    actions = plan(situation(found, *pods, **fields), NOW_S, policy)
    assert len(actions) < 2, actions
    return actions[0] if actions else None


# -- a live pod carries it


def test_a_reservation_is_bound_to_the_uid_of_the_pod_that_carries_it() -> None:
    pod = carrier()

    assert planned(reservation(), pod) == Bind(reservation(), pod)


def test_what_is_bound_needs_nothing() -> None:
    pod = carrier()

    assert planned(bound(pod), pod) is None


def test_a_pod_of_the_same_name_and_another_uid_is_bound_anew() -> None:
    """A StatefulSet's pod moved off a dead node: who matches by name frees the address of the new one (whereabouts#176)."""
    old, new = db_0(uid="uid-old"), db_0(uid="uid-new")

    assert planned(ordinal(phase=Phase.BOUND, bound_uid=old.uid, bound_name="db-0"), new) == Bind(
        ordinal(phase=Phase.BOUND, bound_uid=old.uid, bound_name="db-0"), new
    )


@pytest.mark.parametrize("phase", list(Phase))
def test_a_live_pod_holds_its_address_in_whatever_phase_its_reservation_is(phase: Phase) -> None:
    """A garbage collector that still sees the old uid frees what the new pod has (spiderpool#2526, #3751)."""
    found = reservation(phase=phase, bound_uid="uid-of-before", released_s=NOW_S - 9999)

    assert planned(found, carrier()) == Bind(found, carrier())


def test_a_deleting_pod_holds_its_address_until_its_object_is_gone() -> None:
    pod = carrier(deleting=True)

    assert planned(bound(pod), pod) is None


def test_a_pod_without_an_address_in_its_status_keeps_it() -> None:
    """The kubelet may not write the second family, or nothing yet (calico#5044, spiderpool#4888): nobody asks the status."""
    pod = carrier(phase="Pending", node="")

    assert planned(bound(pod), pod) is None


def test_the_bound_pod_holds_it_whatever_its_annotations_have_become() -> None:
    pod = carrier(key="", addresses=(), label="", asks=False)

    assert planned(reservation(phase=Phase.BOUND, bound_uid=pod.uid, bound_name=pod.name), pod) is None


def test_a_pod_with_the_key_and_no_readable_address_holds_it() -> None:
    pod = carrier(addresses=(), label="")

    assert planned(reservation(), pod) == Bind(reservation(), pod)


def test_a_label_alone_is_no_address_but_with_our_key_it_is() -> None:
    copied, stripped = carrier(key="", addresses=()), carrier(addresses=())

    assert (carries(copied, ADDRESS), carries(stripped, ADDRESS), carries(stripped, OTHER)) == (False, True, False)


def test_a_label_beside_another_address_counts_for_nothing() -> None:
    assert not carries(carrier(addresses=(OTHER,)), ADDRESS)


def test_a_pod_behind_the_gate_holds_nothing_yet() -> None:
    pod = carrier(addresses=(), label="", gated=True)

    assert planned(reservation(), pod) == Release(reservation(), Cause.NEVER_BOUND)


# -- nobody carries it


def test_an_address_goes_back_when_its_pod_is_gone() -> None:
    found = bound(carrier())

    assert planned(found) == Release(found, Cause.POD_GONE)


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
def test_a_finished_or_evicted_pod_gives_its_address_back(phase: str) -> None:
    """Evicted pods kept theirs (calico#7582, antrea#7571)."""
    pod = carrier(phase=phase)

    assert planned(bound(pod), pod) == Release(bound(pod), Cause.POD_FINISHED)


def test_a_pod_that_finished_before_it_was_bound_gives_its_address_back_at_once() -> None:
    found = reservation(created_s=NOW_S - 3)

    assert planned(found, carrier(phase="Succeeded", created_s=NOW_S - 3)) == Release(found, Cause.POD_FINISHED)


def test_a_finished_pod_does_not_free_what_a_live_one_carries() -> None:
    """At the start of the controller both are there, and deleting the finished one frees it (ovn-kubernetes#3919)."""
    finished, alive = carrier("done", phase="Succeeded"), carrier("alive", key="key-2")

    assert planned(bound(finished), finished, alive) == Bind(bound(finished), alive)


def test_an_address_cools_for_as_long_as_its_pool_says() -> None:
    found, slow = bound(carrier(), pool="edge"), pool(cooldown_s=30.0)
    cooling = attrs.evolve(found, phase=Phase.COOLING, bound_uid="", bound_name="", released_s=NOW_S - 10)

    assert planned(found, pool=slow) == Cool(found, Cause.POD_GONE)
    assert planned(cooling, pool=slow) == LookAgain(20.0)
    done = attrs.evolve(cooling, released_s=NOW_S - 30)
    assert planned(done, pool=slow) == Release(done, Cause.COOLED)


def test_a_cooling_address_without_a_plausible_time_cools_anew() -> None:
    for released_s in (None, NOW_S + 9999):
        found = reservation(phase=Phase.COOLING, released_s=released_s)

        assert planned(found) == Cool(found, Cause.COOLED)


def test_an_address_that_was_claimed_in_vain_cools_again() -> None:
    """It was used before, and the network may need its time yet."""
    found = reservation(claim="request-2", claimed_s=NOW_S - 120)

    assert planned(found, policy=AddressPolicy(cooldown_s=600.0)) == Cool(found, Cause.NEVER_BOUND)


def test_an_address_of_a_list_cools_for_as_long_as_the_installation_says() -> None:
    found = bound(carrier())

    assert planned(found, policy=AddressPolicy(cooldown_s=5.0)) == Cool(found, Cause.POD_GONE)


# -- nobody has come yet


@pytest.mark.parametrize("age_s", [0.0, 1.0, 60.0, 119.0])
def test_a_create_that_may_still_be_on_its_way_keeps_its_reservation(age_s: float) -> None:
    """A repair that reads between allocation and persistence frees what is about to be used (kubernetes#37488)."""
    assert planned(reservation(created_s=NOW_S - age_s)) == LookAgain(120.0 - age_s)


def test_a_reservation_for_which_no_pod_came_expires() -> None:
    """Another webhook, a quota or AlreadyExists refused the pod (kubemacpool#37, kubernetes#132321, #70563, #61530)."""
    found = reservation(created_s=NOW_S - 120)

    assert planned(found) == Release(found, Cause.NEVER_BOUND)


def test_a_pool_says_when_its_reservations_expire() -> None:
    assert planned(reservation(created_s=NOW_S - 130, pool="edge"), pool=pool(expiry_s=300.0)) == LookAgain(170.0)


def test_a_claim_begins_the_time_anew() -> None:
    """The pod's name came back, or admission was called once more: a pod may be on its way."""
    for phase in Phase:
        found = reservation(phase=phase, bound_uid="uid-gone", released_s=NOW_S - 60, claim="request-2", claimed_s=NOW_S - 20)

        assert planned(found) == LookAgain(100.0)


def test_a_reservation_from_the_future_expires_after_it_was_seen_for_long_enough() -> None:
    found = reservation(created_s=NOW_S + 1e9)

    assert planned(found, known_s=100.0) == LookAgain(20.0)
    assert planned(found, known_s=120.0) == Release(found, Cause.NEVER_BOUND)


def test_no_wait_is_longer_than_an_hour() -> None:
    assert planned(reservation(created_s=NOW_S, pool="edge"), pool=pool(expiry_s=1e6)) == LookAgain(3600.0)


# -- ordinals


def test_an_ordinal_that_is_wanted_keeps_its_address_without_a_pod() -> None:
    assert planned(ordinal(), stateful_set=stateful_set(1)) is None


@pytest.mark.parametrize(
    "fields", [{"phase": Phase.BOUND, "bound_uid": "uid-gone"}, {"phase": Phase.COOLING, "released_s": 1.0}]
)
def test_an_ordinal_whose_pod_went_waits_for_the_next_one(fields: dict[str, Any]) -> None:
    found = ordinal(**fields)

    assert planned(found, stateful_set=stateful_set(1)) == Keep(found)


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
def test_a_finished_pod_of_a_stateful_set_leaves_its_address_to_its_successor(phase: str) -> None:
    pod = db_0(phase=phase)
    found = ordinal(phase=Phase.BOUND, bound_uid=pod.uid)

    assert planned(found, pod, stateful_set=stateful_set(1)) == Keep(found)


@pytest.mark.parametrize(
    "owner",
    [None, stateful_set(0), stateful_set(1, start=1), stateful_set(1, uid="uid-another"), stateful_set(1, deleting=True)],
    ids=["gone", "scaled down", "moved up", "made anew", "going"],
)
def test_an_ordinal_that_is_not_wanted_cools_for_the_expiry(owner: Any) -> None:
    found = ordinal(phase=Phase.BOUND, bound_uid="uid-gone")
    cooling = ordinal(phase=Phase.COOLING, released_s=NOW_S - 100)

    assert planned(found, stateful_set=owner) == Cool(found, Cause.NOT_WANTED)
    assert planned(ordinal(), stateful_set=owner) == Cool(ordinal(), Cause.NOT_WANTED)
    assert planned(cooling, stateful_set=owner) == LookAgain(20.0)
    done = attrs.evolve(cooling, released_s=NOW_S - 120)
    assert planned(done, stateful_set=owner) == Release(done, Cause.COOLED)


def test_ordinals_count_from_their_start() -> None:
    found = ordinal(ordinal=7, pod_name="db-7")

    assert planned(found, stateful_set=stateful_set(3, start=5)) is None
    assert planned(found, stateful_set=stateful_set(2, start=5)) == Cool(found, Cause.NOT_WANTED)


def test_what_the_live_pod_of_a_key_does_not_carry_is_given_up() -> None:
    """An owner changed its address, and the old one was never released (kube-ovn#5654, #5259)."""
    pod = db_0(addresses=(OTHER,), label=OTHER.name)

    assert planned(ordinal(), pod, stateful_set=stateful_set(1)) == Cool(ordinal(), Cause.NOT_WANTED)


def test_both_families_of_a_pod_are_kept() -> None:
    six = ADDRESS.parse("fd00::1")
    pod = carrier(addresses=(ADDRESS, six))

    for address in (ADDRESS, six):
        assert planned(bound(pod, address=address), pod) is None


# -- nobody has reserved it


def test_the_lost_reservation_of_a_live_pod_is_made_again() -> None:
    pod = carrier()

    assert planned(None, pod, pool=pool()) == Restore(ADDRESS, pod, "key-1", "", None, "edge")


def test_the_reservation_of_a_young_pod_is_only_late() -> None:
    assert planned(None, carrier(created_s=NOW_S - 2)) == LookAgain(3.0)


def test_a_pod_from_before_gets_the_key_by_which_its_successor_finds_the_address() -> None:
    pod = db_0(key="", label="", asks=False)

    assert planned(None, pod, pool=pool()) == Restore(ADDRESS, pod, DB_0, "db-0", 0, "edge")


def test_a_pod_from_before_that_nobody_follows_by_name_gets_a_key_of_its_own() -> None:
    pod = carrier(key="", label="", asks=False)

    assert planned(None, pod, pool=pool()) == Restore(ADDRESS, pod, key_of_request(pod.uid), "", None, "edge")


def test_what_adoption_has_made_belongs_to_its_pod() -> None:
    for pod in (db_0(key=""), carrier(key=""), carrier("bare", key="", owner=PodOwner())):
        (made,) = plan(situation(None, pod, pool=pool()), NOW_S, AddressPolicy())
        assert isinstance(made, Restore)
        found = reservation(key=made.key, pod_name=made.pod_name, ordinal=made.ordinal, owner=pod.owner)

        assert planned(found, pod) == Bind(found, pod)


def test_an_address_outside_every_pool_is_only_reserved_for_pods_that_asked_for_one() -> None:
    stranger = carrier(key="", label="", asks=False)

    assert planned(None, stranger) is None
    assert isinstance(planned(None, carrier(key="", label="")), Restore)


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
def test_nothing_is_reserved_for_a_finished_pod(phase: str) -> None:
    assert planned(None, carrier(phase=phase), pool=pool()) is None


# -- several have it


def test_two_live_pods_with_one_address_are_told_and_nothing_else_happens() -> None:
    first, second = carrier("a", created_s=NOW_S - 90), carrier("b", created_s=NOW_S - 60)

    assert planned(bound(first), second, first) == ReportConflict(ADDRESS, first, (second,), "pod shop/a")


def test_of_two_pods_of_one_key_the_bound_one_has_the_address() -> None:
    first, second = carrier("a", created_s=NOW_S - 90), carrier("b", created_s=NOW_S - 60)

    assert planned(bound(second), first, second) == ReportConflict(ADDRESS, second, (first,), "pod shop/b")


def test_of_two_pods_without_a_reservation_the_older_gets_it() -> None:
    first, second = carrier("a", created_s=NOW_S - 90), carrier("b", key="key-2", created_s=NOW_S - 60)

    assert plan(situation(None, second, first, pool=pool()), NOW_S, AddressPolicy()) == (
        Restore(ADDRESS, first, "key-1", "", None, "edge"),
        ReportConflict(ADDRESS, first, (second,), ""),
    )


def test_a_young_pod_with_an_address_of_another_is_no_conflict_yet() -> None:
    """The address was given back, and the new reservation is on its way to the cache."""
    young = carrier("b", key="key-2", created_s=NOW_S - 1)

    assert planned(reservation(), young) == LookAgain(4.0)
    assert planned(bound(carrier("a")), carrier("a"), young) == LookAgain(4.0)
    assert plan(situation(reservation(), carrier("a"), young), NOW_S, AddressPolicy()) == (
        Bind(reservation(), carrier("a")),
        LookAgain(4.0),
    )


def test_a_pod_of_another_namespace_with_a_copied_key_does_not_own_the_reservation() -> None:
    thief = carrier(namespace="elsewhere")

    told = ReportConflict(ADDRESS, None, (thief,), "a pod of ReplicaSet shop/web")
    assert planned(reservation(created_s=NOW_S), thief) == told
