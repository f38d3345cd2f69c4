"""A process on files gives no fixed addresses, and says so wherever it is asked."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from controllers.cli.main import main
from tests.controllers.served import Served, command, serve
from webhook.cluster import NONE_ON_FILES

OBJECTS = (
    {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}},
    {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "web", "namespace": "shop", "labels": {"allocatable-ips": "10.20.0.1"}},
        "spec": {"containers": [{"name": "app", "image": "app:1"}]},
    },
)


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("addresses")
    local = folder / "cluster"
    local.mkdir()
    for obj in OBJECTS:
        (local / f"{obj['kind']}.json").write_text(json.dumps(obj))
    config = {
        "apiVersion": "gatehouse.dev/v1alpha1",
        "kind": "GatehouseConfiguration",
        "features": {"podIP": {"enabled": True}},
    }
    (folder / "gatehouse.yaml").write_text(json.dumps(config))
    with serve(folder, arguments=command("--config", str(folder / "gatehouse.yaml"), local=local)) as found:
        yield found


def ask(served: Served, *arguments: str) -> int:
    return main([*arguments, "--address", served.addresses["metrics"]])


def test_an_address_is_not_said_to_be_switched_off(served: Served, capsys: pytest.CaptureFixture[str]) -> None:
    assert ask(served, "explain", "address", "10.20.0.1", "--from-replica") == 1

    assert capsys.readouterr().err == f"{NONE_ON_FILES}\n"


def test_a_pod_that_asks_for_one_is_not_promised_one_later(
    served: Served, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    file = tmp_path / "pod.json"
    file.write_text(json.dumps(OBJECTS[1]))

    assert ask(served, "explain", "pod", str(file), "--from-replica") == 1

    out = capsys.readouterr().out
    assert out.splitlines()[1] == f"not decided, pod-ip: {NONE_ON_FILES}"
    assert "not known yet" not in out
    assert "  pod-ip-check at /pod-ip-check (without what pod-ip could not decide)\n" in out


def test_the_status_says_it_and_the_process_is_ready_for_everything_else(
    served: Served, capsys: pytest.CaptureFixture[str]
) -> None:
    assert ask(served, "status") == 0

    assert f"  pod-ip waits: {NONE_ON_FILES}" in capsys.readouterr().out
    assert served.get("healthProbe", "/readyz")[0] == 200
    assert served.get("healthProbe", "/readyz/pod-ip")[0] != 200
