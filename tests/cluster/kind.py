"""A cluster of kind: the same questions and deeds as on the project's own, by kind, docker and kubectl.

Three nodes: a control plane, a worker, and one more that can be cut off. It needs a Docker engine. What is asked of the
programs is tested against recordings of them (test_kind.py); it has not been run where no engine is.
Raises RuntimeError with what a program said.
Source: kind.sigs.k8s.io/docs: configuration, quick start; docs.docker.com: docker exec, docker network.
"""

from __future__ import annotations

import base64
import json
import socket
import subprocess
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from urllib.parse import urlsplit

from tests.cluster.api import Api, is_ready

COMMAND_S = 600.0
READY_S = 120.0
_ACCOUNT = "gatehouse-e2e"
_NETWORK = "kind"  # Docker's name for what the nodes are on


class _Here:
    """This machine's own network, in place of a namespace."""

    def connect(self, host: str, port: int, timeout_s: float) -> socket.socket:
        connection = socket.create_connection((host, port), timeout_s)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return connection


class Kind:
    """The cluster *name*; up inside the block. *manager_flags* are for kube-controller-manager, each "--name=value"."""

    def __init__(self, name: str, manager_flags: Sequence[str] = ()) -> None:
        self._name = name
        self._flags = manager_flags
        self._folder = tempfile.TemporaryDirectory(prefix="gatehouse-kind-")
        self._kubeconfig = Path(self._folder.name) / "kubeconfig"
        self._ca_file = Path(self._folder.name) / "ca.crt"
        self._server = ""
        self._token = ""

    # -- coming and going

    def __enter__(self) -> Kind:
        configuration = Path(self._folder.name) / "kind.yaml"
        configuration.write_text(json.dumps(self._configuration()))
        try:
            self._kind("create", "cluster", f"--config={configuration}", f"--kubeconfig={self._kubeconfig}", "--wait=120s")
            self._make_account()
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._kind("delete", "cluster", f"--kubeconfig={self._kubeconfig}")
        self._folder.cleanup()

    # -- what clients need

    def load(self, archive: Path) -> None:
        """Give every node the image *archive*."""
        self._kind("load", "image-archive", str(archive))

    def kubectl(self) -> list[str]:
        """The command that is kubectl as administrator."""
        return ["kubectl", f"--kubeconfig={self._kubeconfig}"]

    def beside_kubectl(self, argv: list[str]) -> list[str]:
        """The command that runs *argv* where that kubectl does: here."""
        return argv

    def api(self) -> Api:
        """A client of the administrator."""
        address = urlsplit(self._server)
        return Api(_Here(), str(address.hostname), int(address.port or 443), self._ca_file, self._token)

    # -- the machines

    def on_node(self, node: str, script: str) -> str:
        """What the shell *script* prints as root on *node*, which is a container of its name."""
        return _run("docker", "exec", node, "sh", "-euc", script)

    def answers(self, node: str, address: str, port: int, path: str) -> int:
        """The status of a GET from *node* to a pod in clear text; 0 when nobody answers."""
        url = f"http://{address}:{port}{path}"
        script = f"curl --silent --max-time 5 --output /dev/null --write-out '%{{http_code}}' {url} || true"
        return int(self.on_node(node, script) or 0)

    def restart_api_server(self) -> None:
        """Stop its container, which the kubelet starts again, and wait until it is ready."""
        script = "crictl stop --timeout 10 $(crictl ps --quiet --name kube-apiserver)"
        self.on_node(f"{self._name}-control-plane", script)
        end_s = time.monotonic() + READY_S
        while not is_ready(self.api):
            if time.monotonic() > end_s:
                raise TimeoutError(f"kube-apiserver is not ready after {READY_S:.0f} s")
            time.sleep(0.2)

    def add_edge_node(self) -> str:
        """The second worker, which has been there from the start."""
        return f"{self._name}-worker2"

    def cut(self, node: str) -> None:
        """From now on nothing of *node*'s network reaches the others."""
        _run("docker", "network", "disconnect", _NETWORK, node)

    def heal(self, node: str) -> None:
        """Undo `cut`."""
        _run("docker", "network", "connect", _NETWORK, node)

    def left_behind(self) -> list[str]:
        """After the block: containers that bear the cluster's name."""
        label = f"label=io.x-k8s.kind.cluster={self._name}"
        return _run("docker", "ps", "--all", "--filter", label, "--format={{.Names}}").split()

    # -- inside

    def _configuration(self) -> dict[str, object]:
        flags = dict(flag.removeprefix("--").split("=", 1) for flag in self._flags)
        patch = {
            "kind": "ClusterConfiguration",
            "controllerManager": {"extraArgs": [{"name": name, "value": value} for name, value in flags.items()]},
            "apiVersion": "kubeadm.k8s.io/v1beta4",
        }
        nodes = [{"role": "control-plane", "kubeadmConfigPatches": [json.dumps(patch)]}, {"role": "worker"}, {"role": "worker"}]
        return {"kind": "Cluster", "apiVersion": "kind.x-k8s.io/v1alpha4", "nodes": nodes}

    def _make_account(self) -> None:
        """An administrator who shows a token, as tests/cluster.api does."""
        place = ("--namespace=kube-system",)
        _run(*self.kubectl(), *place, "create", "serviceaccount", _ACCOUNT)
        account = f"--serviceaccount=kube-system:{_ACCOUNT}"
        _run(*self.kubectl(), "create", "clusterrolebinding", _ACCOUNT, "--clusterrole=cluster-admin", account)
        self._token = _run(*self.kubectl(), *place, "create", "token", _ACCOUNT, "--duration=4h").strip()
        (cluster,) = json.loads(_run(*self.kubectl(), "config", "view", "--raw", "--minify", "--output=json"))["clusters"]
        self._server = cluster["cluster"]["server"]
        self._ca_file.write_bytes(base64.b64decode(cluster["cluster"]["certificate-authority-data"]))

    def _kind(self, *arguments: str) -> str:
        return _run("kind", *arguments, f"--name={self._name}")


def _run(*argv: str) -> str:
    result = subprocess.run(argv, capture_output=True, text=True, timeout=COMMAND_S)
    if result.returncode:  # unlike check=True, with what it said
        raise RuntimeError(f"{' '.join(argv)}: {result.returncode}: {result.stderr.strip()[-2000:]}")
    return result.stdout
