"""A pod that asks gets an address: what that costs, and what marks are worth that it brings. The verdicts are golden cases."""

from __future__ import annotations

from typing import Any

import attrs
import pytest

from webhook.addresses.address import Address
from webhook.addresses.effects import Carriers, Claim, Reserve
from webhook.addresses.facts import OnExhausted, PodOwner
from webhook.addresses.keys import key_of, key_of_request
from webhook.addresses.policy import AddressPolicy
from webhook.admission.draft import Draft
from webhook.admission.review import AdmissionRequest, GroupVersionResource, Operations, User
from webhook.admission.service import Context, Verdict
from webhook.clock import Deadline
from webhook.errors import MalformedObject, Unavailable
from webhook.features.pod_ip import GiveAddresses
from webhook.names import Reason
from webhook.objects import meta
from webhook.objects.meta import Json
from webhook.testing import facts
from webhook.testing.addresses import StaticAddresses, pool, reservation
from webhook.testing.golden import FixedClock

CLOCK = FixedClock(1_800_000_000.0)
EDGE = pool("edge", "10.0.0.1-10.0.0.3")
OWNER = {"kind": "ReplicaSet", "name": "web", "uid": "uid-web", "controller": True}


def pod(**metadata: Any) -> Json:
    standard = {"namespace": "shop", "generateName": "web-", "ownerReferences": [OWNER]}
    return {"metadata": standard | {"labels": {"gatehouse.dev/ip-pool": "edge", "app": "web"}} | metadata, "spec": {}}


def give(
    obj: Json, known: StaticAddresses, uid: str = "u-1", policy: AddressPolicy = AddressPolicy(), *, dry_run: bool = False
) -> tuple[Verdict, Json]:
    """What becomes of *obj*, and the verdict."""
    draft, user = Draft(obj), User("ann", ())
    request = AdmissionRequest(
        *("admission.k8s.io/v1", uid, GroupVersionResource("", "v1", "pods"), "", "", "shop"),
        *(Operations.CREATE, user, obj, None, dry_run),
    )
    context = Context("pod-ip", Deadline.after(9.0, CLOCK), CLOCK.wall_s(), user, dry_run)
    verdict = GiveAddresses(policy, facts.cluster(addresses=known))(request, draft, context)
    return verdict, draft.object


def address_of(obj: Json) -> str:
    return meta.labels_of(obj).get("allocated-ip", "")


def test_an_address_costs_one_request() -> None:
    known = StaticAddresses([EDGE])

    _, got = give(pod(), known)

    (only,) = known.effects
    assert isinstance(only, Reserve)
    assert (address_of(got), only.address) == ("10.0.0.1", Address.parse("10.0.0.1"))


def test_the_reservation_says_whom_it_is_for() -> None:
    known = StaticAddresses([EDGE])

    give(pod(), known)

    (made,) = known.api.values()
    assert (made.key, made.request_uid, made.namespace) == (key_of_request("u-1"), "u-1", "shop")
    assert (made.app, made.pool, made.pod_name, made.ordinal) == ("web", "edge", "", None)
    assert made.owner == PodOwner("ReplicaSet", "web", "uid-web")


def test_a_pod_that_the_check_cannot_read_costs_no_address() -> None:
    known = StaticAddresses([EDGE])

    with pytest.raises(MalformedObject, match=r"metadata\.deletionTimestamp: expected a string"):
        give(pod(deletionTimestamp={"a": {}}), known)

    assert not known.effects


def test_an_ordinal_is_known_by_its_name_and_owner() -> None:
    known = StaticAddresses([EDGE])

    give(pod(name="db-7", ownerReferences=[OWNER | {"kind": "StatefulSet", "name": "db"}]), known)

    (made,) = known.api.values()
    assert (made.key, made.pod_name, made.ordinal) == (key_of("shop", "uid-web", "db-7"), "db-7", 7)


def test_an_owner_that_no_reservation_could_name_is_told_so() -> None:
    known = StaticAddresses([EDGE])

    verdict, _ = give(pod(ownerReferences=[OWNER | {"uid": "u" * 129}]), known)

    assert verdict.denial is not None and verdict.denial.code == 422
    assert "the uid of its owner has 129 characters: a reservation takes at most 128" in verdict.denial.message
    assert known.effects == []


def test_a_label_that_is_no_label_keeps_no_reservation_from_being_made() -> None:
    known = StaticAddresses([EDGE])

    give(pod(labels={"gatehouse.dev/ip-pool": "edge", "app": "w" * 64, "k8s-app": "web"}), known)

    assert [made.app for made in known.api.values()] == ["web"]


def test_an_owner_that_does_not_control_it_is_none() -> None:
    known = StaticAddresses([EDGE])

    give(pod(ownerReferences=[OWNER | {"controller": False}, OWNER | {"controller": None}]), known)

    (made,) = known.api.values()
    assert made.owner == PodOwner()


def test_a_dry_run_asks_the_api_server_for_nothing() -> None:
    known = StaticAddresses([EDGE], answers=False)

    verdict, got = give(pod(), known, dry_run=True)

    assert (verdict.reason, address_of(got), known.api, known.effects) == (Reason.ADDRESS_ALLOCATED, "10.0.0.1", {}, [])


def test_a_retried_call_is_given_the_same_again() -> None:
    known = StaticAddresses([EDGE])
    give(pod(), known)

    verdict, got = give(pod(), known)

    assert (verdict.reason, address_of(got), len(known.api)) == (Reason.ADDRESS_KEPT, "10.0.0.1", 1)


def test_a_pod_that_is_brought_again_keeps_what_it_has() -> None:
    known = StaticAddresses([EDGE])
    _, got = give(pod(), known)
    known.effects.clear()

    verdict, again = give(got, known, "u-2")

    assert verdict == Verdict(Reason.ALREADY_ALLOCATED, '10.0.0.1 of pool "edge"')
    assert again == got and len(known.api) == 1
    assert [type(effect) for effect in known.effects] == [Carriers, Claim]


def test_a_dump_that_is_applied_again_is_told_what_becomes_of_its_own_address() -> None:
    known = StaticAddresses([EDGE])
    _, got = give(pod(), known)
    dump = {"metadata": dict(got["metadata"], name="web-x"), "spec": {}}
    known.api.clear()
    known.cache.clear()

    verdict, again = give(dump, known, "u-2")

    assert address_of(again) == "10.0.0.1"
    assert verdict.warnings == (
        "pod shop/web-x: it came with the key of an earlier pod or of none (restored from a backup), "
        "and has 10.0.0.1 under one of its own",
    )


def test_a_name_whose_address_went_to_somebody_else_is_told_so() -> None:
    known = StaticAddresses([EDGE])
    _, got = give(pod(name="web"), known)
    taken = reservation("10.0.0.1", key="other", pod_name="other")
    known.api[taken.address] = known.cache[taken.address] = taken

    verdict, again = give({"metadata": got["metadata"], "spec": {}}, known, "u-2")

    assert address_of(again) == "10.0.0.2"
    assert (
        "it came with the address 10.0.0.1, which it had before and nobody kept for it, and gets 10.0.0.2"
        in verdict.warnings[0]
    )


def test_its_marks_are_believed_once_only() -> None:
    known = StaticAddresses([EDGE])
    _, got = give(pod(), known)
    copied = {"metadata": dict(got["metadata"]), "spec": {}}
    give(got, known, "u-2")

    verdict, other = give(copied, known, "u-3")

    assert verdict.reason is Reason.ADDRESS_ALLOCATED
    assert address_of(other) == "10.0.0.2"
    assert "it came with the address 10.0.0.1 of another or an earlier pod" in verdict.warnings[0]


def test_the_marks_of_a_pod_that_runs_are_a_copy() -> None:
    known = StaticAddresses([EDGE])
    _, got = give(pod(), known)
    known.carried = {Address.parse("10.0.0.1"): ("uid-of-the-first",)}

    _, other = give(got, known, "u-2")

    assert address_of(other) == "10.0.0.2"


def test_a_name_that_comes_again_keeps_its_address_whatever_it_bears() -> None:
    known = StaticAddresses([EDGE], {}, {})
    mine = reservation("10.0.0.2", pod_name="db-0", owner="ReplicaSet/web", bound_uid="uid-of-the-one-before")
    known.cache[mine.address] = known.api[mine.address] = mine

    verdict, got = give(pod(name="db-0", annotations={"gatehouse.dev/reservation-key": "copied"}), known)

    assert (verdict.reason, address_of(got)) == (Reason.ADDRESS_KEPT, "10.0.0.2")
    assert meta.annotations_of(got)["gatehouse.dev/reservation-key"] == mine.key


def test_half_a_pair_is_given_back() -> None:
    both = pool("edge", "10.0.0.1", "fd00::1")
    taken = reservation("fd00::1", pod_name="db-0")
    known = StaticAddresses([both], {taken.address: taken}, {taken.address: taken})

    verdict, _ = give(pod(), known)

    assert verdict.denial is not None and verdict.denial.code == 403
    assert list(known.api) == [taken.address]


@pytest.mark.parametrize("policy", [OnExhausted.DENY, OnExhausted.GATE])
def test_lists_wait_or_are_refused_as_the_operator_says(policy: OnExhausted) -> None:
    taken = reservation("10.0.0.1", pod_name="db-0")
    known = StaticAddresses([], {taken.address: taken}, {taken.address: taken})

    verdict, _ = give(pod(labels={"allocatable-ips": "10.0.0.1"}), known, policy=AddressPolicy(on_exhausted=policy))

    assert (verdict.denial is None) is (policy is OnExhausted.GATE)


def test_a_pool_that_is_as_new_as_its_pod_is_waited_for() -> None:
    known = StaticAddresses([], new_pools=("edge",))

    with pytest.raises(Unavailable, match='AddressPool "edge" is new'):
        give(pod(labels={"gatehouse.dev/ip-pool": "edge"}), known)


def test_a_list_of_ten_thousand_millions_is_no_work() -> None:
    known = StaticAddresses([])
    labels, annotations = {"allocatable-ips": ""}, {"allocatable-ips": "fd00::/64 !fd00::/65"}

    _, got = give(pod(labels=labels, annotations=annotations), known)

    assert address_of(got) == "fd00-0000-0000-0000-8000-0000-0000-0000"


def test_anything_but_a_create_is_nobodys_business() -> None:
    draft, user = Draft(pod()), User("ann", ())
    request = AdmissionRequest(
        *("admission.k8s.io/v1", "u", GroupVersionResource("", "v1", "pods"), "", "", "shop"),
        *(Operations.UPDATE, user, draft.object, None, False),
    )
    context = Context("pod-ip", Deadline.after(9.0, CLOCK), CLOCK.wall_s(), user, False)

    verdict = GiveAddresses(AddressPolicy(), facts.cluster(addresses=StaticAddresses()))(request, draft, context)

    assert verdict == Verdict(Reason.NOT_APPLICABLE)
    assert attrs.asdict(request)["dry_run"] is False and not draft.operations
