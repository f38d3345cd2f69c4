"""Under Snapshot nothing is deleted before it was snapshotted, with external-snapshotter's own kinds and a scripted driver."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import pytest

from tests.apiserver.databases import (
    CONFIG,
    SNAPSHOT_API,
    Driver,
    Kubelet,
    Place,
    apply_crd,
    apply_snapshot_crds,
    clean_volumes,
    pod_spec,
)
from tests.apiserver.gatehouse import Gatehouse
from tests.apiserver.waiting import stays, wait_for
from tests.cluster import Api, Cluster, Json

PLACES = itertools.count(1)


@pytest.fixture(scope="module")
def api(quiet_cluster: Cluster) -> Iterator[Api]:
    with quiet_cluster.api() as made:
        apply_crd(made)
        apply_snapshot_crds(made)
        yield made


@pytest.fixture(scope="module")
def gatehouse(quiet_cluster: Cluster, api: Api, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gatehouse]:
    with (
        Driver(quiet_cluster.api()),
        Kubelet(quiet_cluster.api()),
        Gatehouse(quiet_cluster, tmp_path_factory.mktemp("snapshots"), config=CONFIG) as running,
    ):
        yield running
    clean_volumes()


@pytest.fixture
def place(api: Api, gatehouse: Gatehouse) -> Place:
    return Place(api, f"snapshots-{next(PLACES)}")


def snapshots(place: Place, claim: str) -> list[Json]:
    """The snapshots of *claim*."""
    found = place.api.get(place.path("volumesnapshots", group=SNAPSHOT_API))["items"]
    return [one for one in found if one["spec"]["source"]["persistentVolumeClaimName"] == claim]


@pytest.mark.parametrize("claim", ["slow", "fails"])
def test_a_snapshot_is_ready_and_kept_before_the_volume_goes(place: Place, api: Api, claim: str) -> None:
    volume = place.claim(claim)
    place.create_instance(volumes={"claimNames": [claim]}, deletionPolicy="Snapshot")

    place.delete_instance()
    wait_for(lambda: place.reason() == "WaitsForSnapshots", 20.0, "the word on the snapshot")
    assert place.claims() == [claim]
    place.wait_gone()

    (snapshot,) = api.get(place.path("volumesnapshots", group=SNAPSHOT_API))["items"]
    content = api.get(f"{SNAPSHOT_API}/volumesnapshotcontents/{snapshot['status']['boundVolumeSnapshotContentName']}")
    assert (snapshot["status"]["readyToUse"], content["spec"]["deletionPolicy"]) == (True, "Retain")
    assert place.reclaim(volume) is None


def test_a_snapshot_that_never_finishes_keeps_claim_and_volume(place: Place, api: Api) -> None:
    volume = place.claim("never")
    place.create_instance(volumes={"claimNames": ["never"]}, deletionPolicy="Snapshot", deletionTimeout="10s")

    place.delete_instance()
    wait_for(lambda: "DeletionTimedOut" in place.conditions(), 25.0, "the timeout")
    stays(lambda: place.is_bound("never") and place.reclaim(volume) == "Retain", 3.0, "claim and volume")

    api.patch(place.instance_path(), {"spec": {"deletionPolicy": "Retain"}})
    place.wait_gone()


def test_in_a_deleted_namespace_the_volume_is_kept_instead_of_a_snapshot(place: Place, api: Api) -> None:
    volume = place.claim("data")
    place.create_instance(volumes={"claimNames": ["data"]}, deletionPolicy="Snapshot")
    wait_for(lambda: place.reclaim(volume) == "Retain", 20.0, "the volume kept")

    api.delete(f"/api/v1/namespaces/{place.namespace}")
    wait_for(lambda: api.find(f"/api/v1/namespaces/{place.namespace}") is None, 60.0, "the namespace gone")

    stays(lambda: place.reclaim(volume) == "Retain", 3.0, "the volume")


def test_a_set_is_stopped_before_its_claim_is_snapshotted(place: Place, api: Api) -> None:
    place.stateful_set(place.create_instance(deletionPolicy="Snapshot"))

    place.delete_instance(propagation="Foreground")
    place.wait_gone()

    (snapshot,) = api.get(place.path("volumesnapshots", group=SNAPSHOT_API))["items"]
    assert snapshot["spec"]["source"] == {"persistentVolumeClaimName": "data-db-0"}
    assert (place.claims(), place.reclaim(f"{place.namespace}-data-db-0")) == ([], None)


def test_a_snapshot_waits_for_every_pod_that_could_still_write(place: Place, api: Api) -> None:
    volume = place.claim("data")
    place.create_instance(volumes={"claimNames": ["data"]}, deletionPolicy="Snapshot")
    place.pod("writer", "data")

    place.delete_instance()
    wait_for(lambda: place.reason() == "WaitsForPods", 20.0, "the word on the pod")
    named = place.condition("Deleting")["message"]
    stays(lambda: not api.get(place.path("volumesnapshots", group=SNAPSHOT_API))["items"], 2.0, "no snapshot")
    assert not place.is_going("data")
    place.end_pod("writer")
    place.wait_gone()

    assert "pod writer on node storage-1" in named
    assert place.reclaim(volume) is None


def test_a_claim_that_a_pod_uses_after_its_snapshot_is_snapshotted_again(place: Place, api: Api) -> None:
    volume = place.claim("data")
    place.claim("slow")
    place.create_instance(volumes={"claimNames": ["data", "slow"]}, deletionPolicy="Snapshot")
    place.delete_instance()
    wait_for(
        lambda: any(one.get("status", {}).get("readyToUse") for one in snapshots(place, "data")), 20.0, "the snapshot ready"
    )

    place.pod("late", "data")
    wait_for(lambda: place.reason() == "WaitsForPods", 20.0, "the word on the pod")
    wait_for(lambda: all(one.get("status", {}).get("readyToUse") for one in snapshots(place, "slow")), 20.0, "the other one")
    stays(lambda: not place.is_going("data") and place.reclaim(volume) == "Retain", 2.0, "claim and volume")
    place.end_pod("late")
    place.wait_gone()

    first, second = sorted(snapshots(place, "data"), key=lambda one: len(one["metadata"]["name"]))
    assert ("gatehouse.dev/used-since" in first["metadata"]["labels"], second["status"]["readyToUse"]) == (True, True)
    assert (second["metadata"]["name"], place.reclaim(volume)) == (first["metadata"]["name"] + "-2", None)


def test_a_pod_that_no_node_was_found_for_does_not_hold_a_snapshot_up(place: Place, api: Api) -> None:
    place.claim("data")
    place.create_instance(volumes={"claimNames": ["data"]}, deletionPolicy="Snapshot")
    body = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "pending"}}
    spec = {name: value for name, value in pod_spec("data").items() if name != "nodeName"}
    api.create(place.path("pods"), {**body, "spec": spec})

    place.delete_instance()
    place.wait_gone()

    assert (place.claims(), len(snapshots(place, "data"))) == ([], 1)


def test_a_policy_edited_to_snapshot_saves_a_volume_whose_claim_is_going(place: Place, api: Api) -> None:
    volume = place.claim("never")
    place.create_instance(volumes={"claimNames": ["never"]})
    place.pod("backup", "never")
    place.delete_instance()
    wait_for(lambda: place.reason() == "WaitsForPods" and place.is_going("never"), 20.0, "the claim going")

    api.patch(place.instance_path(), {"spec": {"deletionPolicy": "Snapshot"}})
    wait_for(lambda: place.reclaim(volume) == "Retain", 20.0, "the volume kept")
    place.end_pod("backup")
    place.wait_gone()

    stays(lambda: place.reclaim(volume) == "Retain", 2.0, "the volume")


def test_orphan_propagation_leaves_a_set_and_its_claim_under_snapshot(place: Place, api: Api) -> None:
    place.stateful_set(place.create_instance(deletionPolicy="Snapshot"), when_deleted="Delete")
    volume = f"{place.namespace}-data-db-0"
    wait_for(lambda: place.reclaim(volume) == "Retain", 20.0, "the volume kept")

    place.delete_instance(propagation="Orphan")
    place.wait_gone()

    stays(lambda: not place.is_going("data-db-0") and place.reclaim(volume) == "Retain", 2.0, "claim and volume")
    assert api.get(place.path("volumesnapshots", group=SNAPSHOT_API))["items"] == []


def test_a_set_that_would_delete_its_claims_is_snapshotted_first(place: Place, api: Api) -> None:
    place.stateful_set(place.create_instance(deletionPolicy="Snapshot"), when_deleted="Delete")
    volume = f"{place.namespace}-data-db-0"
    wait_for(lambda: place.reclaim(volume) == "Retain", 20.0, "the volume kept")

    place.delete_instance()
    place.wait_gone()

    (snapshot,) = api.get(place.path("volumesnapshots", group=SNAPSHOT_API))["items"]
    assert (snapshot["status"]["readyToUse"], place.reclaim(volume)) == (True, None)
