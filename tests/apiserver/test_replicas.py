"""Two replicas behind a balancer, one of which leaves or has too much to do: the API server calls again, nobody notices.

The registrations are made strict (failurePolicy Fail), so that a call which is not answered in the end fails the write.
The API server counts calls, the replicas count what reached them: what is more at the replicas are its retries.
Source: k8s.io/client-go rest/with_retry.go (Retry-After on 5xx).
"""

from __future__ import annotations

import json
import re
import ssl
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import attrs
import pytest

from tests.apiserver import workloads
from tests.apiserver.audit import AuditLog
from tests.apiserver.gatehouse import ADMISSION_ONLY, Gatehouse
from tests.apiserver.lengths import many
from tests.apiserver.registration import ENDPOINT_SLICES, ENDPOINTS, Registration
from tests.apiserver.waiting import wait_for
from tests.cluster import Api, Cluster, Json
from tests.cluster.components import APISERVER_PORT
from tests.cluster.network import ADDRESS
from tests.controllers.served import EXAMPLE
from tests.server.balancer import Balancer
from tests.server.client import post
from webhook.objects.documents import read_documents

NAMESPACE = "replicas"
WRITERS, ROUNDS = 4, many(6, 3)
DELAY_S = 2
TRIES_FOR_S = 10
_CALLS = re.compile(r'^apiserver_admission_webhook_request_total\{code="(\d+)",name="endpoint.*\} (\S+)$', re.MULTILINE)
_NOT_DECIDED = re.compile(r"review not decided .*status=503")
SLICE_REVIEW = EXAMPLE / "reviews" / "3-endpointslice.yaml"


class Hanging(Gatehouse):
    """A replica that never answers reviews whose uid begins with "hang"."""

    program = ("-m", "tests.server.weakened", "hangs")


class Mute(Gatehouse):
    """The same, which does not ask to be called again when it refuses."""

    program = ("-m", "tests.server.weakened", "hangs,asks-for-no-retry")


@attrs.frozen
class Outcome:
    """What came of writing while one replica was in trouble."""

    writes: int
    faults: list[str]  # of the writers
    refusals: int  # 503s that the troubled replica gave
    calls: Counter[str]  # of the API server, by the status that each ended with
    failed_open: list[str]

    def nobody_noticed(self) -> bool:
        """Whether every write succeeded, and every call in the end, some of them not at once."""
        return not self.faults and not self.failed_open and self.calls == {"200": 2 * self.writes} and self.refusals > 0


@attrs.frozen
class Writers:
    """Writes slices in rounds, all writers at once and each round on new connections, so that each replica gets its share."""

    cluster: Cluster
    admin: Api
    balancer: Balancer
    prefix: str
    faults: list[str] = attrs.field(factory=list)
    written: list[str] = attrs.field(factory=list)

    def round(self) -> None:
        """A create and an update by each."""
        self.balancer.sever()
        time.sleep(0.05)  # until the API server has seen it
        names = [f"{self.prefix}-{len(self.written) + number}" for number in range(WRITERS)]
        threads = [threading.Thread(target=self._write, args=(name,), name=f"test/{name}") for name in names]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.written.extend(names)

    def _write(self, name: str) -> None:
        path = workloads.slices_path(NAMESPACE)
        metadata = {"name": name, "labels": {"kubernetes.io/service-name": "none"}}
        body: Json = {"apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "metadata": metadata}
        try:
            with self.cluster.api() as api:
                api.create(path, {**body, "addressType": "IPv4", "endpoints": []})
                api.patch(f"{path}/{name}", {"metadata": {"labels": {"written": "twice"}}})
        except Exception as fault:
            self.faults.append(repr(fault))


def calls(cluster: Cluster) -> Counter[str]:
    """The API server's calls of the endpoint service so far, by status."""
    context = ssl.create_default_context(cafile=str(cluster.credentials.ca_file))
    headers = {"Authorization": f"Bearer {cluster.credentials.token('admin')}"}
    with cluster.connections(APISERVER_PORT, context, ADDRESS) as connections:
        page = connections.call("GET", "/metrics", headers=headers).body.decode()
    found: Counter[str] = Counter()
    for code, count in _CALLS.findall(page):
        found[code] += int(float(count))
    return found


def strict(printed: Registration) -> Registration:
    """With failurePolicy Fail, and time for many tries: a second apart, three in a row may come to the same replica."""
    return Registration(
        [
            {
                **item,
                "webhooks": [{**hook, "failurePolicy": "Fail", "timeoutSeconds": TRIES_FOR_S} for hook in item["webhooks"]],
            }
            for item in printed.configurations
        ]
    )


@contextmanager
def occupied(cluster: Cluster, replica: Gatehouse) -> Iterator[None]:
    """Inside the block a review that is never answered takes one of the replica's places."""
    (document,) = read_documents(SLICE_REVIEW.read_bytes(), SLICE_REVIEW.name)
    document.value["request"]["uid"] = "hang"
    host, _, port = replica.addresses["webhook"].rpartition(":")
    trusting = ssl.create_default_context(cafile=str(replica.ca_file))
    with cluster.namespace.connect(host, int(port), 10.0) as raw, trusting.wrap_socket(raw, server_hostname=host) as held:
        held.sendall(post(json.dumps(document.value).encode(), "/endpoint?timeout=30s", ["Content-Type: application/json"]))
        wait_for(lambda: replica.total("gatehouse_server_requests_in_flight") >= 1, 5.0, "a review that hangs")
        yield


@contextmanager
def two_replicas(cluster: Cluster, folder: Path, first: type[Gatehouse], config: Json) -> Iterator[tuple[Writers, Gatehouse]]:
    """Writers whose reviews go to two replicas in turn; the first of them, of which *config* is, will be in trouble."""
    with ExitStack() as stack:
        replicas = []
        for name, kind, section in (("troubled", first, config), ("sound", Gatehouse, {})):
            own = folder / f"{folder.name}-{name}"  # a replica is known by its folder's name
            own.mkdir()
            made = kind(cluster, own, config=ADMISSION_ONLY | {"webhook": section})
            replicas.append(stack.enter_context(made))
        addresses = [replica.addresses["webhook"].rpartition(":") for replica in replicas]
        balancer = stack.enter_context(
            Balancer(
                [lambda host=host, port=port: cluster.namespace.connect(host, int(port), 5.0) for host, _, port in addresses],
                listener=cluster.namespace.listen(),
            )
        )
        ca_file = folder / "both.pem"
        ca_file.write_bytes(b"".join(replica.ca_file.read_bytes() for replica in replicas))
        printed = Registration.printed(f"https://127.0.0.1:{balancer.port}", ca_file).only(ENDPOINTS, ENDPOINT_SLICES)
        admin = stack.enter_context(cluster.api())
        stack.enter_context(strict(printed).applied(admin))
        writers = Writers(cluster, admin, balancer, f"{folder.name.replace('_', '-')}")

        def reviewed() -> bool:
            writers.round()
            return all(
                replica.total("controller_runtime_webhook_requests_total", webhook="/endpoint") > 0 for replica in replicas
            )

        wait_for(reviewed, 20.0, "reviews at both replicas")
        yield writers, replicas[0]


def refusals(replica: Gatehouse) -> int:
    return len(_NOT_DECIDED.findall(replica.log()))


@pytest.fixture(scope="module")
def namespace(quiet_cluster: Cluster) -> Cluster:
    """The cluster, with a namespace for the slices."""
    with quiet_cluster.api() as admin:
        workloads.create_namespace(admin, NAMESPACE)
    return quiet_cluster


@contextmanager
def observed(cluster: Cluster, writers: Writers, replica: Gatehouse) -> Iterator[list[Outcome]]:
    """What happens inside the block, in the list after it."""
    since, before, written = AuditLog(cluster.audit_log).from_now(), calls(cluster), len(writers.written)
    outcome: list[Outcome] = []
    yield outcome
    writes = len(writers.written) - written
    outcome.append(Outcome(writes, writers.faults, refusals(replica), calls(cluster) - before, since.failed_open()))


def overloaded(cluster: Cluster, folder: Path, kind: type[Gatehouse]) -> Outcome:
    """Rounds of writes while one replica has as much to do as it may."""
    with (
        two_replicas(cluster, folder, kind, {"limits": {"maxInFlight": 1}}) as (writers, replica),
        occupied(cluster, replica),
        observed(cluster, writers, replica) as outcome,
    ):
        for _ in range(ROUNDS):
            writers.round()
    return outcome[0]


def test_no_write_fails_while_one_replica_is_overloaded(namespace: Cluster, tmp_path: Path) -> None:
    outcome = overloaded(namespace, tmp_path, Hanging)

    assert outcome.nobody_noticed(), outcome
    assert outcome.refusals >= ROUNDS


def test_writes_would_fail_if_a_refusal_did_not_ask_for_a_retry(namespace: Cluster, tmp_path: Path) -> None:
    outcome = overloaded(namespace, tmp_path, Mute)

    assert len(outcome.faults) >= ROUNDS
    assert outcome.calls["503"] >= ROUNDS


def test_no_write_fails_while_one_replica_leaves(namespace: Cluster, tmp_path: Path) -> None:
    with (
        two_replicas(namespace, tmp_path, Gatehouse, {"shutdownDelay": f"{DELAY_S}s"}) as (writers, replica),
        observed(namespace, writers, replica) as outcome,
    ):
        leaving = threading.Thread(target=replica.stop, name="test/leaving")
        leaving.start()
        while leaving.is_alive():
            writers.round()
        writers.round()
        assert replica.process.exit_code == 0

    assert outcome[0].nobody_noticed(), outcome[0]
