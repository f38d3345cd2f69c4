"""Which reviews the API server would send about an object, of those that rules look at: what is done to it, by whom, and how.

An object alone is no review. For each kind these are the writes that matter to the rules of this trade: a node goes silent, the
endpoints controller takes an address out of service, the node controller flips a pod, a pod is created, an instance deleted.
Pure; shares nothing with what it is given. Raises MalformedObject.
Source: kubernetes pkg/controller/nodelifecycle, pkg/controller/endpoint, pkg/controller/util/node (MarkPodsNotReady).
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from typing import Any, Final

import attrs

from webhook.admission.review import VERSIONS, AdmissionRequest, GroupVersionResource, Operations, User
from webhook.cluster import Status
from webhook.names import CONTAINERS_READY, NO_EXECUTE, READY, UNREACHABLE_TAINT
from webhook.objects import conditions, meta, nodes
from webhook.objects.databases import GROUP, PLURAL
from webhook.objects.meta import Json
from webhook.objects.workloads import Workload

_GROUPS: Final = ("system:serviceaccounts", "system:serviceaccounts:kube-system", "system:authenticated")
ANYBODY: Final = User("", ())

NODES: Final = GroupVersionResource("", "v1", "nodes")
PODS: Final = GroupVersionResource("", "v1", "pods")
ENDPOINTS: Final = GroupVersionResource("", "v1", "endpoints")
SLICES: Final = GroupVersionResource("discovery.k8s.io", "v1", "endpointslices")
INSTANCES: Final = GroupVersionResource(GROUP, "v1", PLURAL)


def controller(name: str) -> User:
    """A controller of the control plane, as it calls the API server."""
    return User(f"system:serviceaccount:kube-system:{name}", _GROUPS)


@attrs.frozen
class Question:
    """One review that there would be."""

    title: str  # "the node controller taints it"
    resource: GroupVersionResource
    operation: Operations
    user: User
    object: Json | None
    old: Json | None = None
    subresource: str = ""
    namespace: str = ""

    @property
    def subject(self) -> Json:
        """The object that it is about."""
        return self.object if self.object is not None else self.old or {}

    @property
    def plural(self) -> str:
        """The resource with its subresource."""
        return f"{self.resource.resource}/{self.subresource}" if self.subresource else self.resource.resource

    def request(self, obj: Json | None) -> AdmissionRequest:
        """The review's request about *obj*, which a service may edit. A dry run: what a rule may write, it does not."""
        name = meta.text(meta.metadata(self.subject), "name", "metadata")
        return AdmissionRequest(
            VERSIONS[0],
            "explain",
            self.resource,
            self.subresource,
            name,
            self.namespace,
            self.operation,
            self.user,
            obj,
            copy.deepcopy(self.old),
            dry_run=True,
        )


def of_node(node: Json, now: str) -> Iterator[Question]:
    """A node is tainted as it is, and, while it is heard of, as it would be if it went silent now.

    now: RFC 3339, when it would.
    """
    user = controller("node-controller")
    tainted = _tainted(node, now)
    yield Question("if the node controller taints it now", NODES, Operations.UPDATE, user, tainted, copy.deepcopy(node))
    if conditions.status(conditions.of(node), READY) is not Status.UNKNOWN:
        silent = _silent(node, now)
        yield Question(
            "if it went silent now, and were tainted",
            NODES,
            Operations.UPDATE,
            user,
            _tainted(silent, now),
            copy.deepcopy(silent),
        )


def of_endpoints(obj: Json, namespace: str) -> Iterator[Question]:
    """Every address of an Endpoints or EndpointSlice is taken out of service by its controller."""
    title = "if its controller takes every address out of service"
    is_slice = obj.get("kind") == "EndpointSlice"
    resource, who = (SLICES, "endpointslice-controller") if is_slice else (ENDPOINTS, "endpoint-controller")
    unready = _unready_slice(obj) if is_slice else _unready_endpoints(obj)
    yield Question(title, resource, Operations.UPDATE, controller(who), unready, copy.deepcopy(obj), namespace=namespace)


def of_addresses(obj: Json, namespace: str) -> Iterator[tuple[Json, bool, Question]]:
    """Each address of an Endpoints or EndpointSlice: how it is written, whether it is ready, and the question of it alone."""
    if obj.get("kind") == "EndpointSlice":
        for index, endpoint in enumerate(meta.objects(obj, "endpoints", "")):
            state = meta.mapping(endpoint, "conditions", f"endpoints[{index}]")
            ready = meta.boolean(state, "ready", "conditions") is not False
            alone = {**obj, "endpoints": [endpoint]}
            yield endpoint, ready, next(of_endpoints(alone, namespace))
        return
    for index, subset in enumerate(meta.objects(obj, "subsets", "")):
        for key, ready in (("addresses", True), ("notReadyAddresses", False)):
            for item in meta.objects(subset, key, f"subsets[{index}]"):
                alone = {**obj, "subsets": [{key: [item], "ports": subset.get("ports")}]}
                yield item, ready, next(of_endpoints(alone, namespace))


def address_count(obj: Json) -> int:
    """How many addresses `of_addresses` gives."""
    if obj.get("kind") == "EndpointSlice":
        return len(meta.objects(obj, "endpoints", ""))
    return sum(
        len(meta.objects(subset, key, f"subsets[{index}]"))
        for index, subset in enumerate(meta.objects(obj, "subsets", ""))
        for key in ("addresses", "notReadyAddresses")
    )


def of_pod(pod: Json, namespace: str, user: User) -> Iterator[Question]:
    """A pod is created by *user*, and, where it has been ready, the node controller says that it is not any more."""
    yield Question("when it is created", PODS, Operations.CREATE, user, copy.deepcopy(pod), namespace=namespace)
    flip = _flip(pod)
    if flip is not None:
        old, new = flip
        who = controller("node-controller")
        title = "if the node controller says that it is not ready"
        yield Question(title, PODS, Operations.UPDATE, who, new, old, "status", namespace)


def of_workload(workload: Workload, obj: Json, namespace: str, user: User) -> Iterator[Question]:
    """A workload is applied by *user*."""
    group, _, version = workload.versions[0].rpartition("/")
    resource = GroupVersionResource(group, version, workload.resource)
    title = f"when the {workload.kind} itself is applied"
    yield Question(title, resource, Operations.CREATE, user, copy.deepcopy(obj), namespace=namespace)


def of_instance(instance: Json, namespace: str, user: User) -> Iterator[Question]:
    """A DatabaseInstance is applied, and deleted, by *user*."""
    yield Question("when it is applied", INSTANCES, Operations.CREATE, user, copy.deepcopy(instance), namespace=namespace)
    old = copy.deepcopy(instance)
    yield Question("when it is deleted", INSTANCES, Operations.DELETE, user, None, old, namespace=namespace)


def of_object(obj: Json, resources: Sequence[GroupVersionResource], namespace: str, user: User) -> Iterator[Question]:
    """Anything else: it is created, written and deleted by *user*. resources: what its kind may be called."""
    for resource in resources:
        for operation, old in ((Operations.CREATE, None), (Operations.UPDATE, obj)):
            title = "when it is created" if old is None else "when it is written again"
            yield Question(
                title, resource, operation, user, copy.deepcopy(obj), copy.deepcopy(old) if old else None, namespace=namespace
            )
        yield Question("when it is deleted", resource, Operations.DELETE, user, None, copy.deepcopy(obj), namespace=namespace)


# -- what is done to an object


def _tainted(node: Json, now: str) -> Json:
    found = copy.deepcopy(node)
    taints = nodes.taints(found)
    if not any(map(nodes.is_unreachable_no_execute, taints)):
        taint = {"key": UNREACHABLE_TAINT, "effect": NO_EXECUTE, "timeAdded": now}
        found["spec"] = {**meta.mapping(found, "spec", ""), "taints": [*taints, taint]}
    return found


def _silent(node: Json, now: str) -> Json:
    return _with_condition(node, {"type": READY, "status": Status.UNKNOWN.value, "lastTransitionTime": now})


def _with_condition(obj: Json, condition: Json) -> Json:
    found = copy.deepcopy(obj)
    others = [one for one in conditions.of(found) if one.get("type") != condition["type"]]
    found["status"] = {**meta.mapping(found, "status", ""), "conditions": [*others, condition]}
    return found


def _unready_endpoints(obj: Json) -> Json:
    found = copy.deepcopy(obj)
    for index, subset in enumerate(meta.objects(found, "subsets", "")):
        path = f"subsets[{index}]"
        left = [*meta.objects(subset, "notReadyAddresses", path), *meta.objects(subset, "addresses", path)]
        subset.pop("addresses", None)
        subset["notReadyAddresses"] = left
    return found


def _unready_slice(obj: Json) -> Json:
    found = copy.deepcopy(obj)
    for index, endpoint in enumerate(meta.objects(found, "endpoints", "")):
        state = meta.mapping(endpoint, "conditions", f"endpoints[{index}]")
        endpoint["conditions"] = {**state, "ready": False, "serving": False}
    return found


def _flip(pod: Json) -> tuple[Json, Json] | None:
    """The pod Ready, and as the node controller marks it; None of one that was never ready or has no node."""
    found = conditions.of(pod)
    ready, containers = conditions.status(found, READY), conditions.status(found, CONTAINERS_READY)
    named = meta.text(meta.mapping(pod, "spec", ""), "nodeName", "spec")
    marked = ready is Status.FALSE and containers is Status.TRUE
    if not named or not (marked or (ready is Status.TRUE and containers is not Status.FALSE)):
        return None
    position = conditions.index(found, READY)
    was: dict[str, Any] = found[position] if position is not None else {"type": READY}
    true = Status.TRUE.value
    before = _with_condition(_with_condition(pod, {"type": CONTAINERS_READY, "status": true}), {**was, "status": true})
    return before, _with_condition(before, {**was, "status": Status.FALSE.value})
