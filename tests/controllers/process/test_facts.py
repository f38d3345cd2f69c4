"""Which caches follow the API server, and what of them a service waits for."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from controllers.config.election import ClientConnectionSection
from controllers.process.facts import WatchedFacts
from controllers.testing import FakeApi, FakeClock
from controllers.testing.answers import Exchange, status
from tests.controllers.pod_ip.shelf import fake_api
from tests.controllers.runtime.builders import config_map, namespace, refuse_death
from webhook.addresses.policy import AddressPolicy
from webhook.admission.service import (
    LIMIT_RANGES_CACHE,
    NAMESPACES_CACHE,
    NODES_CACHE,
    PODS_CACHE,
    QUOTAS_CACHE,
    SIDECARS_CACHE,
)
from webhook.clock import Deadline, SystemClock
from webhook.objects.votes import VotePolicy
from webhook.telemetry import Telemetry

INJECTION = (NAMESPACES_CACHE, SIDECARS_CACHE, LIMIT_RANGES_CACHE, QUOTAS_CACHE)


@pytest.fixture
def api() -> Iterator[FakeApi]:
    with FakeApi() as server:
        yield server


@contextmanager
def started(
    api: FakeApi, folder: Path, *, injects: bool = True, addresses: AddressPolicy | None = None
) -> Iterator[WatchedFacts]:
    connection, clock = ClientConnectionSection(kubeconfig=api.kubeconfig(folder)), FakeClock(auto_advance=True)
    facts = WatchedFacts(
        connection, VotePolicy(), Telemetry(), clock, refuse_death, injects=injects, addresses=addresses, identity="replica-a"
    )
    facts.start()
    try:
        yield facts
    finally:
        facts.stop(Deadline.after(5.0, SystemClock()))
    assert not [thread.name for thread in threading.enumerate() if thread.name.startswith(("reflector/", "calico/"))]


def test_everything_that_injection_reads_is_followed(api: FakeApi, tmp_path: Path) -> None:
    api.objects.put(namespace("shop"))
    api.objects.put(config_map(data={"config": "containers: [{name: proxy, image: proxy:1}]"}))

    with started(api, tmp_path) as facts:
        api.until(lambda: all(facts.has_synced(cache) for cache in (NODES_CACHE, PODS_CACHE, *INJECTION)))
        state = facts.cluster.sidecars.catalog().find("envoy-initializer", "shop", "home")

        assert facts.cluster.namespaces.get("shop") is not None
        assert state is not None
        assert state.entry is not None
        assert facts.caches()["configmaps/named"]["objects"] == 1


def test_nothing_of_it_is_asked_for_when_nothing_injects(api: FakeApi, tmp_path: Path) -> None:
    with started(api, tmp_path, injects=False) as facts:
        api.until(lambda: facts.has_synced(NODES_CACHE) and facts.has_synced(PODS_CACHE))

        assert set(facts.caches()) == {"nodes", "pods"}
        assert {request.path for request in api.requests} - {"/version"} == {"/api/v1/nodes", "/api/v1/pods"}
        assert facts.cluster.sidecars.catalog().sources == {}


def test_fixed_addresses_are_followed_only_where_somebody_gives_them(tmp_path: Path) -> None:
    with fake_api() as api, started(api, tmp_path, injects=False, addresses=AddressPolicy()) as facts:
        assert facts.addresses is not None
        api.until(facts.cluster.addresses.synced)

        assert set(facts.caches()) == {"nodes", "pods", "addressreservations", "addresspools", "statefulsets/ordinals"}
        assert facts.alive()


@pytest.mark.parametrize("selector", ["labelSelector", "fieldSelector"])
def test_entries_have_synced_when_both_caches_of_config_maps_have(api: FakeApi, tmp_path: Path, selector: str) -> None:
    def refuse_one(exchange: Exchange) -> None:
        if selector in exchange.request.params:
            status(403)(exchange)
        else:
            api.ordinary(exchange)

    for verb in ("list", "watch"):
        api.always(verb, refuse_one)
    with started(api, tmp_path) as facts:
        api.until(lambda: facts.has_synced(NAMESPACES_CACHE) and facts.has_synced(QUOTAS_CACHE))
        waited_for = facts.has_synced(SIDECARS_CACHE)
        api.behave()
        api.until(lambda: facts.has_synced(SIDECARS_CACHE))

        assert not waited_for
