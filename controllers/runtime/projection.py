"""What is kept of nodes and pods.

Every field here is one that a rule reads; adding one costs its bytes times 50,000 pods.
Pure; any thread. Raises UndecodableObject naming the object and the field.
Source: core/v1 Node and Pod (Kubernetes API reference).
"""

from __future__ import annotations

from collections.abc import Mapping
from sys import intern
from typing import Any

import msgspec

from controllers.runtime.decoding import Projected, StructProjection
from controllers.runtime.resource import Item, Json, Resource
from webhook.cluster import NodeFacts, PodFacts, Status, Taint
from webhook.names import CONTAINERS_READY, READY
from webhook.objects.meta import parse_time_s
from webhook.objects.votes import VotePolicy

BY_NODE = "node"  # index of pods: spec.nodeName

_STATUSES: Mapping[str | None, Status] = {str(status): status for status in Status}


class _Struct(msgspec.Struct, rename="camel"):
    """Camel case, as the API writes its fields."""


class _Condition(_Struct):
    type: str | None = None
    status: str | None = None
    reason: str | None = None
    last_transition_time: str | None = None


class _Taint(_Struct):
    key: str | None = None
    value: str | None = None
    effect: str | None = None


class _NodeSpec(_Struct):
    taints: list[_Taint] | None = None
    unschedulable: bool | None = None


class _NodeInfo(_Struct):
    kubelet_version: str | None = None


class _NodeStatus(_Struct):
    conditions: list[_Condition] | None = None
    node_info: _NodeInfo | None = None


class _Owner(_Struct):
    kind: str | None = None
    name: str | None = None
    controller: bool | None = None


class _PodMeta(_Struct):
    name: str | None = None
    namespace: str | None = None
    uid: str | None = None
    resource_version: str | None = None
    deletion_timestamp: str | None = None
    owner_references: list[_Owner] | None = None


class _Gate(_Struct):
    condition_type: str | None = None


class _PodSpec(_Struct):
    node_name: str | None = None
    readiness_gates: list[_Gate] | None = None


class _PodStatus(_Struct):
    phase: str | None = None
    conditions: list[_Condition] | None = None


class _Pod(Projected):
    metadata: _PodMeta = msgspec.field(default_factory=_PodMeta)
    spec: _PodSpec | None = None
    status: _PodStatus | None = None


def nodes_resource(policy: VotePolicy) -> Resource[NodeFacts]:
    """All nodes; of the annotations only those that *policy* reads."""
    return Resource("nodes", "/api/v1/nodes", _node_projection(policy))


def pods_resource() -> Resource[PodFacts]:
    """All pods of all namespaces, indexed by node."""
    return Resource("pods", "/api/v1/pods", _PODS, indexes={BY_NODE: lambda pod: (pod.node,) if pod.node else ()})


def node_facts_from_object(obj: Json, policy: VotePolicy) -> NodeFacts:
    """The facts of a Node that was read from a file. Unknown fields are ignored; raises UndecodableObject."""
    return _node_projection(policy).convert(obj).facts


def pod_facts_from_object(obj: Json) -> PodFacts:
    """The facts of a Pod that was read from a file. Unknown fields are ignored; raises UndecodableObject."""
    return _PODS.convert(obj).facts


def _node_projection(policy: VotePolicy) -> StructProjection[Any, NodeFacts]:
    keys = sorted(policy.annotation_keys())
    # One field per annotation in use, so that the others (last-applied-configuration is often 5 KB) are never decoded.
    fields = [f"annotation_{index}" for index in range(len(keys))]
    annotations = msgspec.defstruct(
        "NodeAnnotations",
        [(field, str | None, None) for field in fields],
        rename=dict(zip(fields, keys, strict=True)),
    )
    meta = msgspec.defstruct(
        "NodeMeta",
        [
            ("name", str | None, None),
            ("uid", str | None, None),
            ("resource_version", str | None, None),
            ("labels", dict[str, str | None] | None, None),
            ("annotations", annotations | None, None),
        ],
        rename="camel",
    )
    node = msgspec.defstruct(
        "ProjectedNode",
        [
            ("metadata", meta, msgspec.field(default_factory=meta)),
            ("spec", _NodeSpec | None, None),
            ("status", _NodeStatus | None, None),
        ],
        bases=(Projected,),
        rename="camel",
    )
    pairs = tuple(zip(fields, keys, strict=True))

    def to_item(seen: Any) -> Item[NodeFacts]:
        written = seen.metadata.annotations
        votes = {key: value for field, key in pairs if (value := getattr(written, field, None)) is not None}
        return _node_item(seen.metadata, seen.spec or _NodeSpec(), seen.status or _NodeStatus(), votes, policy)

    return StructProjection("v1", "Node", node, to_item)


def _node_item(
    meta: Any, spec: _NodeSpec, status: _NodeStatus, votes: Mapping[str, str], policy: VotePolicy
) -> Item[NodeFacts]:
    if not meta.name:
        raise ValueError("metadata.name is missing")
    name = intern(meta.name)
    ready = _condition(status.conditions, READY)
    vote, vote_time_s = policy.read(votes)
    facts = NodeFacts(
        name=name,
        uid=meta.uid or "",
        # Label values repeat over nodes (zone, arch, instance type): interned, 5,000 nodes share them.
        labels={intern(key): intern(value or "") for key, value in (meta.labels or {}).items()},
        ready=_STATUSES.get(ready.status) if ready else None,
        ready_since_s=parse_time_s(ready.last_transition_time) if ready and ready.last_transition_time else None,
        vote=vote,
        vote_time_s=vote_time_s,
        taints=tuple(
            Taint(intern(taint.key or ""), intern(taint.value or ""), intern(taint.effect or "")) for taint in spec.taints or ()
        ),
        kubelet_version=intern((status.node_info and status.node_info.kubelet_version) or ""),
        unschedulable=bool(spec.unschedulable),
    )
    return Item(name, facts.uid, meta.resource_version or "", facts)


def _pod_item(pod: _Pod) -> Item[PodFacts]:
    meta = pod.metadata
    if not meta.name:
        raise ValueError("metadata.name is missing")
    spec, status = pod.spec or _PodSpec(), pod.status or _PodStatus()
    namespace = intern(meta.namespace or "default")  # files may leave it out; the API server never does
    ready = _condition(status.conditions, READY)
    containers_ready = _condition(status.conditions, CONTAINERS_READY)
    facts = PodFacts(
        uid=meta.uid or "",
        namespace=namespace,
        name=meta.name,
        node=intern(spec.node_name or ""),
        phase=intern(status.phase or ""),
        deleting=bool(meta.deletion_timestamp),
        ready=_STATUSES.get(ready.status) if ready else None,
        ready_reason=intern((ready and ready.reason) or ""),
        containers_ready=_STATUSES.get(containers_ready.status) if containers_ready else None,
        gates_met=all(_is_true(_condition(status.conditions, gate.condition_type)) for gate in spec.readiness_gates or ()),
        owner=_owner(meta.owner_references),
    )
    return Item(f"{namespace}/{meta.name}", facts.uid, meta.resource_version or "", facts)


def _condition(conditions: list[_Condition] | None, kind: str | None) -> _Condition | None:
    for condition in conditions or ():
        if condition.type == kind:
            return condition
    return None


def _is_true(condition: _Condition | None) -> bool:
    return condition is not None and condition.status == "True"


def _owner(owners: list[_Owner] | None) -> str:
    for owner in owners or ():
        if owner.controller:
            return intern(f"{owner.kind or ''}/{owner.name or ''}")
    return ""


_PODS: StructProjection[_Pod, PodFacts] = StructProjection("v1", "Pod", _Pod, _pod_item)
