"""A rule and a controller of somebody else's, installed by pip, in a process that the API server calls: those of examples/."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from tests.apiserver import injection
from tests.apiserver.databases import serve
from tests.apiserver.gatehouse import Gatehouse
from tests.apiserver.waiting import wait_for
from tests.cluster import Api, ApiError, Cluster, Json
from tests.cluster.kinds import apply
from tests.examples.packages import ROOT, install

OWNED, NOBODYS, PARTS = "owned", "nobodys", "bucketed"
RAISING = {"raises-fail": "Fail", "raises-ignore": "Ignore"}  # rules, and namespaces: what the API server does then
CONFIG: Json = {
    "plugins": {
        "rules": {"inherit-owner": {"label": "team"}, **{name: {} for name in RAISING}},
        "controllers": {"buckets": {}},
    }
}
FAULTY = """
from webhook.admission import *

def rule(name, policy):
    def build(settings, facts):
        def decide(request, draft, context):
            raise SystemExit(name)
        return decide
    pods = Match("", "v1", "pods", (Operations.CREATE,), "Namespaced")
    namespaces = {"matchLabels": {"kubernetes.io/metadata.name": name}}
    entry = Entry((pods,), namespace_selector=namespaces, failure_policy=policy)
    return RulePlugin(settings=NoSettings, build=build, entries=(entry,))

fail, ignore = rule("raises-fail", "Fail"), rule("raises-ignore", "Ignore")
"""
INSTALLED: Json = {"webhook": {"certificate": {"secretName": "gatehouse-tls"}}, "leaderElection": {"enabled": True}}
BUCKETS = f"/apis/example.com/v1/namespaces/{PARTS}/buckets"
CONFIG_MAPS = f"/api/v1/namespaces/{PARTS}/configmaps"
WITHIN_S = 20.0


@pytest.fixture(scope="module")
def admin(quiet_cluster: Cluster) -> Iterator[Api]:
    with quiet_cluster.api() as api:
        injection.namespace(api, OWNED, {"team": "a"})
        injection.namespace(api, NOBODYS, {})
        for name in (PARTS, *RAISING):
            injection.namespace(api, name, {"team": "b"})
        serve(api, yaml.safe_load((ROOT / "examples" / "second-controller" / "crd.yaml").read_text()))
        yield api


@pytest.fixture(scope="module")
def gatehouse(quiet_cluster: Cluster, admin: Api, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gatehouse]:
    site = install(tmp_path_factory.mktemp("packages"))
    install_faulty(site)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", os.pathsep.join([str(site), str(ROOT)]))
        apply_rights(admin, tmp_path_factory.mktemp("rights"))
        with injection.injecting(quiet_cluster, admin, tmp_path_factory.mktemp("own"), CONFIG) as running:
            yield running


def install_faulty(site: Path) -> None:
    """What pip would leave of a package with two rules that raise."""
    (site / "faulty.py").write_text(FAULTY)
    info = site / "faulty-0.1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: faulty\nVersion: 0.1\n")
    (info / "entry_points.txt").write_text("[gatehouse.rules]\nraises-fail = faulty:fail\nraises-ignore = faulty:ignore\n")


def apply_rights(api: Api, folder: Path) -> None:
    """The ClusterRole of the controller, as an operator has it printed."""
    config = folder / "gatehouse.yaml"
    config.write_text(
        yaml.safe_dump({"apiVersion": "gatehouse.dev/v1alpha1", "kind": "GatehouseConfiguration"} | INSTALLED | CONFIG)
    )
    command = [sys.executable, "-m", "controllers", "manifests", "--all", "--config", str(config)]
    printed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True, timeout=60).stdout
    rights = [item for item in yaml.safe_load_all(printed) if item["metadata"]["name"] == "gatehouse-buckets"]
    assert [item["kind"] for item in rights] == ["ClusterRole", "ClusterRoleBinding"]
    for item in rights:
        apply(api, item)


def test_a_pod_that_nobody_owns_is_refused(gatehouse: Gatehouse, admin: Api) -> None:
    with pytest.raises(ApiError) as caught:
        injection.create(admin, NOBODYS, injection.pod("stray"))

    assert caught.value.status == 403
    assert 'pods nobodys/stray: has no label "team", nor has its namespace' in str(caught.value)


def test_a_pod_inherits_the_owner_of_its_namespace(gatehouse: Gatehouse, admin: Api) -> None:
    stored, _ = injection.create(admin, OWNED, injection.pod("web"))

    assert stored["metadata"]["labels"] == {"app": "demo", "team": "a"}
    assert gatehouse.patched("inherit-owner") >= 1
    assert gatehouse.total("gatehouse_admission_decisions_total", rule="inherit-owner", reason="OwnerInherited") >= 1


def test_a_rule_that_raises_is_answered_as_its_failure_policy_says_and_harms_no_other(gatehouse: Gatehouse, admin: Api) -> None:
    with pytest.raises(ApiError) as caught:
        injection.create(admin, "raises-fail", injection.pod("one"))
    stored, _ = injection.create(admin, "raises-ignore", injection.pod("one"))

    assert "raises-fail.gatehouse.dev" in str(caught.value)
    assert stored["metadata"]["labels"]["team"] == "b"  # by the rule beside it
    assert gatehouse.is_ready()
    whose = "plug-in raises-fail (package faulty 0.1, entry point faulty:fail)"
    assert f"{whose} failed: SystemExit at faulty.py:" in gatehouse.log()


def test_a_bucket_goes_only_after_its_parts(gatehouse: Gatehouse, admin: Api) -> None:
    made = admin.create(BUCKETS, {"apiVersion": "example.com/v1", "kind": "Bucket", "metadata": {"name": "b"}})
    wait_for(lambda: bool(admin.get(f"{BUCKETS}/b")["metadata"].get("finalizers")), WITHIN_S, "the finalizer")
    for name, owner in (("part", made["metadata"]["uid"]), ("other", "somebody")):
        labels = {"bucket-uid": owner}
        metadata = {"name": name, "namespace": PARTS, "labels": labels}
        admin.create(CONFIG_MAPS, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata})

    admin.delete(f"{BUCKETS}/b")
    wait_for(lambda: admin.find(f"{BUCKETS}/b") is None, WITHIN_S, "the end of the bucket")

    assert admin.find(f"{CONFIG_MAPS}/part") is None
    assert admin.find(f"{CONFIG_MAPS}/other") is not None
    assert gatehouse.total("controller_runtime_reconcile_total", controller="buckets", result="success") >= 1


def test_the_process_says_what_it_has_loaded_and_in_which_version(gatehouse: Gatehouse) -> None:
    assert gatehouse.total("gatehouse_plugin_info", kind="rule", name="inherit-owner", package="own-rule", version="1.0.0") == 1
    assert gatehouse.total("gatehouse_plugin_info", kind="controller", name="buckets", package="own-controller") == 1
    assert "plug-in loaded" in gatehouse.log()
    assert gatehouse.probes.call("GET", "/readyz/inherit-owner").status == 200
