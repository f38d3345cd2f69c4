"""What admission asks of fixed addresses: from memory, and live where memory is not enough."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from controllers.pod_ip.caches import LIVE_S, AddressCaches
from controllers.pod_ip.paths import RESERVATIONS_PATH
from controllers.runtime.informer import Informer
from controllers.runtime.projection import pods_resource
from controllers.runtime.rest import RestClient
from controllers.testing import FakeApi, FakeClock
from controllers.testing.answers import cut, hang, status
from tests.controllers.pod_ip.shelf import KEY, address_pool, block, calico_appears, fake_api, ip_pool, pod, reservation
from tests.controllers.runtime.builders import refuse_death
from webhook.addresses.address import Address
from webhook.addresses.effects import Allocated
from webhook.addresses.facts import Asked, OnExhausted, PodOwner
from webhook.addresses.grammar import parse_items
from webhook.addresses.marks import Marks
from webhook.addresses.policy import AddressPolicy
from webhook.clock import Deadline, SystemClock
from webhook.cluster import PodFacts
from webhook.errors import Misconfigured, Unavailable
from webhook.telemetry import Telemetry

FIRST = Address.parse("10.0.0.1")


@pytest.fixture
def api() -> Iterator[FakeApi]:
    with fake_api() as server:
        yield server


def unstarted(api: FakeApi, folder: Path, policy: AddressPolicy = AddressPolicy()) -> tuple[AddressCaches, Informer[PodFacts]]:
    """The caches, and that of the pods beside them."""
    clock, telemetry = FakeClock(auto_advance=True), Telemetry()
    path = api.kubeconfig(folder)
    client, writes = (RestClient.from_kubeconfig(path, telemetry, SystemClock()) for _ in range(2))
    pods = Informer(pods_resource(addressed=True), client, telemetry, clock, refuse_death)
    return AddressCaches(client, writes, pods, policy, "replica-b", telemetry, clock, refuse_death), pods


@contextmanager
def followed(api: FakeApi, folder: Path, policy: AddressPolicy = AddressPolicy()) -> Iterator[AddressCaches]:
    caches, pods = unstarted(api, folder, policy)
    pods.start()
    caches.start()
    try:
        yield caches
    finally:
        pods.signal_stop()
        caches.stop(Deadline.after(5.0, SystemClock()))
        pods.stop(Deadline.after(5.0, SystemClock()))


@contextmanager
def synced(api: FakeApi, folder: Path, policy: AddressPolicy = AddressPolicy()) -> Iterator[AddressCaches]:
    with followed(api, folder, policy) as caches:
        api.until(lambda: not caches.waiting())
        yield caches


def soon(seconds: float = 5.0) -> Deadline:
    return Deadline.after(seconds, SystemClock())


def asked(*addresses: str) -> Asked:
    owner = PodOwner("ReplicaSet", "web", "rs-1")
    return Asked("shop", KEY, "r9", "web", owner, None, "", "", parse_items(addresses, "x"), OnExhausted.DENY)


def test_pools_and_reservations_are_known_once_everything_has_synced(api: FakeApi, tmp_path: Path) -> None:
    api.objects.put(address_pool())
    api.objects.put(reservation())
    with synced(api, tmp_path) as caches:
        api.requests.clear()
        pool, found = caches.pool("web"), caches.reservation(FIRST, soon())

        assert caches.synced()
        assert pool is not None and found is not None
        assert (pool.addresses.size(), found.key, caches.pools()) == (4, KEY, [pool])
        assert api.asked("get") == []


def test_nothing_can_be_relied_on_while_one_kind_is_not_there(api: FakeApi, tmp_path: Path) -> None:
    for verb in ("list", "watch"):
        api.always(verb, status(404), RESERVATIONS_PATH)
    with followed(api, tmp_path) as caches:
        api.until(lambda: caches.waiting() == ["addressreservations"])

        assert not caches.synced()
        assert caches.alive()


def test_a_reservation_that_memory_does_not_have_is_asked_for_and_remembered(api: FakeApi, tmp_path: Path) -> None:
    with synced(api, tmp_path) as caches:
        api.mute_watches()
        api.objects.put(reservation())
        first, second = caches.reservation(FIRST, soon()), caches.reservation(FIRST, soon())

        assert first is not None and first == second
        assert len([one for one in api.asked("get") if one.path.endswith("/10.0.0.1")]) == 1


def test_one_that_nobody_has_is_none(api: FakeApi, tmp_path: Path) -> None:
    with synced(api, tmp_path) as caches:
        assert caches.reservation(FIRST, soon()) is None


def test_what_the_cache_contradicts_is_asked_for_again(api: FakeApi, tmp_path: Path) -> None:
    api.objects.put(reservation())
    with synced(api, tmp_path) as caches:
        api.mute_watches()
        api.objects.drop("AddressReservation", "10.0.0.1")

        assert caches.confirmed(FIRST, soon()) is None
        assert caches.reservation(FIRST, soon()) is None


def test_who_cannot_be_asked_is_unavailable_within_the_time(api: FakeApi, tmp_path: Path) -> None:
    with synced(api, tmp_path) as caches:
        api.always("get", hang)
        clock = SystemClock()
        began_s = clock.monotonic_s()
        with pytest.raises(Unavailable):
            caches.confirmed(FIRST, soon())

        assert clock.monotonic_s() - began_s < 4 * LIVE_S


def test_a_read_without_an_answer_is_made_once_more(api: FakeApi, tmp_path: Path) -> None:
    api.objects.put(reservation())
    with synced(api, tmp_path) as caches:
        api.next("get", cut)
        found = caches.confirmed(FIRST, soon())
        api.next("get", cut)
        absent = caches.pool_exists("absent", soon())

        assert found is not None and found.key == KEY
        assert not absent


def test_who_may_not_ask_is_told_which_right_is_missing(api: FakeApi, tmp_path: Path) -> None:
    with synced(api, tmp_path) as caches:
        api.always("get", status(403, "Forbidden", "no rule"))
        with pytest.raises(Misconfigured, match="needs the role gatehouse-pod-ip"):
            caches.confirmed(FIRST, soon())


def test_nobody_is_asked_when_the_time_is_up(api: FakeApi, tmp_path: Path) -> None:
    with synced(api, tmp_path) as caches:
        with pytest.raises(Unavailable):
            caches.confirmed(FIRST, soon(0.0))

        assert not [one for one in api.requests if one.path.startswith(f"{RESERVATIONS_PATH}/")]


# -- what is free


def test_an_address_is_given_that_no_reservation_no_pod_and_no_block_has(api: FakeApi, tmp_path: Path) -> None:
    calico_appears(api)
    api.objects.put(ip_pool())
    api.objects.put(block("10.0.0.0/26", 3))
    api.objects.put(reservation(reservationKey="another"))
    api.objects.put(pod("web-1", "10.0.0.2", uid="p2"))
    with synced(api, tmp_path) as caches:
        outcome = caches.allocate(asked("10.0.0.1-10.0.0.4"), Marks(), soon(), dry_run=False)

        assert isinstance(outcome, Allocated)
        assert [address.text for address in outcome.addresses] == ["10.0.0.4"]
        assert [one.method for one in api.requests if one.method != "GET"] == ["POST"]


def test_a_dry_run_writes_nothing(api: FakeApi, tmp_path: Path) -> None:
    with synced(api, tmp_path) as caches:
        outcome = caches.allocate(asked("10.0.0.1"), Marks(), soon(), dry_run=True)

        assert isinstance(outcome, Allocated)
        assert [one.method for one in api.requests if one.method != "GET"] == []


# -- the network


def test_without_calico_the_network_is_what_the_configuration_says(api: FakeApi, tmp_path: Path) -> None:
    ranges = parse_items(["10.0.0.1"], "x")
    with synced(api, tmp_path, AddressPolicy(ranges=ranges)) as caches:
        assert caches.network().refusal(ranges) == ""
        assert "features.podIP.ranges" in caches.network().refusal(parse_items(["10.0.0.9"], "x"))


def test_with_nothing_said_any_address_will_do(api: FakeApi, tmp_path: Path) -> None:
    with synced(api, tmp_path) as caches:
        assert caches.network().refusal(parse_items(["192.0.2.1"], "x")) == ""


def test_calicos_pools_count_more_than_the_configuration(api: FakeApi, tmp_path: Path) -> None:
    calico_appears(api)
    api.objects.put(ip_pool(spec={"disabled": True}))
    ranges = parse_items(["10.0.0.1"], "x")
    with synced(api, tmp_path, AddressPolicy(ranges=ranges)) as caches:
        assert caches.network().refusal(ranges) == '10.0.0.1 is in pool "default" of Calico, which is disabled'


def test_calico_without_a_pool_has_no_address_whatever_the_configuration_says(api: FakeApi, tmp_path: Path) -> None:
    calico_appears(api)
    ranges = parse_items(["10.0.0.1"], "x")
    with synced(api, tmp_path, AddressPolicy(ranges=ranges)) as caches:
        api.until(lambda: bool(caches.calico.informers()) and caches.calico.network() is not None)

        assert caches.network().refusal(ranges) == "10.0.0.1 is not among the addresses of Calico (it has none)"


# -- readiness and the status page


def test_ready_means_that_every_sound_pool_has_been_adopted(api: FakeApi, tmp_path: Path) -> None:
    api.objects.put(address_pool("web", adopted=False))
    api.objects.put(address_pool("broken", adopted=False, addresses=["x"]))
    with synced(api, tmp_path) as caches:
        unadopted = caches.why_not_ready()
        api.objects.put(address_pool("web"))
        api.until(lambda: caches.why_not_ready() is None)

        assert unadopted == "the leader has not adopted the pods of: web"


def test_nothing_is_ready_before_the_first_lists(api: FakeApi, tmp_path: Path) -> None:
    caches, _ = unstarted(api, tmp_path)

    why = caches.why_not_ready()

    assert why is not None and why.startswith("not synced: ")


def test_a_kind_that_the_api_server_does_not_know_any_more_is_not_ready_until_it_is_back(api: FakeApi, tmp_path: Path) -> None:
    """The CRDs were deleted: the caches keep what they had, and nothing can be reserved."""
    with synced(api, tmp_path) as caches:
        before = caches.why_not_ready()
        for verb in ("list", "watch"):
            api.always(verb, status(404), RESERVATIONS_PATH)
        api.end_watches()
        api.until(lambda: caches.why_not_ready() is not None)
        gone = caches.why_not_ready()
        api.behave()
        api.until(lambda: caches.why_not_ready() is None)

        assert before is None
        assert gone == "the API server does not have: addressreservations (are the CRDs installed?)"


def test_the_status_page_counts_as_free_what_the_network_takes(api: FakeApi, tmp_path: Path) -> None:
    api.objects.put(address_pool("web", addresses=["10.0.0.1-10.0.0.4"]))
    for address in ("10.0.0.1", "10.0.0.2"):
        api.objects.put(reservation(address))
    with synced(api, tmp_path, AddressPolicy(ranges=parse_items(["10.0.0.2-10.0.0.3"], "x"))) as caches:
        (pool,) = caches.status()["pools"]

        assert {key: pool[key] for key in ("size", "used", "free")} == {"size": 4, "used": 2, "free": 1}


def test_the_status_page_counts_reservations_and_pools(api: FakeApi, tmp_path: Path) -> None:
    api.objects.put(address_pool("web", addresses=["10.0.0.1-10.0.0.4", "fd00::/64"]))
    api.objects.put(reservation("10.0.0.1", status={"phase": "Bound", "podUID": "p1"}))
    api.objects.put(reservation("10.0.0.4"))
    api.objects.put(reservation("10.0.0.5", status={"phase": "Cooling"}))
    with synced(api, tmp_path) as caches:
        page = caches.status()

        assert {key: page[key] for key in ("reservations", "bound", "reserved", "cooling")} == {
            "reservations": 3,
            "bound": 1,
            "reserved": 1,
            "cooling": 1,
        }
        assert page["pools"] == [
            {"name": "web", "size": 2**64 + 4, "used": 2, "free": 2**64 + 2, "adopted": True, "fault": None}
        ]
        assert page["oldestUnboundSeconds"] > 0
        assert page["waitingFor"] == []
