"""Admission reviews as kube-apiserver sends them, and the cluster in which they make sense.

A cluster of NODES nodes, every second one silent while its peers say that it is healthy, and pods spread over them in turn: so
half of the addresses in Endpoints are to be moved back, and every review but `small` is answered with a patch. Times are
relative to now, since a guard ends after a day. Used by the benchmark and by tests.
"""

from __future__ import annotations

import datetime
import json
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType

import attrs

from tests.bench import objects
from tests.bench.objects import Json
from webhook.cluster import Cluster, Status
from webhook.sidecars.entries import source
from webhook.testing.facts import cluster as facts_given_by_hand
from webhook.testing.facts import namespace_facts, node_facts, pod_facts

NODES = 1000
PODS = 5000
_CONTROLLERS = ("system:serviceaccounts", "system:serviceaccounts:kube-system", "system:authenticated")


@attrs.frozen
class Review:
    """One AdmissionReview and what is expected of its answer."""

    name: str
    path: str  # that it is sent to
    body: bytes
    patched: bool  # whether the answer carries a patch


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


def node_taint(kib: int = 20) -> Review:
    """A silent node that gets its NoExecute taint; old and new object together fill *kib* KiB."""
    since = moment(60.0)
    taints = objects.unreachable_taints(moment())

    def body(images: int) -> bytes:
        old = objects.node(0, since, ready="Unknown", taints=taints[:1], images=images)
        new = objects.node(0, since, ready="Unknown", taints=taints, images=images)
        return review("", "v1", "nodes", "Node", new, old, user="system:serviceaccount:kube-system:node-controller")

    return Review(f"node-{kib}k", "/node-taint", _filled(body, kib), True)


def pod_flip(kib: int = 11) -> Review:
    """The node controller marks a pod not Ready; old and new object together fill *kib* KiB."""
    old_since, new_since = moment(3600.0), moment()

    def body(variables: int) -> bytes:
        old = objects.pod(0, 0, old_since, ready="True", variables=variables)
        new = objects.pod(0, 0, new_since, ready="False", variables=variables)
        user = "system:serviceaccount:kube-system:node-controller"
        return review("", "v1", "pods", "Pod", new, old, subresource="status", user=user)

    return Review(f"pod-{kib}k", "/pod-status", _filled(body, kib), True)


def endpoints(addresses: int, *, nodes: int = NODES, silent: Callable[[int], bool] = is_silent) -> Review:
    """Endpoints whose addresses on silent nodes were just moved to notReadyAddresses."""
    items = [objects.endpoints_address(number, nodes) for number in range(addresses)]
    ready = [item for number, item in enumerate(items) if not silent(number % nodes)]
    not_ready = [item for number, item in enumerate(items) if silent(number % nodes)]
    new, old = objects.endpoints(ready, not_ready), objects.endpoints(items, [])
    user = "system:serviceaccount:kube-system:endpoint-controller"
    body = review("", "v1", "endpoints", "Endpoints", new, old, user=user)
    return Review(f"endpoints-{addresses}", "/endpoint", body, bool(not_ready))


def endpoint_slice(addresses: int = 100, *, nodes: int = NODES) -> Review:
    """An EndpointSlice (100 endpoints is the size at which its controller starts another) that just lost half of them."""
    old = [objects.slice_endpoint(number, nodes, ready=True) for number in range(addresses)]
    new = [objects.slice_endpoint(number, nodes, ready=not is_silent(number % nodes)) for number in range(addresses)]
    user = "system:serviceaccount:kube-system:endpointslice-controller"
    body = review(
        "discovery.k8s.io",
        "v1",
        "endpointslices",
        "EndpointSlice",
        objects.endpoint_slice(new),
        objects.endpoint_slice(old),
        user=user,
    )
    return Review(f"slice-{addresses}", "/endpoint", body, True)


def injected(kib: int) -> Review:
    """A pod of *kib* KiB is created, and gets a sidecar."""

    def body(variables: int) -> bytes:
        return _created(objects.new_pod(variables))

    return Review(f"inject-{kib}k", "/mutate", _filled(body, kib), True)


def validated(kib: int) -> Review:
    """A pod of *kib* KiB is created, and keeps every bound."""

    def body(variables: int) -> bytes:
        return _created(objects.new_pod(variables))

    return Review(f"validate-{kib}k", "/validate", _filled(body, kib), False)


def injected_at_worst(variables: int = 1500, containers: int = 40, annotation_kib: int = 250) -> Review:
    """As large a pod as anybody has reported: istio/istio#34799 had 1,500 variables, the API takes 256 KiB of annotations."""
    pod = objects.new_pod(variables // containers, containers=containers, annotation_bytes=annotation_kib * 1024)
    return Review("inject-worst", "/mutate", _created(pod), True)


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


def small() -> Review:
    """3 KiB to which there is nothing to do: Endpoints that gain an address, all on nodes that are well."""
    items = [objects.endpoints_address(2 * number + 1, NODES) for number in range(3)]
    user = "system:serviceaccount:kube-system:endpoint-controller"
    body = review("", "v1", "endpoints", "Endpoints", objects.endpoints(items, []), objects.endpoints(items[1:], []), user=user)
    return Review("small-3k", "/endpoint", body, False)


# What the benchmark sends, in the order of its table.
CASES: Mapping[str, Callable[[], Review]] = MappingProxyType(
    {
        "small-3k": small,
        "pod-11k": pod_flip,
        "inject-4k": lambda: injected(4),
        "inject-11k": lambda: injected(11),
        "inject-60k": lambda: injected(60),
        "inject-worst": injected_at_worst,
        "validate-11k": lambda: validated(11),
        "validate-60k": lambda: validated(60),
        "node-20k": node_taint,
        "endpoints-20": lambda: endpoints(20),
        "slice-100": endpoint_slice,
        "endpoints-1000": lambda: endpoints(1000),
        "endpoints-5000": lambda: endpoints(5000),
    }
)


def review(
    group: str, version: str, resource: str, kind: str, new: Json | None, old: Json | None, *, user: str, subresource: str = ""
) -> bytes:
    """An AdmissionReview of an UPDATE (a CREATE when *old* is None), as compact as Go's encoder writes it."""
    metadata = ((new or old) or {})["metadata"]
    gvk = {"group": group, "version": version, "kind": kind}
    gvr = {"group": group, "version": version, "resource": resource}
    name = resource + subresource + metadata.get("name", "")
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
        "options": {"kind": "UpdateOptions", "apiVersion": "meta.k8s.io/v1"},
    }
    document = {"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "request": request}
    return json.dumps(document, separators=(",", ":")).encode()


def _filled(body: Callable[[int], bytes], kib: int) -> bytes:
    """*body* of as many of its parts as fit in *kib* KiB."""
    bare, one = len(body(0)), len(body(1))
    parts = (kib * 1024 - bare) // (one - bare)
    if parts < 0:
        raise ValueError(f"the smallest such review has {bare} bytes")
    return body(parts)
