"""One local cluster: etcd, kube-apiserver and kube-controller-manager (on request a node too) in a network namespace.

State is a folder in the cache, named after the cluster and deleted by `down`. A cluster belongs to the process that
brought it up, and one whose owner has died is cleaned by the next `up`; the command line's are detached and stay until
`down`. One thread at a time may change a cluster; `api`, `connections` and `kubectl` are for any thread.
Raises ClusterError when a component does not come up, with the end of its log.
"""

from __future__ import annotations

import base64
import fcntl
import json
import os
import shutil
import signal
import ssl
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType

import attrs

from tests.cluster import binaries, components
from tests.cluster.api import Api, Connections, Json, is_ready
from tests.cluster.components import APISERVER, APISERVER_PORT, CONTROL_PLANE, CONTROLLER_MANAGER, ETCD, ETCD_PORT
from tests.cluster.credentials import USERS, Credentials
from tests.cluster.network import ADDRESS, Namespace
from tests.cluster.node import FIRST, SECOND, Node
from tests.cluster.processes import Process, Processes

READY_S = 60.0
_POLL_S = 0.1


class ClusterError(Exception):
    """A cluster did not come up or is not there; the message has the end of the log of what failed."""


@attrs.frozen
class Settings:
    """What a cluster is to be."""

    name: str = "local"  # clusters side by side need different names
    flags: Mapping[str, Sequence[str]] = attrs.field(factory=dict)  # component -> extra flags, which win
    node: bool = False  # also a kubelet with containerd, a scheduler and kube-proxy
    detached: bool = False  # survives the process that brings it up


class Cluster:
    """A cluster by name. Making the object starts nothing; as a context manager it is up inside the block."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.folder = _states() / settings.name
        self.namespace = Namespace(f"gatehouse-{settings.name}")
        self.credentials = Credentials(self.folder / "credentials")
        self.processes = Processes(self.folder)
        self.node = Node(settings.name, self.folder, self.namespace)
        self.second_namespace = Namespace(f"gatehouse-{settings.name}-2")
        self.second = Node(f"{settings.name}-2", self.folder / SECOND.name, self.second_namespace, SECOND, self.folder)

    @classmethod
    def existing(cls, name: str) -> Cluster:
        """The cluster *name* that is up. Raises ClusterError when there is none."""
        try:
            stored = json.loads((_states() / name / "settings.json").read_text())
        except FileNotFoundError:
            raise ClusterError(f"no cluster {name!r} is up") from None
        return cls(Settings(name, stored["flags"], stored["node"], stored["detached"]))

    # -- coming and going

    def up(self) -> None:
        """Build what is missing and start everything; on failure or Ctrl-C nothing stays behind."""
        binary = binaries.control_plane()
        if self.settings.node:
            binaries.node_programs()
        self._claim()
        started_s = time.monotonic()
        try:
            self._prepare(binary)
            for component in CONTROL_PLANE:
                self.start(component)
            self._wait("the default service account", CONTROLLER_MANAGER, self._has_default_service_account)
            if self.settings.node:
                self.node.start()
                self._wait_for_node(FIRST.name)
            if self.settings.detached:
                (self.folder / "owner").write_text("")
        except BaseException:
            self.down()
            raise
        binaries.say(f"{self.settings.name} is up after {time.monotonic() - started_s:.1f} s")

    def down(self) -> None:
        """End every process, delete namespace and state. No error when there is nothing."""
        if (self.folder / SECOND.name).exists():
            self.second.stop()
            self.second_namespace.delete()
        if (self.folder / "node").exists():
            self.node.stop()
        order = [*reversed(CONTROL_PLANE)]
        others = [name for name in self.processes.names() if name not in order]
        for name in [*others, *order]:
            self.processes.stop(name, timeout_s=3.0)  # nothing that it could still save is kept
        self.namespace.delete()
        shutil.rmtree(self.folder, ignore_errors=True)

    def add_node(self) -> None:
        """Start a second node, on a machine of its own as far as the network goes, and wait until it is Ready."""
        (self.folder / SECOND.name).mkdir()
        self.second_namespace.join(self.namespace, SECOND.address, SECOND.pods_cidr)
        self.second.start()
        self._wait_for_node(SECOND.name)

    def __enter__(self) -> Cluster:
        self.up()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.down()

    # -- one component

    def start(self, component: str, flags: Sequence[str] | None = None) -> None:
        """Start *component* and wait until it answers. *flags* replace its extra flags of the settings."""
        extra = dict(self.settings.flags)
        if flags is not None:
            extra[component] = list(flags)
        argv = components.command(component, self.folder, extra)
        self.processes.start(component, self.namespace.command([str(self.folder / "controlplane"), *argv]))
        if component == APISERVER:
            self._wait("/readyz", component, lambda: is_ready(self.api))
        elif component == ETCD:
            self._wait("its version", component, self._etcd_answers)

    def stop(self, component: str) -> None:
        """Ask *component* to end, and insist after 10 s."""
        self.processes.stop(component)

    def restart(self, component: str, flags: Sequence[str] | None = None) -> None:
        """Stop and start *component*, with other extra flags if any are given."""
        self.stop(component)
        self.start(component, flags)

    def suspend(self, component: str) -> None:
        """SIGSTOP: it keeps its sockets open and says nothing."""
        self._signal(component, signal.SIGSTOP)

    def resume(self, component: str) -> None:
        """SIGCONT."""
        self._signal(component, signal.SIGCONT)

    def compact(self) -> int:
        """Make etcd forget every revision but the last, which is returned: an older watch can't be resumed after it."""
        status = self._etcd("/v3/kv/range", {"key": "AA==", "count_only": True})
        revision = int(status["header"]["revision"])
        self._etcd("/v3/kv/compaction", {"revision": str(revision), "physical": True})
        return revision

    def forget(self, key: str) -> None:
        """Delete *key* ("/registry/minions/NAME") in etcd itself: no watch of the API server tells of it if that is down."""
        self._etcd("/v3/kv/deleterange", {"key": base64.b64encode(key.encode()).decode()})

    # -- what clients need

    @property
    def server(self) -> str:
        """The API server's URL inside the namespace."""
        return components.SERVER

    @property
    def audit_log(self) -> Path:
        """The API server's audit log, one JSON event per line."""
        return components.audit_log(self.folder)

    def api(self, token: str | None = None) -> Api:
        """A client for the holder of *token*; the administrator's without one."""
        token = token or self.credentials.token("admin")
        return Api(self.namespace, ADDRESS, APISERVER_PORT, self.credentials.ca_file, token)

    def connections(self, port: int, tls: ssl.SSLContext | None = None, host: str = "127.0.0.1") -> Connections:
        """HTTP connections to a program inside the namespace."""
        return Connections(self.namespace, host, port, tls)

    def kubeconfig(self, user: str) -> Path:
        """The kubeconfig of *user*, a key of credentials.USERS."""
        return components.kubeconfig(self.folder, user)

    def kubectl(self, *arguments: str) -> subprocess.CompletedProcess[bytes]:
        """Run kubectl as administrator on this process's standard streams."""
        argv = [str(self.folder / "controlplane"), "kubectl", f"--kubeconfig={self.kubeconfig('admin')}", *arguments]
        return subprocess.run(self.namespace.command(argv))

    # -- inside

    def _claim(self) -> None:
        """Clean what earlier runs left, and make the folder ours. One process at a time: a half-made one looks left over."""
        _states().mkdir(parents=True, exist_ok=True)
        with (_states() / ".lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            sweep()
            if self.folder.exists():
                raise ClusterError(f"cluster {self.settings.name!r} is up already")
            self.folder.mkdir()
            (self.folder / "owner").write_text(str(Process.of(os.getpid())))

    def _prepare(self, binary: Path) -> None:
        (self.folder / "settings.json").write_text(json.dumps(attrs.asdict(self.settings)))
        (self.folder / "controlplane").symlink_to(binary)
        (self.folder / "audit-policy.yaml").write_text(components.AUDIT_POLICY)
        self.credentials.make(ADDRESS, "127.0.0.1", "localhost", "kubernetes.default.svc", "10.0.0.1")
        for user in USERS:
            self.credentials.write_kubeconfig(self.kubeconfig(user), self.server, self.credentials.token(user))
        self.namespace.create()

    def _signal(self, component: str, number: signal.Signals) -> None:
        process = self.processes.get(component)
        if process is None or not process.signal(number):
            raise ClusterError(f"{component} is not running")

    def _wait(self, what: str, component: str, met: Callable[[], bool], among: Processes | None = None) -> None:
        processes, end_s = among or self.processes, time.monotonic() + READY_S
        while not met():
            running = processes.running(component)
            if not running or time.monotonic() > end_s:
                fault = f"not there after {READY_S:.0f} s" if running else "it ended"
                raise ClusterError(f"{component}: {what}: {fault}:\n{processes.log_tail(component)}")
            time.sleep(_POLL_S)

    def _etcd_answers(self) -> bool:
        try:
            with self.connections(ETCD_PORT) as etcd:
                return etcd.call("GET", "/version").status == 200
        except OSError:
            return False

    def _has_default_service_account(self) -> bool:
        with self.api() as api:
            return api.find("/api/v1/namespaces/default/serviceaccounts/default") is not None

    def _wait_for_node(self, name: str) -> None:
        kubelets = self.processes if name == FIRST.name else self.second.processes
        self._wait(f"{name} Ready", "kubelet", lambda: self._is_node_ready(name), kubelets)

    def _is_node_ready(self, name: str) -> bool:
        with self.api() as api:
            node = api.find(f"/api/v1/nodes/{name}") or {}
        conditions = node.get("status", {}).get("conditions", [])
        return any(condition["type"] == "Ready" and condition["status"] == "True" for condition in conditions)

    def _etcd(self, path: str, body: Json) -> Json:
        with self.connections(ETCD_PORT) as etcd:
            reply = etcd.call("POST", path, json.dumps(body).encode())
        if reply.status != 200:
            raise ClusterError(f"etcd {path}: {reply.status} {reply.body[:500]!r}")
        answer: Json = json.loads(reply.body)
        return answer


def sweep() -> None:
    """Clean every cluster whose owner has died, and detached ones of which nothing runs any more."""
    for folder in sorted(_states().glob("*/")):
        cluster = Cluster(Settings(folder.name))
        try:
            owner = (folder / "owner").read_text()
        except FileNotFoundError:
            owner = ""
        orphan = not Process.parse(owner).alive() if owner else not _anything_runs(cluster)
        if orphan:
            binaries.say(f"cleaning {folder.name}, left behind by an earlier run")
            cluster.down()


def _anything_runs(cluster: Cluster) -> bool:
    return any(cluster.processes.running(name) for name in cluster.processes.names())


def _states() -> Path:
    return binaries.cache_folder() / "clusters"
