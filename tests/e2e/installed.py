"""Gatehouse as it is installed: built, deployed by manifests/install.sh, its replicas, their processes and their leader."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import time
from pathlib import Path

import attrs

from tests.apiserver.nodes import ready_status
from tests.apiserver.waiting import wait_for
from tests.apiserver.workloads import slices_path
from tests.cluster import Api, ApiError, Json
from tests.e2e.grounds import Ground

ROOT = Path(__file__).parents[2]
OVERLAY = Path(__file__).parent / "overlay"
IMAGE = ROOT / "dist" / "gatehouse-image.tar"
BINARY = ROOT / "dist" / "gatehouse"
REFERENCE = "docker.io/library/gatehouse:dev"  # what containerd makes of gatehouse:dev, and what the kubelet asks it for
NAMESPACE = "kube-system"
PODS = f"/api/v1/namespaces/{NAMESPACE}/pods"
LABEL = "labelSelector=app.kubernetes.io/name=gatehouse"
LEASE = f"/apis/coordination.k8s.io/v1/namespaces/{NAMESPACE}/leases/gatehouse"
DEPLOYMENT = f"/apis/apps/v1/namespaces/{NAMESPACE}/deployments/gatehouse"
PROBES_PORT = 8081
REPLICAS = 2
DEPLOY_S = 240.0
READY_AGAIN_S = 60.0
MIB = 2**20
# Processes of a pod: their control group is named after its uid, with dashes or, by systemd's driver, underscores.
_PROCESSES = """
for one in $(grep -lsE '{uid}|{underscored}' /proc/[0-9]*/cgroup); do
  one=${{one%/cgroup}}
  if tr '\\0' ' ' < $one/cmdline | grep -q '^[^ ]*gatehouse serve '; then
    echo "${{one#/proc/}} $(cut -d')' -f2- $one/stat | cut -d' ' -f3,13,14,21) $(awk '/^VmRSS/ {{print $2}}' $one/status)"
  fi
done
"""


@attrs.frozen
class Process:
    """One process of a replica."""

    pid: int
    parent: int
    started_s: float  # since boot
    used_s: float  # processor time
    resident: int  # bytes


@attrs.frozen
class Replica:
    """One pod of ours, as it was when it was looked at."""

    name: str
    uid: str
    node: str
    address: str
    ready: bool
    restarts: int

    @classmethod
    def of(cls, pod: Json) -> Replica:
        """From the object."""
        status = pod.get("status", {})
        restarts = sum(one["restartCount"] for one in status.get("containerStatuses", []))
        meta, node = pod["metadata"], pod["spec"].get("nodeName", "")
        return cls(meta["name"], meta["uid"], node, status.get("podIP", ""), ready_status(pod) == "True", restarts)


def build() -> None:
    """`make image`: the binary and its image in dist/, as far as they are older than the sources. Raises AssertionError."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "MAKE"))}
    done = subprocess.run(["make", "-s", "image"], cwd=ROOT, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


@attrs.frozen
class Installed:
    """The installation on *ground*; *api* is the administrator's. Any thread may look, one at a time may change something."""

    ground: Ground
    api: Api
    folder: Path  # the kustomization that is deployed

    @classmethod
    def prepared(cls, ground: Ground, api: Api, folder: Path) -> Installed:
        """The overlay, with what the binary under test prints for its configuration, is in *folder*."""
        shutil.copytree(OVERLAY, folder, dirs_exist_ok=True)
        argv = [str(BINARY), "manifests", "--all", "--config", str(folder / "configuration.yaml")]
        printed = subprocess.run(argv, capture_output=True, text=True, check=True, timeout=60).stdout
        (folder / "all.yaml").write_text(printed)
        return cls(ground, api, folder)

    # -- coming and going

    def deploy(self) -> float:
        """Seconds from the call of manifests/install.sh to its end. Raises AssertionError with what it said."""
        return self._install("deploy")

    def undeploy(self) -> float:
        """The same for taking it away."""
        return self._install("undeploy")

    def reconfigure(self, before: str, after: str) -> None:
        """Change what the next `deploy` brings as configuration."""
        written = (self.folder / "all.yaml").read_text()
        assert written.count(before) == 1, before
        (self.folder / "all.yaml").write_text(written.replace(before, after))

    def _install(self, what: str) -> float:
        variables = {**os.environ, "KUBECTL": shlex.join(self.ground.kubectl()), "IMAGE": REFERENCE, "PURGE": "1"}
        argv, start_s = [str(ROOT / "manifests" / "install.sh"), what, str(self.folder)], time.monotonic()
        done = subprocess.run(
            argv, env=variables, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=DEPLOY_S
        )
        assert done.returncode == 0, done.stdout
        return time.monotonic() - start_s

    def kubectl(self, *arguments: str) -> str:
        """What kubectl says. Raises AssertionError with its errors."""
        done = subprocess.run([*self.ground.kubectl(), *arguments], capture_output=True, text=True, timeout=DEPLOY_S)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    # -- replicas

    def replicas(self) -> list[Replica]:
        """Those that are not being deleted."""
        found = self.api.get(f"{PODS}?{LABEL}")["items"]
        return [Replica.of(pod) for pod in found if "deletionTimestamp" not in pod["metadata"]]

    def all_ready(self) -> bool:
        """Whether as many replicas as there should be are ready, and no other one is there; False while nobody can tell."""
        try:
            found = self.replicas()
        except (ApiError, OSError):
            return False
        return len(found) == REPLICAS and all(replica.ready for replica in found)

    def wait_all_ready(self) -> float:
        """Seconds until they are."""
        return wait_for(self.all_ready, READY_AGAIN_S, "two ready replicas")

    def leader(self) -> str:
        """The pod that the Lease names; "" when nobody leads."""
        holder = (self.api.find(LEASE) or {}).get("spec", {}).get("holderIdentity") or ""
        return str(holder).rpartition("_")[0]

    def published(self) -> set[str]:
        """The addresses at which the API server may call us now."""
        selector = "labelSelector=kubernetes.io/service-name=gatehouse"
        slices = self.api.get(f"{slices_path(NAMESPACE)}?{selector}")["items"]
        return {
            address
            for one in slices
            for endpoint in one["endpoints"] or ()
            if endpoint["conditions"].get("ready")
            for address in endpoint["addresses"]
        }

    # -- their processes

    def processes(self, replica: Replica) -> list[Process]:
        """The launcher and the program, the launcher first; fewer while it starts."""
        script = _PROCESSES.format(uid=replica.uid, underscored=replica.uid.replace("-", "_"))
        rows = [line.split() for line in self.ground.on_node(replica.node, script).splitlines()]
        ticks = os.sysconf("SC_CLK_TCK")
        found = [
            Process(
                pid=int(row[0]),
                parent=int(row[1]),
                started_s=int(row[4]) / ticks,
                used_s=(int(row[2]) + int(row[3])) / ticks,
                resident=int(row[5]) * 1024,
            )
            for row in rows
            if len(row) == 6  # less of one that is just ending
        ]
        parents = {process.pid for process in found}
        return sorted(found, key=lambda process: process.parent in parents)

    def program(self, replica: Replica) -> Process:
        """The process that does the work: the launcher's child."""
        _, program = self.processes(replica)
        return program

    def uptime_s(self, replica: Replica) -> float:
        """What the clock of `Process.started_s` shows on the replica's node."""
        return float(self.ground.on_node(replica.node, "cut -d' ' -f1 /proc/uptime"))

    def answers_ready(self, replica: Replica) -> bool:
        """Whether /readyz of the replica says so itself."""
        return self.ground.answers(replica.node, replica.address, PROBES_PORT, "/readyz") == 200
