"""Several replicas of Gatehouse that stand for election, each as a ServiceAccount of its own, so that the audit log tells them
apart, and each with a clock of its own.

A seat is a replica's place: its account, its clock, and the process that has it at the moment. Processes come and go.
"""

from __future__ import annotations

import copy
import http.client
import signal
import ssl
import threading
import time
from contextlib import ExitStack
from pathlib import Path

import attrs

from tests.apiserver.gatehouse import Gatehouse
from tests.apiserver.registration import ACCOUNT, NAMESPACE, rbac, service_account_token
from tests.cluster import Api, Cluster, Json
from tests.cluster.api import Connections
from tests.cluster.kinds import apply

LEASE_NAME = "gatehouse"
LEASE = f"/apis/coordination.k8s.io/v1/namespaces/{NAMESPACE}/leases/{LEASE_NAME}"
MASTER = "leader_election_master_status"


@attrs.frozen
class Timing:
    """Of the election: whole seconds, as short as the configuration allows on a machine that has other things to do."""

    lease_duration_s: int = 3
    renew_deadline_s: int = 2
    retry_period_s: int = 1

    def section(self) -> Json:
        """Of the configuration."""
        return {
            "enabled": True,
            "leaseDuration": f"{self.lease_duration_s}s",
            "renewDeadline": f"{self.renew_deadline_s}s",
            "retryPeriod": f"{self.retry_period_s}s",
        }


class Replica(Gatehouse):
    """One process of a seat."""

    def __init__(
        self, cluster: Cluster, folder: Path, token: str, skew_s: int, timing: Timing, module: str, more: Json
    ) -> None:
        """*token*: whose; *skew_s*: how far its clock is ahead; *module*: what runs; *more*: sections of its configuration."""
        kubeconfig = folder / "own.kubeconfig"
        cluster.credentials.write_kubeconfig(kubeconfig, cluster.server, token)
        config = {"leaderElection": timing.section(), "webhook": {"shutdownDelay": "0s"}} | more
        super().__init__(cluster, folder, config=config, arguments=[f"--kubeconfig={kubeconfig}"])
        self.program = ("-m", "tests.apiserver.skewed", str(skew_s), module)

    def reviews(self) -> Connections:
        """Connections to its webhook server."""
        host, _, port = self.addresses["webhook"].rpartition(":")
        return self._cluster.connections(int(port), ssl.create_default_context(cafile=str(self.ca_file)), host)


class Seat:
    """A place for one replica. `away` tells other threads that its process does not answer by our own doing."""

    def __init__(
        self,
        cluster: Cluster,
        folder: Path,
        name: str,
        skew_s: int,
        timing: Timing,
        module: str = "controllers",
        more: Json | None = None,
        kind: type[Replica] = Replica,
    ) -> None:
        self.name = name
        self.skew_s = skew_s
        self.user = f"system:serviceaccount:{NAMESPACE}:{name}"
        self.away = threading.Event()
        self.absences = 0  # how often it was made to be away: a call that was under way then tells nothing
        self.lives: list[Replica] = []
        self._cluster = cluster
        self._folder = folder
        self._timing = timing
        self._module = module
        self._more = more or {}
        self._kind = kind
        self._stack = ExitStack()
        with cluster.api() as admin:
            _make_account(admin, name)
            self._token = service_account_token(admin, name)

    @property
    def replica(self) -> Replica:
        """The present process, or the last one."""
        return self.lives[-1]

    def start(self) -> None:
        """Give it a new process, and wait until that is ready."""
        folder = self._folder / f"{self.name}-{len(self.lives)}"
        folder.mkdir()
        replica = self._kind(self._cluster, folder, self._token, self.skew_s, self._timing, self._module, self._more)
        self._stack.enter_context(replica)
        self.lives.append(replica)
        self.away.clear()

    def signal(self, number: signal.Signals) -> float:
        """Send its process a signal; when that was, in seconds since the epoch."""
        if number is not signal.SIGCONT:
            self.away.set()
            self.absences += 1  # after `away`: who reads the new number and then finds nobody away calls one that is back
        at_s = time.time()
        if not self.replica.process.signal(number):
            raise AssertionError(f"{self.name} has ended by itself:\n{self.replica.log()}")
        return at_s

    def leads(self) -> bool:
        """Whether it says that it leads; False while it is away."""
        if self.away.is_set():
            return False
        try:
            return self.replica.total(MASTER, name=LEASE_NAME) == 1
        except (OSError, http.client.HTTPException):  # gone, or gone in the middle of its answer
            return False

    def has_written(self) -> float:
        """How many led writes its process has made, by its own count."""
        names = ("pods_restored", "pods_let_go", "taints_removed")
        return sum(self.replica.total(f"gatehouse_edge_{name}_total") for name in names)

    def close(self) -> None:
        """End whatever runs."""
        self._stack.close()

    def __enter__(self) -> Seat:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _make_account(api: Api, name: str) -> None:
    """A ServiceAccount with the rights of manifests/base."""
    for document in rbac():
        mine = copy.deepcopy(document)
        if mine["kind"] in ("ClusterRoleBinding", "RoleBinding", "ServiceAccount"):
            mine["metadata"]["name"] = mine["metadata"]["name"].replace(ACCOUNT, name, 1)
        for subject in mine.get("subjects", []):
            subject |= {"name": name, "namespace": NAMESPACE}
        if mine["kind"] in ("ServiceAccount", "Role", "RoleBinding"):
            mine["metadata"].setdefault("namespace", NAMESPACE)
        apply(api, mine)
