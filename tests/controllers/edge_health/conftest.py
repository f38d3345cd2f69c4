"""A scripted API server and a client of it; nothing may outlive a test."""

from __future__ import annotations

import pytest

from controllers.runtime.rest import RestClient
from controllers.testing import FakeApi
from tests.controllers.edge_health.scene import Scene
from tests.controllers.leaks import no_leaked_threads

__all__ = ["no_leaked_threads"]


@pytest.fixture
def scene(api: FakeApi, client: RestClient) -> Scene:
    return Scene(api, client)
