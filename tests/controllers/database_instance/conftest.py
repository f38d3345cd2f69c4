"""A scripted API server and a client of it; nothing may outlive a test."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from controllers.runtime.rest import Limits, RestClient
from controllers.testing import FakeApi
from tests.controllers.database_instance.world import KINDS, World
from tests.controllers.leaks import no_leaked_threads
from webhook.clock import SystemClock
from webhook.telemetry import Telemetry

__all__ = ["no_leaked_threads"]


@pytest.fixture
def api() -> Iterator[FakeApi]:
    with FakeApi() as server:
        for kind in KINDS:
            server.objects.register(*kind)
        yield server


@pytest.fixture
def client(api: FakeApi, tmp_path: Path) -> Iterator[RestClient]:
    limits = Limits(per_second=100_000.0, burst=100_000)
    made = RestClient.from_kubeconfig(api.kubeconfig(tmp_path), Telemetry(), SystemClock(), limits)
    yield made
    made.close()


@pytest.fixture
def world(api: FakeApi, client: RestClient) -> World:
    return World(api, client)
