"""Watch caches beside client-go's: `python -m tests.bench.caches [--short] [--only KIND=COUNT] [--write] [--json FILE]`.

A real API server holds 1,000, 5,000 and 20,000 nodes of 10 KiB, and 50,000 pods. A process that only follows them is started
in turn, ours and one on controller-runtime; then changes are written while both follow. `make bench-cache` is all of it: about
12 minutes, most of them for writing the objects, which the API server and etcd bound (two cores take some 300 a second, of
however many writers); --short: two. Needs root and Go. Exit codes: 0 measured, 1 something failed, 2 wrong use.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any

import attrs

from tests.apiserver.workloads import create_namespace, pods_path
from tests.bench import objects, page, peers, report, results, reviews
from tests.bench.contenders import GATEHOUSE, REFERENCE, ROOT
from tests.bench.usage import Usage, proportional_mib
from tests.cluster import Api, Cluster, Json, Settings
from tests.cluster.binaries import BuildError
from tests.cluster.cluster import ClusterError
from tests.cluster.components import APISERVER, CONTROLLER_MANAGER
from tests.cluster.processes import Process, Processes

NODES_PATH = "/api/v1/nodes"
IMAGES = 36  # of each node, which makes it 10 KiB
WRITERS = 8
SYNC_WITHIN_S = 120.0
SETTLED_S = 0.5  # until memory is looked at


class CacheError(Exception):
    """A cache did not follow; its figures would mean nothing."""


@attrs.frozen
class Plan:
    """How much is measured."""

    sizes: tuple[tuple[str, int], ...]  # kind and how many of it
    rounds: int
    events: int
    rate: float  # of events, a second


WHOLE = Plan((("nodes", 1_000), ("nodes", 5_000), ("nodes", 20_000), ("pods", 50_000)), rounds=7, events=2_000, rate=200.0)
SHORT = Plan((("nodes", 1_000), ("pods", 2_000)), rounds=3, events=400, rate=200.0)


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


class Caches:
    """The two programs, started in a cluster."""

    def __init__(self, cluster: Cluster, folder: Path) -> None:
        self._cluster = cluster
        self._processes = Processes(folder)
        self._kubeconfig = folder / "kubeconfig"
        self._started = 0
        cluster.credentials.write_kubeconfig(self._kubeconfig, cluster.server, cluster.credentials.token("admin"))

    @contextmanager
    def synced(self, name: str, kind: str) -> Iterator[tuple[Follower, Sync]]:
        """The cache *name* of *kind*, once it has everything."""
        own = [sys.executable, "-m", "tests.bench.follower", str(self._kubeconfig), kind]
        peer = [str(peers.peer_program()), f"-kubeconfig={self._kubeconfig}", f"-follow={kind}"]
        command = self._cluster.namespace.command(own if name == GATEHOUSE.name else peer)
        self._started += 1
        log = f"{name}-{self._started}"  # of its own: what an earlier one said is not this one's word
        server_s = self._server_s()
        process = self._processes.start(log, command, folder=ROOT)
        try:
            said = self._wait(log, process, "synced", lambda value: True)
            server_s = self._server_s() - server_s
            time.sleep(SETTLED_S)
            usage = Usage.of(process.pid)
            held = proportional_mib(process.pid)
            sync = Sync(said["synced"], said["processor"], server_s, usage.resident_mib, held)
            yield Follower(log, process), sync
        finally:
            self._processes.stop(log)

    def wait_until_heard(self, follower: Follower, count: int) -> None:
        """Return once it has heard of *count* changes. Raises CacheError."""
        self._wait(follower.name, follower.process, "heard", lambda value: value >= count)

    def _server_s(self) -> float:
        server = self._cluster.processes.get(APISERVER)
        return Usage.of(server.pid).processor_s if server else 0.0

    def _wait(self, name: str, process: Process, key: str, enough: Callable[[float], bool]) -> dict[str, float]:
        end_s = time.monotonic() + SYNC_WITHIN_S
        while process.alive() and time.monotonic() < end_s:
            for line in reversed(self._processes.log_tail(name, lines=50).splitlines()):
                said: dict[str, float] = json.loads(line) if line.startswith("{") and line.endswith("}") else {}
                if key in said and enough(said[key]):
                    return said
            time.sleep(0.02)
        raise CacheError(f"{name}: not {key} within {SYNC_WITHIN_S:g} s:\n{self._processes.log_tail(name)}")


def measure(plan: Plan, folder: Path) -> report.Json:
    """The section caches. Raises CacheError, ClusterError, BuildError."""
    peers.peer_program()
    found = []
    with Cluster(Settings(f"bench-{os.getpid()}")) as cluster, cluster.api() as admin:
        create_namespace(admin, objects.NAMESPACE)
        cluster.stop(CONTROLLER_MANAGER)  # it would write to every object, and delete pods of nodes that are not there
        caches, there = Caches(cluster, folder), {"nodes": 0, "pods": 0}
        for kind, count in plan.sizes:
            size = _create(admin, kind, there[kind], count)
            there[kind] = count
            found.append(_row(admin, caches, plan, kind, count) | {"bytes": size})
    return {"rounds": plan.rounds, "results": found}


def _row(admin: Api, caches: Caches, plan: Plan, kind: str, count: int) -> Json:
    samples: dict[str, list[Sync]] = {GATEHOUSE.name: [], REFERENCE: []}
    for number in range(plan.rounds):
        for name, runs in samples.items():
            with caches.synced(name, kind) as (_, sync):
                runs.append(sync)
        last = ", ".join(f"{name} {runs[-1].sync_s:.2f} s {runs[-1].resident_mib:.0f} MiB" for name, runs in samples.items())
        _say(f"{count} {kind}: round {number + 1} of {plan.rounds}: {last}")
    events, rate = _follow(admin, caches, plan, kind, count)
    _say(
        f"{count} {kind}: {rate:.0f} writes a second: "
        + ", ".join(f"{name} {one['event_us']:.0f} us, {one['behind_s']:.2f} s behind" for name, one in events.items())
    )
    figures = [field.name for field in attrs.fields(Sync)]
    medians = {
        name: {figure: median(getattr(run, figure) for run in runs) for figure in figures} for name, runs in samples.items()
    }
    ratios = {
        figure: median(
            getattr(own, figure) / max(getattr(other, figure), 1e-9)
            for own, other in zip(samples[GATEHOUSE.name], samples[REFERENCE], strict=True)
        )
        for figure in figures
    }
    ratios["event_us"] = events[GATEHOUSE.name]["event_us"] / max(events[REFERENCE]["event_us"], 1e-9)
    return {
        "kind": kind,
        "objects": count,
        "writes_per_s": round(rate, 1),
        "caches": {name: _rounded(medians[name] | events[name]) for name in samples},
        "ratios": _rounded(ratios),
    }


def _follow(admin: Api, caches: Caches, plan: Plan, kind: str, count: int) -> tuple[dict[str, dict[str, float]], float]:
    """Both follow the same writes: processor time per event and how far each was behind at the end; writes a second.

    The API server, which shares the processors with both and the writers, may take fewer a second than the plan wants.
    """
    with caches.synced(GATEHOUSE.name, kind) as (own, _), caches.synced(REFERENCE, kind) as (peer, _):
        running = {GATEHOUSE.name: own, REFERENCE: peer}
        before = {name: Usage.of(one.process.pid).processor_s for name, one in running.items()}
        begin_s = time.monotonic()
        _write(admin, kind, count, plan)
        last_s = time.monotonic()
        found = {}
        for name, one in running.items():
            caches.wait_until_heard(one, plan.events)
            spent_s = Usage.of(one.process.pid).processor_s - before[name]
            found[name] = {
                "event_us": spent_s / plan.events * 1e6,
                "per_core_s": plan.events / max(spent_s, 1e-9),  # what it could follow, whatever the API server writes here
                "behind_s": time.monotonic() - last_s,
            }
        return found, plan.events / (last_s - begin_s)


def _write(admin: Api, kind: str, count: int, plan: Plan) -> None:
    """So many changes at the plan's rate, or as fast as the API server takes them."""
    begin_s = time.monotonic()

    def write(number: int) -> None:
        time.sleep(max(0.0, begin_s + number / plan.rate - time.monotonic()))
        value = "false" if number // count % 2 == 0 else "true"
        admin.patch(_path(kind, number % count), {"metadata": {"annotations": {objects.VOTE: value, "written": str(number)}}})

    _all(write, range(plan.events))


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
    return {name: float(f"{value:.4g}") for name, value in values.items()}


def _size(text: str) -> tuple[str, int]:
    kind, _, count = text.partition("=")
    if kind not in ("nodes", "pods") or not count.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is not nodes=COUNT or pods=COUNT")
    return kind, int(count)


def _say(message: str) -> None:
    print(f"bench-cache: {message}", file=sys.stderr, flush=True)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure; the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.caches", description="Watch caches beside client-go's.")
    parser.add_argument("--short", action="store_true", help="few objects: a glance, no figures to keep")
    parser.add_argument("--only", metavar="KIND=COUNT", type=_size, action="append", help="so many nodes or pods, nothing else")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write what was measured")
    parser.add_argument("--write", action="store_true", help="write docs/performance.json and render the pages from it")
    options = parser.parse_args(arguments)
    if options.write and (options.short or options.only):
        parser.error("--write is for the whole benchmark: without --short and --only")
    plan = SHORT if options.short else WHOLE
    plan = attrs.evolve(plan, sizes=tuple(options.only)) if options.only else plan
    machine = report.machine()
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # ends as Ctrl-C does: the cluster is taken down
    try:
        with tempfile.TemporaryDirectory(prefix="gatehouse-bench-") as name:
            section = results.stamped(measure(plan, Path(name)), machine)
    except (CacheError, BuildError, ClusterError, KeyboardInterrupt) as error:
        _say(str(error) or "stopped")
        return 1
    print("\n".join(page.caches(section)))
    if options.json:
        options.json.write_text(json.dumps(section, indent=1) + "\n")
    if options.write:
        results.write("caches", section)
        page.render()
    return 0


if __name__ == "__main__":
    sys.exit(main())
