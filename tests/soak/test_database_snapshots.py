"""Snapshots by a driver that takes 30 s for each: nothing goes before they are ready. The short form is in tests/apiserver."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.apiserver import registration
from tests.apiserver.conftest import NOBODY_JUDGES
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
from tests.cluster import Api, Cluster, Settings
from tests.cluster.components import CONTROLLER_MANAGER

SLOW_S = 30.0
DONE_S = 90.0


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    """Of a cluster with Gatehouse, the driver and what ends pods."""
    folder: Path = tmp_path_factory.mktemp("snapshots")
    with Cluster(Settings(f"snapshots-{os.getpid()}", {CONTROLLER_MANAGER: NOBODY_JUDGES})) as cluster, cluster.api() as made:
        registration.apply_rbac(made)
        apply_crd(made)
        apply_snapshot_crds(made)
        with Driver(cluster.api(), SLOW_S), Kubelet(cluster.api()), Gatehouse(cluster, folder, config=CONFIG):
            yield made
    clean_volumes()


def test_claim_and_volume_stay_for_the_thirty_seconds_that_a_snapshot_takes(api: Api) -> None:
    place = Place(api, "slow")
    volumes = [place.claim(name) for name in ("slow-a", "slow-b")]
    place.create_instance(volumes={"claimNames": ["slow-a", "slow-b"]}, deletionPolicy="Snapshot")

    place.delete_instance()
    wait_for(lambda: place.reason() == "WaitsForSnapshots", 20.0, "the word on the snapshots")
    stays(lambda: place.claims() == ["slow-a", "slow-b"] and place.reclaim(volumes[0]) == "Retain", SLOW_S - 8.0, "both")
    place.wait_gone(within_s=DONE_S)

    snapshots = api.get(place.path("volumesnapshots", group=SNAPSHOT_API))["items"]
    assert [one["status"]["readyToUse"] for one in snapshots] == [True, True]
    assert [place.reclaim(volume) for volume in volumes] == [None, None]


def test_one_that_never_finishes_says_why_for_as_long_as_it_takes(api: Api) -> None:
    place = Place(api, "never")
    volume = place.claim("never")
    place.create_instance(volumes={"claimNames": ["never"]}, deletionPolicy="Snapshot", deletionTimeout="20s")

    place.delete_instance()
    wait_for(lambda: "DeletionTimedOut" in place.conditions(), 60.0, "the timeout")
    stays(lambda: place.is_bound("never") and place.reclaim(volume) == "Retain", SLOW_S, "claim and volume")

    assert "snapshot of never (not ready to use yet)" in place.condition("Deleting")["message"]
