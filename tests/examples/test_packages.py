"""The packages of examples/ are built by pip, tested by their own tests, and used by the commands as their page says."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.examples.packages import LIMIT_S, PACKAGES, ROOT, environment, install

OWN_RULE = ROOT / "examples" / "own-rule"
WITH = ["--local", str(OWN_RULE / "cluster"), "--config", str(OWN_RULE / "gatehouse.yaml")]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return install(tmp_path_factory.mktemp("packages"))


def run(site: Path, *command: str, folder: Path = ROOT) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *command], cwd=folder, env=environment(site), capture_output=True, text=True, timeout=LIMIT_S
    )


def gatehouse(site: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return run(site, "-m", "controllers", *arguments)


@pytest.mark.parametrize("package", PACKAGES)
def test_its_own_tests_pass_outside_of_this_project(site: Path, tmp_path: Path, package: str) -> None:
    tests = ROOT / "examples" / package / "tests"

    done = run(site, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-c", "/dev/null", str(tests), folder=tmp_path)

    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("package", PACKAGES)
def test_pytest_in_its_folder_takes_no_settings_of_the_repository_around_it(site: Path, package: str) -> None:
    folder = ROOT / "examples" / package

    done = run(site, "-m", "pytest", "-p", "no:cacheprovider", "-p", "no:timeout", folder=folder)

    assert done.returncode == 0, done.stdout + done.stderr
    assert f"rootdir: {folder}\n" in done.stdout


def test_a_pod_that_nobody_owns_is_refused_offline(site: Path) -> None:
    done = gatehouse(site, "review", *WITH, str(OWN_RULE / "review.yaml"))

    assert done.returncode == 0, done.stderr
    assert 'refused (403 OwnerMissing): pods nobodys/stray: has no label "owner", nor has its namespace' in done.stdout


def test_explain_says_what_the_rule_did_and_what_would_change_it(site: Path) -> None:
    done = gatehouse(site, "explain", "pod", *WITH, str(OWN_RULE / "pods.yaml"))

    assert done.returncode == 1
    assert "OwnerInherited: owner=team-a of namespace shop" in done.stdout
    assert "OwnerMissing: label the pod or its namespace" in done.stdout


def test_manifests_register_it(site: Path) -> None:
    done = gatehouse(site, "manifests", "--config", str(OWN_RULE / "gatehouse.yaml"), "-o", "json")

    webhooks = json.loads(done.stdout)["items"][0]["webhooks"]
    (mine,) = (webhook for webhook in webhooks if webhook["name"] == "inherit-owner.gatehouse.dev")
    assert mine["clientConfig"]["service"]["path"] == "/rules/inherit-owner"
    assert (mine["failurePolicy"], mine["timeoutSeconds"]) == ("Fail", 5)
    assert [condition["name"] for condition in mine["matchConditions"]] == ["not-a-mirror"]


def test_without_the_package_the_configuration_is_refused_with_the_reason() -> None:
    command = [sys.executable, "-m", "controllers", "review", *WITH, str(OWN_RULE / "review.yaml")]

    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=LIMIT_S)

    assert done.returncode == 2
    assert "gatehouse.yaml:5:5: plugins.rules.inherit-owner: no installed package has the entry point" in done.stderr
