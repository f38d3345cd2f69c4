"""What the documentation tells to run on a cluster is run on one, and every object that it shows is taken by the API server."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from tests.apiserver.conftest import NOBODY_JUDGES
from tests.apiserver.installing import ROOT, StandIn, kubectl, registered, run
from tests.cluster import Cluster, Settings, binaries
from tests.cluster.components import CONTROLLER_MANAGER
from tests.docs import elsewhere
from tests.docs.pages import PAGES, Block, all_blocks, blocks
from tests.docs.running import Desk
from tests.docs.test_blocks import is_object

RULES = "example/prometheus-operator-crd/monitoring.coreos.com_prometheusrules.yaml"
MONITORS = "example/prometheus-operator-crd/monitoring.coreos.com_servicemonitors.yaml"
NOT_SERVED = (
    "kustomize.config.k8s.io",
    "apiserver.config.k8s.io",
    "kubeadm.k8s.io",
    "gatehouse.dev/v1alpha1 GatehouseConfiguration",
)


@pytest.fixture(scope="module")
def fresh() -> Iterator[Cluster]:
    """A cluster that has nothing of ours but our kinds, and the kinds that the overlay `monitoring` needs."""
    with Cluster(Settings(f"docs-{os.getpid()}", {CONTROLLER_MANAGER: NOBODY_JUDGES})) as running:
        folder = binaries.module_files(binaries.PROMETHEUS_OPERATOR)
        kinds = [*sorted((ROOT / "manifests" / "base").glob("10-crd-*.yaml")), folder / RULES, folder / MONITORS]
        run(running, "apply", "--server-side", *(argument for file in kinds for argument in ("-f", str(file))))
        run(running, "wait", "--for=condition=Established", "crd", "--all", "--timeout=30s")
        yield running


@pytest.fixture
def programs(fresh: Cluster, tmp_path: Path) -> Path:
    """A folder with a kubectl that is the administrator of that cluster."""
    folder = tmp_path / "programs"
    folder.mkdir()
    (folder / "kubectl").write_text(f'#!/bin/sh\nexec {kubectl(fresh)} "$@"\n')
    (folder / "kubectl").chmod(0o755)
    return folder


def test_every_object_that_the_documentation_shows_is_taken(fresh: Cluster, tmp_path: Path) -> None:
    shown = [item for block in all_blocks("yaml") for item in yaml.safe_load_all(block.text) if is_object(item)]
    objects = [item for item in shown if not f"{item['apiVersion']} {item['kind']}".startswith(NOT_SERVED)]
    missing = {item["metadata"]["namespace"] for item in objects if "namespace" in item["metadata"]}
    spaces = [{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}} for name in missing]
    accounts = [
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default", "namespace": name}} for name in missing
    ]
    surroundings, everything = tmp_path / "surroundings.yaml", tmp_path / "everything.yaml"
    surroundings.write_text(yaml.safe_dump_all([*spaces, *accounts]))
    everything.write_text(yaml.safe_dump_all(objects))
    run(fresh, "apply", "--server-side", "-f", str(surroundings))

    said = run(fresh, "apply", "--server-side", "--dry-run=server", "--validate=strict", "-f", str(everything))

    assert len(said.splitlines()) == len(objects) > 5, said


def test_what_the_documentation_tells_to_run_on_a_cluster_runs(fresh: Cluster, programs: Path, tmp_path: Path) -> None:
    desk = Desk(tmp_path / "desk")

    with StandIn(fresh):
        for page, beginning in elsewhere.ON_A_CLUSTER:
            (block,) = (one for one in every_block() if elsewhere.is_meant(one, (page, beginning)))
            for file in files_before(block):
                desk.write(file)
            desk.run(block, programs)

    assert registered(fresh) == []


def test_a_kustomization_that_the_documentation_shows_can_be_built(fresh: Cluster, tmp_path: Path) -> None:
    desk = Desk(tmp_path / "desk")
    (block,) = (one for one in every_block() if elsewhere.is_meant(one, ("docs/installation.md", "# mine/kustomization.yaml")))
    desk.write(block)
    (written,) = (one["patch"] for one in yaml.safe_load(block.text)["patches"] if "patch" in one)
    file = tmp_path / "gatehouse.yaml"
    file.write_text(yaml.safe_load(written)[0]["value"])
    command = [sys.executable, "-m", "controllers", "manifests", "--config", str(file)]
    registrations = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True, timeout=60).stdout
    (desk.folder / "mine" / "webhooks.yaml").write_text(registrations)

    made = list(yaml.safe_load_all(run(fresh, "kustomize", str(desk.folder / "mine"))))

    (deployment,) = (item for item in made if item["kind"] == "Deployment")
    (settings,) = (item for item in made if item["kind"] == "ConfigMap" and item["metadata"]["name"] == "gatehouse")
    assert deployment["spec"]["replicas"] == 1
    assert "podIP" in settings["data"]["configuration.yaml"]
    assert "pod-ip.gatehouse.dev" in {one["name"] for item in made for one in item.get("webhooks", ())}


def every_block() -> list[Block]:
    return [block for page in PAGES for block in blocks(page)]


def files_before(block: Block) -> list[Block]:
    """The files that its page has shown before it."""
    return [one for one in every_block() if one.page == block.page and one.file and one.line < block.line]
