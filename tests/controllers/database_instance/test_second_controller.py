"""examples/second-controller is what a user would copy: it is short, and it works."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from controllers.runtime.informer import Informer
from controllers.runtime.projection_objects import objects_resource
from controllers.runtime.rest import RestClient
from controllers.testing import FakeApi, FakeClock
from tests.controllers.edge_health.scene import Lease
from webhook.telemetry import Telemetry

FILE = Path(__file__).parents[3] / "examples" / "second-controller" / "buckets.py"
LINES = 60
Json = dict[str, Any]


@pytest.fixture
def buckets() -> ModuleType:
    spec = importlib.util.spec_from_file_location("buckets", FILE)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Running:
    """The example against a scripted API server."""

    def __init__(self, api: FakeApi, client: RestClient, module: ModuleType) -> None:
        api.objects.register("/apis/example.com/v1", "buckets", "example.com/v1", "Bucket")
        self.api, self.clock, self.lease = api, FakeClock(), Lease()
        resource = objects_resource("buckets", "/apis/example.com/v1/buckets", "example.com/v1", "Bucket")
        self.informer: Informer[Json] = Informer(resource, client, Telemetry(), self.clock, self._refuse)
        self.controller = module.bucket_controller(client, self.informer, Telemetry(), self.clock, self._refuse, self.lease)

    def run(self) -> None:
        items = [self.informer.resource.projection.convert(one) for one in self.api.objects.all("Bucket").values()]
        self.informer.replace(items, str(self.api.objects.version), keep=())
        self.clock.advance(5.0)
        self.controller.run_ready()

    @staticmethod
    def _refuse(name: str, error: BaseException) -> None:
        raise AssertionError(name) from error


def bucket(**metadata: Any) -> Json:
    meta = {"name": "b", "namespace": "shop", "uid": "uid-b", **metadata}
    return {"apiVersion": "example.com/v1", "kind": "Bucket", "metadata": meta, "spec": {}}


def part(name: str, uid: str = "uid-b") -> Json:
    meta = {"name": name, "namespace": "shop", "labels": {"bucket-uid": uid}}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta}


def test_a_second_controller_takes_less_than_sixty_lines() -> None:
    lines = [line for line in FILE.read_text().splitlines() if line.strip()]

    assert len(lines) < LINES


def test_a_bucket_goes_after_its_parts_and_takes_no_others(api: FakeApi, client: RestClient, buckets: ModuleType) -> None:
    running = Running(api, client, buckets)
    api.objects.put(bucket(finalizers=["example.com/theirs"]))
    api.objects.put(part("one"))
    api.objects.put(part("other", "uid-former"))
    running.run()
    protected = api.objects.all("Bucket")["shop/b"]["metadata"]["finalizers"]

    api.objects.put(bucket(finalizers=protected, deletionTimestamp="2026-01-01T00:00:00Z"))
    running.run()
    running.run()

    assert protected == ["example.com/theirs", buckets.FINALIZER]
    assert list(api.objects.all("ConfigMap")) == ["shop/other"]
    assert api.objects.all("Bucket")["shop/b"]["metadata"]["finalizers"] == ["example.com/theirs"]


def test_it_writes_nothing_without_the_lease(api: FakeApi, client: RestClient, buckets: ModuleType) -> None:
    running = Running(api, client, buckets)
    running.lease.requests = 0
    api.objects.put(bucket())

    running.run()

    assert api.requests == []
