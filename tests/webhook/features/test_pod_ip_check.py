"""What the check of fixed addresses costs, and that it is deaf to nothing. The verdicts are golden cases."""

from __future__ import annotations

from typing import Any

import pytest

from tests.webhook.features.asking import Asked
from webhook.addresses.address import Address
from webhook.addresses.marks import written
from webhook.admission.review import Operations
from webhook.admission.service import Verdict
from webhook.features.pod_ip_check import CheckAddresses
from webhook.names import Reason
from webhook.objects.meta import Json
from webhook.testing import facts
from webhook.testing.addresses import StaticAddresses, pool, reservation

ONE = Address.parse("10.0.0.1")
MINE = reservation("10.0.0.1", key="k", owner="ReplicaSet/web")
POOLS = [pool("edge", "10.0.0.1-10.0.0.3")]


def pod(key: str = "k", *addresses: Address, labels: Json | None = None, spec: Json | None = None, **metadata: Any) -> Json:
    """A pod that asks, as pod-ip has left it."""
    made, annotations = written(key, addresses or (ONE,))
    asks = {"gatehouse.dev/ip-pool": "edge"} if labels is None else labels
    owner = {"kind": "ReplicaSet", "name": "web", "uid": "uid-web", "controller": True}
    standard = {"name": "web-x", "generateName": "web-", "uid": "uid-x", "labels": asks | made, "annotations": annotations}
    standard |= {"ownerReferences": [owner]}
    return {"metadata": standard | metadata, "spec": spec or {}}


def known(*cached: Any, live: tuple[Any, ...] = ()) -> StaticAddresses:
    cache = {one.address: one for one in cached}
    return StaticAddresses(POOLS, cache, cache | {one.address: one for one in live})


def judged(obj: Json, addresses: StaticAddresses, old: Json | None = None, **asked: Any) -> Verdict:
    operation = Operations.CREATE if old is None else Operations.UPDATE
    cluster = facts.cluster(namespaces=[facts.namespace_facts("shop")], addresses=addresses)
    return Asked(object=obj, old_object=old, operation=operation, **asked).of(CheckAddresses("kube-system", cluster))


def test_what_the_cache_knows_costs_no_request() -> None:
    addresses = known(MINE)

    verdict = judged(pod(), addresses)

    assert (verdict.reason, addresses.confirmations) == (Reason.ADDRESS_IN_ORDER, [])


def test_what_the_cache_contradicts_is_looked_up_once() -> None:
    addresses = known(reservation("10.0.0.1", key="old"), live=(MINE,))

    verdict = judged(pod(), addresses)

    assert (verdict.denial, addresses.confirmations) == (None, [ONE])


def test_an_update_of_something_else_costs_no_request() -> None:
    addresses = known()

    verdict = judged(pod(finalizers=["a"]), addresses, pod())

    assert (verdict, addresses.confirmations) == (Verdict(Reason.NOTHING_TO_DO), [])


@pytest.mark.parametrize(("subresource", "reason"), [("status", Reason.ADDRESS_CHANGED), ("resize", Reason.NOT_APPLICABLE)])
def test_only_what_can_change_labels_is_judged(subresource: str, reason: Reason) -> None:
    verdict = judged(pod("other"), known(MINE), pod(), subresource=subresource)

    assert verdict.reason is reason


def test_an_update_whose_old_object_is_not_told_is_judged_as_a_whole() -> None:
    assert judged(pod(), known(), {}).reason is Reason.ADDRESS_NOT_RESERVED


@pytest.mark.parametrize("place", ["labels", "annotations"])
def test_an_address_is_not_dropped_by_taking_everything_away(place: str) -> None:
    after = pod()
    after["metadata"][place] = None

    verdict = judged(after, known(MINE), pod())

    assert verdict.reason is Reason.ADDRESS_CHANGED


def test_pods_with_our_label_are_ours_only_where_we_run() -> None:
    ours = {"gatehouse.dev/ip-pool": "edge", "app.kubernetes.io/name": "gatehouse"}
    cluster = facts.cluster(namespaces=[facts.namespace_facts("shop")], addresses=known())

    at_home = Asked(object=pod(labels=ours)).of(CheckAddresses("shop", cluster))
    elsewhere = Asked(object=pod(labels=ours)).of(CheckAddresses("kube-system", cluster))

    assert (at_home.reason, elsewhere.reason) == (Reason.OWN_OBJECT, Reason.ADDRESS_NOT_RESERVED)
    assert elsewhere.denial is not None


def test_a_refusal_is_a_403_and_names_the_pod() -> None:
    denial = judged(pod("forged"), known(MINE)).denial

    assert denial is not None
    assert (denial.code, denial.reason) == (403, "AddressNotReserved")
    assert denial.message.startswith("pod shop/web-x: 10.0.0.1 is not its own: ")


def test_a_key_without_a_name_stays_with_its_owner() -> None:
    other = {"kind": "ReplicaSet", "name": "other", "uid": "uid-other", "controller": True}

    assert judged(pod(ownerReferences=[other]), known(MINE)).reason is Reason.ADDRESS_NOT_RESERVED
