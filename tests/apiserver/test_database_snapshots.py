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
)
from tests.apiserver.gatehouse import Gatehouse
from tests.apiserver.waiting import stays, wait_for
from tests.cluster import Api, Cluster

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
