"""What the status page says of DatabaseInstances."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from controllers.config.document import parse
from controllers.database_instance.overview import LISTED, overview
from controllers.database_instance.values import Wait
from controllers.process.assembly import Options, Process
from controllers.status.text import describe
from controllers.testing import FakeClock
from webhook.clock import Deadline
from webhook.objects.databases import FINALIZER, InstanceFacts, VolumesSpec

NOW_S = 10_000.0


def instance(name: str, *, deleting_s: float | None = None, protected: bool = True, fault: str = "") -> InstanceFacts:
    finalizers = (FINALIZER,) if protected else ()
    volumes = VolumesSpec(fault=fault)
    return InstanceFacts("shop", name, f"uid-{name}", volumes, None, finalizers=finalizers, deleting_s=deleting_s, fault=fault)


def test_instances_are_counted_and_deletions_are_listed_oldest_first() -> None:
    known = [
        instance("a"),
        instance("b", protected=False),
        instance("c", deleting_s=9_700.0),
        instance("d", deleting_s=9_400.0),
    ]

    page = overview(known, {"shop/d": "Conflict: changed"}, {"shop/c": Wait.PODS}, NOW_S)

    assert page == {
        "count": 4,
        "protected": 3,
        "unreadable": 0,
        "deleting": 2,
        "oldestDeletionSeconds": 600.0,
        "failing": 1,
        "deletions": [
            {"instance": "shop/d", "ageSeconds": 600.0, "waitsFor": None},
            {"instance": "shop/c", "ageSeconds": 300.0, "waitsFor": "WaitsForPods"},
        ],
        "failures": [{"instance": "shop/d", "error": "Conflict: changed"}],
    }


def test_without_a_deletion_there_is_no_oldest_one() -> None:
    assert overview([instance("a")], {}, {}, NOW_S)["oldestDeletionSeconds"] is None


def test_of_many_deletions_and_failures_the_first_are_listed() -> None:
    known = [instance(f"i{number:03}", deleting_s=float(number)) for number in range(LISTED + 5)]

    page = overview(known, {one.key: "x" for one in known}, {}, NOW_S)

    assert (page["deleting"], len(page["deletions"])) == (LISTED + 5, LISTED)
    assert (page["failing"], len(page["failures"])) == (LISTED + 5, LISTED)


def test_a_person_reads_of_databases_in_lines() -> None:
    known = [instance("a", fault="spec.volumes.selector: x"), instance("b", deleting_s=NOW_S - 7_000.0)]

    lines = describe({"databases": overview(known, {"shop/b": "Conflict: changed"}, {"shop/b": Wait.PODS}, NOW_S)}).splitlines()

    assert lines[-3:] == [
        "databases: 2 (2 protected, 1 deleting, 1 failing, 1 unreadable); the oldest deletion was asked for 117 min ago",
        "  shop/b: being deleted for 117 min, WaitsForPods",
        "  shop/b: FAILS: Conflict: changed",
    ]


# -- the process


def process(folder: Path, *, enabled: bool) -> dict[str, Any]:
    """The status of a process that serves the files of *folder*."""
    head = {"apiVersion": "gatehouse.dev/v1alpha1", "kind": "GatehouseConfiguration"}
    text = json.dumps({**head, "controllers": {"databaseInstance": {"enabled": enabled}}})
    made = Process(Options(parse(text, "config.json"), local_dir=folder), FakeClock())
    made.facts.start()
    made.facts.stop(Deadline.after(5, FakeClock()))
    status: dict[str, Any] = made.status()
    return status


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    text = "{apiVersion: example.com/v1, kind: DatabaseInstance, metadata: {name: db, namespace: shop}, spec: {volumes: {}}}"
    (tmp_path / "db.yaml").write_text(text)
    return tmp_path


def test_the_status_page_counts_the_databases_also_of_files(folder: Path) -> None:
    page = process(folder, enabled=True)

    assert (page["databases"]["count"], page["databases"]["failing"]) == (1, 0)


def test_the_status_page_says_nothing_of_databases_that_are_nobodys_business(folder: Path) -> None:
    assert process(folder, enabled=False)["databases"] is None
