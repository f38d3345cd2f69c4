"""AddressPools: pods that were there before, what the status counts, what is not taken for a pool."""

from __future__ import annotations

import pytest

from tests.apiserver.addresses import objects
from tests.apiserver.addresses.objects import CALICO, POOLS, address, create, from_pool, pod, reservation
from tests.apiserver.addresses.stage import FROM_BEFORE, Stage
from tests.apiserver.waiting import wait_for
from tests.apiserver.workloads import create_namespace
from tests.cluster import Api, Json

WITHIN_S = 20.0


def status(api: Api, name: str) -> Json:
    found: Json = api.get(f"{POOLS}/{name}").get("status", {})
    return found


def counts(api: Api, name: str) -> tuple[int | None, ...]:
    """Size, used and free."""
    found = status(api, name)
    return tuple(found.get(key) for key in ("size", "used", "free"))


def warnings(api: Api, namespace: str) -> list[str]:
    """What Events of type Warning say of the namespace's objects."""
    found = api.get(f"/apis/events.k8s.io/v1/namespaces/{namespace}/events")["items"]
    return [one.get("note", "") for one in found if one["type"] == "Warning"]


@pytest.fixture(scope="module")
def before(api: Api) -> str:
    """A namespace whose pods name addresses by hand, as before there was a Gatehouse."""
    name = "addr-before"
    create_namespace(api, name, {FROM_BEFORE: ""})
    return name


def test_a_pod_that_was_there_before_the_pool_keeps_its_address(stage: Stage, api: Api, namespace: str, before: str) -> None:
    older = create(api, before, pod("older-", {}, {CALICO: '["10.109.0.1"]'}))

    objects.make_pool(api, "adopting", "10.109.0.0/31")
    wait_for(lambda: bool(status(api, "adopting").get("adopted")), WITHIN_S, "its pods adopted")

    # Adopted is what is reserved; that it is bound follows.
    wait_for(lambda: objects.phase(api, "10.109.0.1") == "Bound", WITHIN_S, "its reservation bound")
    kept = (reservation(api, "10.109.0.1") or {}).get("status", {})
    assert kept.get("podUID") == older["metadata"]["uid"]
    assert address(create(api, namespace, pod("newer-", from_pool("adopting")))) == "10.109.0.0"
    assert stage.seats[0].replica.probes.call("GET", "/readyz/pod-ip").status == 200


def test_pods_that_share_an_address_are_reported_and_left_alone(stage: Stage, api: Api, before: str) -> None:
    both = [create(api, before, pod(f"twin-{name}-", {}, {CALICO: '["10.109.4.1"]'})) for name in "ab"]

    objects.make_pool(api, "conflicted", "10.109.4.0/30")
    wait_for(lambda: any("10.109.4.1" in one for one in warnings(api, before)), WITHIN_S, "a word on 10.109.4.1")
    leader = stage.leader().replica
    wait_for(lambda: leader.total("gatehouse_address_conflicts") >= 1, WITHIN_S, "the count of conflicts")

    assert {one["metadata"]["uid"] for one in both} <= {one["metadata"]["uid"] for one in objects.pods(api, before)}
    wait_for(lambda: objects.phase(api, "10.109.4.1") == "Bound", WITHIN_S, "its reservation bound")
    bound_to = (reservation(api, "10.109.4.1") or {})["status"]["podUID"]
    holder, other = sorted(both, key=lambda one: one["metadata"]["uid"] != bound_to)
    objects.delete(api, holder)
    wait_for(lambda: leader.total("gatehouse_address_conflicts") == 0, WITHIN_S, "the conflict over")

    def passed_on() -> bool:
        kept = (reservation(api, "10.109.4.1") or {}).get("status", {})
        return bool((kept.get("phase"), kept.get("podUID")) == ("Bound", other["metadata"]["uid"]))

    wait_for(passed_on, WITHIN_S, "its reservation bound to the other one")  # written after the conflict was counted


def test_the_status_counts_and_the_leader_measures(stage: Stage, api: Api, namespace: str) -> None:
    objects.make_pool(api, "counted", "10.109.1.0/29", exclude=["10.109.1.0", "10.109.1.7"])
    made = create(api, namespace, pod("one-", from_pool("counted")))

    wait_for(lambda: counts(api, "counted") == (6, 1, 5), WITHIN_S, "one of six used")
    leader = stage.leader().replica
    wait_for(lambda: leader.total("gatehouse_address_pool_free", pool="counted") == 5, WITHIN_S, "the leader's figure")
    objects.wait_bound(api, made)
    objects.delete(api, made)
    wait_for(lambda: counts(api, "counted") == (6, 0, 6), WITHIN_S, "none used")


def test_a_pool_that_nobody_made_is_named(api: Api, namespace: str) -> None:
    assert "no-such-pool" in objects.refusal(api, namespace, pod("lost-", from_pool("no-such-pool")))
