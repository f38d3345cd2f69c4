"""An address that a live pod carries although it was another's: it becomes its own when nobody else will come for it."""

from __future__ import annotations

from typing import Any

import pytest

from controllers.pod_ip.actions import Action, Bind, LookAgain, ReportConflict
from controllers.pod_ip.plan import plan
from tests.controllers.pod_ip.facts import ADDRESS, NOW_S, bound, carrier, db_0, ordinal, reservation, situation, stateful_set
from tests.controllers.pod_ip.objects import ONE, pod, pool
from tests.controllers.pod_ip.scene import Scene
from webhook.addresses.facts import Phase, ReservationFacts
from webhook.addresses.marks import Carrier
from webhook.addresses.policy import AddressPolicy
from webhook.addresses.words import whose

SECOND, THIRD = (carrier(name, key=f"key-{name}", created_s=NOW_S - age_s) for name, age_s in (("b", 90), ("c", 60)))


def planned(found: ReservationFacts, *pods: Carrier, **fields: Any) -> tuple[Action, ...]:
    return plan(situation(found, *pods, **fields), NOW_S, AddressPolicy())


@pytest.mark.parametrize(
    "found",
    [
        bound(carrier("gone")),
        reservation(),
        reservation(phase=Phase.COOLING, released_s=NOW_S - 600),
        reservation(phase=Phase.COOLING),
        ordinal(phase=Phase.BOUND, bound_uid="uid-gone"),
    ],
    ids=["its pod is gone", "expired", "cooled", "cooling since nobody knows when", "an ordinal that is not wanted"],
)
def test_what_would_be_given_up_goes_to_the_pod_that_carries_it(found: ReservationFacts) -> None:
    assert planned(found, SECOND) == (Bind(found, SECOND),)


def test_of_several_the_oldest_gets_it_and_the_others_are_told() -> None:
    found = bound(carrier("gone"))

    told = ReportConflict(ADDRESS, SECOND, (THIRD,), "pod shop/gone")
    assert planned(found, THIRD, SECOND) == (Bind(found, SECOND), told)


@pytest.mark.parametrize(
    ("found", "fields"),
    [
        (bound(carrier("a")), {"bound": carrier("a")}),
        (reservation(created_s=NOW_S - 20), {}),
        (bound(carrier("gone"), claim="r", claimed_s=NOW_S - 20), {}),
        (ordinal(), {"stateful_set": stateful_set(1)}),
        (ordinal(phase=Phase.BOUND, bound_uid="uid-gone"), {"stateful_set": stateful_set(1)}),
        (reservation(deleting=True), {}),
    ],
    ids=["its pod lives", "a create may be on its way", "claimed", "an ordinal waits", "an ordinal comes back", "going"],
)
def test_what_somebody_else_may_come_for_stays_a_conflict(found: ReservationFacts, fields: dict[str, Any]) -> None:
    actions = planned(found, SECOND, **fields)

    assert [one for one in actions if not isinstance(one, LookAgain)] == [
        ReportConflict(ADDRESS, fields.get("bound"), (SECOND,), whose(found))
    ]


def test_a_pod_gets_what_another_had_once_no_create_can_bring_a_claimant_any_more() -> None:
    found = reservation(created_s=NOW_S - 20)

    assert planned(found, SECOND)[-1] == LookAgain(100.0)


def test_a_young_pod_gets_nothing_of_anothers_for_its_own_reservation_may_be_on_its_way() -> None:
    young = carrier("b", key="key-2", created_s=NOW_S - 1)

    assert planned(bound(carrier("gone")), young) == (LookAgain(4.0),)


def test_a_reservation_goes_to_no_pod_of_another_namespace() -> None:
    stranger = carrier("b", key="key-2", namespace="elsewhere")

    assert planned(bound(carrier("gone")), stranger) == (ReportConflict(ADDRESS, None, (stranger,), "pod shop/gone"),)


def test_the_successor_of_a_name_is_not_passed_over() -> None:
    found = ordinal(phase=Phase.BOUND, bound_uid="uid-gone")
    successor = db_0(uid="uid-next")

    assert planned(found, SECOND, successor)[0] == Bind(found, successor)


def test_a_conflict_over_a_claimed_address_ends_after_the_expiry(scene: Scene) -> None:
    scene.bind(pod("a"))
    scene.put(pod("b", key="key-2", age_s=60.0))
    scene.change("AddressReservation", ONE, status={"claim": "request-2", "claimedTime": "2027-01-15T08:00:00Z"})
    scene.run()

    scene.drop("Pod", "shop/a")
    scene.run()
    before = scene.series("gatehouse_address_conflicts"), scene.status(ONE)["podName"]
    scene.later(130)

    assert before == ({"": 1.0}, "a")
    assert (scene.series("gatehouse_address_conflicts"), scene.status(ONE)["podName"]) == ({"": 0.0}, "b")


def test_a_conflict_ends_when_the_pod_goes_that_has_the_address(scene: Scene) -> None:
    """Two pods that were there before the pool share an address."""
    for name, age_s in (("a", 90.0), ("b", 60.0)):
        foreign = pod(name, key="", owner="", age_s=age_s)
        foreign["metadata"]["labels"] = {}
        scene.put(foreign)
    scene.put(pool())
    scene.run()
    before = scene.series("gatehouse_address_conflicts"), scene.status(ONE)["podName"]

    scene.drop("Pod", "shop/a")
    scene.run()
    after = scene.series("gatehouse_address_conflicts"), scene.status(ONE)["podName"], scene.reservations()
    scene.drop("Pod", "shop/b")
    scene.run()

    assert before == ({"": 1.0}, "a")
    assert after == ({"": 0.0}, "b", {ONE: "Bound"})
    assert scene.reservations() == {}
