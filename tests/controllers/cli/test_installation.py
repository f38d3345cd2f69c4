"""`gatehouse manifests --all` prints an installation, and with --config one that is configured so."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from controllers.cli.installation import CONFIGURATION_HASH, configured, follow_configuration, installation, overlays
from controllers.cli.main import main
from controllers.cli.manifests_config import CERTIFICATE_LINES, ELECTION_LINES
from webhook.objects.documents import read_documents

HEAD = "apiVersion: gatehouse.dev/v1alpha1\nkind: GatehouseConfiguration\n"
FIT = f"{HEAD}{CERTIFICATE_LINES}\n{ELECTION_LINES}\n"  # for several replicas behind a Service
ONLY_OF_THE_EDGE = """features:
  sidecar: {enabled: false}
  podDefaults: {enabled: false}
  resourceLimits: {enabled: false}
  creatorPolicy: {enabled: false}
  podCompliance: {enabled: false}
  workloadWarnings: {enabled: false}
controllers:
  coverage: {enabled: false}
"""
WEBHOOKS = {"MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"}


def printed(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[tuple[str, str], Any]:
    assert main(["manifests", "--all", *arguments]) == 0
    values = [document.value for document in read_documents(capsys.readouterr().out, "stdout")]
    return {(value["kind"], value["metadata"]["name"]): value for value in values}


def test_all_of_base_is_printed_in_the_order_of_applying(capsys: pytest.CaptureFixture[str]) -> None:
    found = printed(capsys)

    expected = installation()
    follow_configuration(expected)
    assert list(found.values()) == expected
    kinds = [kind for kind, _ in found]
    assert kinds.index("CustomResourceDefinition") < kinds.index("ClusterRole") < kinds.index("Deployment")
    assert set(kinds[-2:]) == WEBHOOKS


def test_overlays_add_up(capsys: pytest.CaptureFixture[str]) -> None:
    found = printed(capsys, "--overlay", "single-node", "--overlay", "monitoring")

    assert found["Deployment", "gatehouse"]["spec"]["replicas"] == 1
    assert ("PrometheusRule", "gatehouse") in found


def test_the_image_is_the_one_that_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    found = printed(capsys, "--image", "registry.example.com:5000/gatehouse:1.0@sha256:abc")

    (container,) = found["Deployment", "gatehouse"]["spec"]["template"]["spec"]["containers"]
    assert container["image"] == "registry.example.com:5000/gatehouse:1.0@sha256:abc"


def test_replicas_roll_when_their_configuration_changes_and_only_then(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    def template_hash(*arguments: str) -> str:
        found = printed(capsys, *arguments)
        return str(found["Deployment", "gatehouse"]["spec"]["template"]["metadata"]["annotations"][CONFIGURATION_HASH])

    config = tmp_path / "gatehouse.yaml"
    config.write_text(FIT)

    assert template_hash() == template_hash("--image", "other:1") == template_hash("--overlay", "monitoring")
    assert len({template_hash(), template_hash("--config", str(config)), template_hash("--overlay", "edge-only")}) == 3


def test_what_comes_before_the_webhooks_can_be_had_alone(capsys: pytest.CaptureFixture[str]) -> None:
    found = printed(capsys, "--no-webhooks")

    assert {kind for kind, _ in found}.isdisjoint(WEBHOOKS)
    assert len(found) == len(installation()) - 2


def test_a_configuration_is_installed_as_it_is_written_and_registered(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    config = tmp_path / "gatehouse.yaml"
    config.write_text(f"{FIT}features: {{endpoint: {{enabled: false}}}}  # not here\n")

    found = printed(capsys, "--config", str(config))

    assert found["ConfigMap", "gatehouse"]["data"] == {"configuration.yaml": config.read_text()}
    names = [webhook["name"] for webhook in found["MutatingWebhookConfiguration", "gatehouse"]["webhooks"]]
    assert "node-taint.gatehouse.dev" in names
    assert "endpoint.gatehouse.dev" not in names


def test_a_configuration_settles_what_two_overlays_disagree_about(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    config = tmp_path / "gatehouse.yaml"
    config.write_text(of_the_edge := FIT + ONLY_OF_THE_EDGE)

    found = printed(capsys, "--overlay", "edge-only", "--overlay", "cert-manager", "--config", str(config))

    assert found["ConfigMap", "gatehouse"]["data"]["configuration.yaml"] == of_the_edge
    assert ("Certificate", "gatehouse") in found


def test_overlays_with_a_configuration_of_their_own_are_known() -> None:
    assert configured(overlays()) == ["cert-manager", "edge-only", "metrics-authorization"]


def test_an_overlay_that_is_not_there_is_no_overlay() -> None:
    with pytest.raises(KeyError, match="huge"):
        installation(["huge"])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--no-webhooks"], "--overlay, --image and --no-webhooks are about the whole installation: they need --all"),
        (["--image", "a"], "--overlay, --image and --no-webhooks are about the whole installation: they need --all"),
        (["--overlay", "monitoring"], "--overlay, --image and --no-webhooks are about the whole installation: they need --all"),
        (["--all", "--service", "a/b"], "--all installs the Service kube-system/gatehouse:443"),
        (["--all", "--url", "https://a:1"], "--all installs the Service kube-system/gatehouse:443"),
        (["--all", "--image", "a b"], "--image a b: is no reference of an image"),
        (
            ["--all", "--overlay", "edge-only", "--overlay", "cert-manager"],
            "edge-only and cert-manager each bring a configuration of their own",
        ),
        (["--all", "--config", "gone.yaml"], "gone.yaml: cannot be read"),
    ],
)
def test_wrong_use_is_told(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["manifests", *arguments]) == 2

    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith(f"gatehouse: {message}")


def test_an_unknown_overlay_is_told_with_those_that_there_are(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["manifests", "--all", "--overlay", "huge"]) == 2

    assert "cert-manager" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("overlays", "written", "named"),
    [
        ([], "", ["webhook.certificate", "leaderElection"]),
        ([], CERTIFICATE_LINES, ["leaderElection"]),
        ([], f"{CERTIFICATE_LINES}\nleaderElection: {{enabled: false}}", ["leaderElection"]),
        ([], ELECTION_LINES, ["webhook.certificate"]),
        ([], f"webhook: {{certificate: {{secretName: a, serviceName: b}}}}\n{ELECTION_LINES}", ["webhook.certificate"]),
        (["single-node"], "leaderElection: {enabled: false}", ["webhook.certificate"]),
    ],
)
def test_a_configuration_that_several_replicas_behind_a_service_cannot_have_is_refused_with_the_lines_to_add(
    overlays: list[str], written: str, named: list[str], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    config = tmp_path / "gatehouse.yaml"
    config.write_text(f"{HEAD}{written}\n")

    assert main(["manifests", "--all", *(f"--overlay={one}" for one in overlays), "--config", str(config)]) == 2

    told = capsys.readouterr()
    assert told.out == ""
    assert [key for key in ("webhook.certificate", "leaderElection") if f"{config}: {key} " in told.err] == named
    assert tuple(lines.splitlines()[-1].strip() in told.err for lines in (CERTIFICATE_LINES, ELECTION_LINES)) == (
        "webhook.certificate" in named,
        "leaderElection" in named,
    )


def test_edge_only_refuses_what_it_has_no_rights_for_and_takes_the_lines_that_it_says(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    config = tmp_path / "gatehouse.yaml"
    config.write_text(FIT)
    assert main(["manifests", "--all", "--overlay=edge-only", "--config", str(config)]) == 2
    told = capsys.readouterr().err.replace("gatehouse: ", "")
    lines = told[told.index("features:") :]

    config.write_text(FIT + lines)

    assert lines == ONLY_OF_THE_EDGE
    assert printed(capsys, "--overlay", "edge-only", "--config", str(config))


def test_a_single_replica_needs_no_leader_election(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    config = tmp_path / "gatehouse.yaml"
    config.write_text(f"{HEAD}{CERTIFICATE_LINES}\n")

    assert (
        printed(capsys, "--overlay", "single-node", "--config", str(config))["Deployment", "gatehouse"]["spec"]["replicas"] == 1
    )
