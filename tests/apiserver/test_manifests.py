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
from tests.apiserver.installing import CA, ROOT, StandIn, attempt, install, labelled, left, registered, run
from tests.apiserver.waiting import wait_for
from tests.cluster import Cluster, Json, Settings, binaries
from tests.cluster.components import CONTROLLER_MANAGER

FOLDERS = {"base": (), **{f"overlays/{name}": (name,) for name in overlays()}}
POOL = str(ROOT / "tests" / "apiserver" / "addresses" / "pool.yaml")
POOLS = "addresspools.gatehouse.dev"
SWEPT = "clusterroles,clusterrolebindings,roles,rolebindings,services,configmaps,poddisruptionbudgets,networkpolicies"
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


@pytest.fixture
def stood(empty: Cluster) -> Iterator[Cluster]:
    """The same, while replicas become ready there."""
    with StandIn(empty):
        yield empty


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

        run(empty, "create", "-f", POOL)
        gone = install(empty, "undeploy", "base")
        kept = left(empty, installation())
        install(empty, "undeploy", "base", PURGE="1")

    assert stand_in.registered_before == []
    assert image == "registry.example.com/gatehouse:1.0"
    assert len(whole) > 3
    assert {webhook["clientConfig"]["caBundle"] for webhook in whole + remaining} == {CA}
    assert [webhook["name"].partition(".")[0] for webhook in remaining] == ["node-taint", "endpoint", "pod-status"]
    # What is switched off is not asked any more before a replica would answer 404.
    order = ["mutate.gatehouse.dev is not registered any more", "configmap/gatehouse serverside"]
    assert sorted(order, key=narrowed.index) == order
    assert gone.index("webhookconfiguration") < gone.index("deployment") < gone.index("clusterrole")
    assert "addresspools.gatehouse.dev stays: 1 of them are there" in gone
    assert kept == [("CustomResourceDefinition", "addresspools.gatehouse.dev")]
    assert left(empty, installation()) == []


def revision(cluster: Cluster) -> int:
    """How many templates the replicas have had."""
    found = run(cluster, "-n", "kube-system", "get", "replicasets", "-l", "app.kubernetes.io/name=gatehouse", "-o", "name")
    return len(found.split())


def test_a_changed_configuration_reaches_the_replicas_once_however_its_deploy_ended(stood: Cluster, tmp_path: Path) -> None:
    install(stood, "deploy", "base")
    install(stood, "deploy", "base")
    unchanged = revision(stood)
    shutil.copytree(ROOT / "manifests", tmp_path / "manifests")
    file = tmp_path / "manifests" / "base" / "30-configuration.yaml"
    file.write_text(file.read_text().replace("logging: {format: json}", "logging: {format: text}"))
    changed = str(tmp_path / "manifests" / "base")

    code, _ = attempt(stood, "deploy", changed, '*"rollout status"*', IMAGE="gatehouse:other")
    # Nobody has waited for the controller manager, which makes a ReplicaSet of the template.
    wait_for(lambda: revision(stood) > unchanged, 30.0, "replicas of the new template")
    interrupted = revision(stood)
    install(stood, "deploy", changed, IMAGE="gatehouse:other")

    assert code == 1
    assert (unchanged, interrupted, revision(stood)) == (1, 2, 2)


def test_what_a_larger_installation_brought_goes_with_the_next_one_and_what_is_not_ours_stays(
    with_strangers: Cluster, stood: Cluster, tmp_path: Path
) -> None:
    shutil.copytree(ROOT / "manifests", tmp_path / "manifests")
    large = ("monitoring", "metrics-authorization")
    for name, components in {"large": large, "small": ("edge-only", "single-node")}.items():
        chosen = [f"../manifests/components/{one}" for one in components]
        (tmp_path / name).mkdir()
        own = yaml.safe_dump({"resources": ["../manifests/base"], "components": chosen})
        (tmp_path / name / "kustomization.yaml").write_text(own)

    install(stood, "deploy", str(tmp_path / "large"))
    run(stood, "apply", "--server-side", "-k", str(ROOT / "manifests" / "evictions"))
    run(stood, "-n", "kube-system", "create", "configmap", "gatehouse-own")
    before = labelled(stood, SWEPT)

    install(stood, "deploy", str(tmp_path / "small"))
    after = labelled(stood, SWEPT)
    install(stood, "undeploy", "overlays/cert-manager")

    assert {"ClusterRole/gatehouse-metrics-authorization", "ClusterRole/gatehouse-pod-ip"} <= before
    assert {name for name in after if name.startswith("ClusterRole")} == {
        f"{kind}/{name}" for kind in ("ClusterRole", "ClusterRoleBinding") for name in ("gatehouse", "gatehouse-evictions")
    }
    assert {"PodDisruptionBudget/gatehouse", "Service/gatehouse-metrics", "ConfigMap/gatehouse-dashboard"} <= before - after
    assert labelled(stood, f"{SWEPT},servicemonitors,prometheusrules,customresourcedefinitions") == set()
    assert left(stood, installation()) == []
    assert run(stood, "-n", "kube-system", "get", "configmap", "gatehouse-own", "-o", "name")


def test_objects_that_could_not_be_counted_are_still_there(stood: Cluster) -> None:
    run(stood, "apply", "--server-side", "-f", str(ROOT / "manifests" / "base" / "10-crd-addresses.yaml"))
    run(stood, "wait", "--for=condition=Established", "crd", POOLS, "--timeout=30s")
    run(stood, "create", "-f", POOL)

    code, said = attempt(stood, "undeploy", "base", f'*"get {POOLS} -A"*')

    assert code == 1
    assert f"{POOLS} stays: its objects cannot be counted: error: no answer" in said
    assert run(stood, "get", POOLS, "-o", "name").split()
    install(stood, "undeploy", "overlays/edge-only", PURGE="1")
    assert labelled(stood, "customresourcedefinitions") == set()


def test_replicas_stay_while_an_object_is_held_that_purge_deletes(stood: Cluster) -> None:
    install(stood, "deploy", "base")
    run(stood, "create", "-f", POOL)
    (pool,) = run(stood, "get", POOLS, "-o", "name").split()
    run(stood, "patch", pool, "--type=merge", "-p", '{"metadata": {"finalizers": ["example.com/held"]}}')

    code, said = attempt(stood, "undeploy", "base", PURGE="1", TIMEOUT="3s")
    deployment = run(stood, "-n", "kube-system", "get", "deployment", "gatehouse", "-o", "name")
    run(stood, "patch", pool, "--type=merge", "-p", '{"metadata": {"finalizers": null}}')
    install(stood, "undeploy", "base", PURGE="1")

    assert code == 1
    assert f"AddressPool {pool.partition('/')[2]} is held by its finalizers: [example.com/held]" in said
    assert deployment.strip() == "deployment.apps/gatehouse"
    assert left(stood, installation()) == []
