"""What manifests/ installs is what a real API server takes; it comes and goes in an order in which no call is refused."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from controllers.cli.installation import installation, overlays
from tests.apiserver.conftest import NOBODY_JUDGES
from tests.apiserver.installing import CA, ROOT, StandIn, install, left, registered, run
from tests.cluster import Cluster, Json, Settings, binaries
from tests.cluster.components import CONTROLLER_MANAGER

FOLDERS = {"base": (), **{f"overlays/{name}": (name,) for name in overlays()}}
STRANGERS = {
    binaries.CERT_MANAGER: ("deploy/crds/cert-manager.io_certificates.yaml", "deploy/crds/cert-manager.io_issuers.yaml"),
    binaries.PROMETHEUS_OPERATOR: (
        "example/prometheus-operator-crd/monitoring.coreos.com_prometheusrules.yaml",
        "example/prometheus-operator-crd/monitoring.coreos.com_servicemonitors.yaml",
    ),
}


@pytest.fixture(scope="module")
def empty() -> Iterator[Cluster]:
    """A cluster of its own, in which nothing of ours is: that is installed and taken away here."""
    with Cluster(Settings(f"manifests-{os.getpid()}", {CONTROLLER_MANAGER: NOBODY_JUDGES})) as running:
        yield running


@pytest.fixture(scope="module")
def with_strangers(empty: Cluster) -> Cluster:
    """It knows the kinds of cert-manager and of the Prometheus operator."""
    files = [str(binaries.module_files(module) / name) for module, names in STRANGERS.items() for name in names]
    run(empty, "apply", "--server-side", *(argument for file in files for argument in ("-f", file)))
    run(empty, "wait", "--for=condition=Established", "crd", "--all", "--timeout=30s")
    return empty


def ordered(items: list[Json]) -> list[Json]:
    return sorted(items, key=lambda item: (item["kind"], item["metadata"]["name"]))


@pytest.mark.parametrize("folder", FOLDERS)
def test_the_command_line_prints_what_kustomize_makes(empty: Cluster, folder: str) -> None:
    made = [item for item in yaml.safe_load_all(run(empty, "kustomize", str(ROOT / "manifests" / folder))) if item]

    assert ordered(made) == ordered(installation(FOLDERS[folder]))


@pytest.mark.parametrize("folder", FOLDERS)
def test_the_api_server_takes_every_object(with_strangers: Cluster, folder: str) -> None:
    said = run(with_strangers, "apply", "--dry-run=server", "--validate=strict", "-k", str(ROOT / "manifests" / folder))

    lines = [line for line in said.splitlines() if line.endswith("(server dry run)")]
    assert lines == said.splitlines(), said
    assert len(lines) == len(installation(FOLDERS[folder]))


def test_what_one_overlay_changes_of_another_is_what_kustomize_makes_and_the_api_server_takes(
    with_strangers: Cluster, tmp_path: Path
) -> None:
    shutil.copytree(ROOT / "manifests", tmp_path / "manifests")
    several = ("monitoring", "metrics-authorization")
    own = {"resources": ["../manifests/base"], "components": [f"../manifests/components/{name}" for name in several]}
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "kustomization.yaml").write_text(yaml.safe_dump(own))
    made = run(with_strangers, "kustomize", str(tmp_path / "mine"))
    (tmp_path / "made.yaml").write_text(made)

    assert ordered([item for item in yaml.safe_load_all(made) if item]) == ordered(installation(several))
    assert run(with_strangers, "apply", "--dry-run=server", "--validate=strict", "-f", str(tmp_path / "made.yaml"))


def test_replicas_meet_the_pod_security_level_restricted(empty: Cluster) -> None:
    (deployment,) = [item for item in installation() if item["kind"] == "Deployment"]
    strict = {"pod-security.kubernetes.io/enforce": "restricted"}
    spec = {**deployment["spec"]["template"]["spec"], "serviceAccountName": "default", "priorityClassName": None}
    with empty.api() as api:
        api.create("/api/v1/namespaces", {"metadata": {"name": "strict", "labels": strict}})
        path = "/api/v1/namespaces/strict/serviceaccounts"
        api.create(path, {"metadata": {"name": "replica"}})
        pod = {"metadata": {"name": "replica"}, "spec": {**spec, "serviceAccountName": "replica"}}

        made = api.create("/api/v1/namespaces/strict/pods?dryRun=All", pod)

    assert made["spec"]["containers"][0]["name"] == "gatehouse"


def test_webhooks_come_after_the_replicas_with_a_ca_and_go_before_them(empty: Cluster) -> None:
    with StandIn(empty) as stand_in:
        install(empty, "deploy", "base", IMAGE="registry.example.com/gatehouse:1.0")
        whole = registered(empty)
        (image,) = run(empty, "-n", "kube-system", "get", "deployment", "gatehouse", "-o", "jsonpath={..image}").split()

        narrowed = install(empty, "deploy", "overlays/edge-only")
        remaining = registered(empty)

        run(empty, "create", "-f", str(ROOT / "tests" / "apiserver" / "addresses" / "pool.yaml"))
        gone = install(empty, "undeploy", "base")
        kept = left(empty, installation())
        install(empty, "undeploy", "base", PURGE="1")

    assert stand_in.registered_before == []
    assert image == "registry.example.com/gatehouse:1.0"
    assert len(whole) > 3
    assert {webhook["clientConfig"]["caBundle"] for webhook in whole + remaining} == {CA}
    assert [webhook["name"].partition(".")[0] for webhook in remaining] == ["node-taint", "endpoint", "pod-status"]
    # What is switched off is not asked any more before a replica would answer 404; the configuration is read at start.
    order = [
        "mutate.gatehouse.dev is not registered any more",
        "configmap/gatehouse serverside",
        "deployment.apps/gatehouse restarted",
    ]
    assert sorted(order, key=narrowed.index) == order
    assert gone.index("webhookconfiguration") < gone.index("deployment") < gone.index("clusterrole")
    assert "addresspools.gatehouse.dev stays: 1 of them are there" in gone
    assert kept == [("CustomResourceDefinition", "addresspools.gatehouse.dev")]
    assert left(empty, installation()) == []
