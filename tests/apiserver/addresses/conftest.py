"""The stage of these tests: set up for the first of them, taken down after the last."""

from __future__ import annotations

import time
from collections.abc import Iterator

import attrs
import pytest

from tests.apiserver.addresses import calico, objects
from tests.apiserver.addresses.kubelet import Kubelet
from tests.apiserver.addresses.stage import Stage, set_up
from tests.apiserver.addresses.storm import SPARE, Rounds, Storm
from tests.apiserver.waiting import wait_for
from tests.apiserver.workloads import create_namespace
from tests.cluster import Api, Cluster, Json
from tests.cluster.kinds import apply


@pytest.fixture(scope="package")
def stage(quiet_cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    """Two replicas in a cluster with Calico's resources."""
    with quiet_cluster.api() as api, calico.installed(api), set_up(quiet_cluster, tmp_path_factory.mktemp("a"), "addr") as made:
        yield made


@pytest.fixture(scope="package")
def api(stage: Stage) -> Api:
    """The administrator."""
    return stage.api


@pytest.fixture(scope="package")
def storm(stage: Stage, drained: Drained) -> Rounds:
    """A thousand pods from pools that just fit, deleted while the leader dies, made again while the other replica does.

    What *drained* leaves expires meanwhile, and nobody waits for it.
    """
    apps = Storm(stage, "addr-storm")
    first = apps.create()
    freed_s = [apps.delete(kill=stage.leader)]
    apps.set_spare(SPARE)
    again = apps.create(after=300, kill=stage.other)
    freed_s.append(apps.delete(until_free=False))
    return Rounds(apps.namespace, first, again, tuple(freed_s), time.monotonic())


@attrs.frozen
class Drained:
    """A namespace whose pods are all refused."""

    namespace: str
    other: str  # a namespace that may use the same pool
    kept: list[Json]  # the reservations, right after


@pytest.fixture(scope="package")
def drained(api: Api) -> Drained:
    """A namespace whose quota refuses every pod, after as many were tried as its pool has addresses."""
    namespace, other = "addr-drained", "addr-not-drained"
    for name in (namespace, other):
        create_namespace(api, name)
    objects.make_pool(api, "drained", "10.105.0.1-10.105.0.8")
    quota = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "none", "namespace": namespace}}
    apply(api, quota | {"spec": {"hard": {"pods": "0"}}})
    refusing = objects.pod("plain-", {})
    wait_for(lambda: "exceeded quota" in objects.refusal(api, namespace, refusing, "?dryRun=All"), 20.0, "the quota")
    for _ in range(8):
        assert "exceeded quota" in objects.refusal(api, namespace, objects.pod("refused-", objects.from_pool("drained")))
    return Drained(namespace, other, objects.reservations(api, namespace))


@pytest.fixture(scope="module")
def namespace(request: pytest.FixtureRequest, api: Api) -> str:
    """A namespace for the module, named after it."""
    name = f"addr-{request.module.__name__.rpartition('.test_')[2].replace('_', '-')}"
    create_namespace(api, name)
    return name


@pytest.fixture(scope="module")
def kubelet(quiet_cluster: Cluster, namespace: str) -> Iterator[Kubelet]:
    """Runs the pods of the module's namespace."""
    with Kubelet(quiet_cluster.api(), namespace) as running:
        yield running
