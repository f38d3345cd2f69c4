"""A scripted API server that knows webhook configurations, and a client of it; nothing may outlive a test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from controllers.runtime.rest import RestClient
from controllers.testing import FakeApi
from tests.controllers.certificates.builders import register_configurations
from tests.controllers.certificates.scene import Scene
from tests.controllers.leaks import no_leaked_threads

__all__ = ["no_leaked_threads"]


@pytest.fixture
def api() -> Iterator[FakeApi]:
    with FakeApi() as server:
        register_configurations(server)
        yield server


@pytest.fixture
def scene(api: FakeApi, client: RestClient) -> Scene:
    return Scene(api, client)
