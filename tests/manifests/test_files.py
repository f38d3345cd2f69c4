"""What manifests/ consists of agrees with itself, with the table of services and with what the configuration says."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from controllers.cli.installation import WEBHOOKS, installation, overlays
from controllers.config.document import parse
from tests.manifests.files import MANIFESTS, ROOT, documents
from tests.manifests.webhooks import generated, registered

EVERY = [(), *[(name,) for name in overlays()]]
KUSTOMIZATIONS = sorted(MANIFESTS.rglob("kustomization.yaml"))
DEPLOYMENT = ("Deployment", "gatehouse")


def by_name(chosen: Sequence[str]) -> dict[tuple[str, str], dict]:
    return {(item["kind"], item["metadata"]["name"]): item for item in installation(chosen)}


def configuration(chosen: Sequence[str]) -> str:
    text: str = by_name(chosen)["ConfigMap", "gatehouse"]["data"]["configuration.yaml"]
    return text


@pytest.mark.parametrize(("file", "text"), [pytest.param(*pair, id=pair[0].name) for pair in generated()])
def test_generated_files_are_what_the_registry_says(file: Path, text: str) -> None:
    assert file.read_text() == text, "make manifests"


@pytest.mark.parametrize("file", KUSTOMIZATIONS, ids=lambda file: str(file.parent.relative_to(MANIFESTS)))
def test_a_kustomization_names_every_file_beside_it(file: Path) -> None:
    (found,) = documents(file)
    named = {*found.get("resources", ()), *(patch["path"] for patch in found.get("patches", ()))}

    assert {name for name in named if "/" not in name} == {path.name for path in file.parent.glob("*.yaml")} - {file.name}
    assert all((file.parent / name).exists() for name in (*named, *found.get("components", ())))


def test_every_component_is_an_overlay_of_base() -> None:
    for name in overlays():
        (found,) = documents(MANIFESTS / "overlays" / name / "kustomization.yaml")
        assert (found["resources"], found["components"]) == (["../../base"], [f"../../components/{name}"])
    assert {folder.name for folder in (MANIFESTS / "overlays").iterdir()} == set(overlays())


def test_every_yaml_file_is_part_of_the_package() -> None:
    patterns = [
        line.strip() for line in (ROOT / "setup.cfg").read_text().split("manifests =\n")[1].split("\n\n")[0].splitlines()
    ]

    assert {path for pattern in patterns for path in MANIFESTS.glob(pattern)} == set(MANIFESTS.rglob("*.yaml"))


@pytest.mark.parametrize("chosen", EVERY, ids=lambda chosen: "+".join(chosen) or "base")
def test_an_installation_registers_what_its_replicas_are_configured_to_serve(chosen: Sequence[str]) -> None:
    found = by_name(chosen)

    for item in registered(configuration(chosen)):
        assert found[item["kind"], "gatehouse"]["webhooks"] == item["webhooks"]


@pytest.mark.parametrize("chosen", EVERY, ids=lambda chosen: "+".join(chosen) or "base")
def test_ports_are_those_that_the_process_opens(chosen: Sequence[str]) -> None:
    found = by_name(chosen)
    config = parse(configuration(chosen), "configuration.yaml")
    (container,) = found[DEPLOYMENT]["spec"]["template"]["spec"]["containers"]
    ports = {port["name"]: port["containerPort"] for port in container["ports"]}

    assert ports == {
        "webhook": config.webhook.bind_address.port,
        "metrics": config.metrics.bind_address.port,
        "probes": config.probes.bind_address.port,
    }
    for (kind, _), item in found.items():
        if kind == "Service":
            assert all(port["targetPort"] in ports for port in item["spec"]["ports"])


@pytest.mark.parametrize("chosen", EVERY, ids=lambda chosen: "+".join(chosen) or "base")
def test_everything_can_be_found_by_its_label_and_webhooks_come_last(chosen: Sequence[str]) -> None:
    found = installation(chosen)

    assert all(item["metadata"]["labels"]["app.kubernetes.io/name"] == "gatehouse" for item in found)
    assert {item["kind"] for item in found[-2:]} == WEBHOOKS


def test_a_single_node_has_one_replica_and_nothing_that_holds_up_its_drain() -> None:
    found = by_name(["single-node"])

    assert found[DEPLOYMENT]["spec"]["replicas"] == 1
    assert not [kind for kind, _ in found if kind == "PodDisruptionBudget"]


def test_edge_only_has_no_more_than_the_rights_of_what_it_does() -> None:
    found = by_name(["edge-only"])

    assert {kind for kind, _ in found}.isdisjoint({"CustomResourceDefinition"})
    assert [name for kind, name in found if kind == "ClusterRole"] == ["gatehouse"]
    resources = {name for rule in found["ClusterRole", "gatehouse"]["rules"] for name in rule["resources"]}
    assert resources - {f"{kind.lower()}s" for kind in WEBHOOKS} == {"nodes", "pods", "pods/status", "events"}
    base = by_name([])["ClusterRole", "gatehouse"]["rules"]
    assert all(rule in base for rule in found["ClusterRole", "gatehouse"]["rules"])


def test_edge_only_refuses_nobody() -> None:
    found = by_name(["edge-only"])

    assert found["ValidatingWebhookConfiguration", "gatehouse"]["webhooks"] == []
    policies = {webhook["failurePolicy"] for webhook in found["MutatingWebhookConfiguration", "gatehouse"]["webhooks"]}
    assert policies == {"Ignore"}


def test_with_cert_manager_its_injector_owns_the_ca() -> None:
    found = by_name(["cert-manager"])

    certificate = found["Certificate", "gatehouse"]
    config = parse(configuration(["cert-manager"]), "configuration.yaml").webhook.certificate
    assert certificate["spec"]["secretName"] == config.secret_name
    for kind in WEBHOOKS:
        annotations = found[kind, "gatehouse"]["metadata"]["annotations"]
        assert annotations["cert-manager.io/inject-ca-from"] == "kube-system/gatehouse"


def test_with_cert_manager_no_secret_may_be_written() -> None:
    base, found = by_name([])["Role", "gatehouse"]["rules"], by_name(["cert-manager"])["Role", "gatehouse"]["rules"]

    secrets = [rule for rule in found if "secrets" in rule["resources"]]
    assert [(rule["resourceNames"], rule["verbs"]) for rule in secrets] == [(["gatehouse-tls"], ["get", "list", "watch"])]
    assert [rule for rule in found if rule not in secrets] == [rule for rule in base if "secrets" not in rule["resources"]]
