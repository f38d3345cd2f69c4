"""A database, its claims, volumes, workloads and pods as the API server has them."""

from __future__ import annotations

from typing import Any

from webhook.objects.meta import Json

FINALIZER = "databaseinstance.example.com/finalizer"
PROTECTION = "kubernetes.io/pvc-protection"
UID = "uid-db"
NAMESPACE = "shop"


def instance(
    name: str = "db",
    *,
    claims: tuple[str, ...] = ("data",),
    policy: str | None = None,
    finalizers: tuple[str, ...] = (),
    uid: str = UID,
    volumes: Json | None = None,
    **spec: Any,
) -> Json:
    """A DatabaseInstance of the claims *claims*."""
    said = {"claimNames": list(claims)} if volumes is None else volumes
    body: Json = {"volumes": said, **spec}
    if policy is not None:
        body["deletionPolicy"] = policy
    metadata: Json = {"name": name, "namespace": NAMESPACE, "uid": uid, "generation": 1}
    if finalizers:
        metadata["finalizers"] = list(finalizers)
    return {"apiVersion": "example.com/v1", "kind": "DatabaseInstance", "metadata": metadata, "spec": body}


def owner(kind: str, name: str, uid: str, controller: bool = True) -> Json:
    """An owner reference."""
    return {"apiVersion": "v1", "kind": kind, "name": name, "uid": uid, "controller": controller, "blockOwnerDeletion": True}


def by_instance(uid: str = UID, name: str = "db") -> Json:
    """The owner reference to the instance."""
    return owner("DatabaseInstance", name, uid)


def claim(name: str = "data", *owners: Json, labels: Json | None = None, volume: str | None = None, **metadata: Any) -> Json:
    """A bound PersistentVolumeClaim, protected as on every cluster."""
    meta = {"name": name, "namespace": NAMESPACE, "finalizers": [PROTECTION], "labels": labels or {}, **metadata}
    if owners:
        meta["ownerReferences"] = list(owners)
    spec = {"volumeName": f"pv-{name}" if volume is None else volume}
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": meta, "spec": spec}


def volume(claim: Json, reclaim: str = "Delete", **metadata: Any) -> Json:
    """The PersistentVolume that *claim*, as it is stored, is bound to."""
    meta = claim["metadata"]
    reference = {"namespace": meta["namespace"], "name": meta["name"], "uid": meta["uid"]}
    spec = {"persistentVolumeReclaimPolicy": reclaim, "claimRef": reference}
    name = claim["spec"]["volumeName"]
    head = {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": name, **metadata}}
    return {**head, "spec": spec, "status": {"phase": "Bound"}}


def pod(name: str, *owners: Json, claims: tuple[str, ...] = (), **metadata: Any) -> Json:
    """A running pod that uses *claims*."""
    volumes = [{"name": one, "persistentVolumeClaim": {"claimName": one}} for one in claims]
    meta: Json = {"name": name, "namespace": NAMESPACE, **metadata}
    if owners:
        meta["ownerReferences"] = list(owners)
    spec = {"nodeName": "node-1", "volumes": volumes}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec, "status": {"phase": "Running"}}


def stateful_set(name: str = "db", *owners: Json, templates: tuple[str, ...] = ("data",), uid: str = "uid-set") -> Json:
    """A StatefulSet. The finalizer stands for the pods that it is kept for in a foreground deletion."""
    meta: Json = {"name": name, "namespace": NAMESPACE, "uid": uid, "finalizers": ["foregroundDeletion"]}
    meta["ownerReferences"] = list(owners or (by_instance(),))
    spec = {"volumeClaimTemplates": [{"metadata": {"name": one}} for one in templates]}
    return {"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": meta, "spec": spec}


def namespace(*, terminating: bool = False) -> Json:
    """The namespace."""
    metadata: Json = {"name": NAMESPACE, "finalizers": ["kubernetes"]}
    if terminating:
        metadata["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}
