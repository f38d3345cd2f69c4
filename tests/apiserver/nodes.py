"""Nodes without a kubelet: Node objects with a Ready status, and Leases that one thread renews for all of them.

A node that goes silent is one whose Lease is no longer renewed; from there the real node lifecycle controller takes over.
Source: kubernetes.io/docs: Nodes, heartbeats.
"""

from __future__ import annotations

import contextlib
import datetime
import threading
from types import TracebackType

from tests.cluster import Api, ApiError, Json

NODES = "/api/v1/nodes"
LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
VOTE = "superedgehealth/node-health"
ZONE = "topology.kubernetes.io/zone"
RENEW_EVERY_S = 1.0


def micro_time(moment: datetime.datetime | None = None) -> str:
    """A MicroTime: RFC 3339 with six digits."""
    moment = moment or datetime.datetime.now(datetime.UTC)
    return moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def time(moment: datetime.datetime | None = None) -> str:
    """A Time: RFC 3339, whole seconds."""
    moment = moment or datetime.datetime.now(datetime.UTC)
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def create_node(api: Api, name: str, zone: str, vote: str | None = None, ready: str = "True") -> None:
    """A node of *zone*. vote: "true", "false" or None for no annotation; ready: status of its Ready condition."""
    annotations = {} if vote is None else {VOTE: vote}
    labels = {ZONE: zone, "kubernetes.io/hostname": name}
    metadata = {"name": name, "labels": labels, "annotations": annotations}
    api.create(NODES, {"apiVersion": "v1", "kind": "Node", "metadata": metadata})
    conditions = [
        {"type": kind, "status": status, "reason": "Test", "lastHeartbeatTime": time(), "lastTransitionTime": time()}
        for kind, status in (
            ("Ready", ready),
            ("MemoryPressure", "False"),
            ("DiskPressure", "False"),
            ("PIDPressure", "False"),
        )
    ]
    api.patch(f"{NODES}/{name}/status", {"status": {"conditions": conditions}})


def set_vote(api: Api, name: str, vote: str | None) -> None:
    """Write the vote of the node's peers (None removes it)."""
    api.patch(f"{NODES}/{name}", {"metadata": {"annotations": {VOTE: vote}}})


def no_execute_taints(node: Json) -> list[str]:
    """The keys of the node's NoExecute taints."""
    taints = node.get("spec", {}).get("taints", [])
    return [taint["key"] for taint in taints if taint["effect"] == "NoExecute"]


def ready_status(item: Json) -> str | None:
    """The status of a node's or pod's Ready condition; None without one."""
    conditions = item.get("status", {}).get("conditions", [])
    return next((condition["status"] for condition in conditions if condition["type"] == "Ready"), None)


class Heartbeats:
    """Renews the Leases of the nodes it was told of; the thread runs inside the block. *api* is closed with it.

    `add` and `silence` may be called by any thread.
    """

    def __init__(self, api: Api) -> None:
        self._api = api
        self._lock = threading.Lock()  # guards _names; released before any request
        self._names: set[str] = set()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="test/heartbeats", daemon=True)

    def add(self, name: str) -> None:
        """Create the Lease of node *name* and keep it renewed."""
        spec = {"holderIdentity": name, "leaseDurationSeconds": 40, "renewTime": micro_time()}
        lease = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": name}, "spec": spec}
        self._api.create(LEASES, lease)
        with self._lock:
            self._names.add(name)

    def silence(self, *names: str) -> None:
        """From now on the nodes *names* are not heard of."""
        with self._lock:
            self._names.difference_update(names)

    def __enter__(self) -> Heartbeats:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._stop.set()
        self._thread.join(timeout=40.0)
        self._api.close()

    def _run(self) -> None:
        while not self._stop.wait(RENEW_EVERY_S):
            with self._lock:
                names = sorted(self._names)
            for name in names:
                # A node deleted meanwhile, or an API server that is away: the next round tells.
                with contextlib.suppress(ApiError, OSError):
                    self._api.patch(f"{LEASES}/{name}", {"spec": {"renewTime": micro_time()}})
