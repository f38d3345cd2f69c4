"""What is said of a workload whose pods ask for fixed addresses."""

from __future__ import annotations

from typing import Any

import pytest

from webhook.addresses.facts import PoolFacts
from webhook.addresses.forecast import forecast, spoken
from webhook.errors import MalformedObject
from webhook.objects.meta import Json
from webhook.objects.workloads import workload_of
from webhook.testing.addresses import pool

POOL, LIST = "gatehouse.dev/ip-pool", "allocatable-ips"
POOLS = {
    one.name: one for one in (pool("three", "10.0.0.1-10.0.0.3"), pool("two-of-each", "10.0.0.1-10.0.0.9", "fd00::1-fd00::2"))
}


def workload(kind: str = "Deployment", *, template: Json | None = None, metadata: Json | None = None, **spec: Any) -> Json:
    inner = {"metadata": template or {}, "spec": {}}
    version = "batch/v1" if kind in ("Job", "CronJob") else "apps/v1"
    body = (
        {"jobTemplate": {"metadata": spec.pop("job", {}), "spec": {"template": inner}}}
        if kind == "CronJob"
        else {"template": inner}
    )
    return {"apiVersion": version, "kind": kind, "metadata": {"name": "web"} | (metadata or {}), "spec": body | spec}


def told(obj: Json, find_pool: Any = POOLS.get) -> list[str]:
    kind = workload_of(obj)
    assert kind is not None
    return [f"{one.reason}: {one.message}" for one in forecast(kind, obj, kind.pod(obj), find_pool)]


def asking(**labels: str) -> Json:
    return {"labels": {POOL: "three"} | labels}


def test_a_workload_that_asks_for_nothing_hears_nothing() -> None:
    assert told(workload()) == []
    assert told(workload(template={"labels": {"app": "web"}})) == []


@pytest.mark.parametrize(
    ("place", "key"), [("labels", POOL), ("labels", LIST), ("annotations", LIST)], ids=["pool", "list", "annotation"]
)
def test_what_stands_on_the_workload_does_nothing(place: str, key: str) -> None:
    # kubeovn/kube-ovn#58
    assert told(workload(metadata={place: {key: "10.0.0.1"}})) == [
        f"WrongLevel: {place[:-1]} {key} in metadata does nothing: pods inherit only spec.template.metadata"
    ]


def test_of_a_cron_job_the_job_template_is_no_place_either() -> None:
    obj = workload("CronJob", job={"labels": {POOL: "three"}})

    (only,) = told(obj)

    assert only.startswith(f"WrongLevel: label {POOL} in spec.jobTemplate.metadata does nothing")


def test_what_the_template_says_too_may_stand_above_for_people() -> None:
    assert told(workload(template=asking(), metadata={"labels": {POOL: "three"}}, replicas=1)) == []


def test_an_annotation_alone_asks_for_nothing() -> None:
    assert told(workload(template={"annotations": {LIST: "10.0.0.1"}})) == [
        f"OptInMissing: annotation {LIST} in spec.template.metadata.annotations does nothing without the label {LIST} "
        "(which may be empty)"
    ]
    assert told(workload(template={"annotations": {POOL: "three"}})) == [
        f"OptInMissing: annotation {POOL} in spec.template.metadata.annotations does nothing without a label {POOL} instead"
    ]


def test_a_list_that_cannot_be_read_is_told_where_it_stands() -> None:
    assert told(workload(template={"labels": {LIST: "10.0.0.300"}})) == [
        f'AddressesInvalid: its pods will be refused: spec.template.metadata.labels[{LIST}]: "10.0.0.300" is no IP address'
    ]


def test_a_pool_that_is_not_there_is_told_once_it_is_known_which_there_are() -> None:
    obj = workload(template={"labels": {POOL: "four"}})

    assert told(obj) == ['AddressPoolMissing: its pods will be refused: AddressPool "four" does not exist']
    assert told(obj, None) == []


@pytest.mark.parametrize(
    ("kind", "spec", "needed"),
    [
        ("Deployment", {"replicas": 2}, ""),  # 25 % of 2 is one more
        ("Deployment", {"replicas": 3}, "3 replicas and 1 more while they are replaced (maxSurge) need 4"),
        ("Deployment", {"replicas": 3, "strategy": {"rollingUpdate": {"maxSurge": 0}}}, ""),
        ("Deployment", {"replicas": 3, "strategy": {"type": "Recreate"}}, ""),
        ("Deployment", {"replicas": 3, "strategy": {"rollingUpdate": {"maxSurge": "34%"}}}, "3 replicas and 2 more"),
        ("Deployment", {"replicas": 3, "strategy": {"rollingUpdate": {"maxSurge": "all"}}}, ""),
        ("Deployment", {}, ""),
        ("StatefulSet", {"replicas": 3}, ""),
        ("StatefulSet", {"replicas": 4}, '4 replicas need 4 addresses, pool "three" has 3'),
        ("StatefulSet", {"replicas": -1}, ""),
        ("DaemonSet", {}, ""),
        ("Job", {"parallelism": 9}, ""),
    ],
)
def test_a_workload_that_needs_more_than_there_is_is_told(kind: str, spec: Json, needed: str) -> None:
    found = told(workload(kind, template=asking(), **spec))

    assert len(found) == bool(needed)
    assert all(one.startswith(f"AddressesExhausted: {needed}") for one in found)


def test_a_rollout_that_will_stand_still_is_told_what_helps() -> None:
    (only,) = told(workload(template={"labels": {LIST: "10.0.0.1"}}, replicas=1))

    assert only == (
        "AddressesExhausted: 1 replicas and 1 more while they are replaced (maxSurge) need 2 addresses, "
        'label "allocatable-ips" has 1, or set maxSurge: 0 and a maxUnavailable of 1'
    )


def test_of_two_families_the_smaller_one_counts() -> None:
    obj = workload("StatefulSet", template={"labels": {POOL: "two-of-each"}}, replicas=3)

    assert told(obj) == ['AddressesExhausted: 3 replicas need 3 addresses, pool "two-of-each" has 2']


def test_a_pool_that_cannot_be_read_has_no_number() -> None:
    broken: PoolFacts = pool("three", fault="x")

    assert told(workload(template=asking(), replicas=9), {"three": broken}.get) == []


BY_HAND = {"annotations": {"cni.projectcalico.org/ipAddrs": '["10.9.9.9"]'}}


def refused_by_hand(template: Json, refuses: bool = True) -> list[str]:
    obj = workload(template=template)
    kind = workload_of(obj)
    assert kind is not None
    return [one.message for one in forecast(kind, obj, kind.pod(obj), POOLS.get, refuses_by_hand=refuses)]


def test_an_address_by_hand_in_a_template_is_told_to_be_refused() -> None:
    assert refused_by_hand(BY_HAND) == [
        "its pods will be refused: annotation cni.projectcalico.org/ipAddrs in spec.template.metadata.annotations gives an "
        "address by hand; ask with a label allocatable-ips or gatehouse.dev/ip-pool"
    ]
    assert refused_by_hand(BY_HAND, refuses=False) == []
    assert refused_by_hand({"annotations": {"cni.projectcalico.org/ipAddrs": "none"}}) == []


def test_a_change_of_what_is_told_is_news_and_nothing_else_is() -> None:
    kind = workload_of(workload())
    assert kind is not None
    before = spoken(kind, workload(replicas=3))

    assert spoken(kind, workload(replicas=3, metadata={"annotations": {"a": "b"}, "labels": {"c": "d"}})) == before
    assert spoken(kind, workload(replicas=4)) != before
    assert spoken(kind, workload(replicas=3, metadata={"labels": {POOL: "three"}})) != before


def test_labels_of_a_wrong_type_are_a_clear_error() -> None:
    with pytest.raises(MalformedObject, match=r"metadata\.labels\.gatehouse\.dev/ip-pool: expected a string"):
        told(workload(metadata={"labels": {POOL: 7}}))
