"""What one file of a folder holds, as facts with their places; and what in it cannot be used, by file and line."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from controllers.database_instance.values import Workload
from controllers.local.files import File, LocalError, Placed, facts_of, namespace_of, read_file, stamps
from controllers.pod_ip.paths import API_VERSION as ADDRESSES
from controllers.pod_ip.plan import StatefulSetFacts
from controllers.runtime.errors import UndecodableObject
from webhook.addresses.facts import PoolFacts, ReservationFacts
from webhook.cluster import NamespaceFacts, NodeFacts, PodFacts
from webhook.objects.databases import API_VERSION as DATABASES
from webhook.objects.databases import ClaimFacts, InstanceFacts
from webhook.objects.limit_ranges import LimitRange
from webhook.objects.meta import Json
from webhook.objects.resource_quotas import ResourceQuota
from webhook.objects.votes import VotePolicy
from webhook.sidecars.entries.catalog import Reading

VOTES = VotePolicy()
STAMP = (1, 2, 3)
IN_SHOP: Json = {"name": "a", "namespace": "shop"}
INSTANCE_SPEC = {"volumes": {"claimNames": ["data"]}}
RESERVATION_SPEC = {"ip": "10.0.0.1", "reservationKey": "key-a", "namespace": "shop", "podName": "a", "pool": "web"}


def node(name: str) -> str:
    return f"apiVersion: v1\nkind: Node\nmetadata: {{name: {name}}}\n"


def read(path: Path) -> File:
    return read_file(path, STAMP, VOTES)


def names(file: File) -> list[str]:
    return [facts.name for _, facts in file.of(NodeFacts)]


# -- objects


@pytest.mark.parametrize(
    ("version", "kind", "more", "facts"),
    [
        ("v1", "Node", {}, [NodeFacts]),
        ("v1", "Pod", {}, [PodFacts]),
        ("v1", "Namespace", {}, [NamespaceFacts]),
        ("v1", "ConfigMap", {}, [Reading]),
        ("v1", "LimitRange", {"spec": {"limits": []}}, [LimitRange]),
        ("v1", "ResourceQuota", {}, [ResourceQuota]),
        ("v1", "PersistentVolumeClaim", {}, [ClaimFacts]),
        ("apps/v1", "StatefulSet", {}, [Workload, StatefulSetFacts]),  # databases and fixed addresses ask for other things
        (DATABASES, "DatabaseInstance", {"spec": INSTANCE_SPEC}, [InstanceFacts]),
        (ADDRESSES, "AddressPool", {"spec": {"addresses": ["10.0.0.0/24"]}}, [PoolFacts]),
        (
            ADDRESSES,
            "AddressReservation",
            {"metadata": {"name": "10.0.0.1", "uid": "u"}, "spec": RESERVATION_SPEC},
            [ReservationFacts],
        ),
    ],
)
def test_each_kind_that_a_rule_reads_becomes_facts(version: str, kind: str, more: Json, facts: list[type]) -> None:
    found = facts_of({"apiVersion": version, "kind": kind, "metadata": IN_SHOP, **more}, VOTES)

    assert [type(one) for one in found] == facts


@pytest.mark.parametrize(
    "value",
    [
        *(None, 5, "Node", [], {}, {"kind": "Node"}, {"apiVersion": "v1"}, {"apiVersion": ["v1"], "kind": {}}),
        {"apiVersion": "v1", "kind": "Secret", "metadata": 5},
        {"apiVersion": "example.com/v1", "kind": "Node", "metadata": 5},
        {"apiVersion": "apps/v1beta1", "kind": "StatefulSet", "metadata": 5},  # served by no Kubernetes that is supported
        {"apiVersion": ADDRESSES, "kind": "Node", "metadata": 5},
    ],
)
def test_what_no_rule_reads_is_passed_over_however_it_looks(value: Any) -> None:
    assert facts_of(value, VOTES) == []


@pytest.mark.parametrize(
    ("version", "kind", "field", "message"),
    [
        ("v1", "Node", {"metadata": []}, "metadata"),
        ("v1", "Node", {"metadata": {"name": 7}}, "metadata.name"),
        ("v1", "Pod", {"spec": "a"}, "spec"),
        ("v1", "Namespace", {"metadata": {"labels": {"a": 1}}}, "metadata.labels"),
        ("v1", "ResourceQuota", {"spec": {"hard": {"pods": "many"}}}, 'spec.hard.pods: "many" is not a quantity'),
        ("v1", "LimitRange", {"spec": {"limits": [5]}}, "spec.limits"),
        ("v1", "PersistentVolumeClaim", {"metadata": {"labels": 5}}, "metadata.labels"),
        ("apps/v1", "StatefulSet", {"spec": {"volumeClaimTemplates": 5}}, "spec.volumeClaimTemplates"),
        (DATABASES, "DatabaseInstance", {"spec": {"volumes": 5}}, "volumes"),
        (ADDRESSES, "AddressPool", {"spec": 5}, "spec"),
        (ADDRESSES, "AddressReservation", {"spec": {"ip": "10.0.0.1"}}, "metadata.name"),
    ],
)
def test_a_field_that_cannot_be_read_is_named(version: str, kind: str, field: Json, message: str) -> None:
    with pytest.raises(UndecodableObject) as caught:
        facts_of({"apiVersion": version, "kind": kind, "metadata": IN_SHOP, **field}, VOTES)

    assert message in str(caught.value)


def test_a_namespace_has_the_label_that_the_api_server_gives_each() -> None:
    found = namespace_of({"metadata": {"name": "shop", "labels": {"a": "b", "kubernetes.io/metadata.name": "other"}}})

    assert found.labels == {"a": "b", "kubernetes.io/metadata.name": "shop"}


# -- files


def test_objects_are_kept_with_file_and_line_in_their_order(tmp_path: Path) -> None:
    path = tmp_path / "nodes.yaml"
    path.write_text(node("b") + "---\n# the other\n" + node("a"))

    found = read(path)

    assert (found.stamp, names(found)) == (STAMP, ["b", "a"])
    assert [one.where for one in found.objects] == [f"{path}:1", f"{path}:6"]


@pytest.mark.parametrize("content", ["", "\n", "---\n---\n", "# nothing\n", "null\n", "[]\n", "5\n", "{}"])
def test_a_file_without_objects_holds_none(content: str, tmp_path: Path) -> None:
    path = tmp_path / "empty.yaml"
    path.write_text(content)

    assert read(path) == File(STAMP)


def test_facts_are_given_by_kind() -> None:
    mine, other = namespace_of({"metadata": {"name": "a"}}), object()
    file = File(STAMP, (Placed("f:1", mine), Placed("f:9", other)))

    assert list(file.of(NamespaceFacts)) == [("f:1", mine)]
    assert list(file.of(NodeFacts)) == []


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"a: [\n", ":2:1: "),
        (b"a: b: c\n", ":1:5: "),
        (b"a: \xff\n", "broken.yaml"),
        (b"a: *nowhere\n", "broken.yaml:1:"),
        (node("a").encode() + b"---\n# here\n" + node("{}").encode(), ":6: Node "),
    ],
)
def test_what_is_wrong_is_said_with_its_place(content: bytes, message: str, tmp_path: Path) -> None:
    path = tmp_path / "broken.yaml"
    path.write_bytes(content)

    with pytest.raises(LocalError) as caught:
        read(path)

    assert str(caught.value).startswith(str(path))
    assert message in str(caught.value)


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.yaml")

    with pytest.raises(LocalError, match=r"pipe\.yaml: not a regular file"):
        read(tmp_path / "pipe.yaml")


@pytest.mark.parametrize("name", ["gone.yaml", "loop.yaml", "."])
def test_what_is_no_file_is_none(name: str, tmp_path: Path) -> None:
    (tmp_path / "loop.yaml").symlink_to("loop.yaml")

    with pytest.raises(LocalError, match="not a regular file"):
        read(tmp_path / name)


# -- folders


def test_files_are_found_by_their_endings_at_any_depth_in_order(tmp_path: Path) -> None:
    for name in ("b.yaml", "a.JSON", "a/z.yml", "a/b/c.yaml", "notes.txt", "yaml", ".hidden.yaml", "..data/x.yaml"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    (tmp_path / "folder.yaml").mkdir()

    assert [str(path.relative_to(tmp_path)) for path, _ in stamps(tmp_path)] == ["a.JSON", "b.yaml", "a/z.yml", "a/b/c.yaml"]


def test_a_stamp_changes_with_what_is_written(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_text("a: 1\n")
    seen = dict(stamps(tmp_path))[path]
    assert dict(stamps(tmp_path))[path] == seen

    path.write_text("a: 11\n")
    os.utime(path, ns=(seen[0], seen[0]))  # a coarse clock: only the size tells
    longer = dict(stamps(tmp_path))[path]

    path.with_suffix(".new").write_text("a: 12\n")
    os.utime(path.with_suffix(".new"), ns=(seen[0], seen[0]))
    path.with_suffix(".new").replace(path)  # as editors write: only the inode tells
    replaced = dict(stamps(tmp_path))[path]

    assert len({seen, longer, replaced}) == 3


def test_a_link_to_nowhere_is_no_file_and_one_to_itself_is_told_by_whoever_reads_it(tmp_path: Path) -> None:
    (tmp_path / "nowhere.yaml").symlink_to("gone")
    (tmp_path / "loop.yaml").symlink_to("loop.yaml")
    (tmp_path / "real.yaml").symlink_to(__file__)

    assert [path.name for path, _ in stamps(tmp_path)] == ["loop.yaml", "real.yaml"]


def test_a_folder_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        list(stamps(tmp_path / "gone"))
