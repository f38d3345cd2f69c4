"""A scripted API server that knows webhook configurations, and a client of it; nothing may outlive a test."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from controllers.runtime.rest import RestClient
from controllers.testing import FakeApi
from tests.controllers.certificates.scene import Scene
from webhook.clock import SystemClock
from webhook.telemetry import Telemetry


@pytest.fixture(autouse=True)
def no_leaked_threads() -> Iterator[None]:
    before = set(threading.enumerate())

    yield

    assert [thread.name for thread in threading.enumerate() if thread not in before] == []


@pytest.fixture
def api() -> Iterator[FakeApi]:
    group = "admissionregistration.k8s.io/v1"
    with FakeApi() as server:
        for kind in ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"):
            server.objects.register(f"/apis/{group}", f"{kind.lower()}s", group, kind)
        yield server


@pytest.fixture
def client(api: FakeApi, tmp_path: Path) -> Iterator[RestClient]:
    made = RestClient.from_kubeconfig(api.kubeconfig(tmp_path), Telemetry(), SystemClock())
    yield made
    made.close()


@pytest.fixture
def scene(api: FakeApi, client: RestClient) -> Scene:
    return Scene(api, client)
