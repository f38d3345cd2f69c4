"""Silent nodes whose votes turn all the time: whoever leads has led writes to make, several a second.

A turn to healthy comes with an evicting taint, so that the leader patches the node and its pods; a turn to unhealthy makes it
patch the pods. To be used where no controller judges nodes and no registration keeps the taint out.
"""

from __future__ import annotations

import itertools
import threading

from tests.apiserver import nodes, workloads
from tests.cluster import Api, ApiError, Json

NAMESPACE = "turning"
NODES = ("turning-1", "turning-2", "turning-3")
PODS_PER_NODE = 2
TURN_EVERY_S = 0.4  # one node after the other
TAINT: Json = {"key": workloads.UNREACHABLE, "effect": "NoExecute"}


class TurningVotes:
    """The nodes and their pods are there inside the block, and a thread turns the votes. *api* is closed with it."""

    def __init__(self, api: Api) -> None:
        self._api = api
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="test/turning-votes", daemon=True)
        self.turns = 0

    def __enter__(self) -> TurningVotes:
        workloads.create_namespace(self._api, NAMESPACE)
        for number, node in enumerate(NODES, 1):
            nodes.create_node(self._api, node, "turning", "true", ready="Unknown")
            for index in range(PODS_PER_NODE):
                address = f"10.220.{number}.{index + 1}"
                workloads.create_pod(self._api, NAMESPACE, f"{node}-{index}", node, address, {})
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join(timeout=40.0)
        try:
            workloads.delete_pods(self._api, NAMESPACE)
            self._api.delete(f"/api/v1/namespaces/{NAMESPACE}")
            for node in NODES:
                self._api.delete(f"{nodes.NODES}/{node}")
        finally:
            self._api.close()

    def _run(self) -> None:
        for turn in itertools.count():
            if self._stop.wait(TURN_EVERY_S):
                return
            node, healthy = NODES[turn % len(NODES)], turn // len(NODES) % 2
            change: Json = {"metadata": {"annotations": {nodes.VOTE: "true" if healthy else "false"}}}
            if healthy:
                change["spec"] = {"taints": [TAINT]}
            try:
                self._api.patch(f"{nodes.NODES}/{node}", change)
                self.turns += 1
            except (ApiError, OSError):  # the API server is away: the next turn tells
                continue
