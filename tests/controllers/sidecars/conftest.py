"""A scripted API server and a client of it; nothing may outlive a test."""

from __future__ import annotations

import pytest

from tests.controllers.leaks import no_leaked_threads
from webhook.telemetry import Telemetry

__all__ = ["no_leaked_threads"]


@pytest.fixture
def telemetry() -> Telemetry:
    return Telemetry()
