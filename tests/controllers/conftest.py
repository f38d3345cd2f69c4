"""A scripted API server and a client of it, and the table of figures at the end, as tests/server has it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from controllers.runtime.rest import RestClient
from controllers.testing import FakeApi
from tests.server.conftest import figures, pytest_terminal_summary
from webhook.clock import SystemClock
from webhook.telemetry import Telemetry

__all__ = ["figures", "pytest_terminal_summary"]


@pytest.fixture
def api() -> Iterator[FakeApi]:
    with FakeApi() as server:
        yield server


@pytest.fixture
def client(api: FakeApi, tmp_path: Path) -> Iterator[RestClient]:
    made = RestClient.from_kubeconfig(api.kubeconfig(tmp_path), Telemetry(), SystemClock())
    yield made
    made.close()
