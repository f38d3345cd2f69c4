"""Forty DatabaseInstances deleted at once while leaders die. The long form: `python -m tests.soak.databases --count 200`."""

from __future__ import annotations

import pytest

from tests.apiserver.database_storm import Storm, run
from tests.cluster import Cluster

COUNT, KILLS = 40, 3
WITHIN_S = 90.0


@pytest.fixture(scope="module")
def storm(quiet_cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Storm:
    return run(quiet_cluster, tmp_path_factory.mktemp("storm"), COUNT, KILLS, WITHIN_S, print)


def test_every_instance_is_gone(storm: Storm) -> None:
    assert storm.left == []


def test_none_loses_a_volume_under_retain(storm: Storm) -> None:
    assert storm.claims == storm.retained()
    assert set(storm.volumes.values()) == {("Retain", "Bound")}
    assert len(storm.volumes) == len(storm.retained())


def test_each_effect_was_had_once(storm: Storm) -> None:
    assert storm.repeated() == []
    assert sum(1 for verb, _ in storm.effects if verb == "delete") == COUNT // 2


def test_nothing_was_refused_and_nothing_went_wrong(storm: Storm) -> None:
    assert storm.forbidden == []
    assert "Traceback" not in storm.log
