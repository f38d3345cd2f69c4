"""A folder of files stands for a cluster, and follows its changes."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from controllers.local.cluster import POLL_INTERVAL_S, THREAD_NAME, LocalCluster, LocalError
from controllers.testing import FakeClock
from webhook.clock import Deadline
from webhook.cluster import Status, Vote
from webhook.objects.votes import VotePolicy

NODE = """\
apiVersion: v1
kind: Node
metadata:
  name: {name}
  annotations: {{superedgehealth/node-health: "true"}}
status:
  conditions: [{{type: Ready, status: Unknown}}]
"""
POD = """\
apiVersion: v1
kind: Pod
metadata: {{name: {name}, namespace: shop}}
spec: {{nodeName: {node}}}
"""


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "nodes.yaml").write_text(NODE.format(name="edge-1") + "---\n" + NODE.format(name="edge-2"))
    (tmp_path / "pods.yaml").write_text(
        POD.format(name="web-1", node="edge-1") + "---\n" + POD.format(name="web-2", node="edge-1")
    )
    return tmp_path


@pytest.fixture
def started(folder: Path, clock: FakeClock) -> Iterator[LocalCluster]:
    local = LocalCluster(folder, VotePolicy(), clock)
    local.start()
    yield local
    local.stop(Deadline.after(5, clock))
    assert not any(thread.name == THREAD_NAME for thread in threading.enumerate())


def read(folder: Path) -> LocalCluster:
    local = LocalCluster(folder, VotePolicy(), FakeClock())
    local.read()
    return local


def write_later(path: Path, text: str) -> None:
    """Write *path* so that its time differs from the last one, however coarse the file system's clock."""
    before = path.stat().st_mtime_ns if path.exists() else 0
    path.write_text(text)
    os.utime(path, ns=(before + 10**9, before + 10**9))


# -- what is read ----------------------------------------------------------------------------------------------------


def test_nodes_and_pods_are_facts(folder: Path) -> None:
    cluster = read(folder).cluster

    node = cluster.nodes.get("edge-1")
    assert node is not None
    assert (node.ready, node.vote) == (Status.UNKNOWN, Vote.HEALTHY)
    assert [pod.name for pod in cluster.pods.on_node("edge-1")] == ["web-1", "web-2"]
    assert cluster.pods.get("shop/web-2") is not None
    assert cluster.nodes.get("edge-9") is None
    assert cluster.pods.on_node("edge-9") == ()


def test_there_is_no_live_read(folder: Path, clock: FakeClock) -> None:
    assert read(folder).cluster.nodes.confirm("edge-1", Deadline.after(1, clock)) is None


def test_folders_json_and_lists_are_read_and_hidden_ones_are_not(tmp_path: Path) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "..data").mkdir()
    (tmp_path / "a" / "b" / "node.json").write_text('{"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"}}')
    (tmp_path / "list.YML").write_text("apiVersion: v1\nkind: NodeList\nitems: [{metadata: {name: n2}}]\n")
    (tmp_path / "..data" / "node.yaml").write_text(NODE.format(name="hidden"))
    (tmp_path / ".hidden.yaml").write_text("broken: [")
    (tmp_path / "notes.txt").write_text("broken: [")

    assert sorted(read(tmp_path).snapshot.nodes) == ["n1", "n2"]


def test_other_kinds_are_passed_over(tmp_path: Path) -> None:
    (tmp_path / "all.yaml").write_text(
        "kind: AdmissionReview\napiVersion: admission.k8s.io/v1\nrequest: 1\n"
        "---\nkind: GatehouseConfiguration\napiVersion: gatehouse.dev/v1alpha1\n"
        "---\napiVersion: apps/v1\nkind: Deployment\n"
        "---\napiVersion: example.com/v1\nkind: Node\nmetadata: 5\n"
        "---\n- a\n---\n" + NODE.format(name="n1")
    )

    assert list(read(tmp_path).snapshot.nodes) == ["n1"]


def test_of_two_nodes_with_one_name_the_later_file_counts(folder: Path) -> None:
    (folder / "zz.yaml").write_text(NODE.format(name="edge-1").replace('"true"', '"false"'))

    assert read(folder).snapshot.nodes["edge-1"].vote is Vote.UNHEALTHY


def test_the_examples_of_the_project_are_read() -> None:
    local = read(Path(__file__).parents[3] / "examples" / "edge-health")

    assert local.snapshot.nodes
    assert local.snapshot.pods


# -- what cannot be read ---------------------------------------------------------------------------------------------


def test_every_broken_file_is_named_with_its_line_at_start(folder: Path) -> None:
    (folder / "a.yaml").write_text("apiVersion: v1\nkind: Node\nmetadata: [\n")
    (folder / "b.yaml").write_text("# a node\napiVersion: v1\nkind: Node\nmetadata: {name: 7}\n")

    with pytest.raises(LocalError) as refusal:
        read(folder)

    first, second = str(refusal.value).splitlines()
    assert first.startswith(f"{folder / 'a.yaml'}:4:1: ")
    assert second.startswith(f"{folder / 'b.yaml'}:2: Node")
    assert "metadata.name" in second


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(LocalError, match=r"gone: no such folder"):
        read(tmp_path / "gone")


# -- changes ---------------------------------------------------------------------------------------------------------


def change(what: Callable[[], None], local: LocalCluster, clock: FakeClock) -> None:
    clock.until_waiting()
    what()
    seen = len(clock.waits)
    clock.advance(POLL_INTERVAL_S)
    pause = threading.Event()
    for _ in range(1000):
        if len(clock.waits) > seen:
            return
        pause.wait(0.005)
    raise AssertionError("the thread never looked")


def test_a_changed_a_new_and_a_removed_file_are_followed(started: LocalCluster, folder: Path, clock: FakeClock) -> None:
    def edit() -> None:
        write_later(folder / "nodes.yaml", NODE.format(name="edge-3"))
        write_later(folder / "more.yaml", NODE.format(name="edge-4"))
        (folder / "pods.yaml").unlink()

    change(edit, started, clock)

    assert sorted(started.snapshot.nodes) == ["edge-3", "edge-4"]
    assert started.cluster.pods.on_node("edge-1") == ()


def test_a_file_that_breaks_keeps_its_last_good_objects_until_it_is_mended(
    started: LocalCluster, folder: Path, clock: FakeClock
) -> None:
    change(lambda: write_later(folder / "nodes.yaml", "a: [\n"), started, clock)
    assert sorted(started.snapshot.nodes) == ["edge-1", "edge-2"]

    change(lambda: write_later(folder / "nodes.yaml", NODE.format(name="edge-5")), started, clock)
    assert sorted(started.snapshot.nodes) == ["edge-5"]


def test_a_folder_that_vanishes_keeps_everything(started: LocalCluster, folder: Path, clock: FakeClock) -> None:
    change(lambda: folder.rename(folder.with_name("elsewhere")), started, clock)

    assert sorted(started.snapshot.nodes) == ["edge-1", "edge-2"]


def test_what_has_not_changed_is_not_read_again(folder: Path) -> None:
    local = read(folder)
    before = local.snapshot

    assert local.refresh() == []

    assert local.snapshot is before


def test_a_start_that_fails_leaves_no_thread(tmp_path: Path, clock: FakeClock) -> None:
    local = LocalCluster(tmp_path / "gone", VotePolicy(), clock)

    with pytest.raises(LocalError):
        local.start()
    local.stop(Deadline.after(1, clock))

    assert not any(thread.name == THREAD_NAME for thread in threading.enumerate())
