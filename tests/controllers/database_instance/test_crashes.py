"""A crash after every single write of every scenario, then a new process: what is left at the end is what it would have been.

The crash comes after the write has reached the API server and before its answer is used, in the life of the instance as well as
in its deletion.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from controllers.runtime.rest import Limits, RestClient
from controllers.testing import FakeApi
from tests.controllers.database_instance.builders import (
    by_instance,
    claim,
    instance,
    namespace,
    owner,
    pod,
    stateful_set,
    volume,
)
from tests.controllers.database_instance.world import KINDS, World
from webhook.clock import SystemClock
from webhook.telemetry import Telemetry

Left = dict[str, Any]


def _claims(world: World, reclaim: str = "Delete") -> None:
    for one in world.put(claim("data", by_instance()), claim("logs"), claim("data-db-0")):
        world.put(volume(one, reclaim))
    world.put(stateful_set(), pod("db-0", owner("StatefulSet", "db", "uid-set"), claims=("data-db-0", "data")))


def _begin(world: World, policy: str, *, reclaim: str = "Delete", driver: str = "ready") -> None:
    world.serve_snapshots()
    world.snapshots = driver
    world.put(namespace())
    _claims(world, reclaim)
    world.put(instance(claims=("logs",), policy=policy))


def _terminating(world: World) -> None:
    _begin(world, "Snapshot")
    world.put(namespace(terminating=True))


SCENARIOS: dict[str, Callable[[World], None]] = {
    "delete": lambda world: _begin(world, "Delete"),
    "delete-of-retained-volumes": lambda world: _begin(world, "Delete", reclaim="Retain"),
    "retain": lambda world: _begin(world, "Retain"),
    "snapshot": lambda world: _begin(world, "Snapshot"),
    "snapshot-that-fails-once": lambda world: _begin(world, "Snapshot", driver="fails"),
    "namespace-deleted": _terminating,
}


@contextmanager
def _world(scenario: str) -> Iterator[World]:
    limits = Limits(per_second=100_000.0, burst=100_000)
    with FakeApi() as api, tempfile.TemporaryDirectory() as folder:
        for kind in KINDS:
            api.objects.register(*kind)
        client = RestClient.from_kubeconfig(api.kubeconfig(Path(folder)), Telemetry(), SystemClock(), limits)
        world = World(api, client)
        SCENARIOS[scenario](world)
        yield world
        client.close()


def _live(world: World, crash_after: int | None = None) -> Left:
    """The life and the deletion of the instance, with one crash; what is left."""
    if crash_after is not None:
        world.client.writes = crash_after
    for deleted in (False, True):
        if deleted:
            world.delete()
        world.settle()
        if world.client.writes < 0:
            world.restart()
            world.settle()
    return {
        kind: {name: one.get("spec") for name, one in world.all(kind).items()}
        for kind in ("DatabaseInstance", "PersistentVolumeClaim", "StatefulSet", "Pod", "VolumeSnapshotContent")
    } | {"reclaim": {name: one["spec"]["persistentVolumeReclaimPolicy"] for name, one in world.all("PersistentVolume").items()}}


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_a_crash_after_every_write_converges(scenario: str) -> None:
    with _world(scenario) as world:
        undisturbed = _live(world)
        writes = len(world.client.written)

    assert undisturbed["DatabaseInstance"] == {}
    assert writes > 3
    for crash_after in range(writes):
        with _world(scenario) as world:
            left = _live(world, crash_after)
        for one in left["VolumeSnapshotContent"].values():
            one["volumeSnapshotRef"].pop("uid")
        for one in undisturbed["VolumeSnapshotContent"].values():
            one["volumeSnapshotRef"].pop("uid", None)
        assert left == undisturbed, f"after write {crash_after + 1}"
