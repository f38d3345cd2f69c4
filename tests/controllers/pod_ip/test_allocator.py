"""Allocations against an API server: what is asked, how long it may take, and what is left when it fails."""

from __future__ import annotations

import threading

import pytest

from controllers.pod_ip.allocator import LIST_KEPT_S
from controllers.pod_ip.bodies import bound_patch, claim_patch, cooling_patch, reservation_body, waiting_patch
from controllers.pod_ip.paths import RESERVATIONS_PATH
from controllers.pod_ip.resources import reservation_from_object
from controllers.runtime.errors import Conflict
from controllers.testing.answers import Exchange, status
from tests.controllers.pod_ip.objects import at, pod
from tests.controllers.pod_ip.office import Office
from tests.webhook.addresses.allocations import (
    DUAL,
    ONE,
    SIX,
    THREE,
    TWO,
    addresses,
    asked,
    asked_by_name,
    reservation,
    span,
)
from webhook.addresses.effects import Allocated, Exhausted
from webhook.addresses.facts import Phase
from webhook.addresses.marks import Marks
from webhook.errors import AdmissionError, Misconfigured, Unavailable

# -- what is written


def test_a_reservation_says_for_whom_it_is(office: Office) -> None:
    outcome = office.allocate(asked_by_name(addresses=addresses(span("10.0.0.2"))))

    assert outcome == Allocated("key-db-0", (TWO,))
    (stored,) = office.stored().values()
    assert stored["metadata"]["name"] == "10.0.0.2"
    assert stored["metadata"]["labels"] == {
        "gatehouse.dev/pool": "edge",
        "gatehouse.dev/app": "web",
        "gatehouse.dev/owner-uid": "uid-db",
        "gatehouse.dev/reservation-key": "key-db-0",
    }
    assert stored["spec"] == {
        "ip": "10.0.0.2",
        "reservationKey": "key-db-0",
        "requestUID": "request-1",
        "namespace": "shop",
        "app": "web",
        "pool": "edge",
        "podName": "db-0",
        "holder": "replica-a",
        "ordinal": 0,
        "owner": {"kind": "StatefulSet", "name": "db", "uid": "uid-db"},
    }


def test_an_ipv6_reservation_is_named_in_full(office: Office) -> None:
    office.allocate(asked(addresses=addresses(span("fd00::1"))))

    (stored,) = office.stored().values()
    assert stored["metadata"]["name"] == SIX.name
    assert stored["spec"]["ip"] == "fd00::1"


@pytest.mark.parametrize("app", ["", "not a label", "-a", "a" * 64, "ä"])
def test_what_is_no_label_value_is_in_the_spec_only(app: str) -> None:
    body = reservation_body(asked(app=app, pool=""), ONE, "replica-a")

    assert set(body["metadata"]["labels"]) == {"gatehouse.dev/owner-uid", "gatehouse.dev/reservation-key"}
    assert body["spec"].get("app", "") == app


def test_the_facts_of_a_body_are_what_was_asked() -> None:
    wanted = asked_by_name()
    stored = reservation_body(wanted, ONE, "replica-a")

    facts = reservation_from_object(stored)

    assert facts == reservation(ONE, wanted, uid="", version="", created_s=0.0)


PATCHES = {
    "bound": (lambda facts: bound_patch(facts, "web-1", "uid-1", "node-1"), Phase.BOUND, ("web-1", "uid-1", "node-1")),
    "waiting": (waiting_patch, Phase.RESERVED, ("", "", "")),
    "cooling": (lambda facts: cooling_patch(facts, 1_800_000_000.0), Phase.COOLING, ("", "", "")),
}


@pytest.mark.parametrize("name", PATCHES)
def test_a_patch_of_the_status_sets_all_of_it(office: Office, name: str) -> None:
    make, phase, carrier = PATCHES[name]
    office.others_have(ONE)
    facts = office.allocator.reservation(ONE, 1.0)
    for before in (bound_patch(facts, "other", "uid-0", "node-0"), None):
        facts = office.allocator.reservation(ONE, 1.0)
        patch = before or make(facts)
        office.client.patch_merge(f"{RESERVATIONS_PATH}/10.0.0.1/status", patch)

    found = office.allocator.reservation(ONE, 1.0)

    assert (found.phase, (found.bound_name, found.bound_uid, found.node)) == (phase, carrier)
    assert found.released_s == (1_800_000_000.0 if phase is Phase.COOLING else None)


def test_a_patch_of_what_has_changed_since_is_refused(office: Office) -> None:
    office.others_have(ONE)
    facts = office.allocator.reservation(ONE, 1.0)
    path = f"{RESERVATIONS_PATH}/10.0.0.1/status"
    office.client.patch_merge(path, claim_patch(facts, "request-2", 1_800_000_000.0))

    with pytest.raises(Conflict):
        office.client.patch_merge(path, cooling_patch(facts, 1_800_000_000.0))


@pytest.mark.parametrize(("phase", "then"), [(Phase.COOLING, "Reserved"), (Phase.RESERVED, "Reserved"), (Phase.BOUND, None)])
def test_a_claim_ends_cooling_and_leaves_a_bound_one_bound(phase: Phase, then: str | None) -> None:
    written = claim_patch(reservation(ONE, phase=phase), "request-2", 1_800_000_000.0)

    assert written["status"].get("phase") == then
    assert (written["status"]["claim"], written["status"]["claimedTime"]) == ("request-2", "2027-01-15T08:00:00Z")


# -- what is asked


def test_an_allocation_is_one_request(office: Office) -> None:
    office.allocate(asked())

    assert [(one.method, one.path) for one in office.api.requests] == [("POST", RESERVATIONS_PATH)]
    assert office.posts() == {"created": 1.0}


def test_what_others_have_costs_a_try(office: Office) -> None:
    office.others_have(ONE, TWO)

    assert office.allocate(asked()) == Allocated("key-1", (THREE,))
    assert office.posts()["created"] == 1.0
    assert office.posts().get("taken", 0.0) <= 2.0


def test_a_dry_run_asks_nothing(office: Office) -> None:
    outcome = office.allocate(asked(), dry_run=True)

    assert isinstance(outcome, Allocated)
    assert office.api.requests == []


def test_a_name_that_comes_back_is_claimed(office: Office) -> None:
    first = office.allocate(asked_by_name())

    again = office.allocate(asked_by_name(request_uid="request-2"))

    assert again == Allocated(first.key, first.addresses, reused=True)
    (stored,) = office.stored().values()
    assert stored["status"]["claim"] == "request-2"


def given_before(office: Office) -> Marks:
    """What the first call for a pod wrote on it, ten seconds ago."""
    first = office.allocate(asked())
    (stored,) = office.stored().values()
    stored["metadata"]["creationTimestamp"] = at(10)
    office.api.objects.put(stored)
    office.book.vanished(reservation(first.addresses[0], uid=stored["metadata"]["uid"]))
    return Marks(first.key, first.addresses, first.addresses[0].name, asks=True)


def test_a_reinvocation_gets_what_the_first_call_gave(office: Office) -> None:
    marks = given_before(office)

    again = office.allocate(asked(key="key-2", request_uid="request-2"), marks)

    assert again == Allocated("key-1", marks.addresses, reused=True)
    assert len(office.stored()) == 1


def test_a_copy_of_a_pod_gets_an_address_of_its_own(office: Office) -> None:
    marks = given_before(office)
    office.api.objects.put(pod("web-1", marks.addresses[0].text, namespace="other"))

    copied = office.allocate(asked(key="key-2", request_uid="request-2"), marks)

    assert copied.key == "key-2" and copied.addresses != marks.addresses


def test_pods_of_every_namespace_carry(office: Office) -> None:
    (stored,) = (office.api.objects.put(pod("web-1", "10.0.0.1", namespace="other")),)

    assert office.allocator.carriers(ONE, 1.0) == (stored["metadata"]["uid"],)
    assert office.allocator.carriers(TWO, 1.0) == ()


# -- exhaustion


def test_full_is_what_the_api_server_calls_full(office: Office) -> None:
    office.others_have(ONE, TWO, THREE)

    outcome = office.allocate(asked())

    assert isinstance(outcome, Exhausted)
    assert office.api.count("list") == 1


def test_many_who_find_nothing_share_a_list(office: Office) -> None:
    office.others_have(ONE, TWO, THREE)
    threads = [threading.Thread(target=office.allocate, args=(asked(key=f"k{n}"),)) for n in range(8)]

    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    office.allocate(asked())

    assert office.api.count("list") == 1


def test_a_list_is_good_for_a_second(office: Office) -> None:
    office.others_have(ONE, TWO, THREE)
    office.allocate(asked())
    office.clock.advance(LIST_KEPT_S)

    office.allocate(asked())

    assert office.api.count("list") == 2


def test_a_list_that_fails_is_an_outage_and_no_exhaustion(office: Office) -> None:
    office.others_have(ONE, TWO, THREE)
    office.api.next("list", status(500))

    with pytest.raises(Unavailable, match='a pod of "shop": GET'):
        office.allocate(asked())
    assert isinstance(office.allocate(asked()), Exhausted), "the next one asks again"


# -- failure


def test_a_refusal_that_is_not_about_the_address_ends_it(office: Office) -> None:
    office.api.always("create", status(403, "Forbidden", "no rule"))

    with pytest.raises(Misconfigured, match=r'no address could be reserved for pod "shop/db-0": POST .* 403 no rule'):
        office.allocate(asked_by_name())
    assert office.api.count("create") == 1
    assert office.posts() == {"failed": 1.0}


@pytest.mark.parametrize(
    ("code", "reason", "advice"),
    [
        (403, "Forbidden", "needs the role gatehouse-pod-ip of manifests/base/20-rbac.yaml"),
        (404, "NotFound", "needs the CRDs of manifests/base/10-crd-addresses.yaml"),
        (422, "Invalid", "the CRDs may be of another release"),
    ],
)
def test_what_no_retry_mends_is_told_at_once_with_what_does(office: Office, code: int, reason: str, advice: str) -> None:
    office.api.always("create", status(code, reason, "no"))

    with pytest.raises(Misconfigured, match=advice) as raised:
        office.allocate(asked())

    assert (raised.value.status, raised.value.retry_after_s) == (500, None)


@pytest.mark.parametrize("code", [429, 500, 503])
def test_what_may_pass_is_tried_again_by_the_api_server(office: Office, code: int) -> None:
    office.api.always("create", status(code))

    with pytest.raises(AdmissionError) as raised:
        office.allocate(asked())

    assert (raised.value.status, raised.value.retry_after_s) == (503, 1)


def test_the_first_family_does_not_outlive_the_second(office: Office) -> None:
    office.api.next("create", office.api.ordinary, status(500))

    with pytest.raises(Unavailable):
        office.allocate(asked(addresses=DUAL))

    assert office.stored() == {}


def test_what_is_reserved_too_late_is_given_back_at_once(office: Office) -> None:
    def slowly(exchange: Exchange) -> None:
        office.clock.advance(10.0)
        office.api.ordinary(exchange)

    office.api.next("create", slowly)

    with pytest.raises(Unavailable, match="the time of the review was up"):
        office.allocate(asked())
    assert office.stored() == {}
    assert office.api.count("delete") == 1


def test_nothing_is_asked_when_no_time_is_left(office: Office) -> None:
    with pytest.raises(Unavailable, match="no time is left to ask"):
        office.allocate(asked(), seconds=0.0)

    assert office.api.requests == []


def test_what_somebody_has_claimed_is_not_withdrawn(office: Office) -> None:
    def claimed_then_failed(exchange: Exchange) -> None:
        facts = office.allocator.reservation(ONE, 1.0)
        office.client.patch_merge(f"{RESERVATIONS_PATH}/10.0.0.1/status", claim_patch(facts, "retry", 1_800_000_000.0))
        status(500)(exchange)

    office.api.next("create", office.api.ordinary, claimed_then_failed)

    with pytest.raises(Unavailable):
        office.allocate(asked(addresses=DUAL))

    assert list(office.stored()) == ["10.0.0.1"]
