"""What manifests/install.sh does when kubectl fails or a signal comes: with a kubectl that records what it is asked."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

import attrs
import pytest

from controllers.cli.installation import installation
from tests.manifests.files import MANIFESTS, documents
from webhook.names import APP_LABEL, PLUGIN_LABEL, PROJECT
from webhook.objects.documents import write_yaml

# It renders base, finds a CRD, an object of it and a webhook, and does at each command what `faults` says of it.
RECORDING = """#!/bin/sh
echo "$*" >> {folder}/asked
case "$*" in
{faults}
  kustomize*) cat {folder}/rendered.yaml ;;
  *customresourcedefinition*"-l "*|"get -f"*) echo customresourcedefinition.apiextensions.k8s.io/addresspools.gatehouse.dev ;;
  *"get addresspools.gatehouse.dev -A -o name"*) echo addresspool.gatehouse.dev/edge ;;
  *"get mutatingwebhookconfiguration gatehouse"*) echo mutate.gatehouse.dev ;;
esac
"""
FORBIDDEN = "echo 'Error from server (Forbidden): not for you' >&2; exit 1 ;;"


@attrs.frozen
class Told:
    code: int
    said: str
    asked: Sequence[str]

    def changes_of(self, what: str) -> list[str]:
        return [line for line in self.asked if what in line and line.split()[0] not in ("get", "kustomize")]


def installed(folder: Path, what: str, *faults: tuple[str, str], overlays: Sequence[str] = (), **environment: str) -> Told:
    """What comes of `install.sh *what*` when kubectl does for each pattern of *faults* what stands beside it."""
    (folder / "rendered.yaml").write_text("---\n".join(map(write_yaml, installation(overlays))))
    cases = "\n".join(f"  {pattern}) {action}" for pattern, action in faults)
    kubectl, work = folder / "kubectl", folder / "work"
    kubectl.write_text(RECORDING.format(folder=folder, faults=cases))
    kubectl.chmod(0o755)
    work.mkdir()
    argv = ["env", "--default-signal=HUP,INT,TERM", str(MANIFESTS / "install.sh"), what]
    variables = {**os.environ, "KUBECTL": str(kubectl), "TMPDIR": str(work), **environment}
    done = subprocess.run(
        argv, env=variables, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=60, check=False
    )
    assert list(work.iterdir()) == [], "its own folder is left"
    return Told(done.returncode, done.stdout, (folder / "asked").read_text().splitlines())


def test_a_kind_whose_objects_cannot_be_counted_stays_and_is_told(tmp_path: Path) -> None:
    told = installed(tmp_path, "undeploy", ('*"get addresspools.gatehouse.dev -A"*', FORBIDDEN))

    assert told.code == 1
    assert told.changes_of("customresourcedefinition") == []
    assert "addresspools.gatehouse.dev stays: its objects cannot be counted: Error from server (Forbidden)" in told.said


def test_a_kind_with_objects_stays_and_that_is_no_failure(tmp_path: Path) -> None:
    told = installed(tmp_path, "undeploy")

    assert (told.code, told.changes_of("customresourcedefinition")) == (0, [])
    assert "addresspools.gatehouse.dev stays: 1 of them are there" in told.said


@pytest.mark.parametrize("pattern", ['*customresourcedefinition*"-l "*', '"get -f"*'])
def test_kinds_that_cannot_be_listed_are_told(tmp_path: Path, pattern: str) -> None:
    told = installed(tmp_path, "undeploy", (pattern, FORBIDDEN))

    assert told.code == 1
    assert "stay, they cannot be" in told.said


def test_nothing_is_applied_while_it_is_unknown_what_is_registered(tmp_path: Path) -> None:
    told = installed(tmp_path, "deploy", ('*"get mutatingwebhookconfiguration gatehouse"*', FORBIDDEN))

    assert told.code == 1
    assert told.changes_of("") == []
    assert "Forbidden" in told.said


def test_no_webhook_is_registered_while_the_ca_cannot_be_read(tmp_path: Path) -> None:
    told = installed(tmp_path, "deploy", ('*"get secret"*', FORBIDDEN))

    assert told.code == 1
    assert told.changes_of("webhooks.yaml") == []


def test_left_over_rights_that_cannot_be_listed_are_told_and_the_rest_goes_on(tmp_path: Path) -> None:
    left_over = ('*"get services "*', "echo service/gatehouse-metrics ;;")
    told = installed(tmp_path, "deploy", ("get*clusterroles.*", FORBIDDEN), left_over)

    assert told.code == 0
    assert "clusterroles.rbac.authorization.k8s.io may be left over, they cannot be listed: Error from server" in told.said
    assert told.changes_of("service/gatehouse-metrics")


def test_an_undeploy_that_cannot_see_everything_says_so_and_fails(tmp_path: Path) -> None:
    left_over = ('*"get services "*', "echo service/gatehouse-metrics ;;")
    told = installed(tmp_path, "undeploy", ("get*clusterroles.*", FORBIDDEN), left_over)

    assert told.code == 1
    assert "clusterroles.rbac.authorization.k8s.io may be left over" in told.said
    assert told.changes_of("service/gatehouse-metrics")
    assert told.changes_of("lease/gatehouse")


@pytest.mark.parametrize(
    ("known", "deleted"),
    [
        ("", {"Service"}),
        ("/servicemonitors.monitoring.coreos.com", {"Service", "ServiceMonitor"}),
    ],
    ids=["none", "one"],
)
def test_an_undeploy_asks_for_nothing_of_kinds_that_the_cluster_does_not_know(
    tmp_path: Path, known: str, deleted: set[str]
) -> None:
    kept = f'for last; do :; done; cp "$last" {tmp_path}/deleted.yaml ;;'
    faults = (("delete*reversed.yaml", kept), ("get*servicemonitors*prometheusrules*--ignore-not-found*", f"echo '{known}' ;;"))
    told = installed(tmp_path, "undeploy", *faults, overlays=["monitoring", "cert-manager"])

    kinds = {item["kind"] for item in documents(tmp_path / "deleted.yaml")}
    assert told.code == 0
    assert kinds & {"Service", "ServiceMonitor", "PrometheusRule", "Certificate", "Issuer"} == deleted


def test_rights_stay_while_replicas_are_still_there(tmp_path: Path) -> None:
    told = installed(tmp_path, "undeploy", ('*"wait --for=delete pod"*', "exit 1 ;;"))

    assert told.code == 1
    assert told.changes_of("reversed.yaml") == []
    assert "replicas are still there after 120s" in told.said


@pytest.mark.parametrize("environment", [{}, {"PURGE": "1"}], ids=["without", "purge"])
def test_every_wait_is_bounded(tmp_path: Path, environment: dict[str, str]) -> None:
    told = installed(tmp_path, "undeploy", TIMEOUT="7s", **environment)

    waits = [line for line in told.asked if line.startswith("delete") or " wait --for" in line]
    assert len(waits) > 3
    assert [line for line in waits if "--timeout=7s" not in line] == []


@pytest.mark.parametrize(("name", "code"), [("HUP", 129), ("INT", 130), ("TERM", 143)])
@pytest.mark.parametrize("pattern", ["kustomize*", '*"rollout status"*'], ids=["at the start", "while it waits"])
def test_a_signal_leaves_nothing_behind_and_shows_in_the_exit_code(tmp_path: Path, name: str, code: int, pattern: str) -> None:
    told = installed(tmp_path, "deploy", (pattern, f"kill -{name} $PPID; exit 0 ;;"))

    assert told.code == code
    assert told.changes_of("webhooks.yaml") == []


def test_a_deployment_leaves_the_rights_of_plug_ins_alone_and_an_undeployment_takes_them(tmp_path: Path) -> None:
    (tmp_path / "deploy").mkdir()
    (tmp_path / "undeploy").mkdir()

    def selectors(what: str) -> set[str]:
        lines = [line for line in installed(tmp_path / what, what).asked if "clusterrolebindings" in line and " -l " in line]
        return {line.partition(" -l ")[2].split()[0] for line in lines}

    assert selectors("deploy") == {f"{APP_LABEL}={PROJECT},!{PLUGIN_LABEL}"}
    assert selectors("undeploy") == {f"{APP_LABEL}={PROJECT}"}


@pytest.mark.parametrize(
    ("variable", "value", "said"),
    [
        ("TIMEOUT", "120", "TIMEOUT=120: must be a duration with its unit"),
        ("TIMEOUT", "soon", "TIMEOUT=soon: must be a duration with its unit"),
        ("IMAGE", "gate house:1", "IMAGE=gate house:1: is no reference of an image"),
        ("KUBECTL", "/nowhere/kubectl --context a", "/nowhere/kubectl is not here: install kubectl"),
    ],
)
def test_a_wrong_environment_is_told_before_anything_is_asked(tmp_path: Path, variable: str, value: str, said: str) -> None:
    (tmp_path / "asked").touch()

    told = installed(tmp_path, "deploy", **{variable: value})

    assert (told.code, told.asked) == (2, [])
    assert said in told.said
