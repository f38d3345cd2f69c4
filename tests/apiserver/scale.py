"""Five thousand nodes of 10 KiB in a real API server, written to as fast as it goes, and a Gatehouse process that follows.

Gatehouse is known by what it answers: a review that names every node shows which of them its cache takes for silent and
vouched for. An informer in the test's own process shows the rest: its versions must be the server's.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import re
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import attrs

from controllers.runtime.informer import Informer
from controllers.runtime.projection import nodes_resource
from controllers.runtime.rest import RestClient
from controllers.runtime.store import Change
from tests.apiserver import nodes, registration
from tests.apiserver.asking import Asking
from tests.apiserver.gatehouse import Gatehouse
from tests.apiserver.waiting import wait_for
from tests.bench import objects, reviews
from tests.cluster import Api, Cluster, Json, Settings
from tests.cluster.components import APISERVER_PORT, CONTROLLER_MANAGER
from tests.cluster.network import ADDRESS
from tests.server.balancer import Balancer
from tests.server.figures import Figures
from webhook.clock import Deadline, SystemClock
from webhook.cluster import NodeFacts
from webhook.objects.votes import VotePolicy
from webhook.telemetry import Telemetry

NODES = 5_000
IMAGES = 36  # of each node, which makes it 10 KiB
WRITERS = 8
REPLACED_EVERY = 50  # one in so many writes deletes a node and creates it anew
PROBE = "probe"
PROBE_EVERY_S = 0.2
WITHIN_S = 60.0  # anything here takes seconds on a quiet machine
_SYNCED = re.compile(r"cache synced resource=nodes items=\d+ seconds=(\S+)")
Versions = dict[str, tuple[str, str]]  # name -> uid, resourceVersion


@attrs.frozen
class Scale:
    """What was measured."""

    node_bytes: float  # the mean, as listed
    creates_per_s: float
    ready_s: float  # from the start of the process until it was ready
    sync_s: float  # of that, for the nodes, as it says
    resident_bytes: tuple[int, int]  # synced; after the writes
    writes_per_s: float
    events_per_s: float  # that the informer heard meanwhile
    cpu: float  # of Gatehouse meanwhile, in processors
    lags_s: Sequence[float]  # meanwhile, from an answered write until Gatehouse decides by it
    caught_up_s: float  # the same of the last write of all
    guarded: tuple[set[str], set[str]]  # by Gatehouse; by the server's list
    versions: tuple[Versions, Versions]  # of the informer; of the server's list
    objects: tuple[int, int]  # in Gatehouse's cache; in the server's list

    def show(self, figures: Figures) -> None:
        """Into the table."""
        synced, written = (f"{size / 2**20:.0f}" for size in self.resident_bytes)
        lags = sorted(self.lags_s)
        median_s, worst_s = lags[len(lags) // 2], lags[-1]
        for name, value, target, met in (
            ("created", f"{self.creates_per_s:.0f}/s", "any", True),
            ("start to ready", f"{self.ready_s:.1f} s", "any", True),
            ("of which sync", f"{self.sync_s:.2f} s", "any", True),
            ("resident when synced, after the writes", f"{synced} and {written} MiB", "any", True),
            ("writes", f"{self.writes_per_s:.0f}/s", ">= 500/s", self.writes_per_s >= 500),
            ("events heard of", f"{self.events_per_s:.0f}/s", "any", True),
            ("processors taken meanwhile", f"{self.cpu:.2f}", "< 1", self.cpu < 1),
            ("lag, median and worst", f"{median_s * 1000:.0f} and {worst_s * 1000:.0f} ms", "< 1000 ms", worst_s < 1),
            ("lag of the last write", f"{self.caught_up_s * 1000:.0f} ms", "< 1000 ms", self.caught_up_s < 1),
        ):
            figures.add(f"{NODES} nodes of {self.node_bytes / 1024:.0f} KiB: {name}", value, target, met)


def measure(name: str, folder: Path, seconds: float) -> Scale:
    """All of it, in a cluster of its own called *name*, with *seconds* of writing."""
    with Cluster(Settings(f"{name}-{os.getpid()}")) as cluster, cluster.api() as admin:
        registration.apply_rbac(admin)
        cluster.stop(CONTROLLER_MANAGER)  # it would write to every node too
        creates_per_s = _create_all(admin)
        start_s = time.monotonic()
        with Gatehouse(cluster, folder) as gatehouse, Asking(cluster, gatehouse) as asking:
            ready_s = time.monotonic() - start_s
            with _follower(cluster, folder) as follower:
                return _measure(admin, gatehouse, asking, follower, seconds, creates_per_s, ready_s)


def _measure(
    admin: Api, gatehouse: Gatehouse, asking: Asking, follower: Follower, seconds: float, creates_per_s: float, ready_s: float
) -> Scale:
    usage = _Usage(gatehouse.process.pid)
    synced_bytes, cpu_s, events, start_s = usage.resident_bytes(), usage.cpu_s(), follower.events, time.monotonic()
    writes, lags_s = _write(admin, asking, seconds)
    took_s, cpu_s, events = time.monotonic() - start_s, usage.cpu_s() - cpu_s, follower.events - events
    caught_up_s = _probe(admin, asking, "false")
    # From here on nothing waits for Gatehouse: it has seen the last write.
    listed: list[Json] = admin.get(nodes.NODES)["items"]
    votes = {node["metadata"]["name"]: node["metadata"]["annotations"][nodes.VOTE] for node in listed}
    guarded = asking.guarded(votes.keys() | {objects.node_name(number) for number in range(NODES)})
    versions = {node["metadata"]["name"]: _version(node["metadata"]) for node in listed}
    wait_for(lambda: follower.versions() == versions, WITHIN_S, "the informer's versions are the server's")
    return Scale(
        node_bytes=len(json.dumps(listed, separators=(",", ":"))) / len(listed),
        creates_per_s=creates_per_s,
        ready_s=ready_s,
        sync_s=float(_SYNCED.findall(gatehouse.log())[0]),
        resident_bytes=(synced_bytes, usage.resident_bytes()),
        writes_per_s=writes / took_s,
        events_per_s=events / took_s,
        cpu=cpu_s / took_s,
        lags_s=lags_s,
        caught_up_s=caught_up_s,
        guarded=(guarded, {name for name, vote in votes.items() if vote == "true"}),
        versions=(follower.versions(), versions),
        objects=(int(gatehouse.total("gatehouse_cache_objects", resource="nodes")), len(listed)),
    )


def _create_all(admin: Api) -> float:
    """All nodes, silent and vouched for; nodes a second."""
    start_s = time.monotonic()
    with ThreadPoolExecutor(WRITERS, "test/creators") as pool:
        for done in [pool.submit(_create, admin, number) for number in range(NODES)]:
            done.result()
    nodes.create_node(admin, PROBE, PROBE, "false", ready="Unknown")
    return NODES / (time.monotonic() - start_s)


def _create(admin: Api, number: int) -> None:
    body = objects.node(number, reviews.moment(60.0), ready="Unknown", images=IMAGES)
    for field in ("uid", "resourceVersion", "creationTimestamp", "managedFields"):  # the server's
        del body["metadata"][field]
    admin.create(nodes.NODES, body)


def _write(admin: Api, asking: Asking, seconds: float) -> tuple[int, list[float]]:
    """Write for so long: the writes that were answered, and how far Gatehouse was behind now and then."""
    over = threading.Event()
    with ThreadPoolExecutor(WRITERS, "test/writers") as pool:
        writers = [pool.submit(_writer, admin, first, over) for first in range(WRITERS)]
        try:
            lags_s: list[float] = []
            end_s = time.monotonic() + seconds
            while time.monotonic() < end_s and not any(writer.done() for writer in writers):
                lags_s.append(_probe(admin, asking, "true" if len(lags_s) % 2 == 0 else "false"))
                over.wait(PROBE_EVERY_S)
            if len(lags_s) % 2 == 0:
                lags_s.append(_probe(admin, asking, "true"))
        finally:
            over.set()
        return sum(writer.result() for writer in writers) + len(lags_s), lags_s


def _writer(admin: Api, first: int, over: threading.Event) -> int:
    """Turns votes, and replaces a node now and then, among the nodes that are this writer's; the number of writes."""
    chance, writes = random.Random(first), 0
    votes: dict[int, str] = {}
    while not over.is_set():
        number = chance.randrange(first, NODES, WRITERS)
        path = f"{nodes.NODES}/{objects.node_name(number)}"
        if chance.randrange(REPLACED_EVERY):
            votes[number] = "true" if votes.get(number) == "false" else "false"
            admin.patch(path, {"metadata": {"annotations": {nodes.VOTE: votes[number]}}})
            writes += 1
        else:
            admin.delete(path)
            _create(admin, number)
            votes.pop(number, None)
            writes += 2
    return writes


def _probe(admin: Api, asking: Asking, vote: str) -> float:
    """Seconds from an answered write until Gatehouse decides by it."""
    nodes.set_vote(admin, PROBE, vote)
    start_s = time.monotonic()
    while (asking.guarded([PROBE]) == {PROBE}) != (vote == "true"):
        if time.monotonic() - start_s > WITHIN_S:
            raise AssertionError(f"a vote is not known after {WITHIN_S:g} s")
        time.sleep(0.005)
    return time.monotonic() - start_s


class Follower:
    """An informer, and how many changes it has told of."""

    def __init__(self, informer: Informer[NodeFacts]) -> None:
        self._informer = informer
        self.events = 0

    def hear(self, change: Change[NodeFacts]) -> None:
        """Count; the informer's thread."""
        self.events += 1

    def versions(self) -> Versions:
        """Everything that it has."""
        return {item.key: (item.uid, item.version) for item in self._informer.store.items()}


@contextlib.contextmanager
def _follower(cluster: Cluster, folder: Path) -> Iterator[Follower]:
    """One that has synced. The API server is in another network namespace than this process: a balancer leads there."""
    clock = SystemClock()
    with Balancer([lambda: cluster.namespace.connect(ADDRESS, APISERVER_PORT, 10.0)]) as way:
        kubeconfig = folder / "follower.kubeconfig"
        cluster.credentials.write_kubeconfig(kubeconfig, f"https://127.0.0.1:{way.port}", cluster.credentials.token("admin"))
        client = RestClient.from_kubeconfig(str(kubeconfig), Telemetry(), clock)
        died: list[str] = []
        informer = Informer(
            nodes_resource(VotePolicy()), client, Telemetry(), clock, lambda name, error: died.append(f"{name}: {error!r}")
        )
        follower = Follower(informer)
        informer.add_handler(follower.hear)
        informer.start()
        try:
            wait_for(informer.has_synced, WITHIN_S, "the informer has every node")
            yield follower
        finally:
            informer.stop(Deadline.after(10.0, clock))
            client.close()
        assert died == []


@attrs.frozen
class _Usage:
    """What a process takes, as the kernel counts it."""

    pid: int

    def cpu_s(self) -> float:
        """Processor time so far."""
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def resident_bytes(self) -> int:
        """Memory that it holds."""
        return int(Path(f"/proc/{self.pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def _version(metadata: Json) -> tuple[str, str]:
    return metadata["uid"], metadata["resourceVersion"]
