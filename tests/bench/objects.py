"""Nodes, pods, Endpoints and EndpointSlices as they stand in clusters: managedFields, images, conditions, volumes and all.

Everything is plain JSON made from names and numbers, so that the same call gives the same object. A node is as large as it is
because of its images (kubelets report up to 50), a pod because of its environment and managedFields.
Source: kubernetes.io/docs: API reference; the shapes of objects that kind and kubeadm clusters hold.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence

from webhook.objects.meta import Json

NAMESPACE = "shop"
SIDECAR = """\
containers:
  - name: envoy
    image: registry.example.com/envoy:1.37
    args: [--concurrency, "4", --config-path, /etc/envoy/envoy.json]
    ports: [{containerPort: 15001}]
    resources: {limits: {cpu: "1", memory: 512Mi}, requests: {cpu: 100m, memory: 64Mi}}
    volumeMounts: [{name: envoy-conf, mountPath: /etc/envoy}]
volumes: [{name: envoy-conf, configMap: {name: envoy}}]
"""
VOTE = "superedgehealth/node-health"
UNREACHABLE = "node.kubernetes.io/unreachable"
_CREATED = "2026-03-02T08:15:30Z"


def node_name(number: int) -> str:
    """The name of the node *number*."""
    return f"edge-{number:04d}"


def pod_name(number: int) -> str:
    """The name of the pod *number*, as a ReplicaSet gives it."""
    return f"checkout-6d5f7c9b84-{_digits(f'pod {number}', 5)}{number:04d}"


def uid(what: str) -> str:
    """A UID that *what* always gets."""
    digits = _digits(what, 32)
    return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))


def address(number: int) -> str:
    """The IPv4 address of the pod *number*."""
    return f"10.{64 + number // 65536}.{number // 256 % 256}.{number % 256}"


def node(number: int, changed: str, *, ready: str = "True", taints: Sequence[Json] = (), images: int = 20) -> Json:
    """The node *number* whose peers say that it is healthy; 3.5 KiB and 200 bytes an image.

    changed: RFC 3339, when its Ready became *ready*.
    """
    name = node_name(number)
    labels = {
        "beta.kubernetes.io/arch": "arm64",
        "beta.kubernetes.io/os": "linux",
        "kubernetes.io/arch": "arm64",
        "kubernetes.io/hostname": name,
        "kubernetes.io/os": "linux",
        "node.kubernetes.io/instance-type": "edge.large",
        "topology.kubernetes.io/region": "north",
        "topology.kubernetes.io/zone": f"site-{number % 40}",
    }
    annotations = {
        "node.alpha.kubernetes.io/ttl": "0",
        "volumes.kubernetes.io/controller-managed-attach-detach": "true",
        VOTE: "true",
    }
    capacity = {"cpu": "8", "ephemeral-storage": "102350132Ki", "memory": "16261920Ki", "pods": "110"}
    spec: Json = {"podCIDR": f"10.{number // 256}.{number % 256}.0/24", "podCIDRs": [f"10.{number // 256}.{number % 256}.0/24"]}
    if taints:
        spec["taints"] = list(taints)
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "uid": uid(name),
            "resourceVersion": str(4_000_000 + number),
            "creationTimestamp": _CREATED,
            "labels": labels,
            "annotations": annotations,
            "managedFields": [_managed("kubelet", labels, annotations), _managed_status()],
        },
        "spec": spec,
        "status": {
            "capacity": capacity,
            "allocatable": {**capacity, "cpu": "7910m", "memory": "15136544Ki"},
            "conditions": _node_conditions(ready, changed),
            "addresses": [
                {"type": "InternalIP", "address": f"172.16.{number // 250}.{number % 250}"},
                {"type": "Hostname", "address": name},
            ],
            "daemonEndpoints": {"kubeletEndpoint": {"Port": 10250}},
            "nodeInfo": {
                "architecture": "arm64",
                "bootID": uid(f"boot {name}"),
                "containerRuntimeVersion": "containerd://2.1.4",
                "kernelVersion": "6.8.0-71-generic",
                "kubeProxyVersion": "",
                "kubeletVersion": "v1.34.1",
                "machineID": _digits(f"machine {name}", 32),
                "operatingSystem": "linux",
                "osImage": "Ubuntu 24.04.3 LTS",
                "systemUUID": uid(f"system {name}"),
            },
            "images": [_image(image) for image in range(images)],
        },
    }


def unreachable_taints(since: str) -> list[Json]:
    """The pair that the node lifecycle controller sets on a silent node."""
    return [
        {"key": UNREACHABLE, "effect": "NoSchedule", "timeAdded": since},
        {"key": UNREACHABLE, "effect": "NoExecute", "timeAdded": since},
    ]


def new_pod(variables: int = 12, *, containers: int = 1, annotation_bytes: int = 0) -> Json:
    """A pod as a ReplicaSet creates it: no name, no node, no status; 2 KiB and 75 bytes a variable of each container.

    annotation_bytes: length of one annotation that nobody reads.
    """
    whole = pod(0, 0, _CREATED, variables=variables)
    first = whole["spec"]["containers"][0]
    more = [{**first, "name": f"worker-{number}"} for number in range(1, containers)]
    spec = {key: value for key, value in whole["spec"].items() if key != "nodeName"}
    kept = ("generateName", "namespace", "labels", "ownerReferences")
    metadata = {key: whole["metadata"][key] for key in kept}
    if annotation_bytes:
        metadata["annotations"] = {"example.com/notes": "n" * annotation_bytes}
    spec["containers"] = [*spec["containers"], *more]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def injected_namespace() -> list[Json]:
    """The namespace of the pods, each of which gets a sidecar, and the ConfigMap that says which."""
    labels = {"pod-admission-webhook-injection": "enabled"}
    return [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE, "labels": labels}},
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": "envoy-initializer", "namespace": NAMESPACE},
            "data": {"config": SIDECAR},
        },
    ]


def pod(number: int, node_number: int, changed: str, *, ready: str = "True", variables: int = 12) -> Json:
    """The running pod *number* on a node; 4.8 KiB and 75 bytes a variable of its environment.

    changed: RFC 3339, when its Ready became *ready*.
    """
    name, owner = pod_name(number), "checkout-6d5f7c9b84"
    labels = {"app": "checkout", "pod-template-hash": "6d5f7c9b84", "tier": "backend"}
    environment = [
        {"name": f"CHECKOUT_SETTING_{index:02d}", "value": f"value-{index}-of-the-checkout-service"}
        for index in range(variables)
    ]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "generateName": f"{owner}-",
            "namespace": NAMESPACE,
            "uid": uid(name),
            "resourceVersion": str(5_000_000 + number),
            "creationTimestamp": _CREATED,
            "labels": labels,
            "ownerReferences": [
                {
                    "apiVersion": "apps/v1",
                    "kind": "ReplicaSet",
                    "name": owner,
                    "uid": uid(owner),
                    "controller": True,
                    "blockOwnerDeletion": True,
                }
            ],
            "managedFields": [_managed("kube-controller-manager", labels, {}), _managed_status()],
        },
        "spec": _pod_spec(node_name(node_number), environment),
        "status": {
            "phase": "Running",
            "conditions": _pod_conditions(ready, changed),
            "hostIP": f"172.16.{node_number // 250}.{node_number % 250}",
            "podIP": address(number),
            "podIPs": [{"ip": address(number)}],
            "startTime": _CREATED,
            "containerStatuses": [_container_status(kind, name) for kind in ("app", "metrics")],
            "qosClass": "Burstable",
        },
    }


def target(number: int) -> Json:
    """The reference from an address to the pod *number*."""
    return {"kind": "Pod", "namespace": NAMESPACE, "name": pod_name(number), "uid": uid(pod_name(number))}


def endpoints(ready: Sequence[Json], not_ready: Sequence[Json]) -> Json:
    """Endpoints with one subset of these addresses."""
    subset: Json = {"ports": [{"name": "http", "port": 8080, "protocol": "TCP"}]}
    if ready:
        subset["addresses"] = list(ready)
    if not_ready:
        subset["notReadyAddresses"] = list(not_ready)
    metadata = {**_published("checkout"), "annotations": {"endpoints.kubernetes.io/last-change-trigger-time": _CREATED}}
    return {"apiVersion": "v1", "kind": "Endpoints", "metadata": metadata, "subsets": [subset]}


def endpoints_address(number: int, nodes: int) -> Json:
    """The address of the pod *number*; pods are spread over *nodes* in turn."""
    return {"ip": address(number), "nodeName": node_name(number % nodes), "targetRef": target(number)}


def endpoint_slice(items: Sequence[Json]) -> Json:
    """An EndpointSlice of these endpoints."""
    metadata = {**_published("checkout-x7k2p"), "generateName": "checkout-"}
    return {
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": metadata,
        "addressType": "IPv4",
        "endpoints": list(items),
        "ports": [{"name": "http", "port": 8080, "protocol": "TCP"}],
    }


def slice_endpoint(number: int, nodes: int, *, ready: bool) -> Json:
    """The endpoint of the pod *number*."""
    return {
        "addresses": [address(number)],
        "conditions": {"ready": ready, "serving": ready, "terminating": False},
        "nodeName": node_name(number % nodes),
        "targetRef": target(number),
        "zone": f"site-{number % 40}",
    }


def _digits(what: str, count: int) -> str:
    return hashlib.sha256(what.encode()).hexdigest()[:count]


def _image(number: int) -> Json:
    repository = f"registry.example.com/platform/component-{number:02d}"
    digest = hashlib.sha256(repository.encode()).hexdigest()
    return {
        "names": [f"{repository}@sha256:{digest}", f"{repository}:v1.{number}.7"],
        "sizeBytes": 25_000_000 + 1_713_001 * number,
    }


def _managed(manager: str, labels: Json, annotations: Json) -> Json:
    fields: Json = {
        "f:metadata": {
            "f:labels": {".": {}, **{f"f:{key}": {} for key in labels}},
            "f:annotations": {".": {}, **{f"f:{key}": {} for key in annotations}},
        }
    }
    return {
        "manager": manager,
        "operation": "Update",
        "apiVersion": "v1",
        "time": _CREATED,
        "fieldsType": "FieldsV1",
        "fieldsV1": fields,
    }


def _managed_status() -> Json:
    condition: Json = {"f:lastHeartbeatTime": {}, "f:lastTransitionTime": {}, "f:message": {}, "f:reason": {}, "f:status": {}}
    kinds = ("DiskPressure", "MemoryPressure", "PIDPressure", "Ready")
    fields = {"f:status": {"f:conditions": {f"k:{json.dumps({'type': kind})}": condition for kind in kinds}}}
    return {**_managed("kubelet", {}, {}), "fieldsV1": fields, "subresource": "status"}


def _node_conditions(ready: str, changed: str) -> list[Json]:
    silent = ready == "Unknown"
    reason, message = (
        ("NodeStatusUnknown", "Kubelet stopped posting node status.")
        if silent
        else ("KubeletReady", "kubelet is posting ready status")
    )
    pressures = [
        {
            "type": kind,
            "status": "Unknown" if silent else "False",
            "lastHeartbeatTime": changed,
            "lastTransitionTime": changed,
            "reason": "NodeStatusUnknown" if silent else f"KubeletHas{word}",
            "message": message if silent else f"kubelet has {word.lower()} available",
        }
        for kind, word in (
            ("MemoryPressure", "SufficientMemory"),
            ("DiskPressure", "NoDiskPressure"),
            ("PIDPressure", "SufficientPID"),
        )
    ]
    own = {
        "type": "Ready",
        "status": ready,
        "lastHeartbeatTime": changed,
        "lastTransitionTime": changed,
        "reason": reason,
        "message": message,
    }
    return [*pressures, own]


def _pod_spec(node: str, environment: list[Json]) -> Json:
    mounts = [{"mountPath": "/var/run/secrets/kubernetes.io/serviceaccount", "name": "kube-api-access-5xk2v", "readOnly": True}]
    quiet = {
        "terminationMessagePath": "/dev/termination-log",
        "terminationMessagePolicy": "File",
        "imagePullPolicy": "IfNotPresent",
    }
    probe = {
        "httpGet": {"path": "/healthz", "port": 8080, "scheme": "HTTP"},
        "periodSeconds": 5,
        "timeoutSeconds": 1,
        "successThreshold": 1,
        "failureThreshold": 3,
    }
    return {
        "nodeName": node,
        "containers": [
            {
                "name": "app",
                "image": "registry.example.com/shop/checkout:v3.14.2",
                "ports": [{"name": "http", "containerPort": 8080, "protocol": "TCP"}],
                "env": environment,
                "resources": {"limits": {"cpu": "1", "memory": "512Mi"}, "requests": {"cpu": "250m", "memory": "256Mi"}},
                "readinessProbe": probe,
                "livenessProbe": probe,
                "volumeMounts": [*mounts, {"mountPath": "/etc/checkout", "name": "config"}],
                **quiet,
            },
            {
                "name": "metrics",
                "image": "registry.example.com/shop/exporter:v1.0.9",
                "resources": {},
                "volumeMounts": mounts,
                **quiet,
            },
        ],
        "volumes": [
            {"name": "config", "configMap": {"name": "checkout", "defaultMode": 420}},
            {
                "name": "kube-api-access-5xk2v",
                "projected": {
                    "defaultMode": 420,
                    "sources": [{"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}}],
                },
            },
        ],
        "tolerations": [
            {"key": f"node.kubernetes.io/{key}", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}
            for key in ("not-ready", "unreachable")
        ],
        "restartPolicy": "Always",
        "terminationGracePeriodSeconds": 30,
        "dnsPolicy": "ClusterFirst",
        "serviceAccountName": "checkout",
        "securityContext": {},
        "schedulerName": "default-scheduler",
        "priority": 0,
        "enableServiceLinks": True,
        "preemptionPolicy": "PreemptLowerPriority",
    }


def _pod_conditions(ready: str, changed: str) -> list[Json]:
    others = [
        {"type": kind, "status": "True", "lastProbeTime": None, "lastTransitionTime": _CREATED}
        for kind in ("PodReadyToStartContainers", "Initialized", "ContainersReady", "PodScheduled")
    ]
    return [*others[:2], {"type": "Ready", "status": ready, "lastProbeTime": None, "lastTransitionTime": changed}, *others[2:]]


def _container_status(name: str, pod: str) -> Json:
    digest = hashlib.sha256(f"{pod} {name}".encode()).hexdigest()
    return {
        "name": name,
        "state": {"running": {"startedAt": _CREATED}},
        "lastState": {},
        "ready": True,
        "restartCount": 0,
        "image": f"registry.example.com/shop/{name}:v3.14.2",
        "imageID": f"registry.example.com/shop/{name}@sha256:{digest}",
        "containerID": f"containerd://{digest}",
        "started": True,
    }


def _published(name: str) -> Json:
    return {
        "name": name,
        "namespace": NAMESPACE,
        "uid": uid(f"endpoints {name}"),
        "resourceVersion": "6000001",
        "creationTimestamp": _CREATED,
        "labels": {"app": "checkout", "kubernetes.io/service-name": "checkout"},
        "managedFields": [_managed("kube-controller-manager", {"app": "checkout"}, {})],
    }
