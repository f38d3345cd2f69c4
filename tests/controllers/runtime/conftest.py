"""A scripted API server, a client of it, and the threads that must not outlive a test."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from controllers.runtime.rest import RestClient
from controllers.testing import FakeApi, FakeClock
from tests.controllers.leaks import no_leaked_threads
from webhook.clock import SystemClock
from webhook.telemetry import Telemetry

__all__ = ["no_leaked_threads"]


@pytest.fixture
def api() -> Iterator[FakeApi]:
    with FakeApi() as server:
        yield server


@pytest.fixture
def telemetry() -> Telemetry:
    return Telemetry()


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock(auto_advance=True)


@pytest.fixture
def client(api: FakeApi, tmp_path: Path, telemetry: Telemetry) -> Iterator[RestClient]:
    made = RestClient.from_kubeconfig(api.kubeconfig(tmp_path), telemetry, SystemClock())
    yield made
    made.close()
