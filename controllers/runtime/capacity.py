"""How full the cluster is: what the nodes that take ordinary pods have, and what the pods bound to them ask for.

`Tally` is the arithmetic, one change at a time: each event costs O(1), and so does every question. `CountedCapacity` feeds it
from two caches and implements `webhook.cluster.Capacity`. Pods may be heard of before their node and outlive it: what they ask
for is kept by the node's name, and counts while that node takes pods.

Threads: the lock guards the tally; it is held for additions only. Handlers run on the two reflectors' threads, `capacity` on
anyone's.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable

from controllers.runtime.demand import NONE, Demand
from controllers.runtime.informer import Informer
from controllers.runtime.store import Change, Deletion
from webhook.cluster import CapacityFacts, NodeFacts, PodFacts, Status
from webhook.objects.pods import FINISHED

KEEPS_PODS_AWAY = ("NoSchedule", "NoExecute")


def takes_pods(node: NodeFacts) -> bool:
    """Whether ordinary pods may come to *node*. One without any condition is as good as ready (files leave them out)."""
    return (
        not node.unschedulable
        and node.ready in (Status.TRUE, None)
        and not any(taint.effect in KEEPS_PODS_AWAY for taint in node.taints)
    )


class Tally:
    """The sums. Not for several threads."""

    def __init__(self) -> None:
        self._allocatable: dict[str, Demand] = {}  # of nodes that take pods, by name
        self._requested: dict[str, Demand] = {}  # by the name of the node, also of those that take none
        # What was counted for each pod: the last state of a deleted one may be another than that.
        self._counted: dict[str, PodFacts] = {}
        self._totals = [0, 0, 0, 0]  # allocatable cpu and memory, requested cpu and memory

    def facts(self) -> CapacityFacts:
        """The sums of now. O(1)."""
        cpu_m, memory, requested_cpu_m, requested_memory = self._totals
        return CapacityFacts(cpu_m, memory, requested_cpu_m, requested_memory, len(self._allocatable))

    def put_node(self, node: NodeFacts) -> None:
        """*node* is there, or has changed."""
        self.drop_node(node.name)
        if takes_pods(node):
            own = node.allocatable_cpu_m, node.allocatable_memory
            self._allocatable[node.name] = own
            self._add(own, self._requested.get(node.name, NONE), 1)

    def drop_node(self, name: str) -> None:
        """The node is gone."""
        own = self._allocatable.pop(name, None)
        if own is not None:
            self._add(own, self._requested.get(name, NONE), -1)

    def put_pod(self, key: str, pod: PodFacts) -> None:
        """*pod* is there, or has changed."""
        before = self._counted.get(key)
        if before is not None and _same(before, pod):
            return
        self.drop_pod(key)
        if pod.node and pod.phase not in FINISHED and (pod.requested_cpu_m or pod.requested_memory):
            self._counted[key] = pod
            self._request(pod, 1)

    def drop_pod(self, key: str) -> None:
        """The pod is gone."""
        before = self._counted.pop(key, None)
        if before is not None:
            self._request(before, -1)

    def _request(self, pod: PodFacts, sign: int) -> None:
        cpu, memory = self._requested.get(pod.node, NONE)
        after = cpu + sign * pod.requested_cpu_m, memory + sign * pod.requested_memory
        if after == NONE:
            self._requested.pop(pod.node, None)
        else:
            self._requested[pod.node] = after
        if pod.node in self._allocatable:
            self._add(NONE, (pod.requested_cpu_m, pod.requested_memory), sign)

    def _add(self, allocatable: Demand, requested: Demand, sign: int) -> None:
        for index, amount in enumerate((*allocatable, *requested)):
            self._totals[index] += sign * amount


def _same(one: PodFacts, other: PodFacts) -> bool:
    """Whether both count alike: nearly every event is about something else."""
    return (
        one.node == other.node
        and other.phase not in FINISHED
        and (one.requested_cpu_m, one.requested_memory) == (other.requested_cpu_m, other.requested_memory)
    )


def capacity_of(nodes: Iterable[NodeFacts], pods: Iterable[PodFacts]) -> CapacityFacts:
    """The sums of these. O(n)."""
    tally = Tally()
    for node in nodes:
        tally.put_node(node)
    for pod in pods:
        tally.put_pod(f"{pod.namespace}/{pod.name}", pod)
    return tally.facts()


class CountedCapacity:
    """Implements `webhook.cluster.Capacity` from the caches of nodes and pods; the pods' requests have to be read."""

    def __init__(self, nodes: Informer[NodeFacts], pods: Informer[PodFacts]) -> None:
        self._lock = threading.Lock()  # guards _tally; no IO happens under it
        self._tally = Tally()
        self._nodes = nodes
        self._pods = pods
        nodes.add_handler(self._node)
        pods.add_handler(self._pod)

    # -- called by anyone

    def capacity(self) -> CapacityFacts | None:
        """See `webhook.cluster.Capacity`."""
        if not (self._nodes.has_synced() and self._pods.has_synced()):
            return None
        with self._lock:
            return self._tally.facts()

    # -- called by the reflectors' threads

    def _node(self, change: Change[NodeFacts]) -> None:
        with self._lock:
            if isinstance(change, Deletion):
                self._tally.drop_node(change.item.facts.name)
            else:
                self._tally.put_node(change.item.facts)

    def _pod(self, change: Change[PodFacts]) -> None:
        with self._lock:
            if isinstance(change, Deletion):
                self._tally.drop_pod(change.item.key)
            else:
                self._tally.put_pod(change.item.key, change.item.facts)
