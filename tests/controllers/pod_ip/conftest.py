"""A scripted API server and a client of it; nothing may outlive a test."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from controllers.runtime.rest import RestClient
from controllers.testing import FakeApi
from tests.controllers.pod_ip.scene import Scene
from webhook.clock import SystemClock
from webhook.telemetry import Telemetry


@pytest.fixture(autouse=True)
def no_leaked_threads() -> Iterator[None]:
    before = set(threading.enumerate())

    yield

    assert [thread.name for thread in threading.enumerate() if thread not in before] == []


@pytest.fixture
def api() -> Iterator[FakeApi]:
    with FakeApi() as server:
        server.objects.register(
            "/apis/gatehouse.dev/v1alpha1", "addressreservations", "gatehouse.dev/v1alpha1", "AddressReservation"
        )
        server.objects.register("/apis/gatehouse.dev/v1alpha1", "addresspools", "gatehouse.dev/v1alpha1", "AddressPool")
        server.objects.register("/apis/apps/v1", "statefulsets", "apps/v1", "StatefulSet")
        yield server


@pytest.fixture
def client(api: FakeApi, tmp_path: Path) -> Iterator[RestClient]:
    made = RestClient.from_kubeconfig(api.kubeconfig(tmp_path), Telemetry(), SystemClock())
    yield made
    made.close()


@pytest.fixture
def scene(api: FakeApi, client: RestClient) -> Scene:
    return Scene(api, client)
