"""The examples on a real API server: it takes each object of them; what stands there is explained live, and by a replica."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.apiserver.gatehouse import Gatehouse
from tests.apiserver.installing import ROOT, run
from tests.apiserver.nodes import create_node
from tests.cluster import Cluster, Json
from tests.docs.pages import blocks
from tests.docs.running import commands

SPACES = ("sidecars/1-namespaces.yaml", "pod-defaults/cluster.yaml", "creators/cluster.yaml", "bounds/cluster.yaml")
NODE = "explained-1"


@pytest.fixture(scope="module")
def prepared(quiet_cluster: Cluster) -> Iterator[Cluster]:
    """A cluster with our kinds, the examples' namespaces and a node that its peers vouch for."""
    kinds = sorted((ROOT / "manifests" / "base").glob("10-crd-*.yaml"))
    spaces = [ROOT / "examples" / name for name in SPACES]
    run(quiet_cluster, "apply", "--server-side", *(one for file in (*kinds, *spaces) for one in ("-f", str(file))))
    run(quiet_cluster, "wait", "--for=condition=Established", "crd", "--all", "--timeout=30s")
    with quiet_cluster.api() as api:
        create_node(api, NODE, "explained", vote="true", ready="Unknown")
    yield quiet_cluster
    run(quiet_cluster, "delete", "node", NODE, "--wait=false")
    run(quiet_cluster, "delete", "--wait=false", "--ignore-not-found", *(one for file in spaces for one in ("-f", str(file))))


def on_a_cluster() -> list[list[str]]:
    """The words of each kubectl command of the index."""
    found = (one for one in blocks(ROOT / "examples" / "README.md") if one.text.startswith("kubectl"))
    return [shlex.split(command.text, comments=True)[1:] for block in found for command in commands(block)]


def test_the_api_server_takes_every_object_of_the_examples(prepared: Cluster) -> None:
    asked = on_a_cluster()
    assert len(asked) > 5
    for words in asked:
        found = [str(ROOT / word) if word.startswith("examples/") else word.replace("NODE", NODE) for word in words]
        strict = ["--validate=strict"] if words[0] == "apply" else []

        assert run(prepared, *found, "--dry-run=server", *strict)


def explain(cluster: Cluster, *arguments: str, code: int = 0) -> list[Json]:
    """What `gatehouse explain -o json` says, run where that API server can be reached."""
    command = [sys.executable, "-m", "controllers", "explain", *arguments, "-o", "json"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "KUBECONFIG": str(cluster.kubeconfig("admin"))}
    done = subprocess.run(
        cluster.namespace.command(command), cwd=ROOT, env=environment, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == code, done.stdout + done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_what_stands_in_a_cluster_is_explained_with_the_operators_own_rights(prepared: Cluster) -> None:
    files = [str(ROOT / "examples" / "sidecars" / name) for name in ("3-logs.yaml", "4-proxy.yaml", "deployment.yaml")]
    named = [one for file in files for one in ("-f", file)]
    run(prepared, "apply", "--server-side", *named)
    try:
        (deployment,) = explain(prepared, "deployment", "tools/reports")
        (node,) = explain(prepared, "node", NODE)
        slices = explain(prepared, "endpoint", "default/kubernetes")
        (address,) = explain(prepared, "address", "10.20.0.7")
    finally:
        run(prepared, "delete", "--wait=false", *named)

    assert [entry["outcome"] for entry in deployment["entries"]] == ["found", "found"]
    assert {one["resource"] for one in deployment["rules"]} == {"pods", "deployments"}
    assert (node["facts"]["guarded"], node["facts"]["cacheDiffers"]) == (True, "")
    assert sorted(one["subject"].split()[0] for one in slices) == ["EndpointSlice", "Endpoints"]
    assert address["verdict"] == "free, as far as reservations go"


def test_a_replica_explains_what_it_believes(prepared: Cluster, tmp_path: Path) -> None:
    with Gatehouse(prepared, tmp_path, config={"controllers": {}, "leaderElection": {"enabled": False}}) as gatehouse:
        asked = ("--from-replica", "--address", gatehouse.addresses["metrics"])
        (known,) = explain(prepared, "node", NODE, *asked)
        (pod,) = explain(prepared, "pod", "examples/sidecars/pod.yaml", *asked)
        slices = explain(prepared, "endpoint", "default/kubernetes", *asked)

    assert (known["where"], known["facts"]["guarded"]) == ("the cache of this replica", True)
    assert {one["resource"] for one in pod["rules"]} == {"pods"}
    assert sorted(one["subject"].split()[0] for one in slices) == ["EndpointSlice", "Endpoints"]
