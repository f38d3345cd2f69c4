"""Clusters that a crashed run left behind are cleaned; those of living owners are left alone."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cluster.cluster import sweep
from tests.cluster.processes import Process, Processes


@pytest.fixture
def left_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The state folder of a cluster of which one program still runs."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    folder = tmp_path / "gatehouse-tests" / "clusters" / f"left-over-{os.getpid()}"
    folder.mkdir(parents=True)
    processes = Processes(folder)
    process = processes.start("etcd", ["sleep", "60"])
    yield folder
    process.end(timeout_s=1.0)


def _dead() -> Process:
    child = subprocess.Popen(["true"])
    process = Process.of(child.pid)
    child.wait()
    return process


def test_a_cluster_whose_owner_has_died_is_ended_and_deleted(left_over: Path) -> None:
    process = Processes(left_over).get("etcd")
    assert process is not None
    (left_over / "owner").write_text(str(_dead()))

    sweep()

    assert not process.alive()
    assert not left_over.exists()


def test_a_cluster_whose_owner_lives_is_left_alone(left_over: Path) -> None:
    (left_over / "owner").write_text(str(Process.of(os.getpid())))

    sweep()

    assert Processes(left_over).running("etcd")


def test_a_detached_cluster_is_left_alone_while_something_of_it_runs(left_over: Path) -> None:
    (left_over / "owner").write_text("")

    sweep()
    stays = left_over.exists()
    Processes(left_over).stop("etcd")
    sweep()

    assert stays
    assert not left_over.exists()
