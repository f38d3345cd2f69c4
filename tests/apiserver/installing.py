"""manifests/install.sh against a real API server, and a stand-in for the kubelets that would run the replicas."""

from __future__ import annotations

import base64
import os
import shlex
import subprocess
import tempfile
import threading
from pathlib import Path
from types import TracebackType

import trustme

from controllers.cli.installation import WEBHOOKS
from tests.cluster import ApiError, Cluster, Json
from tests.cluster.kinds import object_path

ROOT = Path(__file__).parents[2]
PODS = "/api/v1/namespaces/kube-system/pods"
SECRET = "/api/v1/namespaces/kube-system/secrets/gatehouse-tls"
CA = base64.b64encode(trustme.CA().cert_pem.bytes()).decode()  # nobody is called here: one that can be read is enough
POLL_S = 0.1


def kubectl(cluster: Cluster) -> str:
    """The command that is kubectl as administrator of *cluster*."""
    binary = str(cluster.folder / "controlplane")
    return shlex.join(cluster.namespace.command([binary, "kubectl", f"--kubeconfig={cluster.kubeconfig('admin')}"]))


def run(cluster: Cluster, *arguments: str) -> str:
    """What kubectl says to *arguments*. Raises AssertionError when it fails."""
    return _output([*shlex.split(kubectl(cluster)), *arguments])


def install(cluster: Cluster, what: str, folder: str, **environment: str) -> str:
    """What `manifests/install.sh *what* *folder*` says. Raises AssertionError when it fails."""
    variables = {**os.environ, "KUBECTL": kubectl(cluster), **environment}
    return _output([str(ROOT / "manifests" / "install.sh"), what, str(ROOT / "manifests" / folder)], variables)


def attempt(cluster: Cluster, what: str, folder: str, fault: str = "", **environment: str) -> tuple[int, str]:
    """Exit code of `manifests/install.sh *what* *folder*` and what it says; kubectl fails at commands that match *fault*."""
    with tempfile.TemporaryDirectory() as place:
        failing = Path(place) / "kubectl"
        case = f"case \"$*\" in {fault}) echo 'error: no answer' >&2; exit 1 ;; esac\n" if fault else ""
        failing.write_text(f'#!/bin/sh\n{case}exec {kubectl(cluster)} "$@"\n')
        failing.chmod(0o755)
        argv = [str(ROOT / "manifests" / "install.sh"), what, str(ROOT / "manifests" / folder)]
        variables = {**os.environ, "KUBECTL": str(failing), **environment}
        done = subprocess.run(
            argv, env=variables, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=120, check=False
        )
    return done.returncode, done.stdout


def labelled(cluster: Cluster, kinds: str) -> set[str]:
    """kind/name of what bears our label, of *kinds* as kubectl names them."""
    argv = ("-n", "kube-system", "get", kinds, "-l", "app.kubernetes.io/name=gatehouse")
    return set(run(cluster, *argv, "-o", 'jsonpath={range .items[*]}{.kind}/{.metadata.name}{" "}{end}').split())


def registered(cluster: Cluster) -> list[Json]:
    """Every webhook of ours that the API server knows."""
    with cluster.api() as api:
        paths = [f"/apis/admissionregistration.k8s.io/v1/{kind.lower()}s/gatehouse" for kind in sorted(WEBHOOKS)]
        found = [api.find(path) for path in paths]
    return [webhook for item in found if item is not None for webhook in item.get("webhooks", ())]


def left(cluster: Cluster, items: list[Json]) -> list[tuple[str, str]]:
    """Kind and name of those of *items* that exist."""
    with cluster.api() as api:
        return [(item["kind"], item["metadata"]["name"]) for item in items if api.find(object_path(item)) is not None]


class StandIn:
    """Makes every pod of ours ready, and the Secret that a replica would make. Own thread inside the `with` block."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="stand-in")
        self.registered_before: list[Json] | None = None  # what was registered when the first pod became ready

    def __enter__(self) -> StandIn:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        with self._cluster.api() as api:
            while not self._stop.wait(POLL_S):
                for pod in api.get(f"{PODS}?labelSelector=app.kubernetes.io/name=gatehouse")["items"]:
                    if pod.get("status", {}).get("conditions"):
                        continue
                    if self.registered_before is None:
                        self.registered_before = registered(self._cluster)
                    if api.find(SECRET) is None:
                        data = {"ca.crt": CA}
                        api.create(SECRET.rpartition("/")[0], {"metadata": {"name": "gatehouse-tls"}, "data": data})
                    ready = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
                    try:
                        api.patch(f"{PODS}/{pod['metadata']['name']}/status", {"status": ready}, "application/merge-patch+json")
                    except ApiError as gone:
                        if gone.status != 404:
                            raise


def _output(argv: list[str], environment: dict[str, str] | None = None) -> str:
    result = subprocess.run(
        argv, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=120, check=False
    )
    assert result.returncode == 0, result.stdout
    return result.stdout
