"""`gatehouse explain pod` also says what bounds will say, of the pod with its sidecars and defaults."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from controllers.cli.main import main
from tests.controllers.cli.desk import ENVOY, EVERY_POD, Desk, config_map, namespace, pod
from webhook.objects.documents import write_yaml

BOUNDS = Path(__file__).parents[3] / "examples" / "bounds"


@pytest.fixture
def desk(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Desk:
    return Desk(tmp_path, capsys)


def test_what_bounds_say_of_the_pod_with_its_sidecars_is_shown(desk: Desk, tmp_path: Path) -> None:
    desk.cluster(namespace(**EVERY_POD), config_map(**{"envoy-initializer": ENVOY + "    resources: {requests: {cpu: 2}}\n"}))
    file, config = desk.file(pod()), ["--config", str(BOUNDS / "gatehouse.yaml")]

    said = desk.run(*config, file, code=1)
    (found,) = json.loads(desk.run(*config, "-o", "json", file, code=1))["bounds"][:1]

    assert said.splitlines()[1] == 'refused, OutOfLimits: container "envoy": cpu request 2 exceeds the maximum of 1'
    assert "out of bounds: refused\n  OutOfLimits: " in said
    assert "OutOfLimits: change the amount" in said
    assert found == {
        "reason": "OutOfLimits",
        "mode": "Deny",
        "message": 'container "envoy": cpu request 2 exceeds the maximum of 1',
        "field": "spec.containers[1].resources.requests.cpu",
        "policy": "modest",
    }


def test_defaults_that_come_after_the_sidecars_are_shown_and_count(desk: Desk, tmp_path: Path) -> None:
    desk.cluster(namespace())
    config = tmp_path / "gatehouse.yaml"
    features = {
        "podDefaults": {
            "sets": [{"name": "base", "labels": {"team": "none"}, "resources": {"app": {"requests": {"cpu": "2"}}}}]
        },
        "resourceLimits": {"policies": [{"name": "modest", "container": {"cpu": {"requests": {"max": 1}}}}]},
        "podCompliance": {"policies": [{"name": "owned", "labels": {"mode": "Deny", "required": {"team": []}}}]},
    }
    config.write_text(
        write_yaml({"apiVersion": "gatehouse.dev/v1alpha1", "kind": "GatehouseConfiguration", "features": features})
    )

    found = json.loads(desk.run("--config", str(config), "-o", "json", desk.file(pod())))

    assert ("added", "label", "team") in {(one["action"], one["what"], one["name"]) for one in found["changes"]}
    assert [one["reason"] for one in found["findings"]] == ["DefaultLeftOut"]  # what would break a bound is not given
    assert found["bounds"] == []


def test_a_warning_of_bounds_is_no_refusal(desk: Desk) -> None:
    desk.cluster(namespace())

    said = desk.run(
        "--config", str(BOUNDS / "gatehouse.yaml"), desk.file(pod(spec={"containers": [{"name": "a", "image": "a"}]}))
    )

    assert "out of bounds: warnings\n  ImageTag: " in said
    assert "out of bounds: refused" not in said


def test_the_example_is_refused_with_every_breach(capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--local", str(BOUNDS), "--config", str(BOUNDS / "gatehouse.yaml"), str(BOUNDS / "deployment.yaml")]

    assert main(["explain", "pod", *options]) == 1

    assert capsys.readouterr().out.count("policy modest)") == 2
