"""What the driver asks of kind, docker and kubectl, held against programs that record it and answer as the real ones do."""

from __future__ import annotations

import base64
import json
from pathlib import Path

import attrs
import pytest
import trustme

from tests.cluster.kind import Kind

SERVER = "https://127.0.0.1:34567"
CA = base64.b64encode(trustme.CA(key_type=trustme.KeyType.ECDSA).cert_pem.bytes()).decode()
KUBECONFIG = {"clusters": [{"cluster": {"server": SERVER, "certificate-authority-data": CA}, "name": "k"}]}
_PROGRAM = """#!/bin/sh
printf '%s\\037' "${{0##*/}}" "$@" >> '{folder}/calls'
printf '\\n' >> '{folder}/calls'
case "$*" in
  *"create cluster"*)
    for one in "$@"; do case $one in --config=*) cat "${{one#--config=}}" > '{folder}/configuration' ;; esac; done
    exit {created} ;;
  *"create token"*) echo a-token ;;
  *"config view"*) cat '{folder}/view' ;;
  *curl*) printf 200 ;;
  *"ps --all"*) echo ;;
esac
"""


@attrs.frozen
class Recorded:
    """The folder of the programs, first in PATH."""

    folder: Path

    def calls(self) -> list[list[str]]:
        """Every call so far, the program's name first."""
        return [line.split("\x1f")[:-1] for line in (self.folder / "calls").read_text().splitlines()]

    def configuration(self) -> dict[str, object]:
        """What `kind create cluster` was given."""
        found: dict[str, object] = json.loads((self.folder / "configuration").read_text())
        return found


def programs(folder: Path, monkeypatch: pytest.MonkeyPatch, created: int = 0) -> Recorded:
    (folder / "view").write_text(json.dumps(KUBECONFIG))
    for name in ("kind", "docker", "kubectl"):
        (folder / name).write_text(_PROGRAM.format(folder=folder, created=created))
        (folder / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")
    return Recorded(folder)


@pytest.fixture
def recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Recorded:
    return programs(tmp_path, monkeypatch)


def test_a_cluster_is_made_with_three_nodes_and_deleted_again(recorded: Recorded) -> None:
    with Kind("k", ["--node-monitor-grace-period=20s"]) as cluster:
        kubeconfig = cluster.kubectl()[1]
    made, deleted = recorded.calls()[0], recorded.calls()[-1]

    assert made[:3] == ["kind", "create", "cluster"]
    assert {kubeconfig, "--name=k"} <= set(made)
    assert deleted == ["kind", "delete", "cluster", kubeconfig, "--name=k"]
    assert [node["role"] for node in recorded.configuration()["nodes"]] == ["control-plane", "worker", "worker"]  # type: ignore[attr-defined]


def test_the_controller_manager_gets_its_flags(recorded: Recorded) -> None:
    with Kind("k", ["--node-monitor-grace-period=20s"]):
        pass
    (patch,) = recorded.configuration()["nodes"][0]["kubeadmConfigPatches"]  # type: ignore[index]

    assert json.loads(patch)["controllerManager"]["extraArgs"] == [{"name": "node-monitor-grace-period", "value": "20s"}]


def test_a_cluster_that_does_not_come_up_is_deleted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    recorded = programs(tmp_path, monkeypatch, created=1)

    with pytest.raises(Exception, match="create"), Kind("k"):
        pass
    assert recorded.calls()[-1][:3] == ["kind", "delete", "cluster"]


def test_images_go_to_every_node(recorded: Recorded) -> None:
    with Kind("k") as cluster:
        cluster.load(Path("/tmp/image.tar"))

    assert ["kind", "load", "image-archive", "/tmp/image.tar", "--name=k"] in recorded.calls()


def test_scripts_run_in_the_nodes_container(recorded: Recorded) -> None:
    with Kind("k") as cluster:
        cluster.on_node("k-worker", "kill -9 7")

    assert ["docker", "exec", "k-worker", "sh", "-euc", "kill -9 7"] in recorded.calls()


def test_pods_are_asked_from_their_node(recorded: Recorded) -> None:
    with Kind("k") as cluster:
        status = cluster.answers("k-worker", "10.244.1.7", 8081, "/readyz")
    (asked,) = (call for call in recorded.calls() if "curl" in call[-1])

    assert status == 200
    assert "http://10.244.1.7:8081/readyz" in asked[-1]


def test_a_node_is_cut_off_and_healed_by_its_network(recorded: Recorded) -> None:
    with Kind("k") as cluster:
        node = cluster.add_edge_node()
        cluster.cut(node)
        cluster.heal(node)

    assert [call[1:] for call in recorded.calls() if call[:2] == ["docker", "network"]] == [
        ["network", "disconnect", "kind", "k-worker2"],
        ["network", "connect", "kind", "k-worker2"],
    ]


def test_an_administrator_with_a_token_is_made(recorded: Recorded) -> None:
    with Kind("k") as cluster, cluster.api() as api:
        headers = api._headers
    commands = [call[2:] for call in recorded.calls() if call[0] == "kubectl"]

    assert headers["Authorization"] == "Bearer a-token"
    assert ["--namespace=kube-system", "create", "serviceaccount", "gatehouse-e2e"] in commands


def test_nothing_is_left_behind_when_no_container_bears_the_name(recorded: Recorded) -> None:
    with Kind("k") as cluster:
        pass

    assert cluster.left_behind() == []
    assert "label=io.x-k8s.kind.cluster=k" in recorded.calls()[-1]
