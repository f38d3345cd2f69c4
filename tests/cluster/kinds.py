"""Where objects of each kind live in the API: enough of the REST mapping for what these tests apply.

Source: kubernetes.io/docs: API overview.
"""

from __future__ import annotations

from tests.cluster.api import Api, Json

_PLURALS = {
    "AddressPool": "addresspools",
    "AddressReservation": "addressreservations",
    "ClusterRole": "clusterroles",
    "ClusterRoleBinding": "clusterrolebindings",
    "ConfigMap": "configmaps",
    "CronJob": "cronjobs",
    "DaemonSet": "daemonsets",
    "CustomResourceDefinition": "customresourcedefinitions",
    "DatabaseInstance": "databaseinstances",
    "Deployment": "deployments",
    "Endpoints": "endpoints",
    "EndpointSlice": "endpointslices",
    "FlowSchema": "flowschemas",
    "IPPool": "ippools",
    "Job": "jobs",
    "Lease": "leases",
    "LimitRange": "limitranges",
    "MutatingWebhookConfiguration": "mutatingwebhookconfigurations",
    "Namespace": "namespaces",
    "NetworkPolicy": "networkpolicies",
    "Node": "nodes",
    "PersistentVolume": "persistentvolumes",
    "PersistentVolumeClaim": "persistentvolumeclaims",
    "Pod": "pods",
    "PodDisruptionBudget": "poddisruptionbudgets",
    "PodTemplate": "podtemplates",
    "PriorityLevelConfiguration": "prioritylevelconfigurations",
    "ReplicaSet": "replicasets",
    "ReplicationController": "replicationcontrollers",
    "ResourceQuota": "resourcequotas",
    "Role": "roles",
    "RoleBinding": "rolebindings",
    "Service": "services",
    "ServiceAccount": "serviceaccounts",
    "StatefulSet": "statefulsets",
    "ValidatingWebhookConfiguration": "validatingwebhookconfigurations",
}


def collection_path(item: Json) -> str:
    """The collection that *item* belongs to. Raises KeyError for a kind that is not in the table."""
    version = item["apiVersion"]
    namespace = item["metadata"].get("namespace")
    root = f"/apis/{version}" if "/" in version else f"/api/{version}"
    scope = f"/namespaces/{namespace}" if namespace else ""
    return f"{root}{scope}/{_PLURALS[item['kind']]}"


def object_path(item: Json) -> str:
    """The path of *item* itself."""
    return f"{collection_path(item)}/{item['metadata']['name']}"


def apply(api: Api, item: Json) -> Json:
    """Server-side apply of *item*, taking over every field that it sets."""
    query = "fieldManager=gatehouse-tests&force=true"
    return api.patch(f"{object_path(item)}?{query}", item, "application/apply-patch+yaml")
