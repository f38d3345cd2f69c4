"""The cluster under test, and the machine that its nodes run on.

Both kinds do the same: `Local` on tests/cluster, `tests.cluster.kind.Kind` on kind. One thread at a time may change a
ground; `api` and `answers` are for any thread.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from types import TracebackType
from typing import Protocol

from tests.cluster import Api, Cluster, Settings
from tests.cluster.components import APISERVER, CONTROLLER_MANAGER
from tests.cluster.kind import Kind
from tests.cluster.node import SECOND

SCRIPT_S = 60.0
# A partition is noticed after 20 s instead of 50; not sooner, since kubelets renew their leases every 10 s.
PARTITIONS = (
    "--node-monitor-grace-period=20s",
    "--node-monitor-period=1s",
    "--node-eviction-rate=10",
    "--secondary-node-eviction-rate=10",
)


class Ground(Protocol):
    """What these tests ask of a cluster."""

    def __enter__(self) -> Ground: ...

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None: ...

    def load(self, archive: Path) -> None:
        """Give every node the image *archive*."""

    def kubectl(self) -> list[str]:
        """The command that is kubectl as administrator."""

    def beside_kubectl(self, argv: list[str]) -> list[str]:
        """The command that runs *argv* where that kubectl does, and meets the ports that it forwards."""

    def api(self) -> Api:
        """A client of the administrator."""

    def on_node(self, node: str, script: str) -> str:
        """What the shell *script* prints as root on the machine of *node*. Raises when it fails."""

    def answers(self, node: str, address: str, port: int, path: str) -> int:
        """The status of a GET from *node* to a pod in clear text; 0 when nobody answers."""

    def restart_api_server(self) -> None:
        """End the API server, start it again, and wait until it is ready."""

    def add_edge_node(self) -> str:
        """The name of a node with images of its own, whose network can be cut, Ready. Once."""

    def cut(self, node: str) -> None:
        """From now on nothing of *node*'s network reaches the others, and the other way round."""

    def heal(self, node: str) -> None:
        """Undo `cut`."""

    def left_behind(self) -> list[str]:
        """After the block: what of it is still on the machine."""


class Local:
    """tests/cluster, with nodes."""

    def __init__(self, name: str) -> None:
        self._cluster = Cluster(Settings(name, {CONTROLLER_MANAGER: PARTITIONS}, node=True))
        self._loaded: list[Path] = []

    def __enter__(self) -> Local:
        self._cluster.up()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._cluster.down()

    def load(self, archive: Path) -> None:
        self._cluster.node.load(archive)
        self._loaded.append(archive)

    def kubectl(self) -> list[str]:
        binary = str(self._cluster.folder / "controlplane")
        return self.beside_kubectl([binary, "kubectl", f"--kubeconfig={self._cluster.kubeconfig('admin')}"])

    def beside_kubectl(self, argv: list[str]) -> list[str]:
        return self._cluster.namespace.command(argv)

    def api(self) -> Api:
        return self._cluster.api()

    def on_node(self, node: str, script: str) -> str:
        argv = ["sh", "-euc", script]
        return subprocess.run(argv, capture_output=True, text=True, check=True, timeout=SCRIPT_S).stdout

    def answers(self, node: str, address: str, port: int, path: str) -> int:
        with self._cluster.connections(port, host=address) as connections:
            try:
                return connections.call("GET", path).status
            except OSError:
                return 0

    def restart_api_server(self) -> None:
        self._cluster.processes.stop(APISERVER, timeout_s=3.0)  # it waits for watches to end, which these do not
        self._cluster.start(APISERVER)

    def add_edge_node(self) -> str:
        self._cluster.add_node()
        for archive in self._loaded:
            self._cluster.second.load(archive)
        return SECOND.name

    def cut(self, node: str) -> None:
        self._cluster.second_namespace.cable("down")

    def heal(self, node: str) -> None:
        self._cluster.second_namespace.cable("up")

    def left_behind(self) -> list[str]:
        """Mounts, network namespaces, cgroups and processes that bear the cluster's name."""
        name, folder = self._cluster.namespace.name, f"{self._cluster.folder}/"
        mounts = [line.split()[1] for line in Path("/proc/mounts").read_text().splitlines()]
        found = [mount for mount in mounts if mount.startswith(folder)]
        found += [str(path) for path in Path("/run/netns").glob(f"{name}*")]
        found += [str(path) for tree in _cgroup_trees() for path in tree.glob(f"{name}*")]
        return found + [str(path.parent) for path in Path("/proc").glob("[0-9]*/cmdline") if folder.encode() in _read(path)]


def chosen() -> Ground:
    """The ground that E2E_CLUSTER names: "local" (the default) or "kind". Named after this process."""
    which = os.environ.get("E2E_CLUSTER") or "local"
    if which not in ("local", "kind"):
        raise ValueError(f"E2E_CLUSTER={which}: must be local or kind")
    name = f"e2e-{os.getpid()}"
    return Kind(name, PARTITIONS) if which == "kind" else Local(name)


def _cgroup_trees() -> list[Path]:
    top = Path("/sys/fs/cgroup")
    return [top, *(path for path in top.iterdir() if path.is_dir() and not path.is_symlink())]


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""
