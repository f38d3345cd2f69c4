"""Who applies a workload is told what will happen to its pods."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.apiserver import injection
from tests.apiserver.gatehouse import Gatehouse
from tests.apiserver.injection import ASKING, ASKS, SIDECARS
from tests.apiserver.waiting import wait_for
from tests.cluster import Api, Cluster, Json
from tests.cluster.kinds import apply, collection_path

NAMESPACE = "warned"
KINDS = ("Deployment", "StatefulSet", "DaemonSet", "ReplicaSet", "ReplicationController", "Job", "CronJob")


@pytest.fixture(scope="module")
def gatehouse(cluster: Cluster, admin: Api, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gatehouse]:
    """One process, a namespace that may ask, and an entry."""
    injection.namespace(admin, NAMESPACE, ASKING | {"pod-security.kubernetes.io/enforce": "restricted"})
    aside = "containers: [{name: aside, image: 'busybox:1.37'}]\n"
    apply(admin, injection.config_map(NAMESPACE, "aside", {"aside": aside}, SIDECARS))
    with injection.injecting(cluster, admin, tmp_path_factory.mktemp("warned")) as running:
        wait_for(lambda: bool(_warnings(admin, _workload("Deployment", on_workload=ASKS))), 10.0, "a warning")
        yield running


@pytest.mark.parametrize("kind", KINDS)
def test_an_annotation_on_the_wrong_level_is_told(gatehouse: Gatehouse, admin: Api, kind: str) -> None:
    warnings = _warnings(admin, _workload(kind, on_workload=ASKS))

    assert any("template" in warning for warning in warnings)


def test_pods_that_will_be_skipped_are_told_with_the_reason(gatehouse: Gatehouse, admin: Api) -> None:
    workload = _workload("Deployment", on_pods={"gatehouse.dev/inject": "aside"})
    workload["spec"]["template"]["spec"]["hostNetwork"] = True

    assert any("network" in warning for warning in _warnings(admin, workload))


def test_pods_that_will_be_refused_are_told_with_the_cause(gatehouse: Gatehouse, admin: Api) -> None:
    missing = _warnings(admin, _workload("Deployment", on_pods={"gatehouse.dev/inject": "nobody-knows"}))
    forbidden = _warnings(admin, _workload("Deployment", on_pods={"gatehouse.dev/inject": "aside"}))

    assert any("nobody-knows" in warning for warning in missing)
    assert any("restricted" in warning and "aside" in warning for warning in forbidden)


def test_a_workload_without_problems_has_no_warnings_of_ours(gatehouse: Gatehouse, admin: Api) -> None:
    assert _warnings(admin, _workload("Deployment")) == []


def _warnings(admin: Api, workload: Json) -> list[str]:
    _, warnings = admin.told("POST", f"{collection_path(workload)}?dryRun=All", workload)
    return [warning for warning in warnings if warning.startswith("gatehouse")]


def _workload(kind: str, *, on_workload: Json | None = None, on_pods: Json | None = None) -> Json:
    labels = {"app": "web"}
    spec = injection.pod()["spec"]
    template: Json = {"metadata": {"labels": labels, "annotations": on_pods or {}}, "spec": spec}
    metadata = {"name": "web", "namespace": NAMESPACE, "annotations": on_workload or {}}
    group = {"Job": "batch/v1", "CronJob": "batch/v1", "ReplicationController": "v1"}.get(kind, "apps/v1")
    body: Json = {"apiVersion": group, "kind": kind, "metadata": metadata}
    if kind in ("Job", "CronJob"):
        job = {"template": {**template, "spec": {**spec, "restartPolicy": "Never"}}}
        return body | {"spec": job if kind == "Job" else {"schedule": "* * * * *", "jobTemplate": {"spec": job}}}
    selector = labels if kind == "ReplicationController" else {"matchLabels": labels}
    named = {"serviceName": "web"} if kind == "StatefulSet" else {}
    return body | {"spec": {"selector": selector, "template": template} | named}
