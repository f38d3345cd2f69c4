"""The API server goes silent, comes back, and is then restarted with a compacted etcd from which a node is missing.

Gatehouse keeps answering and stays ready, does not hammer the API server, and ends with the cluster's state in its caches:
no watch can tell it of the node that vanished, since every revision that had it is gone.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator

import attrs
import pytest

from tests.apiserver import nodes, workloads
from tests.apiserver.audit import AuditLog
from tests.apiserver.gatehouse import Gatehouse
from tests.apiserver.lengths import long
from tests.apiserver.registration import USER
from tests.apiserver.waiting import wait_for
from tests.cluster import Api, Cluster, Json
from tests.cluster.components import APISERVER

SILENCE_S = long(20.0, 10.0)
DOWN_S = long(8.0, 5.0)  # nobody listens, so that each try is refused at once: where a loop without backoff shows
LOOK_ON_S = long(20.0, 8.0)
CONVERGE_S = 45.0  # a try within the first seconds may still be refused, and then waits for up to half a minute
# Two collections, a silence, a restart: a list and a watch each time, tries with backoff in between, and as much again.
REQUESTS_AT_MOST = 40
NAMESPACE = "outage"


@attrs.frozen
class Outcome:
    """What was seen of one outage."""

    kept_before: set[str]
    kept_after_silence: set[str]
    converged_s: float  # after the restart
    answers: list[int]  # /readyz, five times a second: HTTP status, 0 for no answer
    refused: float  # tries that found nobody listening, by Gatehouse's own count
    attempts: float  # requests that Gatehouse made or tried to make, by its own count
    audited: int  # those that the API server saw
    forbidden: list[str]


class Sampler:
    """Asks /readyz five times a second inside its block."""

    def __init__(self, gatehouse: Gatehouse) -> None:
        self._probes = gatehouse.probes
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="test/readyz", daemon=True)
        self.answers: list[int] = []

    def __enter__(self) -> Sampler:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join(timeout=40.0)

    def _run(self) -> None:
        while not self._stop.wait(0.2):
            try:
                self.answers.append(self._probes.call("GET", "/readyz").status)
            except OSError:
                self.answers.append(0)


@pytest.fixture(scope="module")
def outcome(quiet_cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Outcome]:
    """One outage, among silent nodes with a pod each that looks as the node controller leaves it."""
    with quiet_cluster.api() as admin:
        workloads.create_namespace(admin, NAMESPACE)
        for name, vote in {"leaves": "true", "turns-well": "false", "turns-ill": "true"}.items():
            _create(admin, name, vote)
        with (
            Gatehouse(quiet_cluster, tmp_path_factory.mktemp("outage")) as gatehouse,
            gatehouse.registration().applied(admin),
        ):
            gatehouse.wait_until_called(admin)
            yield _outage(quiet_cluster, admin, gatehouse)


def _outage(cluster: Cluster, admin: Api, gatehouse: Gatehouse) -> Outcome:
    log = AuditLog(cluster.audit_log).from_now()
    before = gatehouse.total("rest_client_requests_total")
    with Sampler(gatehouse) as sampler:
        kept_before = _kept(admin)

        cluster.suspend(APISERVER)
        time.sleep(SILENCE_S)
        cluster.resume(APISERVER)
        kept_after_silence = _kept(admin)

        forbidden = log.forbidden(USER)
        cluster.stop(APISERVER)
        cluster.forget("/registry/minions/leaves")
        cluster.compact()
        time.sleep(DOWN_S)
        refused = gatehouse.total("rest_client_requests_total", code="<error>")
        cluster.start(APISERVER)
        # Until it says that it is ready, an API server that starts may refuse everybody: it has not read the roles yet.
        started = log.from_now()
        nodes.set_vote(admin, "turns-well", "true")
        nodes.set_vote(admin, "turns-ill", "false")
        _create(admin, "comes", "true")
        converged_s = wait_for(lambda: _kept(admin) == {"comes", "turns-well"}, CONVERGE_S, "caches as the cluster is")

        time.sleep(LOOK_ON_S)
        attempts = gatehouse.total("rest_client_requests_total") - before
    return Outcome(
        kept_before,
        kept_after_silence,
        converged_s,
        sampler.answers,
        refused,
        attempts,
        len(log.requests(USER)),
        forbidden + started.forbidden(USER),
    )


def test_reviews_are_answered_from_the_caches_before_and_after_the_silence(outcome: Outcome) -> None:
    assert outcome.kept_before == {"leaves", "turns-ill"}
    assert outcome.kept_after_silence == {"leaves", "turns-ill"}


def test_the_caches_converge_after_a_restart_with_compaction(outcome: Outcome) -> None:
    assert outcome.converged_s <= CONVERGE_S


def test_readiness_never_flaps(outcome: Outcome) -> None:
    assert set(outcome.answers) == {200}
    assert len(outcome.answers) > SILENCE_S


def test_the_api_server_is_not_hammered(outcome: Outcome) -> None:
    assert 0 < outcome.refused <= outcome.attempts <= REQUESTS_AT_MOST
    assert outcome.audited <= REQUESTS_AT_MOST


def test_its_service_account_was_never_refused(outcome: Outcome) -> None:
    assert outcome.forbidden == []


def _create(api: Api, name: str, vote: str) -> None:
    nodes.create_node(api, name, "outage", vote, ready="Unknown")
    workloads.create_pod(api, NAMESPACE, name, name, _ADDRESSES[name], {}, ready="False")


_ADDRESSES = {name: f"10.210.0.{number}" for number, name in enumerate(("leaves", "comes", "turns-well", "turns-ill"), 1)}


def _kept(api: Api) -> set[str]:
    """The nodes whose address the API server would store as ready: a dry run of a slice in which none is."""
    endpoints: list[Json] = [
        {
            "addresses": [address],
            "nodeName": node,
            "conditions": {"ready": False, "serving": False, "terminating": False},
            "targetRef": {"kind": "Pod", "namespace": NAMESPACE, "name": node},
        }
        for node, address in _ADDRESSES.items()
    ]
    metadata = {"name": "probe", "namespace": NAMESPACE, "labels": {"kubernetes.io/service-name": "probe"}}
    body: Json = {"apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "metadata": metadata}
    body |= {"addressType": "IPv4", "endpoints": endpoints}
    answer = api.create(f"{workloads.slices_path(NAMESPACE)}?dryRun=All", body)
    return {item["nodeName"] for item in answer["endpoints"] if item["conditions"]["ready"]}
