"""Real nodes for a cluster: containerd with runc, kubelet and kube-proxy on a bridge network, and one scheduler.

Pods run, are probed, reach Services and each other; images come from `load`, since no registry is reached. Everything
that containers mount lies under the cluster's folder, so that `stop` can undo it; nothing of it is deleted while it is
still mounted.
Source: kubernetes.io/docs: KubeletConfiguration v1beta1; containerd docs: cri/config; containernetworking docs: bridge,
host-local, portmap.
"""

from __future__ import annotations

import json
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import attrs
import yaml

from tests.cluster import binaries
from tests.cluster.components import kubeconfig
from tests.cluster.image import write_image
from tests.cluster.network import ADDRESS, Namespace
from tests.cluster.processes import Process, Processes

PODS_CIDR = "10.244.0.0/16"
PAUSE_IMAGE = "localhost/pause:1"
PROGRAMS = ("kube-proxy", "kubelet", "kube-scheduler", "containerd")  # in the order of stopping
CTR_TIMEOUT_S = 120.0
_SOCKET_WITHIN_S = 20.0
_SHIM = "containerd-shim-runc-v2"
_CGROUPS = Path("/sys/fs/cgroup")
_CNI_RESULTS = Path("/var/lib/cni/results")  # where containerd remembers pods' networks; the place cannot be configured


@attrs.frozen
class Member:
    """Which node of a cluster."""

    name: str = "node-1"
    user: str = "kubelet"  # a key of credentials.USERS
    address: str = ADDRESS
    pods_cidr: str = "10.244.0.0/24"
    schedules: bool = True  # one scheduler for all


FIRST = Member()
# In a namespace of its own, behind a cable that can be pulled (Namespace.join).
SECOND = Member("node-2", "kubelet-2", "172.30.0.2", "10.244.1.0/24", schedules=False)


class Node:
    """The node *member* of the cluster *name*; its state is in *folder*, and *cluster* has the kubeconfigs and the program."""

    def __init__(
        self, name: str, folder: Path, namespace: Namespace, member: Member = FIRST, cluster: Path | None = None
    ) -> None:
        self.member = member
        self._folder = folder
        self._cluster = cluster or folder
        self._namespace = namespace
        self.processes = Processes(folder)
        self._socket = folder / "containerd.sock"
        self._cgroup = f"gatehouse-{name}"  # a kubelet ends pods it does not know: two nodes must not share a root

    def start(self) -> None:
        """Start everything; the node object and its readiness come a few seconds later."""
        programs = binaries.node_programs()
        (self._folder / "node").symlink_to(programs)
        self._write_configuration(programs)
        self._make_cgroups()
        if self.member.schedules:
            self._start("kube-scheduler", self._scheduler())
        # containerd finds its shim on PATH.
        path = ["env", f"PATH={programs}:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"]
        self._start("containerd", [*path, str(programs / "containerd"), "-c", str(self._folder / "containerd.toml")])
        self._wait(self._socket.exists)
        pause = self._folder / "pause.tar"
        write_image(pause, PAUSE_IMAGE, ["/pause"], {"/pause": programs / "pause"})
        self.load(pause)
        self._start("kubelet", self._kubelet())
        self._start("kube-proxy", self._proxy())

    def load(self, archive: Path) -> None:
        """Import the image *archive* (image.write_image). Raises subprocess.CalledProcessError with ctr's output."""
        self._ctr("images", "import", str(archive))

    def stop(self) -> None:
        """End every program and container, and unmount what they left. No error when there is nothing."""
        for name in PROGRAMS[:-1]:
            self.processes.stop(name, timeout_s=3.0)
        if self.processes.running("containerd"):
            for task in self._ctr("tasks", "list", "-q").split():
                self._ctr("tasks", "kill", "-s", "SIGKILL", task, check=False)
        self.processes.stop("containerd", timeout_s=5.0)
        for shim in self._shims():
            shim.end(timeout_s=3.0)
        self._unmount()
        self._remove_cgroups()
        for cached in _CNI_RESULTS.glob("*"):
            if str(self._folder) in cached.read_text():
                cached.unlink()

    # -- command lines

    def _kubernetes(self, program: str, **flags: str) -> list[str]:
        given = [f"--{key.replace('_', '-')}={value}" for key, value in flags.items()]
        return [str(self._cluster / "controlplane"), program, *given]

    def _scheduler(self) -> list[str]:
        own = str(kubeconfig(self._cluster, "scheduler"))
        flags = {"kubeconfig": own, "authentication_kubeconfig": own, "authorization_kubeconfig": own}
        return self._kubernetes(
            "kube-scheduler", leader_elect="false", bind_address="127.0.0.1", cert_dir=str(self._folder), **flags
        )

    def _kubelet(self) -> list[str]:
        return self._kubernetes(
            "kubelet",
            config=str(self._folder / "kubelet.yaml"),
            kubeconfig=str(kubeconfig(self._cluster, self.member.user)),
            hostname_override=self.member.name,
            root_dir=str(self._folder / "kubelet"),
            cert_dir=str(self._folder / "kubelet-certificates"),
            node_ip=self.member.address,
        )

    def _proxy(self) -> list[str]:
        return self._kubernetes(
            "kube-proxy",
            kubeconfig=str(kubeconfig(self._cluster, "proxy")),
            hostname_override=self.member.name,
            proxy_mode="iptables",
            cluster_cidr=PODS_CIDR,
            metrics_bind_address="127.0.0.1:10249",
            conntrack_max_per_core="0",  # the sysctl is not ours to set
        )

    # -- files

    def _write_configuration(self, programs: Path) -> None:
        (self._folder / "cni").mkdir()
        (self._folder / "static").mkdir()
        (self._folder / "cni" / "10-bridge.conflist").write_text(json.dumps(self._network()))
        (self._folder / "kubelet.yaml").write_text(yaml.safe_dump(self._kubelet_configuration()))
        (self._folder / "containerd.toml").write_text(
            f'''version = 3
root = "{self._folder}/containerd-root"
state = "{self._folder}/containerd-state"
[grpc]
  address = "{self._socket}"
[plugins."io.containerd.cri.v1.images"]
  snapshotter = "native"  # overlayfs may not be stacked on the file system of a container
  [plugins."io.containerd.cri.v1.images".pinned_images]
    sandbox = "{PAUSE_IMAGE}"
[plugins."io.containerd.cri.v1.runtime"]
  restrict_oom_score_adj = true  # root may lack CAP_SYS_RESOURCE
  netns_mounts_under_state_dir = true
  [plugins."io.containerd.cri.v1.runtime".cni]
    bin_dirs = ["{programs}"]
    conf_dir = "{self._folder}/cni"
  [plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
'''
        )

    def _network(self) -> dict[str, object]:
        addresses = {
            "type": "host-local",
            "dataDir": str(self._folder / "addresses"),
            "ranges": [[{"subnet": self.member.pods_cidr}]],
            "routes": [{"dst": "0.0.0.0/0"}],
        }
        bridge = {"type": "bridge", "bridge": "cni0", "isGateway": True, "ipMasq": True, "hairpinMode": True}
        ports = {"type": "portmap", "capabilities": {"portMappings": True}}
        return {"cniVersion": "1.0.0", "name": self._cgroup, "plugins": [{**bridge, "ipam": addresses}, ports]}

    def _kubelet_configuration(self) -> dict[str, object]:
        return {
            "apiVersion": "kubelet.config.k8s.io/v1beta1",
            "kind": "KubeletConfiguration",
            "failCgroupV1": False,
            "cgroupDriver": "cgroupfs",
            "cgroupRoot": f"/{self._cgroup}",
            "enforceNodeAllocatable": [],
            "failSwapOn": False,
            "authentication": {"anonymous": {"enabled": True}, "webhook": {"enabled": False}},
            "authorization": {"mode": "AlwaysAllow"},
            "containerRuntimeEndpoint": f"unix://{self._socket}",
            "staticPodPath": str(self._folder / "static"),
            "address": "0.0.0.0",
            "localStorageCapacityIsolation": False,
            "clusterDNS": ["10.0.0.10"],
        }

    # -- inside

    def _start(self, name: str, argv: list[str]) -> None:
        self.processes.start(name, self._namespace.command(argv))

    def _wait(self, met: Callable[[], bool]) -> None:
        end_s = time.monotonic() + _SOCKET_WITHIN_S
        while not met():
            if time.monotonic() > end_s or not self.processes.running("containerd"):
                raise TimeoutError(f"containerd does not answer:\n{self.processes.log_tail('containerd')}")
            time.sleep(0.1)

    def _ctr(self, *arguments: str, check: bool = True) -> str:
        argv = [str(self._folder / "node" / "ctr"), "-a", str(self._socket), "-n", "k8s.io", *arguments]
        result = subprocess.run(argv, check=check, capture_output=True, text=True, timeout=CTR_TIMEOUT_S)
        return result.stdout

    def _shims(self) -> list[Process]:
        """The shims of our containerd: they outlive it, and bear its socket's path among their arguments."""
        found = []
        for path in Path("/proc").glob("[0-9]*/cmdline"):
            try:
                arguments = path.read_bytes().decode(errors="replace").split("\0")
            except (FileNotFoundError, ProcessLookupError):
                continue
            if Path(arguments[0]).name == _SHIM and str(self._socket) in arguments:
                found.append(Process.of(int(path.parent.name)))
        return found

    def _unmount(self) -> None:
        prefix = f"{self._folder}/"
        mounts = [line.split()[1] for line in Path("/proc/mounts").read_text().splitlines()]
        for mount in sorted((mount for mount in mounts if mount.startswith(prefix)), reverse=True):
            subprocess.run(["umount", "--lazy", mount], capture_output=True, timeout=30)

    def _hierarchies(self) -> list[Path]:
        """Every cgroup tree: one with cgroup v2, one per controller with v1."""
        if (_CGROUPS / "cgroup.controllers").exists():
            return [_CGROUPS]
        return [path for path in _CGROUPS.iterdir() if path.is_dir() and not path.is_symlink()]

    def _make_cgroups(self) -> None:
        for tree in self._hierarchies():
            (tree / self._cgroup).mkdir(exist_ok=True)
            if tree.name == "cpuset":  # v1: no process may enter before its processors and memory are named
                for knob in ("cpuset.cpus", "cpuset.mems"):
                    (tree / self._cgroup / knob).write_text((tree / knob).read_text())

    def _remove_cgroups(self) -> None:
        for tree in self._hierarchies():
            top = tree / self._cgroup
            groups = [path for path in top.rglob("*") if path.is_dir()] if top.exists() else []
            for group in sorted(groups, reverse=True) + ([top] if top.exists() else []):
                self._empty(group)
                try:
                    group.rmdir()
                except OSError as error:
                    binaries.say(f"cgroup {group} stays: {error.strerror}")

    @staticmethod
    def _empty(group: Path) -> None:
        """End what still runs in a group of our own."""
        for pid in (group / "cgroup.procs").read_text().split():
            process = Process.of(int(pid))
            process.signal(signal.SIGKILL)
            process.wait(3.0)
