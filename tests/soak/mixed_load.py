"""Every kind of review at once, while the caches follow a cluster that changes all the time; what the process takes meanwhile.

A real API server holds the nodes and pods; writers turn votes and replace pods in it, so that the watches never rest. The load
program sends the reviews, as kube-apiserver would, in windows, each of which is one point of the picture.
"""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import attrs

from tests.apiserver import nodes, registration
from tests.apiserver.conftest import NOBODY_JUDGES
from tests.apiserver.gatehouse import ADMISSION_ONLY, Gatehouse
from tests.apiserver.waiting import wait_for
from tests.apiserver.workloads import pods_path
from tests.bench import objects, reviews
from tests.bench.reviews import Review
from tests.bench.usage import Usage
from tests.cluster import Api, Cluster, Json, Settings
from tests.cluster.components import CONTROLLER_MANAGER
from tests.cluster.kinds import apply
from tests.load.program import Load, Program, Result

NODES = 100
PODS = 300
WRITERS = 2
PAUSE_S = 0.01  # of a writer between two writes
WINDOW_S = 10.0
CALLERS = 2  # of each kind of review
LIMITS: Json = {
    "policies": [{"name": "modest", "absent": "Passes", "container": {"cpu": {"limits": {"max": "4"}}}, "pod": {}}],
}


@attrs.frozen
class Window:
    """What was measured in one window."""

    p99_ms: Mapping[str, float]  # by kind of review
    rps: float  # of all kinds together
    resident_mib: float  # at its end
    threads: int
    processors: float  # taken meanwhile
    writes_per_s: float  # to the API server


def kinds() -> Sequence[Review]:
    """What is sent, all at once."""
    pod = reviews.injected(11)
    return (
        reviews.node_taint(),
        reviews.endpoints(20, nodes=NODES),
        reviews.endpoints(1000, nodes=NODES),
        pod,
        attrs.evolve(pod, name="validate-11k", path="/validate", patched=False),
    )


def run(minutes: float, folder: Path) -> list[Window]:
    """The windows of so many minutes, in a cluster of their own."""
    windows: list[Window] = []
    with (
        Cluster(Settings(f"mixed-{os.getpid()}", {CONTROLLER_MANAGER: NOBODY_JUDGES})) as cluster,
        cluster.api() as admin,
    ):
        registration.apply_rbac(admin)
        for item in objects.injected_namespace():
            apply(admin, item)
        account = f"/api/v1/namespaces/{objects.NAMESPACE}/serviceaccounts/default"
        wait_for(lambda: admin.find(account) is not None, 20.0, "the default ServiceAccount")
        for number in range(NODES):
            ready = "Unknown" if reviews.is_silent(number) else "True"
            nodes.create_node(admin, objects.node_name(number), "edge", "true", ready)
        config = ADMISSION_ONLY | {"features": {"resourceLimits": LIMITS}}
        with Gatehouse(cluster, folder, config=config) as gatehouse, _writing(admin) as writes:
            loads = [_load(gatehouse, review, folder) for review in kinds()]
            end_s = time.monotonic() + minutes * 60.0
            while time.monotonic() < end_s:
                windows.append(_window(cluster, gatehouse, loads, writes))
    return windows


def _load(gatehouse: Gatehouse, review: Review, folder: Path) -> Load:
    body = folder / f"{review.name}.json"
    body.write_bytes(review.body)
    return Load(
        f"https://{gatehouse.addresses['webhook']}{review.path}",
        gatehouse.ca_file,
        (body,),
        callers=CALLERS,
        duration_s=WINDOW_S,
        limit_s=WINDOW_S + 30.0,
        fresh_uid=True,
        check="patch" if review.patched else "allowed",
        allow_local=True,
    )


def _window(cluster: Cluster, gatehouse: Gatehouse, loads: Sequence[Load], writes: Sequence[int]) -> Window:
    pid, start_s, written = gatehouse.process.pid, time.monotonic(), sum(writes)
    before = Usage.of(pid)
    with ThreadPoolExecutor(len(loads), "test/loads") as pool:
        results = list(pool.map(lambda load: _sent(cluster, load), loads))
    took_s, after = time.monotonic() - start_s, Usage.of(pid)
    return Window(
        p99_ms={load.bodies[0].stem: result.latency_us.p99 / 1000 for load, result in zip(loads, results, strict=True)},
        rps=sum(result.done for result in results) / took_s,
        resident_mib=after.resident_mib,
        threads=len(list(Path(f"/proc/{pid}/task").iterdir())),
        processors=(after.processor_s - before.processor_s) / took_s,
        writes_per_s=(sum(writes) - written) / took_s,
    )


def _sent(cluster: Cluster, load: Load) -> Result:
    with Program.start(load, cluster.namespace.command([])) as program:
        result = program.result()
    if result.errors or not result.done:
        raise AssertionError(f"{load.url}: {dict(result.errors) or 'no answer'}")
    return result


@contextmanager
def _writing(admin: Api) -> Iterator[Sequence[int]]:
    """Writers at work; how many writes each has done so far."""
    over = threading.Event()
    counts = [0] * WRITERS
    with ThreadPoolExecutor(WRITERS, "test/writers") as pool:
        writers = [pool.submit(_writer, admin, number, over, counts) for number in range(WRITERS)]
        try:
            yield counts
        finally:
            over.set()
        for writer in writers:
            writer.result()


def _writer(admin: Api, own: int, over: threading.Event, counts: list[int]) -> None:
    """Turn the votes of nodes that are well, so that no answer depends on it, and replace pods."""
    turn = 0
    while not over.wait(PAUSE_S):
        turn += 1
        node = (2 * (turn * WRITERS + own) + 1) % NODES
        nodes.set_vote(admin, objects.node_name(node), "true" if turn % 2 else "false")
        name = f"soak-{own}-{turn % (PODS // WRITERS)}"
        if turn > PODS // WRITERS:
            admin.delete(f"{pods_path(objects.NAMESPACE)}/{name}?gracePeriodSeconds=0")
        container = {"name": "app", "image": "registry.example/app:1"}
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": {"containers": [container]}}
        admin.create(pods_path(objects.NAMESPACE), pod)
        counts[own] += 3


def as_json(windows: Sequence[Window]) -> str:
    """For whoever wants to draw it otherwise."""
    return json.dumps([attrs.asdict(window) for window in windows], indent=1) + "\n"
