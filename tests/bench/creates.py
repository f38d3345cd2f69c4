"""Pod creates at a real API server, without a webhook, with Gatehouse and with the peer: `python -m tests.bench.creates`.

In one scene both inject the same sidecar, in the other they give fixed addresses of the same pool. They are registered in the
same words, one at a time; the three take turns, and are compared round by round. Three minutes, --short one. Needs root and Go.
Exit codes: 0 measured, 1 something failed, 2 wrong use.
"""

from __future__ import annotations

import base64
import json
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from urllib.parse import urlsplit

import attrs
import trustme

from tests.apiserver import injection, registration
from tests.apiserver.addresses.objects import make_pool
from tests.apiserver.addresses.stage import serve_addresses
from tests.apiserver.conftest import NOBODY_JUDGES
from tests.apiserver.gatehouse import ADMISSION_ONLY, Gatehouse
from tests.apiserver.registration import Registration
from tests.apiserver.waiting import wait_for
from tests.apiserver.workloads import delete_pods, pods_path
from tests.bench import objects, page, peers, report, targets
from tests.bench.command import Benchmark
from tests.bench.contenders import GATEHOUSE, PEER, ROOT
from tests.bench.usage import Usage
from tests.cluster import Api, Cluster, Json, Settings
from tests.cluster.components import CONTROLLER_MANAGER
from tests.cluster.kinds import apply
from tests.cluster.processes import Process, Processes
from webhook.names import ALLOCATED_IP, IP_POOL

NONE = "none"
VARIABLES = 15  # of a pod's environment, which make its review 4 KiB
CALLERS = 8
WITHIN_S = 30.0
WHOLE, SHORT = (7, 400), (2, 200)  # rounds, and creates of each
RESERVATIONS_PATH = "/apis/gatehouse.dev/v1alpha1/addressreservations"


@attrs.frozen
class Webhook:
    """One that runs and may be registered."""

    process: Process
    registration: Registration


@attrs.frozen
class Run:
    """Creates of one round. Times are milliseconds."""

    rate: float  # creates a second
    p50_ms: float
    p99_ms: float
    processor_us: float  # of the webhook, per create


@attrs.frozen
class Scene:
    """What the webhooks do to pods."""

    name: str
    what: str  # for the reader of the figures
    path: str  # that is asked
    labels: Mapping[str, str]  # of the pods
    config: Json  # of Gatehouse
    done: Callable[[Json], bool]  # whether a pod has it


def _has_sidecar(pod: Json) -> bool:
    return any(one["name"] == "envoy" for one in [*pod["spec"]["containers"], *pod["spec"].get("initContainers", ())])


SCENES = (
    Scene("sidecar", "both inject the same sidecar", "/mutate", {}, ADMISSION_ONLY, _has_sidecar),
    Scene(
        "pod-ip",
        "both give a fixed address of the same pool, each with a reservation at the API server; the peer knows neither the "
        "network's own use of addresses nor who had one before, and gives nothing back",
        "/pod-ip",
        {IP_POOL: peers.POOL},
        {
            "features": {"podIP": {"enabled": True}},
            "controllers": {"edgeHealth": {"enabled": False}, "coverage": {"enabled": False}, "podIP": {"enabled": False}},
            "clientConnection": {"qps": 5000, "burst": 5000},  # as the peer, which has no limit of its own
        },
        lambda pod: ALLOCATED_IP in pod["metadata"].get("labels", {}),
    ),
)


def measure(rounds: int, count: int, folder: Path) -> Json:
    """The section creates. Raises ClusterError, BuildError, AssertionError when a webhook does not work."""
    peers.peer_program()
    settings = Settings(f"bench-{os.getpid()}", {CONTROLLER_MANAGER: NOBODY_JUDGES})
    with Cluster(settings) as cluster, cluster.api() as admin:
        version = admin.get("/version")["gitVersion"]
        registration.apply_rbac(admin)
        for item in objects.injected_namespace():
            apply(admin, item)
        injection.namespace(admin, objects.NAMESPACE, injection.EVERY_POD)
        apply(admin, injection.config_map(objects.NAMESPACE, "envoy", {"envoy.json": "{}"}))
        serve_addresses(admin)
        make_pool(admin, peers.POOL, peers.POOL_PREFIX)
        scenes = []
        for scene in SCENES:
            place = folder / scene.name
            place.mkdir()
            runs = _rounds(cluster, admin, scene, rounds, count, place)
            scenes.append({"name": scene.name, "what": scene.what, "results": _medians(runs), "pairs": _pairs(runs)})
    fixed = {"kubernetes": version, "callers": CALLERS, "rounds": rounds, "count": count}
    return fixed | {"bytes": len(json.dumps(_pod({}), separators=(",", ":"))), "scenes": scenes}


def _rounds(cluster: Cluster, admin: Api, scene: Scene, rounds: int, count: int, folder: Path) -> dict[str, list[Run]]:
    with _gatehouse(cluster, folder, scene) as own, _peer(cluster, folder, own.registration) as peer:
        webhooks = {NONE: None, GATEHOUSE.name: own, PEER.name: peer}
        runs: dict[str, list[Run]] = {name: [] for name in webhooks}
        for number in range(rounds):
            for name, webhook in webhooks.items():
                runs[name].append(_run(admin, scene, webhook, count))
            last = ", ".join(f"{name} {one[-1].rate:.0f}/s p99 {one[-1].p99_ms:.1f} ms" for name, one in runs.items())
            _say(f"{scene.name}: round {number + 1} of {rounds}: {last}")
    return runs


def _medians(runs: Mapping[str, Sequence[Run]]) -> Json:
    figures = [field.name for field in attrs.fields(Run)]
    return {
        name: {figure: report.four_digits(median(getattr(run, figure) for run in all_of)) for figure in figures}
        for name, all_of in runs.items()
    }


def _pairs(runs: Mapping[str, Sequence[Run]]) -> Json:
    """Of each webhook, beside the run without one of the same round: medians of ratios, and of p99 beyond its factor."""
    found: Json = {}
    for name, all_of in runs.items():
        if name != NONE:
            pairs = [*zip(all_of, runs[NONE], strict=True)]
            found[name] = {
                figure: report.four_digits(median(getattr(run, figure) / getattr(without, figure) for run, without in pairs))
                for figure in ("rate", "p50_ms", "p99_ms")
            }
            beyond = median(run.p99_ms - targets.CREATE_FACTOR * without.p99_ms for run, without in pairs)
            found[name]["p99_beyond_ms"] = report.four_digits(beyond)
    return found


@contextmanager
def _gatehouse(cluster: Cluster, folder: Path, scene: Scene) -> Iterator[Webhook]:
    place = folder / f"own-{scene.name}"
    place.mkdir()
    with Gatehouse(cluster, place, config=scene.config) as gatehouse:
        yield Webhook(gatehouse.process, _asking(gatehouse.registration(), scene.path))


def _asking(printed: Registration, path: str) -> Registration:
    """Only the webhooks that ask at *path*."""
    kept = [
        item | {"webhooks": [one for one in item["webhooks"] if urlsplit(one["clientConfig"]["url"]).path == path]}
        for item in printed.configurations
    ]
    return Registration([item for item in kept if item["webhooks"]])


@contextmanager
def _peer(cluster: Cluster, folder: Path, like: Registration) -> Iterator[Webhook]:
    """The peer with facts from its own caches, registered as *like*."""
    authority = trustme.CA(organization_name="gatehouse-bench")
    serving = authority.issue_cert("127.0.0.1")
    serving.private_key_pem.write_to_path(str(folder / "tls.key"))
    serving.cert_chain_pems[0].write_to_path(str(folder / "tls.crt"))
    (folder / "rules.json").write_text(json.dumps(peers.peer_rules()))
    kubeconfig = folder / "peer.kubeconfig"
    cluster.credentials.write_kubeconfig(kubeconfig, cluster.server, cluster.credentials.token("admin"))
    flags = [f"-kubeconfig={kubeconfig}", f"-rules={folder / 'rules.json'}", f"-cert-dir={folder}"]
    processes = Processes(folder)
    try:
        process = processes.start("peer", cluster.namespace.command([str(peers.peer_program()), *flags]), folder=ROOT)
        wait_for(lambda: '"webhook"' in processes.log_tail("peer") or not process.alive(), WITHIN_S, "the peer listens")
        address = json.loads(processes.log_tail("peer", lines=1))["webhook"]
        bundle = base64.b64encode(authority.cert_pem.bytes()).decode()
        yield Webhook(process, _elsewhere(like, f"https://{address}", bundle))
    finally:
        processes.stop("peer")


def _elsewhere(like: Registration, base: str, bundle: str) -> Registration:
    """The same webhooks, on another server."""

    def moved(webhook: Json) -> Json:
        return webhook | {"clientConfig": {"url": base + urlsplit(webhook["clientConfig"]["url"]).path, "caBundle": bundle}}

    return Registration([item | {"webhooks": [*map(moved, item["webhooks"])]} for item in like.configurations])


def _run(admin: Api, scene: Scene, webhook: Webhook | None, count: int) -> Run:
    def created() -> Json:
        return admin.create(pods_path(objects.NAMESPACE), _pod(scene.labels))

    try:
        if webhook is None:
            wait_for(lambda: not scene.done(created()), WITHIN_S, "pods that nobody touches")
            return _measured(created, None, count)
        with webhook.registration.applied(admin):
            wait_for(lambda: scene.done(created()), WITHIN_S, "pods that are changed")
            return _measured(created, webhook.process, count)
    finally:
        delete_pods(admin, objects.NAMESPACE)
        admin.delete(RESERVATIONS_PATH)


def _measured(create: Callable[[], Json], process: Process | None, count: int) -> Run:
    def timed(_: int) -> float:
        start_s = time.monotonic()
        create()
        return time.monotonic() - start_s

    with ThreadPoolExecutor(CALLERS, "bench/creators") as pool:
        list(pool.map(timed, range(2 * CALLERS)))  # connections are made, and whatever else is made once
        before_s, begin_s = Usage.of(process.pid).processor_s if process else 0.0, time.monotonic()
        times = sorted(pool.map(timed, range(count)))
        took_s = time.monotonic() - begin_s
    spent_s = Usage.of(process.pid).processor_s - before_s if process else 0.0
    return Run(count / took_s, times[count // 2] * 1e3, times[min(count - 1, int(count * 0.99))] * 1e3, spent_s / count * 1e6)


def _pod(labels: Mapping[str, str]) -> Json:
    body = objects.new_pod(VARIABLES)
    del body["metadata"]["ownerReferences"]  # nobody is there whose pod it could be
    body["metadata"]["labels"] |= labels
    body["spec"] |= {"serviceAccountName": "default", "automountServiceAccountToken": False}
    for field in ("priority", "preemptionPolicy"):
        body["spec"].pop(field)
    return body


BENCHMARK = Benchmark(
    section="creates",
    program="bench-creates",
    what="Pod creates at a real API server.",
    measure=lambda short, _, folder: measure(*(SHORT if short else WHOLE), folder),
    chapter=page.creates,
    failures=(AssertionError,),
)
_say, main = BENCHMARK.say, BENCHMARK.main


if __name__ == "__main__":
    sys.exit(main())
