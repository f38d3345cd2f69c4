"""A scripted API server and a client of it; nothing may outlive a test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from controllers.runtime.rest import RestClient
from controllers.testing import FakeApi
from tests.controllers.leaks import no_leaked_threads
from tests.controllers.pod_ip.office import Office
from tests.controllers.pod_ip.scene import Scene

__all__ = ["no_leaked_threads"]


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
def scene(api: FakeApi, client: RestClient) -> Scene:
    return Scene(api, client)


@pytest.fixture
def office(api: FakeApi, client: RestClient) -> Office:
    return Office(api, client)
