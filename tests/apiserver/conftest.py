"""The cluster of these tests: built and started on first use, ended whatever happens."""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.apiserver import minute, nodes, registration
from tests.apiserver.audit import AuditLog
from tests.apiserver.minute import Minute
from tests.apiserver.nodes import Heartbeats
from tests.cluster import Api, Cluster, Settings, binaries
from tests.cluster.components import CONTROLLER_MANAGER
from tests.cluster.sigterm import end_cleanly_on_sigterm
from tests.server.conftest import figures, pytest_terminal_summary
from tests.suites import give_time

__all__ = ["end_cleanly_on_sigterm", "figures", "pytest_terminal_summary"]

# A partition is noticed after 8 s instead of 50, and no node waits for its turn to be tainted.
FAST_PARTITIONS = (
    "--node-monitor-grace-period=8s",
    "--node-monitor-period=1s",
    "--node-eviction-rate=10",
    "--secondary-node-eviction-rate=10",
)
# Nodes are objects that nobody judges: they stay as a test writes them. A claim that its binder has seen before its volume is
# looked at again after a second instead of 15.
NOBODY_JUDGES = (
    "--controllers=*,-node-lifecycle-controller,-taint-eviction-controller,-pod-garbage-collector-controller",
    "--pvclaimbinder-sync-period=1s",
)
ELSEWHERE = ("elsewhere-1", "elsewhere-2")


HERE = Path(__file__).parent
TEST_LIMIT_S = 400  # for a test with its fixtures: clusters to start, a grace period, ten changes of leader


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Give these tests the time that real controllers take."""
    give_time(HERE, items, TEST_LIMIT_S)


def pytest_collection_finish(session: pytest.Session) -> None:
    """Build the programs before the first test: no test's time, and progress that can be seen."""
    if session.config.option.collectonly or not any(item.path.is_relative_to(HERE) for item in session.items):
        return
    capture = session.config.pluginmanager.getplugin("capturemanager")
    with capture.global_and_fixture_disabled():
        binaries.control_plane()
        if any(item.path.name == "test_alerts.py" for item in session.items):
            binaries.promtool()


@pytest.fixture(scope="session")
def cluster() -> Iterator[Cluster]:
    """A control plane that notices partitions fast. Named after this process: other runs are not in its way."""
    with Cluster(Settings(f"apiserver-{os.getpid()}", {CONTROLLER_MANAGER: FAST_PARTITIONS})) as running:
        yield running


@pytest.fixture(scope="session")
def quiet_cluster() -> Iterator[Cluster]:
    """A control plane that leaves nodes and their pods alone, with Gatehouse's rights."""
    with Cluster(Settings(f"quiet-{os.getpid()}", {CONTROLLER_MANAGER: NOBODY_JUDGES})) as running:
        with running.api() as api:
            registration.apply_rbac(api)
        yield running


@pytest.fixture(scope="session")
def faulty_minute(quiet_cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Future[Minute]]:
    """A minute of faults, from its first use on, in a thread of its own."""
    with ThreadPoolExecutor(1, "test/minute") as pool:
        yield pool.submit(minute.pass_by, quiet_cluster, tmp_path_factory.mktemp("minute"))


@pytest.fixture(scope="session")
def admin(cluster: Cluster) -> Iterator[Api]:
    """The administrator's client: for the tests' own hands, never for Gatehouse."""
    with cluster.api() as api:
        registration.apply_rbac(api)
        yield api


@pytest.fixture(scope="session")
def heartbeats(cluster: Cluster, admin: Api) -> Iterator[Heartbeats]:
    """Heartbeats of nodes, with two live nodes in a zone that never goes silent."""
    with Heartbeats(cluster.api()) as beating:
        for name in ELSEWHERE:
            beating.add(name)
            nodes.create_node(admin, name, "elsewhere")
        yield beating


@pytest.fixture(scope="session")
def audit(cluster: Cluster) -> AuditLog:
    """The API server's audit log from its start on."""
    return AuditLog(cluster.audit_log)
