"""Calico's pools and blocks, and whether they are there at all."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from controllers.pod_ip.calico import RECHECK_S, Calico, blocks_resource, ip_pools_resource
from controllers.runtime.errors import UndecodableObject
from controllers.runtime.rest import RestClient
from controllers.testing import FakeApi, FakeClock
from controllers.testing.answers import body, status
from tests.controllers.pod_ip.shelf import block, calico_appears, fake_api, ip_pool
from tests.controllers.runtime.builders import refuse_death
from webhook.addresses.address import Address
from webhook.addresses.ranges import AddressSet, Span
from webhook.clock import Deadline, SystemClock
from webhook.telemetry import Telemetry


@pytest.fixture
def api() -> Iterator[FakeApi]:
    with fake_api() as server:
        yield server


class Held:
    """What the blocks have in use, as it was told."""

    def __init__(self) -> None:
        self.blocks: dict[str, list[str]] = {}

    def __call__(self, name: str, held: Collection[Address]) -> None:
        self.blocks[name] = sorted(address.text for address in held)


@contextmanager
def followed(api: FakeApi, folder: Path, clock: FakeClock | None = None) -> Iterator[tuple[Calico, Held]]:
    clock, telemetry, held = clock or FakeClock(auto_advance=True), Telemetry(), Held()
    client = RestClient.from_kubeconfig(api.kubeconfig(folder), telemetry, clock)
    calico = Calico(client, telemetry, clock, refuse_death, on_block=held)
    calico.start()
    try:
        yield calico, held
    finally:
        calico.stop(Deadline.after(5.0, SystemClock()))


def test_a_cluster_without_calico_is_known_to_have_none(api: FakeApi, tmp_path: Path) -> None:
    with followed(api, tmp_path) as (calico, _):
        api.until(calico.synced)

        assert calico.network() is None
        assert calico.informers() == ()
        assert calico.alive()


def test_nothing_is_known_before_the_api_server_has_answered(api: FakeApi, tmp_path: Path) -> None:
    clock = FakeClock()
    api.always("get", status(503))
    with followed(api, tmp_path, clock) as (calico, _):
        clock.until_waiting()
        unknown = calico.synced()
        api.behave()
        clock.advance(60.0)
        api.until(calico.synced)

        assert not unknown


@pytest.mark.parametrize("answer", [b"<html>", b"{}", b'{"resources": 5}'])
def test_an_answer_that_is_no_list_of_resources_says_nothing(api: FakeApi, tmp_path: Path, answer: bytes) -> None:
    clock = FakeClock()
    api.always("get", body(answer))
    with followed(api, tmp_path, clock) as (calico, _):
        clock.until_waiting()

        assert not calico.synced()


def test_its_pools_and_blocks_are_followed_where_it_is_installed(api: FakeApi, tmp_path: Path) -> None:
    calico_appears(api)
    api.objects.put(ip_pool())
    api.objects.put(block("10.0.0.0/26", 1, 5))
    with followed(api, tmp_path) as (calico, held):
        api.until(calico.synced)
        network = calico.network()

        assert network is not None
        assert network.source == "Calico"
        assert [(pool.name, pool.addresses, pool.obstacle) for pool in network.pools] == [
            ("default", AddressSet.of((Span(4, 0x0A000000, 0x0A0000FF),)), "")
        ]
        assert held.blocks == {"10-0-0-0-26": ["10.0.0.1", "10.0.0.5"]}


def test_a_pool_that_changes_is_heard_of(api: FakeApi, tmp_path: Path) -> None:
    calico_appears(api)
    api.objects.put(ip_pool())
    with followed(api, tmp_path) as (calico, _):
        api.until(calico.synced)
        assert calico.network() is not None
        api.objects.put(ip_pool(spec={"disabled": True}))

        def obstacle() -> str:
            network = calico.network()
            return network.pools[0].obstacle if network else ""

        api.until(lambda: obstacle() == "is disabled")


def test_what_a_block_gives_back_is_heard_of(api: FakeApi, tmp_path: Path) -> None:
    calico_appears(api)
    api.objects.put(block("10.0.0.0/26", 1))
    api.objects.put(block("10.0.1.0/26", 2))
    with followed(api, tmp_path) as (calico, held):
        api.until(calico.synced)
        api.objects.put(block("10.0.0.0/26"))
        api.objects.drop("IPAMBlock", "10-0-1-0-26")

        api.until(lambda: held.blocks == {"10-0-0-0-26": [], "10-0-1-0-26": []})


def test_one_that_is_installed_later_is_found_without_a_restart(api: FakeApi, tmp_path: Path) -> None:
    clock = FakeClock()
    api.objects.put(ip_pool())
    with followed(api, tmp_path, clock) as (calico, _):
        api.until(calico.synced)
        clock.until_waiting(longer_than_s=RECHECK_S - 1)
        calico_appears(api)
        clock.advance(RECHECK_S)
        api.until(lambda: calico.network() is not None)

        assert calico.synced()


def test_a_group_without_the_kinds_that_are_read_is_not_calico(api: FakeApi, tmp_path: Path) -> None:
    calico_appears(api, "ippools")
    with followed(api, tmp_path) as (calico, _):
        api.until(calico.synced)

        assert calico.network() is None


# -- pools


@pytest.mark.parametrize(
    ("changes", "obstacle"),
    [
        ({}, ""),
        ({"spec": {"nodeSelector": "!all()"}}, ""),
        ({"spec": {"allowedUses": ["Workload", "Tunnel"]}}, ""),
        ({"spec": {"allowedUses": []}}, ""),
        ({"spec": {"allowedUses": ["Tunnel"]}}, "is not for workloads"),
        ({"spec": {"disabled": True}}, "is disabled"),
        ({"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}}, "is being deleted"),
        ({"status": {"conditions": [{"type": "Allocatable", "status": "False"}]}}, "is not allocatable"),
        ({"status": {"conditions": [{"type": "Allocatable", "status": "True"}]}}, ""),
    ],
)
def test_a_pool_is_closed_where_calico_assigns_nothing_from_it(changes: dict[str, Any], obstacle: str) -> None:
    assert ip_pools_resource().projection.convert(ip_pool(**changes)).facts.obstacle == obstacle


@pytest.mark.parametrize("cidr", ["", "10.0.0.0/33", "web", None])
def test_a_pool_without_a_cidr_is_none(cidr: Any) -> None:
    with pytest.raises(UndecodableObject):
        ip_pools_resource().projection.convert(ip_pool(cidr=cidr))


# -- blocks


@pytest.mark.parametrize(
    ("obj", "held"),
    [
        (block("10.0.0.64/26", 0, 63), ["10.0.0.64", "10.0.0.127"]),
        (block("fd00::40/122", 1), ["fd00::41"]),
        (block("10.0.0.0/30", 3, size=4), ["10.0.0.3"]),
        (block("10.0.0.0/26"), []),
        (block("10.0.0.0/26", 1, deleted=True), []),
        (block("10.0.0.0/26", allocations=None), []),
    ],
)
def test_a_block_holds_the_places_that_have_an_attribute(obj: dict[str, Any], held: list[str]) -> None:
    facts = blocks_resource().projection.convert(obj).facts

    assert [address.text for address in facts.held()] == held
