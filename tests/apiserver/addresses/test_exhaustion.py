"""No address is free: what the user is told, and pods that wait behind a gate until the leader has one for them."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.apiserver.addresses import objects
from tests.apiserver.addresses.objects import GATE, address, create, from_list, from_pool, pod, refusal
from tests.apiserver.addresses.stage import Stage
from tests.apiserver.audit import AuditLog
from tests.apiserver.waiting import stays, wait_for
from tests.apiserver.workloads import pods_path
from tests.cluster import Api, ApiError, Json

FULL, GATED = "full", "gated"


@pytest.fixture(scope="module", autouse=True)
def _pools(api: Api) -> None:
    objects.make_pool(api, FULL, "10.104.0.1-10.104.0.2")
    objects.make_pool(api, GATED, "10.104.1.1", onExhausted="gate")


@pytest.fixture(scope="module")
def holders(api: Api, namespace: str) -> list[Json]:
    """The pods that have all of FULL."""
    return [create(api, namespace, pod(f"holder-{number}-", from_pool(FULL))) for number in range(2)]


def gates(made: Json) -> list[str]:
    return [gate["name"] for gate in made["spec"].get("schedulingGates", [])]


def test_the_refusal_names_the_pool_its_size_its_holders_and_what_helps(api: Api, namespace: str, holders: list[Json]) -> None:
    said = refusal(api, namespace, pod("late-", from_pool(FULL)))

    assert len({address(one) for one in holders}) == 2
    assert FULL in said
    assert "2" in said
    assert namespace in said
    assert "maxSurge" in said


def test_a_dry_run_is_refused_alike(api: Api, namespace: str, holders: list[Json]) -> None:
    assert "maxSurge" in refusal(api, namespace, pod("late-", from_pool(FULL)), "?dryRun=All")


def test_a_list_without_a_free_address_is_refused_alike(api: Api, namespace: str) -> None:
    create(api, namespace, pod("only-", from_list("10.104.2.9")))

    said = refusal(api, namespace, pod("late-", from_list("10.104.2.9")))

    assert "maxSurge" in said


def test_a_pod_that_finds_no_ipv6_address_keeps_no_ipv4_address(api: Api, namespace: str) -> None:
    objects.make_pool(api, "half", "10.104.3.0/28", "fd64:0:0:4::1")
    create(api, namespace, pod("whole-", from_pool("half")))

    said = refusal(api, namespace, pod("half-", from_pool("half")))

    assert "IPv6" in said
    assert len([one for one in objects.reservations(api, namespace) if one["spec"].get("pool") == "half"]) == 2


def test_a_gated_pod_gets_the_address_that_another_gives_back(api: Api, namespace: str) -> None:
    first = create(api, namespace, pod("first-", from_pool(GATED)))
    waiting = create(api, namespace, pod("second-", from_pool(GATED)))
    assert gates(waiting) == [GATE]
    assert objects.addresses(waiting) == []
    path = f"{pods_path(namespace)}/{waiting['metadata']['name']}"
    stays(lambda: gates(api.get(path)) == [GATE], 1.0, "the gate")

    objects.wait_bound(api, first)
    objects.delete(api, first)

    wait_for(lambda: not gates(api.get(path)), 20.0, "the gate lifted")
    made = api.get(path)
    assert address(made) == address(first)
    objects.wait_bound(api, made)


def test_of_many_that_wait_as_many_go_as_addresses_come_free(api: Api, namespace: str) -> None:
    objects.make_pool(api, "queue", "10.104.4.1-10.104.4.2", onExhausted="gate")
    made = [create(api, namespace, pod(f"queue-{number}-", from_pool("queue"))) for number in range(6)]
    waiting = [one["metadata"]["name"] for one in made[2:]]
    assert all(gates(one) == [GATE] for one in made[2:])

    for one in made[:2]:
        objects.wait_bound(api, one)
        objects.delete(api, one)

    def lifted() -> list[Json]:
        found = objects.pods(api, namespace, f"{objects.POOL_LABEL}=queue")
        return [one for one in found if one["metadata"]["name"] in waiting and not gates(one)]

    wait_for(lambda: len(lifted()) == 2, 20.0, "two of four lifted")
    stays(lambda: len(lifted()) == 2, 1.0, "two of four lifted")
    assert {address(one) for one in lifted()} == {"10.104.4.1", "10.104.4.2"}


def test_a_crowd_at_a_small_pool_is_told_so_without_a_request_for_each(stage: Stage, api: Api, namespace: str) -> None:
    objects.make_pool(api, "small", "10.104.5.1-10.104.5.4")
    since = AuditLog(stage.cluster.audit_log).from_now()

    said: list[str] = []

    def attempt(number: int) -> Json | None:
        try:
            return create(api, namespace, pod(f"crowd-{number}-", from_pool("small")))
        except ApiError as refused:
            said.append(str(refused))
            return None

    begin_s = time.monotonic()
    with ThreadPoolExecutor(32) as clients:
        made = [one for one in clients.map(attempt, range(96)) if one is not None]

    assert len({address(one) for one in made}) == len(made) == 4
    assert len(said) == 92
    assert all("maxSurge" in one for one in said)
    assert stage.posts(since) <= 2 * 4
    seconds = time.monotonic() - begin_s
    lists = stage.requests(since)["list", "addressreservations", 200]
    assert lists <= 2 * (seconds + 2), "one a second of each replica"


def test_a_pod_that_is_bound_to_a_node_already_cannot_wait(api: Api, namespace: str) -> None:
    said = refusal(api, namespace, pod("placed-", from_pool(GATED), nodeName="rack-1"))

    assert GATED in said
