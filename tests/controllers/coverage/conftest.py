"""A scripted API server and a client of it; nothing may outlive a test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from controllers.runtime.rest import RestClient
from controllers.testing import FakeApi
from tests.controllers.coverage.scene import Scene
from tests.controllers.leaks import no_leaked_threads

__all__ = ["no_leaked_threads"]


@pytest.fixture
def api() -> Iterator[FakeApi]:
    with FakeApi() as server:
        server.objects.register("/apis/apps/v1", "replicasets", "apps/v1", "ReplicaSet")
        server.objects.register("/apis/batch/v1", "jobs", "batch/v1", "Job")
        yield server


@pytest.fixture
def scene(api: FakeApi, client: RestClient) -> Scene:
    return Scene(api, client)
