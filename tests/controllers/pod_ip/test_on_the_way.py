"""Creates that may not have ended: no clock but the leader's own decides that none of them can come any more."""

from __future__ import annotations

from typing import Any

import pytest

from controllers.pod_ip.actions import Cause, LookAgain, Release
from controllers.pod_ip.plan import WATCHED_S, plan
from tests.controllers.pod_ip.facts import NOW_S, bound, carrier, pool, reservation, situation
from tests.controllers.pod_ip.objects import ONE
from tests.controllers.pod_ip.objects import pod as stored_pod
from tests.controllers.pod_ip.objects import reservation as stored
from tests.controllers.pod_ip.scene import Scene
from webhook.addresses.facts import ReservationFacts
from webhook.addresses.policy import AddressPolicy


def planned(found: ReservationFacts, **fields: Any) -> Any:
    """The only action."""
    (action,) = plan(situation(found, **fields), NOW_S, AddressPolicy())
    return action


@pytest.mark.parametrize("skew_s", [0.0, 60.0, 119.0, 120.0, 7200.0, -60.0, -7200.0])
def test_what_was_claimed_stays_for_the_expiry_after_the_claim_was_first_seen_however_the_clocks_differ(skew_s: float) -> None:
    """A replica dates its claim by its own clock, and the leader's may be ahead by anything."""
    found = bound(carrier(), claim="request-2", claimed_s=NOW_S - skew_s)

    action = planned(found, claim_known_s=10.0)

    assert isinstance(action, LookAgain)
    assert action.seconds >= 110.0


def test_an_earlier_pod_of_the_name_that_a_cache_still_has_is_no_proof_that_the_new_create_has_ended() -> None:
    """It finished and is gone; its successor's reservation is a moment old, and its create on the way."""
    found = reservation(created_s=NOW_S - 1)

    assert planned(found, known_s=1.0, carriers=(carrier(phase="Succeeded", created_s=NOW_S - 90),)) == LookAgain(119.0)


def test_a_claim_without_a_time_is_timed_as_well() -> None:
    assert planned(bound(carrier(), claim="request-2"), claim_known_s=50.0) == LookAgain(70.0)


def test_the_time_of_a_claim_makes_the_wait_longer_and_never_shorter() -> None:
    found = bound(carrier(), claim="request-2", claimed_s=NOW_S - 20)

    assert planned(found, claim_known_s=500.0) == LookAgain(100.0)
    assert planned(found, claim_known_s=0.0) == LookAgain(120.0)


def test_a_claim_that_was_seen_for_the_expiry_and_is_older_holds_nothing_up() -> None:
    found = bound(carrier(), claim="request-2", claimed_s=NOW_S - 120)

    assert planned(found, claim_known_s=120.0) == Release(found, Cause.POD_GONE)


def test_a_new_leader_sees_an_unbound_reservation_for_the_expiry_before_it_believes_its_age() -> None:
    found = reservation(created_s=NOW_S - 86400)

    assert planned(found, known_s=10.0) == LookAgain(110.0)
    assert planned(found, known_s=120.0) == Release(found, Cause.NEVER_BOUND)


def test_nothing_is_watched_longer_than_a_create_can_take_when_its_age_is_beyond_doubt() -> None:
    slow = pool(expiry_s=86400.0)
    found = reservation(created_s=NOW_S - 2 * 86400, pool="edge")

    assert planned(found, pool=slow, known_s=WATCHED_S - 1) == LookAgain(1.0)
    assert planned(found, pool=slow, known_s=WATCHED_S) == Release(found, Cause.NEVER_BOUND)


def test_a_claim_made_by_a_clock_that_is_behind_by_the_expiry_keeps_its_reservation_when_the_pod_goes(scene: Scene) -> None:
    first = scene.bind(stored_pod())

    scene.change("AddressReservation", ONE, status={"claim": "request-2", "claimedTime": "2027-01-15T07:50:00Z"})
    scene.drop("Pod", f"shop/{first['metadata']['name']}")
    scene.later(100)
    held = scene.reservations()
    scene.later(30)

    assert (held, scene.reservations()) == ({ONE: "Bound"}, {})


def test_each_claim_begins_the_time_anew_whatever_it_says_of_when(scene: Scene) -> None:
    scene.put(stored(age_s=600))
    scene.run()
    for number in range(3):
        scene.change("AddressReservation", ONE, status={"claim": f"request-{number}", "claimedTime": "2027-01-15T07:00:00Z"})
        scene.run()
        scene.later(100)

    held = scene.reservations()
    scene.later(30)

    assert (held, scene.reservations()) == ({ONE: "Reserved"}, {})


def test_a_reservation_that_is_being_deleted_is_not_deleted_again(scene: Scene) -> None:
    going = stored(age_s=600)
    going["metadata"] |= {"deletionTimestamp": "2027-01-15T07:50:00Z", "finalizers": ["example.com/keep"]}
    scene.put(going)

    scene.run()
    scene.later(600)

    assert scene.calls("delete") == []
