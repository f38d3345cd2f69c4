"""With threads, caches that follow a server, and a CRD that comes late or never."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from controllers.config.election import ClientConnectionSection
from controllers.database_instance.controller import database_instance
from controllers.database_instance.deletions import Deletions
from controllers.process.facts import WatchedFacts
from controllers.runtime.rest import RestClient
from controllers.testing import FakeApi
from tests.controllers.database_instance.builders import FINALIZER, by_instance, claim, instance, volume
from tests.controllers.database_instance.world import KINDS
from tests.controllers.edge_health.scene import Heard, Lease
from tests.controllers.runtime.builders import refuse_death
from webhook.clock import Deadline, SystemClock
from webhook.objects.votes import VotePolicy
from webhook.telemetry import Telemetry

OURS = ("databaseinstances", "persistentvolumeclaims", "persistentvolumes", "statefulsets")


@pytest.fixture
def api() -> Iterator[FakeApi]:
    """Without the CRD."""
    with FakeApi() as server:
        for kind in KINDS[1:]:
            server.objects.register(*kind)
        yield server


@contextmanager
def following(api: FakeApi, folder: Path, *, databases: bool) -> Iterator[WatchedFacts]:
    connection = ClientConnectionSection(kubeconfig=api.kubeconfig(folder))
    facts = WatchedFacts(connection, VotePolicy(), Telemetry(), SystemClock(), refuse_death, injects=False, databases=databases)
    facts.start()
    try:
        yield facts
    finally:
        facts.stop(Deadline.after(5.0, SystemClock()))


@contextmanager
def working(facts: WatchedFacts, client: RestClient) -> Iterator[Any]:
    assert facts.databases is not None
    telemetry, clock = Telemetry(), SystemClock()
    made = database_instance(
        client,
        facts.databases,
        Heard(),
        telemetry,
        clock,
        lambda name, error: None,
        leadership=Lease(),
        deletions=Deletions(telemetry, clock),
    )
    made.start()
    try:
        yield made
    finally:
        assert made.stop(Deadline.after(5.0, clock))


def test_nothing_of_it_is_asked_for_while_it_is_off(api: FakeApi, tmp_path: Path) -> None:
    with following(api, tmp_path, databases=False) as facts:
        api.until(lambda: facts.has_synced("pods") and facts.has_synced("nodes"))

        assert [one.path for one in api.requests if one.path.endswith(OURS)] == []
        assert not facts.cluster.databases.synced()


def test_without_the_crd_it_waits_and_begins_when_that_comes(api: FakeApi, client: RestClient, tmp_path: Path) -> None:
    with following(api, tmp_path, databases=True) as facts, working(facts, client) as controller:
        api.until(lambda: api.count("list", "/apis/example.com") + api.count("get", "/apis/example.com") >= 1)
        waited = (facts.alive(), controller.check(), facts.cluster.databases.synced())
        api.objects.register(*KINDS[0])
        api.objects.put(instance())
        api.until(lambda: FINALIZER in _finalizers(api), within_s=20.0)

    assert waited == (True, None, False)


def test_a_life_and_a_deletion(api: FakeApi, client: RestClient, tmp_path: Path) -> None:
    api.objects.register(*KINDS[0])
    stored = api.objects.put(claim("data", by_instance(), finalizers=[]))
    api.objects.put(volume(stored))
    with following(api, tmp_path, databases=True) as facts, working(facts, client):
        api.objects.put(instance())
        api.until(lambda: _status(api).get("volumes", [{}])[0].get("volumeName") == "pv-data")
        client.delete("/apis/example.com/v1/namespaces/shop/databaseinstances/db")
        api.until(lambda: not api.objects.all("PersistentVolumeClaim"))
        waits = "shop/db" in api.objects.all("DatabaseInstance")
        api.objects.drop("PersistentVolume", "pv-data")
        api.until(lambda: not api.objects.all("DatabaseInstance"), within_s=20.0)

    assert waits


def _finalizers(api: FakeApi) -> list[str]:
    found: list[str] = api.objects.all("DatabaseInstance")["shop/db"]["metadata"].get("finalizers", [])
    return found


def _status(api: FakeApi) -> dict[str, Any]:
    found: dict[str, Any] = api.objects.all("DatabaseInstance")["shop/db"].get("status", {})
    return found
