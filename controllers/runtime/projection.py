"""What is kept of nodes and pods.

Every field here is one that a rule reads; adding one costs its bytes times 50,000 pods.
Pure; any thread. Raises UndecodableObject naming the object and the field.
Source: core/v1 Node and Pod (Kubernetes API reference).
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from sys import intern
from typing import Any

import msgspec
from msgspec import UNSET, UnsetType

from controllers.runtime import demand, fixed
from controllers.runtime.decoding import Projected, StructProjection
from controllers.runtime.resource import Index, Item, Json, Resource
from webhook.cluster import NodeFacts, PodFacts, Status, Taint
from webhook.names import APP_LABEL, CONTAINERS_READY, INJECT, INJECT_ENTRIES, INJECTED, READY, Reason
from webhook.objects.meta import parse_time_s
from webhook.objects.pods import MIRROR_ANNOTATION
from webhook.objects.versions import index_value
from webhook.objects.votes import VotePolicy
from webhook.sidecars.wish import Wish, obstacle, wish_of

BY_NODE = "node"  # index of pods: spec.nodeName
BY_ADDRESS, BY_RESERVATION = fixed.BY_ADDRESS, fixed.BY_RESERVATION  # indexes of pods, where they are asked for
BY_KUBELET = "kubelet"  # index of nodes that take pods: their kubelet's "major.minor"

_STATUSES: Mapping[str | None, Status] = {str(status): status for status in Status}


_Text = str | UnsetType | None


class _Struct(msgspec.Struct, rename="camel", gc=False):
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
    allocatable: demand.Counted | None = None


class _Owner(_Struct):
    api_version: str | None = None
    uid: str | None = None
    kind: str | None = None
    name: str | None = None
    controller: bool | None = None


class _PodAnnotations(fixed.Annotations, gc=False):
    """The annotations in use: the others are never decoded. Absent is UNSET, null reads as "", as everywhere."""

    inject: _Text = msgspec.field(default=UNSET, name=INJECT)
    entries: _Text = msgspec.field(default=UNSET, name=INJECT_ENTRIES)
    injected: _Text = msgspec.field(default=UNSET, name=INJECTED)
    mirror: _Text = msgspec.field(default=UNSET, name=MIRROR_ANNOTATION)


class _PodLabels(fixed.Labels, gc=False):
    inject: _Text = msgspec.field(default=UNSET, name=INJECT)
    entries: _Text = msgspec.field(default=UNSET, name=INJECT_ENTRIES)
    app: _Text = msgspec.field(default=UNSET, name=APP_LABEL)


class _PodMeta(_Struct):
    name: str | None = None
    namespace: str | None = None
    uid: str | None = None
    resource_version: str | None = None
    creation_timestamp: str | None = None
    deletion_timestamp: str | None = None
    owner_references: list[_Owner] | None = None
    annotations: _PodAnnotations | None = None
    labels: _PodLabels | None = None


class _Gate(_Struct):
    condition_type: str | None = None


class _Os(_Struct):
    name: str | None = None


class _PodSpec(_Struct):
    node_name: str | None = None
    scheduling_gates: list[fixed.SchedulingGate] | None = None
    readiness_gates: list[_Gate] | None = None
    host_network: bool | None = None
    os: _Os | None = None


class _PodStatus(_Struct):
    phase: str | None = None
    conditions: list[_Condition] | None = None


class _Injected(msgspec.Struct):
    entry: str
    revision: str = ""
    left_out: str | None = msgspec.field(default=None, name="leftOut")


_STATUS = msgspec.json.Decoder(list[_Injected])
_NO_ANNOTATIONS = _PodAnnotations()
_NO_LABELS = _PodLabels()
_NOBODY = _Owner()
_Said = tuple[tuple[str, ...], tuple[str, ...], tuple[tuple[str, str], ...]]
_NOTHING_INJECTED: _Said = ((), (), ())


class _Pod(Projected):
    metadata: _PodMeta = msgspec.field(default_factory=_PodMeta)
    spec: _PodSpec | None = None
    status: _PodStatus | None = None


class _CountedSpec(_PodSpec):
    containers: tuple[demand.Container, ...] | None = None
    init_containers: tuple[demand.Container, ...] | None = None
    resources: demand.Stated | None = None
    overhead: demand.Counted | None = None


class _CountedPod(Projected):
    metadata: _PodMeta = msgspec.field(default_factory=_PodMeta)
    spec: _CountedSpec | None = None
    status: _PodStatus | None = None


def nodes_resource(policy: VotePolicy) -> Resource[NodeFacts]:
    """All nodes; of the annotations only those that *policy* reads."""
    return Resource("nodes", "/api/v1/nodes", _node_projection(policy), indexes={BY_KUBELET: _kubelet})


def pods_resource(*, counted: bool = False, addressed: bool = False) -> Resource[PodFacts]:
    """All pods of all namespaces, indexed by node.

    counted: what they ask for is read, too, which costs time per pod. addressed: they are indexed by address and key as well.
    """
    projection = _COUNTED_PODS if counted else _PODS
    indexes: dict[str, Index[PodFacts]] = {BY_NODE: lambda pod: (pod.node,) if pod.node else ()}
    if addressed:
        indexes |= fixed.indexes()
    return Resource("pods", "/api/v1/pods", projection, indexes=indexes)


def node_facts_from_object(obj: Json, policy: VotePolicy) -> NodeFacts:
    """The facts of a Node that was read from a file. Unknown fields are ignored; raises UndecodableObject."""
    return _node_projection(policy).convert(obj).facts


def pod_facts_from_object(obj: Json) -> PodFacts:
    """The facts of a Pod that was read from a file. Unknown fields are ignored; raises UndecodableObject."""
    return _COUNTED_PODS.convert(obj).facts


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
    cpu_m, memory = demand.allocatable(status.allocatable)
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
        allocatable_cpu_m=cpu_m,
        allocatable_memory=memory,
    )
    return Item(name, facts.uid, meta.resource_version or "", facts)


def _kubelet(node: NodeFacts) -> tuple[str, ...]:
    return () if node.unschedulable else (index_value(node.kubelet_version),)


def _pod_item(pod: _Pod | _CountedPod, requested: demand.Demand = demand.NONE) -> Item[PodFacts]:
    meta = pod.metadata
    if not meta.name:
        raise ValueError("metadata.name is missing")
    spec, status = pod.spec or _PodSpec(), pod.status or _PodStatus()
    annotations, labels = meta.annotations or _NO_ANNOTATIONS, meta.labels or _NO_LABELS
    owner = _controlling(meta.owner_references) or _NOBODY
    injected, revisions, left_out = _status(annotations.injected) if annotations.injected else _NOTHING_INJECTED
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
        owner="" if owner is _NOBODY else intern(f"{owner.kind or ''}/{owner.name or ''}"),
        owner_api_version=intern(owner.api_version or ""),
        owner_uid=intern(owner.uid or ""),
        wish=_wish(annotations.inject, annotations.entries, labels.inject, labels.entries),
        obstacle=_obstacle(namespace, labels.app, annotations.mirror is not UNSET, spec.os and spec.os.name, spec.host_network),
        injected=injected,
        revisions=revisions,
        created_s=(meta.creation_timestamp and parse_time_s(meta.creation_timestamp)) or 0.0,
        requested_cpu_m=requested[0],
        requested_memory=requested[1],
        left_out=left_out,
        fixed=fixed.marks(annotations, labels, spec.scheduling_gates),
        on_host_network=bool(spec.host_network),
    )
    return Item(f"{namespace}/{meta.name}", facts.uid, meta.resource_version or "", facts)


# Of 50,000 pods a few hundred differ in what they say: these caches make them share values, and spare the work besides.
@lru_cache(maxsize=4096)
def _wish(inject: _Text, entries: _Text, labelled: _Text, labelled_entries: _Text) -> Wish:
    annotations = {INJECT: inject, INJECT_ENTRIES: entries}
    return wish_of(fixed.present(annotations), fixed.present({INJECT: labelled, INJECT_ENTRIES: labelled_entries}))


@lru_cache(maxsize=4096)
def _obstacle(namespace: str, app: _Text, mirror: bool, os: str | None, host_network: bool | None) -> Reason | None:
    metadata: Json = {"labels": fixed.present({APP_LABEL: app}), "annotations": {MIRROR_ANNOTATION: ""} if mirror else {}}
    return obstacle({"metadata": metadata, "spec": {"os": {"name": os}, "hostNetwork": host_network}}, namespace)


@lru_cache(maxsize=4096)
def _status(injected: _Text) -> _Said:
    """Entries and revisions of a status annotation, and what it says was left out; none when it cannot be read."""
    try:
        seen = _STATUS.decode(injected or "")
    except (ValueError, RecursionError):  # msgspec's errors and UnicodeErrors are ValueErrors
        return _NOTHING_INJECTED
    brought = [one for one in seen if one.left_out is None]
    left_out = tuple((intern(one.entry), intern(one.revision)) for one in seen if one.left_out is not None)
    return tuple(intern(one.entry) for one in brought), tuple(intern(one.revision) for one in brought), left_out


def _condition(conditions: list[_Condition] | None, kind: str | None) -> _Condition | None:
    for condition in conditions or ():
        if condition.type == kind:
            return condition
    return None


def _is_true(condition: _Condition | None) -> bool:
    return condition is not None and condition.status == "True"


def _controlling(owners: list[_Owner] | None) -> _Owner | None:
    for owner in owners or ():
        if owner.controller:
            return owner
    return None


def _counted_pod_item(pod: _CountedPod) -> Item[PodFacts]:
    spec = pod.spec or _CountedSpec()
    asked = demand.Demanding(spec.containers, spec.init_containers, spec.resources, spec.overhead)
    return _pod_item(pod, demand.requested(asked))


_PODS: StructProjection[_Pod, PodFacts] = StructProjection("v1", "Pod", _Pod, _pod_item)
_COUNTED_PODS: StructProjection[_CountedPod, PodFacts] = StructProjection("v1", "Pod", _CountedPod, _counted_pod_item)
