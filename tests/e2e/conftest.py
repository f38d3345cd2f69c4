"""One cluster for all of it: up, built, deployed on first use, and nothing of it left whatever happens."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.apiserver.addresses import calico
from tests.apiserver.waiting import wait_for
from tests.cluster import Api, binaries
from tests.cluster.sigterm import end_cleanly_on_sigterm
from tests.e2e import grounds, images, installed, pods
from tests.e2e.grounds import Ground
from tests.e2e.installed import Installed
from tests.server.conftest import figures, pytest_terminal_summary
from tests.suites import give_time, ignored_unless_asked_for

__all__ = ["end_cleanly_on_sigterm", "figures", "pytest_terminal_summary"]

HERE = Path(__file__).parent
TEST_LIMIT_S = 300  # for a test with its fixtures
ORDER = (
    "test_deployment",
    "test_sidecars",
    "test_docs",
    "test_bounds",
    "test_databases",
    "test_addresses",
    "test_chaos",
    "test_partition",
    "test_undeployment",
)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave them out unless they are asked for by name: they need root and many minutes."""
    return ignored_unless_asked_for(HERE, config)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Give these tests the time that real nodes take, and their order: what is measured idle first, the end last."""
    give_time(HERE, items, TEST_LIMIT_S)
    items.sort(key=lambda item: ORDER.index(item.path.stem) if item.path.parent == HERE else -1)


def pytest_collection_finish(session: pytest.Session) -> None:
    """Build before the first test: no test's time, and progress that can be seen."""
    if session.config.option.collectonly or not any(item.path.is_relative_to(HERE) for item in session.items):
        return
    capture = session.config.pluginmanager.getplugin("capturemanager")
    with capture.global_and_fixture_disabled():
        binaries.control_plane()
        binaries.node_programs()
        binaries.say("make image …")
        installed.build()


@pytest.fixture(scope="session")
def ground(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ground]:
    """The cluster, with both images on its nodes; when it is gone, nothing of it is."""
    installed.build()
    with grounds.chosen() as chosen:
        chosen.load(installed.IMAGE)
        chosen.load(images.write_stand_in(tmp_path_factory.mktemp("stand-in")))
        yield chosen
    assert chosen.left_behind() == []


@pytest.fixture(scope="session")
def api(ground: Ground) -> Iterator[Api]:
    """The administrator's client; the API server has Calico's kinds and pools."""
    with ground.api() as client, calico.installed(client):
        yield client


@pytest.fixture(scope="session")
def deployed(ground: Ground, api: Api, tmp_path_factory: pytest.TempPathFactory) -> tuple[Installed, float]:
    """The installation, and the seconds that `manifests/install.sh deploy` took."""
    prepared = Installed.prepared(ground, api, tmp_path_factory.mktemp("overlay"))
    took_s = prepared.deploy()
    return prepared, took_s


@pytest.fixture(scope="session")
def gatehouse(deployed: tuple[Installed, float], api: Api) -> Installed:
    """The installation, with the entries of these tests known to every replica."""
    gatehouse, _ = deployed
    pods.make_entries(api)
    pods.make_namespace(api, "warm-up", pods.EVERY_POD)
    wait_for(lambda: pods.is_injected(api, "warm-up"), 30.0, "pods that are injected")
    return gatehouse
