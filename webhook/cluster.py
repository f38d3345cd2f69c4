"""What a rule may ask of the cluster: Protocols over frozen facts.

Implemented by the listers in `controllers.runtime.lister` (watch caches) and `controllers.local` (files). Every method
but `confirm` is a look-up in memory, never IO, and may be called by any thread.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Protocol

import attrs

from webhook.clock import Deadline


class Status(StrEnum):
    """A condition's status. Absent conditions are UNKNOWN only where the API says so; facts use None for absent."""

    TRUE = "True"
    FALSE = "False"
    UNKNOWN = "Unknown"


class Vote(StrEnum):
    """What a node's peers say of it."""

    HEALTHY = "healthy"
    UNHEALTHY = "unhealthy"
    UNKNOWN = "unknown"


@attrs.frozen
class Taint:
    """One taint of a node."""

    key: str
    value: str
    effect: str


@attrs.frozen
class NodeFacts:
    """What rules know of a node."""

    name: str
    uid: str
    labels: Mapping[str, str]
    ready: Status | None  # status of the Ready condition; None when the node has none
    ready_since_s: float | None  # its lastTransitionTime, seconds since the epoch
    vote: Vote
    vote_time_s: float | None  # from the time annotation; None when there is none or none is configured
    taints: tuple[Taint, ...]
    kubelet_version: str
    unschedulable: bool


@attrs.frozen
class PodFacts:
    """What rules know of a pod."""

    uid: str
    namespace: str
    name: str
    node: str  # spec.nodeName, "" while unscheduled
    phase: str
    deleting: bool  # metadata.deletionTimestamp is set
    ready: Status | None
    ready_reason: str  # "" when the Ready condition gives none
    containers_ready: Status | None
    gates_met: bool  # every readiness gate's condition is True; True when there are no gates
    owner: str  # "Kind/name" of the controlling owner, "" when there is none

    @property
    def is_marked(self) -> bool:
        """Whether Ready bears the node controller's signature: False although nothing speaks against it.

        MarkPodsNotReady changes only the status. A kubelet that says False gives its reason (ContainersNotReady,
        ReadinessGatesNotReady, PodCompleted), which stays when the node goes silent, even if a gate is met later.
        Source: kubernetes pkg/controller/util/node, pkg/kubelet/status/generate.go.
        """
        return self.ready is Status.FALSE and not self.ready_reason and self.containers_ready is Status.TRUE and self.gates_met


class Nodes(Protocol):
    """The nodes of the cluster."""

    def get(self, name: str) -> NodeFacts | None:
        """The node as the cache has it; None when it has none."""

    def confirm(self, name: str, deadline: Deadline) -> NodeFacts | None:
        """The node as the API server has it now, for decisions that the cache is too late for.

        The one live read a rule may do: single-flight per node, at most 300 ms and never beyond *deadline*, answers kept
        for 1 s. None when there was no answer in time, or there is no API server (local mode).
        """


class Pods(Protocol):
    """The pods of the cluster. A key is "namespace/name"."""

    def get(self, key: str) -> PodFacts | None:
        """The pod as the cache has it; None when it has none."""

    def on_node(self, node: str) -> Sequence[PodFacts]:
        """The pods bound to *node*, in no order."""


@attrs.frozen
class Cluster:
    """Everything a rule may ask."""

    nodes: Nodes
    pods: Pods
