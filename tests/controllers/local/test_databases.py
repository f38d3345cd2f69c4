"""DatabaseInstances, claims and StatefulSets from files: the service database-instance answers without a cluster."""

from __future__ import annotations

from pathlib import Path

import pytest

from controllers.cli.main import main
from controllers.local.cluster import LocalCluster, LocalError
from controllers.testing import FakeClock
from webhook.objects.databases import DeletionPolicy, makes
from webhook.objects.votes import VotePolicy

ROOT = Path(__file__).parents[3]
EXAMPLE = ROOT / "examples" / "database-instance"
OBJECTS = """\
apiVersion: example.com/v1
kind: DatabaseInstance
metadata: {name: orders, namespace: shop, uid: uid-orders}
spec: {volumes: {selector: {matchLabels: {app: orders}}}, deletionPolicy: Retain}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: orders-data, namespace: shop, labels: {app: orders}}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data}
---
apiVersion: apps/v1
kind: StatefulSet
metadata:
  name: orders
  namespace: shop
  ownerReferences: [{kind: DatabaseInstance, name: orders, uid: uid-orders, controller: true}]
spec: {volumeClaimTemplates: [{metadata: {name: data}}]}
"""


def read(folder: Path) -> LocalCluster:
    local = LocalCluster(folder, VotePolicy(), FakeClock())
    local.read()
    return local


def test_instances_claims_and_stateful_sets_are_found_by_namespace(tmp_path: Path) -> None:
    (tmp_path / "all.yaml").write_text(OBJECTS)

    known = read(tmp_path).cluster.databases

    (instance,) = known.instances_in("shop")
    assert (instance.uid, instance.policy) == ("uid-orders", DeletionPolicy.RETAIN)
    assert [one.name for one in known.claims_in("shop")] == ["orders-data"]
    assert [one.name for one in known.claims_in("default")] == ["data"]
    assert [makes(one, "data-orders-0") for one in known.makers_in("shop")] == [True]
    assert known.synced()


def test_an_instance_that_no_schema_would_let_pass_is_named_with_its_line(tmp_path: Path) -> None:
    (tmp_path / "all.yaml").write_text("# one\n" + OBJECTS.replace("Retain", "Forget"))

    with pytest.raises(LocalError, match=r"all\.yaml:2: DatabaseInstance \"orders\".*Forget"):
        read(tmp_path)


# -- the example


def reviewed(review: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    """The exit code of a review of the example, and what is printed."""
    offline = EXAMPLE / "offline"
    arguments = ["--local", str(EXAMPLE), "--config", str(offline / "gatehouse.yaml"), str(offline / "reviews" / review)]
    code = main(["review", *arguments])
    return code, capsys.readouterr().out


def test_the_example_refuses_a_second_instance_of_a_claim(capsys: pytest.CaptureFixture[str]) -> None:
    code, out = reviewed("second-instance.yaml", capsys)

    assert code == 0
    assert 'refused (422 ClaimTaken): DatabaseInstance "copy": claim "orders-data" belongs to DatabaseInstance "orders"' in out


def test_the_example_tells_who_deletes_what_stays(capsys: pytest.CaptureFixture[str]) -> None:
    code, out = reviewed("deletion.yaml", capsys)

    assert code == 0
    assert 'claim "orders-data" stays, and so does its volume' in out
