"""`gatehouse explain --from-replica` asks a running process, which answers with what it believes."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from controllers.cli.main import main
from tests.controllers.served import EXAMPLE, Served, command, serve


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("explained")
    local = folder / "cluster"
    local.mkdir()
    shutil.copy(EXAMPLE / "cluster.yaml", local)
    with serve(folder, arguments=command("--config", str(EXAMPLE / "gatehouse.yaml"), local=local)) as found:
        yield found


def explain(served: Served, *arguments: str) -> int:
    return main(["explain", *arguments, "--from-replica", "--address", served.addresses["metrics"]])


def test_a_node_is_explained_by_name_from_the_replicas_memory(served: Served, capsys: pytest.CaptureFixture[str]) -> None:
    assert explain(served, "node", "edge-1", "-o", "json") == 0

    found = json.loads(capsys.readouterr().out)
    assert (found["subject"], found["where"]) == ("Node edge-1", "the cache of this replica")
    assert found["facts"]["vote"] == "healthy"


def test_an_object_of_a_file_is_shown_to_the_replica(served: Served, capsys: pytest.CaptureFixture[str]) -> None:
    assert explain(served, "pod", str(EXAMPLE / "cluster.yaml")) == 1  # its namespace is in no file

    out = capsys.readouterr().out
    assert ": Pod shop/web-1\nnot decided, NamespaceUnknown" in out
    assert "pod-status: PodKeptReady" in out


def test_the_replica_says_the_same_as_the_files_it_has_read(served: Served, capsys: pytest.CaptureFixture[str]) -> None:
    cluster, config = str(EXAMPLE / "cluster.yaml"), str(EXAMPLE / "gatehouse.yaml")
    explain(served, "node", cluster, "-o", "json")
    asked = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    main(["explain", "node", cluster, "--local", str(EXAMPLE), "--config", config, "-o", "json"])
    offline = [json.loads(line) for line in capsys.readouterr().out.splitlines()]

    assert len(asked) > 2
    assert [one["rules"] for one in asked] == [one["rules"] for one in offline]
    assert [one["verdict"] for one in asked] == [one["verdict"] for one in offline]


def test_an_object_may_be_as_large_as_the_api_server_has_them(
    served: Served, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "big", "annotations": {"a": "x" * 900_000}}}
    file = tmp_path / "big.json"
    file.write_text(json.dumps(node))

    assert explain(served, "node", str(file)) == 0
    assert "Node big" in capsys.readouterr().out
    node["metadata"] = {"name": "big", "annotations": {"a": "x" * 1_200_000}}
    file.write_text(json.dumps(node))
    assert explain(served, "node", str(file)) == 1


def test_a_node_that_it_does_not_know_is_a_problem(served: Served, capsys: pytest.CaptureFixture[str]) -> None:
    assert explain(served, "node", "edge-99") == 1

    assert capsys.readouterr().err == "node edge-99: not in the cache of this replica\n"


def test_what_must_be_read_live_says_how_it_is_given_otherwise(
    served: Served, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "none"))

    assert explain(served, "pod", "shop/web-1") == 2

    assert (
        "gatehouse: kubectl get pod web-1 -n shop -o yaml | gatehouse explain pod - --from-replica" in capsys.readouterr().err
    )


def test_a_replica_that_is_not_reachable_says_how_it_would_be(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "node", "edge-1", "--from-replica", "--address", "127.0.0.1:1"]) == 1

    assert (
        "kubectl -n kube-system port-forward deploy/gatehouse 8080 makes one of a cluster reachable" in capsys.readouterr().err
    )
