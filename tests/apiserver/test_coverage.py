"""Pods that were created while no replica answered are found, counted, and reported on their owners.

The registration is taken away meanwhile: with failurePolicy Fail nobody could create them otherwise.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

import attrs
import pytest

from tests.apiserver import injection
from tests.apiserver.audit import AuditLog
from tests.apiserver.gatehouse import Gatehouse
from tests.apiserver.injection import EVERY_POD
from tests.apiserver.registration import USER
from tests.apiserver.waiting import wait_for
from tests.apiserver.workloads import pods_path
from tests.cluster import Api, Cluster, Json
from tests.cluster.kinds import apply

NAMESPACE = "uncovered"
REPLICAS = 20
REPORTED_WITHIN_S = 30.0
EVENTS = f"/apis/events.k8s.io/v1/namespaces/{NAMESPACE}/events"
CONFIG: Json = {"leaderElection": {"enabled": True, "leaseDuration": "4s", "renewDeadline": "3s", "retryPeriod": "1s"}}


@attrs.frozen
class Outcome:
    """What was told, and what became of the pods."""

    reported_s: float
    regarding: list[tuple[str, str]]  # kind and name of the objects that Events are about
    notes: list[str]
    counted: float
    pods: int
    forbidden: list[str]


@pytest.fixture(scope="module")
def outcome(cluster: Cluster, admin: Api, audit: AuditLog, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Outcome]:
    """A Deployment of 20 and a bare pod come up while nobody injects; then a replica starts."""
    since = audit.from_now()
    injection.namespace(admin, NAMESPACE, EVERY_POD)
    apply(admin, injection.config_map(NAMESPACE, "envoy-initializer", {"config": injection.ENVOY}))
    apply(admin, _deployment())
    injection.create(admin, NAMESPACE, injection.pod("alone"))
    wait_for(lambda: len(_pods(admin)) == REPLICAS + 1, 30.0, "the pods")
    with Gatehouse(cluster, tmp_path_factory.mktemp("coverage"), config=CONFIG) as gatehouse:
        started_s = time.monotonic()
        wait_for(lambda: len(_reports(admin)) >= 2, REPORTED_WITHIN_S + 10.0, "Events on the owners")
        reported_s = time.monotonic() - started_s
        reports = _reports(admin)
        yield Outcome(
            reported_s,
            [(item["regarding"]["kind"], item["regarding"]["name"]) for item in reports],
            [item.get("note", "") for item in reports],
            gatehouse.total("gatehouse_coverage_pods", state="bare"),
            len(_pods(admin)),
            since.forbidden(USER),
        )


def test_they_are_reported_on_their_owners_in_time(outcome: Outcome) -> None:
    assert outcome.reported_s < REPORTED_WITHIN_S
    assert sorted(outcome.regarding) == [("Deployment", "web"), ("Pod", "alone")]


def test_the_report_counts_them_and_names_the_entry(outcome: Outcome) -> None:
    assert any(str(REPLICAS) in note and "envoy-initializer" in note for note in outcome.notes)


def test_they_are_counted(outcome: Outcome) -> None:
    assert outcome.counted == REPLICAS + 1


def test_nothing_is_evicted_unless_asked_for(outcome: Outcome) -> None:
    assert outcome.pods == REPLICAS + 1


def test_its_service_account_was_never_refused(outcome: Outcome) -> None:
    assert outcome.forbidden == []


def _deployment() -> Json:
    template = {"metadata": {"labels": {"app": "web"}}, "spec": injection.pod()["spec"]}
    spec = {"replicas": REPLICAS, "selector": {"matchLabels": {"app": "web"}}, "template": template}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "namespace": NAMESPACE}, "spec": spec}


def _pods(admin: Api) -> list[Json]:
    found: list[Json] = admin.get(pods_path(NAMESPACE))["items"]
    return found


def _reports(admin: Api) -> list[Json]:
    return [item for item in admin.get(EVENTS)["items"] if item.get("reason") == "SidecarMissing"]
