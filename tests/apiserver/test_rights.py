"""Gatehouse works as its ServiceAccount with the rights of manifests/, and as nobody else."""

from __future__ import annotations

import pytest

from tests.apiserver import registration
from tests.apiserver.audit import AuditLog
from tests.apiserver.gatehouse import Gatehouse
from tests.apiserver.registration import USER
from tests.apiserver.waiting import wait_for
from tests.cluster import Api, Cluster


@pytest.fixture(scope="module")
def history(cluster: Cluster, admin: Api, audit: AuditLog, tmp_path_factory: pytest.TempPathFactory) -> AuditLog:
    """The audit log of all runs so far, with one more: everything on, one of several replicas."""
    with (
        Gatehouse(cluster, tmp_path_factory.mktemp("rights"), config={}, arguments=["--leader-elect"]) as gatehouse,
        gatehouse.registration().applied(admin),
    ):
        gatehouse.wait_until_called(admin)
        wait_for(lambda: bool(audit.requests(USER)), 10.0, "requests in the audit log")
    return audit


def test_nothing_it_asks_for_is_forbidden(history: AuditLog) -> None:
    assert history.forbidden(USER) == []


def test_all_its_requests_are_made_as_its_service_account(history: AuditLog) -> None:
    users = {event["user"]["username"] for event in history.events() if event.get("userAgent", "").startswith("gatehouse/")}

    assert users == {USER}


def test_its_roles_name_every_right() -> None:
    rules = [rule for role in registration.rbac() for rule in role.get("rules", [])]

    assert rules
    assert not [rule for rule in rules for key in ("apiGroups", "resources", "verbs") if "*" in rule[key]]
