"""What only a running replica knows: who has which address by its caches, and what deletions of databases wait for."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from controllers.database_instance.deletions import Deletions
from controllers.database_instance.values import Plan, Wait, Waiting
from controllers.explaining.explainer import Explainer, Query
from controllers.explaining.mounting import page_of
from controllers.local.files import facts_of
from controllers.process.probes import metrics_application
from controllers.testing import FakeApi, FakeClock
from tests.controllers.explaining.test_page import post
from tests.controllers.pod_ip.shelf import address_pool, fake_api, pod, reservation
from tests.controllers.pod_ip.test_caches import synced
from webhook.admission.gate import Gate
from webhook.admission.registry import SERVICES
from webhook.admission.settings import Settings
from webhook.objects.databases import DeletionPolicy, InstanceFacts
from webhook.objects.meta import Json
from webhook.objects.votes import VotePolicy
from webhook.telemetry import Telemetry
from webhook.testing.given import Given
from webhook.testing.golden import FixedClock

NOW_S = 1_795_946_400.0
BOUND = {"phase": "Bound", "podName": "web-0", "podUID": "p1", "node": "edge-1"}


@pytest.fixture
def api() -> Iterator[FakeApi]:
    with fake_api() as server:
        yield server


def test_an_address_is_explained_from_the_caches_without_asking_the_api_server(api: FakeApi, tmp_path: Path) -> None:
    for one in (address_pool(), reservation(status=BOUND), pod("web-0", uid="p1")):
        api.objects.put(one)
    cluster, clock = Given.read({}).cluster(), FixedClock(NOW_S)
    with synced(api, tmp_path) as caches:
        gate = Gate(Settings(), cluster, Telemetry(), clock, services=SERVICES)
        page = page_of(gate, cluster, clock, lambda cache: True, caches, dict)
        app = metrics_application(Telemetry(), dict, lambda: 0.0, explain=page.respond)
        api.requests.clear()

        held = post(app, {"kind": "address", "name": "10.0.0.1"})[1]
        free = post(app, {"kind": "address", "name": "10.0.0.2"})[1]

        # What Calico serves is looked up from time to time, whoever asks.
        assert [
            one.path
            for verb in ("get", "list")
            for one in api.asked(verb)
            if not one.path.startswith("/apis/crd.projectcalico.org")
        ] == []
    assert held["explanation"]["verdict"] == "held by shop/web-0"
    assert held["explanation"]["facts"]["pools"] == ["web"]
    assert held["explanation"]["advice"][0]["reason"] == "Held"
    assert free["explanation"]["verdict"] == "free, as far as reservations go"


INSTANCE: Json = {
    "apiVersion": "example.com/v1",
    "kind": "DatabaseInstance",
    "metadata": {
        "name": "orders",
        "namespace": "shop",
        "uid": "u1",
        "finalizers": ["example.com/volumes"],
        "deletionTimestamp": "2026-11-29T10:00:00Z",
    },
    "spec": {"volumes": {"claimNames": ["data"]}},
}


def test_a_leader_tells_what_the_deletion_of_a_database_waits_for() -> None:
    deletions = Deletions(Telemetry(), FakeClock())
    (facts,) = (one for one in facts_of(INSTANCE, VotePolicy()) if isinstance(one, InstanceFacts))
    deletions.report("shop/orders", facts, Plan((), 1.0, Waiting(Wait.PODS, NOW_S, ("backup",))))
    cluster, clock = Given.read({}).cluster(), FixedClock(NOW_S)
    settings = Settings(database_policy=DeletionPolicy.DELETE)
    gate = Gate(settings, cluster, Telemetry(), clock, services=SERVICES)

    def explained(memory: Any) -> Json:
        query = Query("databaseinstance", object=INSTANCE, namespace="shop")
        return Explainer(gate, cluster, clock, memory=memory).explain(query).json

    assert explained(deletions.told)["facts"]["waitsFor"] == Wait.PODS.value
    assert explained(None)["facts"]["waitsFor"] is None
