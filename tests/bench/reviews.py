"""Admission reviews as kube-apiserver sends them, and the cluster in which they make sense.

A cluster of NODES nodes, every second one silent while its peers say that it is healthy, and pods spread over them in turn: so
half of the addresses in Endpoints are to be moved back, and every review but `small` is answered with a patch. Times are
relative to now, since a guard ends after a day. Of every case there are BODIES variants, about other objects of the same size,
so that no server can remember an answer. Used by the benchmark and by tests.
"""

from __future__ import annotations

import datetime
import json
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Protocol

import attrs

from tests.bench import objects
from tests.bench.objects import Json
from webhook.cluster import Cluster, Status
from webhook.sidecars.entries import source
from webhook.testing.facts import cluster as facts_given_by_hand
from webhook.testing.facts import namespace_facts, node_facts, pod_facts

NODES = 1000
PODS = 5000
BODIES = 16  # of each case that are sent in turn
_CONTROLLERS = ("system:serviceaccounts", "system:serviceaccounts:kube-system", "system:authenticated")


@attrs.frozen
class Review:
    """One AdmissionReview and what is expected of its answer."""

    name: str
    path: str  # that it is sent to
    body: bytes
    patched: bool  # whether the answer carries a patch


class Make(Protocol):
    """Makes the review of a case; *variant* chooses the object that it is about."""

    def __call__(self, variant: int = 0) -> Review:
        """The review."""


def moment(seconds_ago: float = 0.0) -> str:
    """An RFC 3339 time, whole seconds, *seconds_ago*."""
    then = datetime.datetime.now(datetime.UTC) - datetime.timedelta(seconds=seconds_ago)
    return then.strftime("%Y-%m-%dT%H:%M:%SZ")


def is_silent(node: int) -> bool:
    """Whether the node *node* is one that stopped reporting."""
    return node % 2 == 0


def write_cluster(folder: Path, *, nodes: int = NODES, pods: int = PODS) -> None:
    """Write the cluster into *folder* as JSON Lists of 100 objects, of each what rules may ask for.

    A server keeps nothing else of them, and reading more would show in its memory.
    """
    since = moment(60.0)

    def node(number: int) -> Json:
        whole = objects.node(number, since, ready="Unknown" if is_silent(number) else "True")
        return _facts(whole, metadata=("name", "uid", "labels", "annotations"), spec=(), status=("conditions", "nodeInfo"))

    def pod(number: int) -> Json:
        # The node controller has marked the pods of silent nodes.
        whole = objects.pod(number, number % nodes, since, ready="False" if is_silent(number % nodes) else "True")
        metadata = ("name", "namespace", "uid", "ownerReferences")
        return _facts(whole, metadata=metadata, spec=("nodeName",), status=("phase", "conditions"))

    items = objects.injected_namespace()
    (folder / "injection.json").write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    for kind, make, count in (("nodes", node, nodes), ("pods", pod, pods)):
        for first in range(0, count, 100):
            items = [make(number) for number in range(first, min(first + 100, count))]
            text = json.dumps({"apiVersion": "v1", "kind": "List", "items": items})
            (folder / f"{kind}-{first:05d}.json").write_text(text)


def facts(*, nodes: int = NODES, pods: int = PODS) -> Cluster:
    """The same cluster as facts, for a gate in this process."""
    silent_since_s = time.time() - 60.0
    namespace, config_map = objects.injected_namespace()
    return facts_given_by_hand(
        [
            node_facts(
                objects.node_name(number),
                ready=Status.UNKNOWN if is_silent(number) else Status.TRUE,
                ready_since_s=silent_since_s,
            )
            for number in range(nodes)
        ],
        [
            pod_facts(
                objects.pod_name(number),
                namespace=objects.NAMESPACE,
                node=objects.node_name(number % nodes),
                uid=objects.uid(objects.pod_name(number)),
                ready=Status.FALSE if is_silent(number % nodes) else Status.TRUE,
            )
            for number in range(pods)
        ],
        namespaces=[namespace_facts(objects.NAMESPACE, labels=namespace["metadata"]["labels"])],
        sidecars=[source.read(objects.NAMESPACE, config_map["metadata"]["name"], {}, config_map["data"])],
    )


def _facts(whole: Json, **kept: tuple[str, ...]) -> Json:
    sections = {section: {key: whole[section][key] for key in keys if key in whole[section]} for section, keys in kept.items()}
    return {"apiVersion": whole["apiVersion"], "kind": whole["kind"], **sections}


def node_taint(kib: int = 20, variant: int = 0) -> Review:
    """A silent node that gets its NoExecute taint; old and new object together fill *kib* KiB."""
    since, number = moment(60.0), 2 * variant  # a silent one
    taints = objects.unreachable_taints(moment())

    def body(images: int) -> bytes:
        old = objects.node(number, since, ready="Unknown", taints=taints[:1], images=images)
        new = objects.node(number, since, ready="Unknown", taints=taints, images=images)
        return review("", "v1", "nodes", "Node", new, old, user="system:serviceaccount:kube-system:node-controller")

    return Review(f"node-{kib}k", "/node-taint", _filled(body, kib), True)


def pod_flip(kib: int = 11, variant: int = 0) -> Review:
    """The node controller marks a pod not Ready; old and new object together fill *kib* KiB."""
    old_since, new_since, number = moment(3600.0), moment(), 2 * variant  # on a silent node

    def body(variables: int) -> bytes:
        old = objects.pod(number, number, old_since, ready="True", variables=variables)
        new = objects.pod(number, number, new_since, ready="False", variables=variables)
        user = "system:serviceaccount:kube-system:node-controller"
        return review("", "v1", "pods", "Pod", new, old, subresource="status", user=user)

    return Review(f"pod-{kib}k", "/pod-status", _filled(body, kib), True)


def endpoints(addresses: int, *, nodes: int = NODES, silent: Callable[[int], bool] = is_silent, variant: int = 0) -> Review:
    """Endpoints whose addresses on silent nodes were just moved to notReadyAddresses."""
    numbers = _backends(addresses, variant)
    items = [objects.endpoints_address(number, nodes) for number in numbers]
    ready = [item for number, item in zip(numbers, items, strict=True) if not silent(number % nodes)]
    not_ready = [item for number, item in zip(numbers, items, strict=True) if silent(number % nodes)]
    new, old = (_renamed(objects.endpoints(*lists), variant) for lists in ((ready, not_ready), (items, [])))
    user = "system:serviceaccount:kube-system:endpoint-controller"
    body = review("", "v1", "endpoints", "Endpoints", new, old, user=user)
    return Review(f"endpoints-{addresses}", "/endpoint", body, bool(not_ready))


def endpoint_slice(addresses: int = 100, *, nodes: int = NODES, variant: int = 0) -> Review:
    """An EndpointSlice (100 endpoints is the size at which its controller starts another) that just lost half of them."""
    numbers = _backends(addresses, variant)
    old = [objects.slice_endpoint(number, nodes, ready=True) for number in numbers]
    new = [objects.slice_endpoint(number, nodes, ready=not is_silent(number % nodes)) for number in numbers]
    user = "system:serviceaccount:kube-system:endpointslice-controller"
    body = review(
        "discovery.k8s.io",
        "v1",
        "endpointslices",
        "EndpointSlice",
        _renamed(objects.endpoint_slice(new), variant),
        _renamed(objects.endpoint_slice(old), variant),
        user=user,
    )
    return Review(f"slice-{addresses}", "/endpoint", body, True)


def injected(kib: int, variant: int = 0) -> Review:
    """A pod of *kib* KiB is created, and gets a sidecar."""

    def body(variables: int) -> bytes:
        return _created(_of_another(objects.new_pod(variables), variant))

    return Review(f"inject-{kib}k", "/mutate", _filled(body, kib), True)


def validated(kib: int, variant: int = 0) -> Review:
    """A pod of *kib* KiB is created, and keeps every bound."""

    def body(variables: int) -> bytes:
        return _created(_of_another(objects.new_pod(variables), variant))

    return Review(f"validate-{kib}k", "/validate", _filled(body, kib), False)


def injected_at_worst(variables: int = 1500, containers: int = 40, annotation_kib: int = 250, *, variant: int = 0) -> Review:
    """As large a pod as anybody has reported: istio/istio#34799 had 1,500 variables, the API takes 256 KiB of annotations."""
    pod = objects.new_pod(variables // containers, containers=containers, annotation_bytes=annotation_kib * 1024)
    return Review("inject-worst", "/mutate", _created(_of_another(pod, variant)), True)


def _created(pod: Json) -> bytes:
    return review("", "v1", "pods", "Pod", pod, None, user="system:serviceaccount:kube-system:replicaset-controller")


def beside() -> list[Review]:
    """What is asked to see that contenders decide alike, and never timed: nothing to do, and reasons to say no."""
    since, taints = moment(60.0), objects.unreachable_taints(moment())
    user = "system:serviceaccount:kube-system:node-controller"

    def node(number: int, ready: str, changed: str, vote: str) -> bytes:
        pair = [objects.node(number, changed, ready=ready, taints=given, images=2) for given in (taints[:1], taints)]
        for one in pair:
            one["metadata"]["annotations"][objects.VOTE] = vote
        return review("", "v1", "nodes", "Node", pair[1], pair[0], user=user)

    greedy = objects.new_pod(4, containers=2)
    greedy["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "2500m"}, "limits": {"cpu": "3", "memory": "5Gi"}}
    many = objects.new_pod(1, containers=9)
    for container in many["spec"]["containers"]:
        container["resources"] = {"requests": {"cpu": "1"}, "limits": {"cpu": "1"}}
    injected_before = objects.new_pod(3)
    injected_before["metadata"]["annotations"] = {"kubectl.kubernetes.io/default-container": "metrics", "a/b": "c"}
    on_host = objects.new_pod(3)
    on_host["spec"]["hostNetwork"] = True
    old = objects.pod(0, 0, moment(3600.0), ready="True")
    probe_failed = objects.pod(0, 0, moment(), ready="False")
    next(one for one in probe_failed["status"]["conditions"] if one["type"] == "ContainersReady")["status"] = "False"
    flip = {"subresource": "status", "user": user}
    return [
        Review("node-well", "/node-taint", node(1, "True", since, "true"), False),
        Review("node-called-dead", "/node-taint", node(0, "Unknown", since, "false"), False),
        Review("node-silent-for-long", "/node-taint", node(0, "Unknown", moment(25 * 3600.0), "true"), False),
        Review("pod-greedy", "/validate", _created(greedy), False),
        Review("pod-of-many", "/validate", _created(many), False),
        Review("pod-with-annotations", "/mutate", _created(injected_before), True),
        Review("pod-on-the-host", "/mutate", _created(on_host), False),
        Review("pod-probe-failed", "/pod-status", review("", "v1", "pods", "Pod", probe_failed, old, **flip), False),
        endpoints(50, silent=lambda node: node % 5 == 0),
        endpoint_slice(40),
    ]


def small(variant: int = 0) -> Review:
    """3 KiB to which there is nothing to do: Endpoints that gain an address, all on nodes that are well."""
    items = [objects.endpoints_address(number + 1, NODES) for number in _backends(6, variant)[::2]]
    user = "system:serviceaccount:kube-system:endpoint-controller"
    new, old = (_renamed(objects.endpoints(ready, []), variant) for ready in (items, items[1:]))
    body = review("", "v1", "endpoints", "Endpoints", new, old, user=user)
    return Review("small-3k", "/endpoint", body, False)


# What the benchmark sends, in the order of its table.
CASES: Mapping[str, Make] = MappingProxyType(
    {
        "small-3k": small,
        "pod-11k": lambda variant=0: pod_flip(variant=variant),
        "inject-4k": lambda variant=0: injected(4, variant),
        "inject-11k": lambda variant=0: injected(11, variant),
        "inject-60k": lambda variant=0: injected(60, variant),
        "inject-worst": lambda variant=0: injected_at_worst(variant=variant),
        "validate-11k": lambda variant=0: validated(11, variant),
        "validate-60k": lambda variant=0: validated(60, variant),
        "node-20k": lambda variant=0: node_taint(variant=variant),
        "endpoints-20": lambda variant=0: endpoints(20, variant=variant),
        "slice-100": lambda variant=0: endpoint_slice(variant=variant),
        "endpoints-1000": lambda variant=0: endpoints(1000, variant=variant),
        "endpoints-5000": lambda variant=0: endpoints(5000, variant=variant),
    }
)

# What each case is in a reader's words.
WORDS: Mapping[str, str] = MappingProxyType(
    {
        "small-3k": "3 KiB, nothing to do",
        "pod-11k": "pod of 11 KiB stays ready",
        "inject-4k": "pod of 4 KiB gets a sidecar",
        "inject-11k": "pod of 11 KiB gets a sidecar",
        "inject-60k": "pod of 60 KiB gets a sidecar",
        "inject-worst": "largest pod gets a sidecar",
        "validate-11k": "pod of 11 KiB held to limits",
        "validate-60k": "pod of 60 KiB held to limits",
        "node-20k": "node of 20 KiB keeps its pods",
        "endpoints-20": "Endpoints, 20 addresses",
        "slice-100": "EndpointSlice, 100 addresses",
        "endpoints-1000": "Endpoints, 1,000 addresses",
        "endpoints-5000": "Endpoints, 5,000 addresses",
    }
)


def variants(case: str, count: int = BODIES) -> list[Review]:
    """*count* reviews of *case*, each about another object."""
    return [CASES[case](variant) for variant in range(count)]


def review(
    group: str, version: str, resource: str, kind: str, new: Json | None, old: Json | None, *, user: str, subresource: str = ""
) -> bytes:
    """An AdmissionReview of an UPDATE (a CREATE when *old* is None), as compact as Go's encoder writes it."""
    metadata = ((new or old) or {})["metadata"]
    gvk = {"group": group, "version": version, "kind": kind}
    gvr = {"group": group, "version": version, "resource": resource}
    name = resource + subresource + metadata.get("name", metadata.get("generateName", ""))
    request: Json = {"uid": objects.uid(f"request {name}"), "kind": gvk, "resource": gvr}
    if subresource:
        request["subResource"] = subresource
    request |= {"requestKind": gvk, "requestResource": gvr}
    if subresource:
        request["requestSubResource"] = subresource
    if "name" in metadata:
        request["name"] = metadata["name"]
    if "namespace" in metadata:
        request["namespace"] = metadata["namespace"]
    request |= {
        "operation": "CREATE" if old is None else "UPDATE",
        "userInfo": {"username": user, "uid": objects.uid(user), "groups": list(_CONTROLLERS)},
        "object": new,
        "oldObject": old,
        "dryRun": False,
        "options": {"kind": "CreateOptions" if old is None else "UpdateOptions", "apiVersion": "meta.k8s.io/v1"},
    }
    document = {"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "request": request}
    return json.dumps(document, separators=(",", ":")).encode()


def _backends(count: int, variant: int) -> list[int]:
    """The pods behind a Service: *count* of them, others in each variant."""
    among = max(PODS, count)
    return [(number + variant * (PODS // BODIES // 2 * 2)) % among for number in range(count)]  # even, so that roles stay


def _renamed(published: Json, variant: int) -> Json:
    """*published* (Endpoints, EndpointSlice) as that of another Service, just as long."""
    if variant:
        metadata = published["metadata"]
        name = f"{metadata['name'][:-2]}{variant:02x}"
        metadata |= {"name": name, "uid": objects.uid(f"endpoints {name}"), "resourceVersion": str(6_000_001 + variant)}
    return published


def _of_another(pod: Json, variant: int) -> Json:
    """*pod*, a new one, as that of another ReplicaSet, just as long."""
    if not variant:
        return pod
    text, owner = json.dumps(pod), pod["metadata"]["ownerReferences"][0]
    template, token = pod["metadata"]["labels"]["pod-template-hash"], "5xk2v"
    digits = objects.uid(f"variant {variant}").replace("-", "")
    replaced = {owner["uid"]: objects.uid(f"owner {variant}"), template: digits[: len(template)], token: digits[-len(token) :]}
    for was, becomes in replaced.items():
        if was not in text:
            raise ValueError(f"the pod does not have {was}")
        text = text.replace(was, becomes)
    changed: Json = json.loads(text)
    return changed


def _filled(body: Callable[[int], bytes], kib: int) -> bytes:
    """*body* of as many of its parts as fit in *kib* KiB."""
    bare, one = len(body(0)), len(body(1))
    parts = (kib * 1024 - bare) // (one - bare)
    if parts < 0:
        raise ValueError(f"the smallest such review has {bare} bytes")
    return body(parts)
