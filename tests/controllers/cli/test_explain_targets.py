"""What the targets of `gatehouse explain` may be, and what is said of those that are none."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from controllers.cli.main import main

EXAMPLE = str(Path(__file__).parents[3] / "examples" / "edge-health")
LOCAL = ["--local", EXAMPLE, "--config", f"{EXAMPLE}/gatehouse.yaml", "--now", "2026-11-29T10:00:00Z"]


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["address", "notanaddress"], '"notanaddress" is no IP address'),
        (["address", "notanaddress", "--from-replica"], '"notanaddress" is no IP address'),
        (["node", ""], '"": a target is a name or a file, and this one is empty'),
        (["node", "", *LOCAL], '"": a target is a name or a file, and this one is empty'),
        (["node", "a\x1b[31mb"], r"a\x1b[31mb: cannot be read"),
        (["a\x1b[31mb", "c"], r"kind a\x1b[31mb: it is one of pod"),
    ],
)
def test_a_target_that_can_mean_nothing_is_wrong_use(
    arguments: list[str], why: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["explain", *arguments]) == 2

    said = capsys.readouterr().err
    assert why in said
    assert "\x1b" not in said


@pytest.mark.parametrize("kind", ["pod", "object"])
def test_names_of_any_length_are_repeated_no_longer_than_a_name_can_be(
    kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, long = tmp_path / "pod.json", "n" * 60_000
    for metadata in ({"name": "web", "namespace": long}, {"name": long}, {"generateName": long}):
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"containers": [{"name": "a", "image": "a"}]}}
        file.write_text(json.dumps(pod))
        main(["explain", kind, str(file)])

    said = capsys.readouterr()
    assert "metadata.namespace: a name has at most 253 characters, and this one has 60000" in said.err
    assert "n" * 253 + "…" in said.out
    assert "n" * 254 not in said.out + said.err


def test_what_is_there_is_explained_and_what_is_not_is_reported(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "node", "edge-1", "edge-9", "edge-2", *LOCAL]) == 2

    out, err = capsys.readouterr()
    assert "Node edge-1\n" in out
    assert "Node edge-2\n" in out
    assert err == f"gatehouse: edge-9: no Node of that name in {EXAMPLE}\n"


def test_kinds_may_be_written_as_in_manifests(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "Node", "edge-1", *LOCAL]) == 0

    assert "Node edge-1\n" in capsys.readouterr().out


def test_a_link_to_itself_is_said_to_be_a_loop(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "circle").symlink_to("circle")
    monkeypatch.chdir(tmp_path)

    assert main(["explain", "pod", "circle"]) == 2
    assert "circle: cannot be read: a loop of symbolic links\n" in capsys.readouterr().err


def test_a_service_of_the_example_is_explained_with_its_slice(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "endpoint", "shop/web", *LOCAL]) == 0

    said = capsys.readouterr().out
    assert "5 addresses, 4 ready; if all were taken out of service now, 2 would stay ready" in said
    assert "EndpointSlice shop/web-x7k2p\n" in said


def test_the_headline_agrees_with_a_service_that_did_not_decide(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pod = tmp_path / "pod.yaml"
    pod.write_text("{apiVersion: v1, kind: Pod, metadata: {generateName: a-}, spec: {containers: [{name: a, image: a}]}}")

    assert main(["explain", "object", str(pod)]) == 1

    assert capsys.readouterr().out.splitlines()[1].startswith("not decided, mutate: ")
