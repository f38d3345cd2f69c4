"""A scripted API server, a client of it, and the threads that must not outlive a test."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from controllers.runtime.rest import RestClient
from controllers.testing import FakeApi, FakeClock
from tests.controllers.leaks import left_over
from webhook.clock import SystemClock
from webhook.telemetry import Telemetry

LEAVES_WITHIN_S = 2.0  # a confirmation that nobody waits for any more ends by its own timeout


@pytest.fixture(autouse=True)
def no_leaked_threads() -> Iterator[None]:
    before = set(threading.enumerate())

    yield

    assert left_over(before, LEAVES_WITHIN_S) == []


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
