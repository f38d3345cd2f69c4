"""A folder of files stands for a cluster in which sidecars are injected."""

from __future__ import annotations

import logging
import os
from pathlib import Path

import pytest

from controllers.local.cluster import LocalCluster, LocalError
from controllers.testing import FakeClock
from webhook.clock import Deadline
from webhook.objects.quantity import parse
from webhook.objects.votes import VotePolicy

CONFIG_MAP = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: mesh, namespace: shop, labels: {gatehouse.dev/sidecars: "true"}}
data:
  proxy: |
    containers: [{name: proxy, image: %s}]
  logs: |
    containers: [{name: logs, image: logs:1}]
"""
OTHERS = """\
apiVersion: v1
kind: Namespace
metadata: {name: shop, labels: {sidecar-injector: enabled}}
---
apiVersion: v1
kind: LimitRange
metadata: {name: limits, namespace: shop}
spec: {limits: [{type: Container, max: {memory: 1Gi}}]}
---
apiVersion: v1
kind: ResourceQuota
metadata: {name: quota, namespace: shop}
spec: {hard: {pods: 3}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: settings, namespace: shop}
data: {a: b}
---
apiVersion: v1
kind: Node
metadata: {name: a}
status: {nodeInfo: {kubeletVersion: v1.33.1}}
---
apiVersion: v1
kind: Node
metadata: {name: b}
spec: {unschedulable: true}
status: {nodeInfo: {kubeletVersion: v1.20.1}}
"""


@pytest.fixture
def local(tmp_path: Path) -> LocalCluster:
    (tmp_path / "mesh.yaml").write_text("# who injects\n" + CONFIG_MAP % "proxy:1")
    (tmp_path / "others.yaml").write_text(OTHERS)
    made = LocalCluster(tmp_path, VotePolicy(), FakeClock())
    made.read()
    return made


def rewrite(path: Path, text: str) -> None:
    """Write *path* so that its time differs from the last one, however coarse the file system's clock."""
    before = path.stat().st_mtime_ns
    path.write_text(text)
    os.utime(path, ns=(before + 10**9, before + 10**9))


def image(local: LocalCluster, entry: str = "proxy") -> object:
    state = local.cluster.sidecars.catalog().find(entry, "shop", "kube-system")
    return None if state is None or state.entry is None else state.entry.containers[0]["image"]


def soon() -> Deadline:
    return Deadline.after(1.0, FakeClock())


def test_entries_namespaces_limits_and_quotas_are_facts(local: LocalCluster) -> None:
    cluster = local.cluster
    namespace, (limits,), (quota,) = (
        cluster.namespaces.get("shop"),
        cluster.limit_ranges.of("shop"),
        cluster.resource_quotas.of("shop"),
    )

    assert (image(local), image(local, "logs")) == ("proxy:1", "logs:1")
    assert namespace is not None
    assert namespace.labels == {"sidecar-injector": "enabled", "kubernetes.io/metadata.name": "shop"}
    assert limits.items[0].max == {"memory": parse("1Gi")}
    assert quota.hard == {"pods": parse("3")}


def test_the_oldest_kubelet_is_that_of_nodes_that_take_pods(local: LocalCluster) -> None:
    assert local.cluster.nodes.oldest_kubelet() == (1, 33)


def test_what_files_lack_may_exist_where_the_pods_will_run(local: LocalCluster) -> None:
    config_maps = local.cluster.config_maps

    assert config_maps.exists("shop", "settings", soon()) is True
    assert config_maps.exists("shop", "other", soon()) is None
    assert local.cluster.namespaces.confirm("shop", soon()) is None


def test_an_edit_replaces_an_entry(local: LocalCluster, tmp_path: Path) -> None:
    rewrite(tmp_path / "mesh.yaml", CONFIG_MAP % "proxy:2")
    local.refresh()

    assert image(local) == "proxy:2"


def test_a_broken_entry_keeps_its_last_good_version_and_is_told_with_file_and_line(
    local: LocalCluster, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    rewrite(tmp_path / "mesh.yaml", "# who injects\n" + CONFIG_MAP % "5")
    with caplog.at_level(logging.WARNING):
        faults = local.refresh()

    assert (image(local), image(local, "logs"), faults) == ("proxy:1", "logs:1", [])
    told = [record.getMessage() + str(getattr(record, "facts", "")) for record in caplog.records]
    assert any(f"{tmp_path}/mesh.yaml:2" in line and "containers[0].image" in line for line in told), told


def test_an_entry_that_is_broken_at_the_start_stops_nothing(tmp_path: Path) -> None:
    (tmp_path / "mesh.yaml").write_text(CONFIG_MAP % "5")
    local = LocalCluster(tmp_path, VotePolicy(), FakeClock())

    local.read()

    assert (image(local), image(local, "logs")) == (None, "logs:1")


def test_a_config_map_that_is_taken_away_is_forgotten(local: LocalCluster, tmp_path: Path) -> None:
    (tmp_path / "mesh.yaml").unlink()
    local.refresh()

    assert local.cluster.sidecars.catalog().sources == {}


def test_a_quota_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    (tmp_path / "quota.yaml").write_text(OTHERS.replace("pods: 3", "pods: many"))

    with pytest.raises(LocalError, match=r'quota.yaml:\d+: ResourceQuota "quota": spec.hard.pods: "many" is not a quantity'):
        LocalCluster(tmp_path, VotePolicy(), FakeClock()).read()


def test_objects_are_counted_by_cache(local: LocalCluster) -> None:
    assert local.snapshot.counts() == {
        "nodes": 2,
        "pods": 0,
        "namespaces": 1,
        "sidecars": 1,
        "limitranges": 1,
        "resourcequotas": 1,
        "databaseinstances": 0,
        "persistentvolumeclaims": 0,
        "statefulsets": 0,
        "addresspools": 0,
        "addressreservations": 0,
    }
