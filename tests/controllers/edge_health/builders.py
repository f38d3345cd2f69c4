"""Nodes and pods as the API server has them: a silent, guarded node, and on it a pod that the node controller marked."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from controllers.edge_health.mending import ready_patch, taint_operations
from controllers.edge_health.plan import LetPodGo, RestorePod
from controllers.runtime.projection import nodes_resource, pods_resource
from controllers.testing.patches import json_patch, strategic_patch
from webhook.objects.meta import Json
from webhook.objects.votes import VotePolicy

WALL_S = 1_800_000_000.0  # FakeClock's
EVICTING: Json = {"key": "node.kubernetes.io/unreachable", "effect": "NoExecute", "timeAdded": "2026-01-01T00:00:00Z"}
TWIN: Json = {"key": "node.kubernetes.io/unreachable", "effect": "NoSchedule", "timeAdded": "2026-01-01T00:00:00Z"}
OTHER: Json = {"key": "example.com/maintenance", "value": "", "effect": "NoExecute"}
VOTE = "superedgehealth/node-health"


def at(wall_s: float) -> str:
    """The API's Time."""
    return datetime.fromtimestamp(wall_s, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def node(
    name: str = "edge-1",
    *taints: Json,
    ready: str = "Unknown",
    vote: str | None = "true",
    ready_for_s: float = 90.0,
    labels: Json | None = None,
    annotations: Json | None = None,
) -> Json:
    """A Node that has been *ready* for *ready_for_s*."""
    votes = {} if vote is None else {VOTE: vote}
    since = at(WALL_S - ready_for_s)
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels or {}, "annotations": votes | (annotations or {})},
        "spec": {"taints": list(taints)} if taints else {},
        "status": {"conditions": [{"type": "Ready", "status": ready, "lastTransitionTime": since}]},
    }


def pod(
    name: str = "web-1",
    *,
    on: str = "edge-1",
    ready: str = "False",
    containers_ready: str = "True",
    phase: str = "Running",
    reason: str = "",
    gate: str | None = None,
    **metadata: Any,
) -> Json:
    """A Pod; *gate* is the status of its one readiness gate, None = it has none."""
    conditions = [
        {"type": "PodScheduled", "status": "True", "lastTransitionTime": at(0)},
        {"type": "Ready", "status": ready, "lastTransitionTime": at(0), "observedGeneration": 1}
        | ({"reason": reason} if reason else {}),
        {"type": "ContainersReady", "status": containers_ready, "lastTransitionTime": at(0)},
    ]
    spec: Json = {"nodeName": on}
    if gate is not None:
        spec["readinessGates"] = [{"conditionType": "example.com/in-pool"}]
        conditions.append({"type": "example.com/in-pool", "status": gate})
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "shop", **metadata},
        "spec": spec,
        "status": {"phase": phase, "podIP": "10.0.0.4", "conditions": conditions},
    }


def without_taint(seen: Json) -> Json:
    """The Node after the removal of its taint."""
    patched: Json = json_patch(seen, taint_operations(nodes_resource(VotePolicy()).projection.convert(seen)))
    return patched


def after(step: RestorePod | LetPodGo, seen: Json, now_s: float = WALL_S) -> Json | None:
    """The Pod after *step*; None when nothing is written."""
    patch = ready_patch(pods_resource().projection.convert(seen), step, now_s)
    return None if patch is None else dict(strategic_patch(seen, patch))


def condition(obj: Json, kind: str = "Ready") -> Json:
    """The condition of type *kind*."""
    (found,) = (one for one in obj["status"]["conditions"] if one["type"] == kind)
    return found
