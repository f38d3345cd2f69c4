"""Watch caches beside client-go's: `python -m tests.bench.caches [--short] [--only KIND=COUNT] [--write] [--json FILE]`.

A real API server holds 1,000, 5,000 and 20,000 nodes of 10 KiB, and 50,000 pods. A process that only follows them is started
in pairs, ours and one on controller-runtime; then both are left alone for a while, and bursts of changes are written while
both follow. `make bench-cache` is all of it: 10 to 12 minutes, four of them for writing the objects, which the API server and
etcd bound (two cores take some 300 a second, of however many writers); --short: two. Needs root and Go.
Exit codes: 0 measured, 1 something failed, 2 wrong use.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any

import attrs

from tests.apiserver.workloads import create_namespace, pods_path
from tests.bench import objects, page, peers, report, reviews
from tests.bench.command import Benchmark, Part
from tests.bench.contenders import GATEHOUSE, REFERENCE, ROOT
from tests.bench.usage import Usage, proportional_mib
from tests.cluster import Api, Cluster, Json, Settings
from tests.cluster.components import APISERVER, CONTROLLER_MANAGER
from tests.cluster.processes import Process, Processes

NODES_PATH = "/api/v1/nodes"
IMAGES = 36  # of each node, which makes it 10 KiB
WRITERS = 8
SYNC_WITHIN_S = 120.0
SETTLED_S = 0.5  # until memory is looked at
LATER_S = 20.0  # until it is looked at again: Go gives back late what it needed to sync
MANY = 10_000  # objects, of which a sync takes seconds


class CacheError(Exception):
    """A cache did not follow; its figures would mean nothing."""


@attrs.frozen
class Plan:
    """How much is measured."""

    sizes: tuple[tuple[str, int], ...]  # kind and how many of it
    rounds: int  # pairs of syncs
    rounds_of_many: int  # of more than MANY objects
    bursts: int
    events: int  # of each burst
    rate: float  # of events, a second

    def rounds_of(self, count: int) -> int:
        """Pairs of syncs of so many objects."""
        return self.rounds_of_many if count > MANY else self.rounds


WHOLE = Plan((("nodes", 1_000), ("nodes", 5_000), ("nodes", 20_000), ("pods", 50_000)), 7, 3, bursts=7, events=200, rate=200.0)
SHORT = attrs.evolve(WHOLE, sizes=(("nodes", 1_000), ("pods", 2_000)), rounds=3)


@attrs.frozen
class Sync:
    """One start of one cache."""

    sync_s: float
    processor_s: float
    server_s: float  # processor time of the API server meanwhile
    resident_mib: float
    proportional_mib: float


@attrs.frozen
class Follower:
    """A cache that runs."""

    name: str  # of its log
    process: Process

    def processor_s(self) -> float:
        """Its processor time by its own clock, which is exact where /proc counts in ticks; it has no children."""
        return time.clock_gettime((~self.process.pid << 3) | 2)  # MAKE_PROCESS_CPUCLOCK(pid, CPUCLOCK_SCHED)


class Caches:
    """The two programs, started in a cluster."""

    def __init__(self, cluster: Cluster, folder: Path, each: int) -> None:
        self._cluster = cluster
        self._each = each  # of how many changes they tell
        self._processes = Processes(folder)
        self._kubeconfig = folder / "kubeconfig"
        self._started = 0
        cluster.credentials.write_kubeconfig(self._kubeconfig, cluster.server, cluster.credentials.token("admin"))

    @contextmanager
    def synced(self, name: str, kind: str) -> Iterator[tuple[Follower, Sync]]:
        """The cache *name* of *kind*, once it has everything."""
        own = [sys.executable, "-m", "tests.bench.follower", str(self._kubeconfig), kind, str(self._each)]
        peer = [str(peers.peer_program()), f"-kubeconfig={self._kubeconfig}", f"-follow={kind}", f"-each={self._each}"]
        command = self._cluster.namespace.command(own if name == GATEHOUSE.name else peer)
        self._started += 1
        log = f"{name}-{self._started}"  # of its own: what an earlier one said is not this one's word
        server_s = self._server_s()
        process = self._processes.start(log, command, folder=ROOT)
        try:
            said = self._wait(log, process, "synced", lambda value: True)
            server_s = self._server_s() - server_s
            time.sleep(SETTLED_S)
            sync = Sync(said["synced"], said["processor"], server_s, *_memory(process))
            yield Follower(log, process), sync
        finally:
            self._processes.stop(log)

    def heard(self, follower: Follower, count: int) -> tuple[float, float]:
        """Wait until it has heard of *count* changes: the time of day then, its processor time. Any thread; CacheError."""
        at_s = self._wait(follower.name, follower.process, "heard", lambda value: value >= count)["at"]
        return at_s, follower.processor_s()

    def _server_s(self) -> float:
        server = self._cluster.processes.get(APISERVER)
        return Usage.of(server.pid).processor_s if server else 0.0

    def _wait(self, name: str, process: Process, key: str, enough: Callable[[float], bool]) -> dict[str, float]:
        end_s = time.monotonic() + SYNC_WITHIN_S
        while process.alive() and time.monotonic() < end_s:
            for line in self._processes.log_tail(name, lines=50).splitlines():
                said: dict[str, float] = json.loads(line) if line.startswith("{") and line.endswith("}") else {}
                if key in said and enough(said[key]):
                    return said
            time.sleep(0.02)
        raise CacheError(f"{name}: not {key} within {SYNC_WITHIN_S:g} s:\n{self._processes.log_tail(name)}")


def measure(plan: Plan, folder: Path) -> Json:
    """The section caches. Raises CacheError, ClusterError, BuildError."""
    peers.peer_program()
    found = []
    with Cluster(Settings(f"bench-{os.getpid()}")) as cluster, cluster.api() as admin:
        create_namespace(admin, objects.NAMESPACE)
        cluster.stop(CONTROLLER_MANAGER)  # it would write to every object, and delete pods of nodes that are not there
        caches, there = Caches(cluster, folder, plan.events), {"nodes": 0, "pods": 0}
        for kind, count in plan.sizes:
            size = _create(admin, kind, there[kind], count)
            there[kind] = count
            found.append(_row(admin, caches, plan, kind, count) | {"bytes": size})
    fixed = {"rounds": plan.rounds, "bursts": plan.bursts, "burst": plan.events, "later_s": LATER_S}
    return fixed | {"results": found}


def _row(admin: Api, caches: Caches, plan: Plan, kind: str, count: int) -> Json:
    samples: dict[str, list[Sync]] = {GATEHOUSE.name: [], REFERENCE: []}
    rounds = plan.rounds_of(count)
    for number in range(rounds):
        for name, runs in samples.items():
            with caches.synced(name, kind) as (_, sync):
                runs.append(sync)
        last = ", ".join(f"{name} {runs[-1].sync_s:.2f} s {runs[-1].resident_mib:.0f} MiB" for name, runs in samples.items())
        _say(f"{count} {kind}: round {number + 1} of {rounds}: {last}")
    followed, rate = _follow(admin, caches, plan, kind, count)
    figures = [field.name for field in attrs.fields(Sync)]
    read: dict[str, dict[str, list[float]]] = {
        name: {figure: [getattr(run, figure) for run in runs] for figure in figures} | followed[name]
        for name, runs in samples.items()
    }
    medians = {name: _rounded({figure: median(values) for figure, values in one.items()}) for name, one in read.items()}
    last = ", ".join(f"{name} {one['event_us']:.0f} us, {one['behind_s']:.3f} s behind" for name, one in medians.items())
    _say(f"{count} {kind}: {rate:.0f} writes a second: {last}")
    return {
        "kind": kind,
        "objects": count,
        "rounds": rounds,
        "writes_per_s": round(rate, 1),
        "caches": medians,
        "ratios": _ratios(read[GATEHOUSE.name], read[REFERENCE]),
    }


def _ratios(own: dict[str, list[float]], other: dict[str, list[float]]) -> Json:
    """Medians of the ratios of neighbours; of differences in time that may be nothing there is none."""
    found = {}
    for figure in own.keys() - {"behind_s"}:
        found[figure] = median(mine / max(his, 1e-9) for mine, his in zip(own[figure], other[figure], strict=True))
    return _rounded(dict(sorted(found.items())))


def _follow(admin: Api, caches: Caches, plan: Plan, kind: str, count: int) -> tuple[dict[str, dict[str, list[float]]], float]:
    """Both follow the same bursts: what they hold before, processor time per event and how far each is behind; writes a second.

    The API server, which shares the processors with both and the writers, may take fewer a second than the plan wants.
    """
    with (
        caches.synced(GATEHOUSE.name, kind) as (own, _),
        caches.synced(REFERENCE, kind) as (peer, _),
        ThreadPoolExecutor(2, "bench/heard") as waiting,
    ):
        running = {GATEHOUSE.name: own, REFERENCE: peer}
        time.sleep(LATER_S)
        found: dict[str, dict[str, list[float]]] = {}
        for name, one in running.items():
            resident, proportional = _memory(one.process)
            found[name] = {"later_resident_mib": [resident], "later_proportional_mib": [proportional]}
            found[name] |= {"event_us": [], "behind_s": []}
        before = {name: one.processor_s() for name, one in running.items()}
        rates = []
        for burst in range(plan.bursts):
            told = {name: waiting.submit(caches.heard, one, (burst + 1) * plan.events) for name, one in running.items()}
            begin_s = time.time()
            last_s = _write(admin, kind, count, plan, burst * plan.events)
            rates.append(plan.events / (last_s - begin_s))
            for name, answer in told.items():
                heard_s, spent_s = answer.result()
                found[name]["event_us"].append((spent_s - before[name]) / plan.events * 1e6)
                found[name]["behind_s"].append(max(0.0, heard_s - last_s))  # it may hear before the writer has its answer
                before[name] = spent_s
        return found, median(rates)


def _memory(process: Process) -> tuple[float, float]:
    """Resident and proportional, MiB."""
    return Usage.of(process.pid).resident_mib, proportional_mib(process.pid)


def _write(admin: Api, kind: str, count: int, plan: Plan, first: int) -> float:
    """A burst, from the change *first* on, at the plan's rate or as fast as the API server can: when the last was answered."""
    begin_s = time.monotonic()
    answered_s: list[float] = []

    def write(number: int) -> None:
        time.sleep(max(0.0, begin_s + (number - first) / plan.rate - time.monotonic()))
        value = "false" if number // count % 2 == 0 else "true"
        written = f"{count}-{number}"  # another one than in an earlier row: what changes nothing is no event
        admin.patch(_path(kind, number % count), {"metadata": {"annotations": {objects.VOTE: value, "written": written}}})
        answered_s.append(time.time())

    _all(write, range(first, first + plan.events))
    return max(answered_s)


def _create(admin: Api, kind: str, there: int, count: int) -> float:
    """Objects up to *count*; the mean bytes of one as they are sent."""
    since = reviews.moment(60.0)
    sizes: list[int] = []
    told = itertools.count(1)

    def create(number: int) -> None:
        body = _object(kind, number, since)
        sizes.append(len(json.dumps(body, separators=(",", ":"))))
        admin.create(NODES_PATH if kind == "nodes" else pods_path(objects.NAMESPACE), body)
        if (written := next(told)) % 2_500 == 0:
            _say(f"{there + written} of {count} {kind} are written")

    began_s = time.monotonic()
    _all(create, range(there, count))
    _say(f"{count - there} {kind} took {time.monotonic() - began_s:.0f} s to write")
    return sum(sizes) / max(1, len(sizes))


def _object(kind: str, number: int, since: str) -> Json:
    if kind == "nodes":
        body = objects.node(number, since, ready="Unknown" if reviews.is_silent(number) else "True", images=IMAGES)
    else:
        body = objects.pod(number, number % reviews.NODES, since)
        body["spec"] |= {"serviceAccountName": "default", "automountServiceAccountToken": False}
        del body["spec"]["priority"], body["spec"]["preemptionPolicy"]
    for field in ("uid", "resourceVersion", "creationTimestamp", "managedFields"):  # the server's
        del body["metadata"][field]
    return body


def _path(kind: str, number: int) -> str:
    if kind == "nodes":
        return f"{NODES_PATH}/{objects.node_name(number)}"
    return f"{pods_path(objects.NAMESPACE)}/{objects.pod_name(number)}"


def _all(do: Callable[[int], None], numbers: Sequence[int]) -> None:
    with ThreadPoolExecutor(WRITERS, "bench/writers") as pool:
        for done in [pool.submit(do, number) for number in numbers]:
            done.result()


def _rounded(values: dict[str, float]) -> dict[str, Any]:
    return {name: report.four_digits(value) for name, value in values.items()}


def _size(text: str) -> tuple[str, int]:
    kind, _, count = text.partition("=")
    if kind not in ("nodes", "pods") or not count.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is not nodes=COUNT or pods=COUNT")
    return kind, int(count)


def _plan(short: bool, only: Sequence[tuple[str, int]]) -> Plan:
    plan = SHORT if short else WHOLE
    return attrs.evolve(plan, sizes=tuple(only)) if only else plan


BENCHMARK = Benchmark(
    section="caches",
    program="bench-cache",
    what="Watch caches beside client-go's.",
    measure=lambda short, only, folder: measure(_plan(short, only), folder),
    chapter=page.caches,
    failures=(CacheError,),
    part=Part("KIND=COUNT", "so many nodes or pods, nothing else", _size),
)
_say, main = BENCHMARK.say, BENCHMARK.main


if __name__ == "__main__":
    sys.exit(main())
