"""SIGTERM while the API server sends reviews: the process leaves in time, and no request of anybody fails."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator

import attrs
import pytest

from tests.apiserver.audit import AuditLog
from tests.apiserver.conftest import ELSEWHERE
from tests.apiserver.gatehouse import ADMISSION_ONLY, Gatehouse
from tests.apiserver.nodes import NODES, Heartbeats
from tests.apiserver.registration import USER
from tests.apiserver.waiting import wait_for
from tests.cluster import Api, Cluster

CALLERS = 4
DELAY_S = 5  # the default, in which it still answers
LEAVES_WITHIN_S = 15.0


@attrs.frozen
class Outcome:
    """One stop under traffic."""

    seconds: float
    exit_code: int | None
    reviews: float  # answered before the signal
    writes: int
    faults: list[str]  # of the writers
    forbidden: list[str]
    log: str


class Traffic:
    """Writers of Node objects, each of whose requests is reviewed."""

    def __init__(self, cluster: Cluster) -> None:
        self._api = cluster.api()
        self._stop = threading.Event()
        self._lock = threading.Lock()  # guards writes and faults
        self._threads = [threading.Thread(target=self._run, name=f"test/writer-{n}", daemon=True) for n in range(CALLERS)]
        self.writes = 0
        self.faults: list[str] = []

    def __enter__(self) -> Traffic:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join(timeout=40.0)
        self._api.close()

    def _run(self) -> None:
        path = f"{NODES}/{ELSEWHERE[0]}?dryRun=All"
        while not self._stop.is_set():
            try:
                self._api.patch(path, {"metadata": {"annotations": {"written": str(time.monotonic())}}})
            except Exception as fault:
                with self._lock:
                    self.faults.append(repr(fault))
            with self._lock:
                self.writes += 1


@pytest.fixture(scope="module")
def outcome(
    cluster: Cluster, admin: Api, heartbeats: Heartbeats, audit: AuditLog, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Outcome]:
    """A stop two seconds into the traffic, which goes on a second longer than the process."""
    since = audit.from_now()
    config = ADMISSION_ONLY | {"webhook": {"shutdownDelay": f"{DELAY_S}s"}}
    gatehouse = Gatehouse(cluster, tmp_path_factory.mktemp("shutdown"), config=config)
    with gatehouse, gatehouse.registration().applied(admin):
        gatehouse.wait_until_called(admin)
        with Traffic(cluster) as traffic:
            reviewed = "controller_runtime_webhook_requests_total"
            wait_for(lambda: gatehouse.total(reviewed, webhook="/node-taint") > 100, 20.0, "traffic")
            reviews = gatehouse.total(reviewed, webhook="/node-taint", code="200")
            seconds = gatehouse.stop()
            time.sleep(1.0)
        exit_code = gatehouse.process.exit_code
        yield Outcome(seconds, exit_code, reviews, traffic.writes, traffic.faults, since.forbidden(USER), gatehouse.log())


def test_it_leaves_within_its_deadline_with_exit_code_0(outcome: Outcome) -> None:
    assert outcome.exit_code == 0, outcome.log
    assert outcome.seconds <= LEAVES_WITHIN_S


def test_no_write_fails_while_it_leaves(outcome: Outcome) -> None:
    assert outcome.reviews > 100
    assert outcome.writes > outcome.reviews
    assert outcome.faults == []


def test_nothing_went_wrong_inside(outcome: Outcome) -> None:
    assert "Traceback" not in outcome.log


def test_its_service_account_was_never_refused(outcome: Outcome) -> None:
    assert outcome.forbidden == []
