"""The version is asked once, beside everything else, and told if it is too old for something."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from controllers.compatibility.cluster_version import TIMEOUT_S, ClusterVersion
from controllers.compatibility.requirements import POD_IP, REQUIREMENTS, WEBHOOKS
from controllers.runtime.rest import RestClient
from controllers.testing import answers
from controllers.testing.api import FakeApi
from controllers.testing.clock import FakeClock
from webhook.clock import Deadline, SystemClock
from webhook.telemetry import Telemetry

OLD = b'{"major": "1", "minor": "31", "gitVersion": "v1.31.9-gke.100"}'
WITHIN_S = 10.0


class Scene:
    def __init__(self, api: FakeApi, folder: Path) -> None:
        self.api, self.clock, self.telemetry = api, FakeClock(), Telemetry()
        client = RestClient.from_kubeconfig(api.kubeconfig(folder), self.telemetry, SystemClock())
        self.version = ClusterVersion(client, REQUIREMENTS, self.telemetry, self.clock)

    def known(self) -> dict:
        self.api.until(lambda: self.version.status()["version"] is not None, WITHIN_S)
        return self.version.status()

    def thread(self) -> threading.Thread:
        return vars(self.version)["_thread"]


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Scene]:
    with FakeApi() as api:
        yield Scene(api, tmp_path)


@contextmanager
def running(scene: Scene) -> Iterator[Scene]:
    scene.version.start()
    try:
        yield scene
    finally:
        scene.version.stop(Deadline.after(WITHIN_S, SystemClock()))
        assert not scene.thread().is_alive()


def test_an_old_api_server_is_told_of_with_part_version_and_minimum(scene: Scene, caplog: pytest.LogCaptureFixture) -> None:
    scene.api.always("get", answers.body(OLD), "/version")
    with running(scene):
        assert scene.known() == {
            "version": "v1.31.9-gke.100",
            "tested": False,
            "tooOldFor": [
                {"part": "features.podIP", "minimum": "1.32"},
                {"part": "controllers.databaseInstance", "minimum": "1.32"},
            ],
        }
        scene.thread().join(WITHIN_S)

    errors = [record.getMessage() for record in caplog.records if record.levelname == "ERROR"]
    assert errors[0].startswith("features.podIP needs Kubernetes 1.32, and the API server is v1.31.9-gke.100")
    assert len(errors) == 2
    assert 'gatehouse_kubernetes_too_old{minimum="1.32",part="features.podIP"} 1.0' in scene.telemetry.expose().decode()


@pytest.mark.parametrize("body", [b"{}", b'{"gitVersion": "develop"}', b'{"gitVersion": 1, "major": [], "minor": {}}'])
def test_a_version_that_cannot_be_read_is_no_claim(scene: Scene, body: bytes, caplog: pytest.LogCaptureFixture) -> None:
    scene.api.always("get", answers.body(body), "/version")
    with running(scene):
        assert scene.known()["tooOldFor"] == []
        scene.thread().join(WITHIN_S)

    assert [record.levelname for record in caplog.records if "cannot be read" in record.getMessage()] == ["WARNING"]


@pytest.mark.parametrize("body", [b"null", b"[]", b'"v1.37.2"', b"<html>"])
def test_an_answer_that_is_no_version_at_all_is_told_once_and_asked_for_again(
    scene: Scene, body: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    scene.api.always("get", answers.body(body), "/version")
    with running(scene):
        for pause_s in (1.0, 2.0):
            assert scene.clock.until_waiting() == [pause_s]
            if pause_s == 2.0:
                scene.api.always("get", answers.body(OLD), "/version")
            scene.clock.advance(pause_s)

        assert scene.known()["version"] == "v1.31.9-gke.100"
    assert [record.levelname for record in caplog.records if "cannot be read" in record.getMessage()] == ["WARNING"]


def test_it_is_asked_once(scene: Scene) -> None:
    scene.api.always("get", answers.body(b'{"gitVersion": "v1.36.0"}'), "/version")
    with running(scene):
        assert scene.known()["tested"] is True
        scene.thread().join(WITHIN_S)

        assert not scene.thread().is_alive()
    assert scene.api.count("get", "/version") == 1


def test_an_api_server_that_is_away_is_asked_again_ever_more_rarely(scene: Scene) -> None:
    scene.api.always("get", answers.status(503), "/version")
    with running(scene):
        for pause_s in (1.0, 2.0, 4.0):
            assert scene.clock.until_waiting() == [pause_s]
            if pause_s == 4.0:
                scene.api.always("get", answers.body(OLD), "/version")
            scene.clock.advance(pause_s)

        assert scene.known()["version"] == "v1.31.9-gke.100"
    assert scene.api.count("get", "/version") == 4


def test_a_right_that_is_missing_is_asked_for_once(scene: Scene) -> None:
    scene.api.always("get", answers.status(403), "/version")
    with running(scene):
        scene.thread().join(WITHIN_S)

        assert scene.version.status() == {"version": None, "tested": None, "tooOldFor": []}
    assert scene.api.count("get", "/version") == 1


def test_an_answer_without_a_version_leaves_no_connection_open(scene: Scene, caplog: pytest.LogCaptureFixture) -> None:
    before = set(threading.enumerate())
    with caplog.at_level("DEBUG"), running(scene):  # the records are kept, and must not keep the connection
        scene.thread().join(WITHIN_S)

    assert any("does not say its version" in record.getMessage() for record in caplog.records)
    scene.api.until(lambda: set(threading.enumerate()) <= before, WITHIN_S)  # a thread for each connection


def test_its_question_has_a_deadline() -> None:
    asked: list[float | None] = []

    class Api:
        def get(self, path: str, *, timeout_s: float | None = None) -> dict:
            asked.append(timeout_s)
            return {"gitVersion": "v1.29.1"}

        def close(self) -> None:
            asked.append(None)

    version = ClusterVersion(Api(), [WEBHOOKS, POD_IP], Telemetry(), FakeClock())
    version.start()
    version.stop(Deadline.after(WITHIN_S, SystemClock()))

    assert asked == [TIMEOUT_S, None], "asked once, and no connection left idle"
    assert [one["part"] for one in version.status()["tooOldFor"]] == ["webhooks", "features.podIP"]
