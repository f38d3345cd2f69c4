"""A cluster of facts given by hand, for tests and for golden cases."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import attrs

from webhook.clock import Deadline
from webhook.cluster import Cluster, NodeFacts, PodFacts, Status, Vote


@attrs.define
class StaticNodes:
    """Nodes that stand still. *live* is what `confirm` finds; names that it lacks get no answer."""

    nodes: Mapping[str, NodeFacts]
    live: Mapping[str, NodeFacts] = attrs.field(factory=dict)
    confirmed: list[str] = attrs.field(factory=list)  # names that were asked for, in order

    def get(self, name: str) -> NodeFacts | None:
        return self.nodes.get(name)

    def confirm(self, name: str, deadline: Deadline) -> NodeFacts | None:
        self.confirmed.append(name)
        return self.live.get(name)


@attrs.frozen
class StaticPods:
    """Pods that stand still."""

    pods: Mapping[str, PodFacts]

    def get(self, key: str) -> PodFacts | None:
        return self.pods.get(key)

    def on_node(self, node: str) -> Sequence[PodFacts]:
        return [pod for pod in self.pods.values() if pod.node == node]


def node_facts(
    name: str = "edge-1",
    *,
    ready: Status | None = Status.UNKNOWN,
    ready_since_s: float | None = 0.0,
    vote: Vote = Vote.HEALTHY,
    vote_time_s: float | None = None,
    labels: Mapping[str, str] | None = None,
) -> NodeFacts:
    """A silent node that its peers vouch for, unless told otherwise."""
    return NodeFacts(name, f"uid-{name}", labels or {}, ready, ready_since_s, vote, vote_time_s, (), "v1.37.2", False)


def pod_facts(
    name: str = "web-1",
    *,
    namespace: str = "shop",
    node: str = "edge-1",
    uid: str = "",
    phase: str = "Running",
    deleting: bool = False,
    ready: Status | None = Status.FALSE,
    ready_reason: str = "",
    containers_ready: Status | None = Status.TRUE,
    gates_met: bool = True,
) -> PodFacts:
    """A pod that the node controller marked not Ready, unless told otherwise."""
    return PodFacts(
        uid or f"uid-{name}",
        namespace,
        name,
        node,
        phase,
        deleting,
        ready,
        ready_reason,
        containers_ready,
        gates_met,
        "ReplicaSet/web",
    )


def cluster(nodes: Iterable[NodeFacts] = (), pods: Iterable[PodFacts] = (), live: Iterable[NodeFacts] = ()) -> Cluster:
    """A cluster of these facts; *live* is what the API server would answer now."""
    return Cluster(
        StaticNodes({node.name: node for node in nodes}, {node.name: node for node in live}),
        StaticPods({f"{pod.namespace}/{pod.name}": pod for pod in pods}),
    )
