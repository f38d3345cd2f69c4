"""DatabaseInstances on a real API server: their CRD, hostPath volumes, kubelets that end pods, and a scripted snapshot driver.

There is no kubelet: pods are objects, bound to a node by their spec. The controller manager binds claims, protects those in
use, and deletes released volumes; its hostPath deleter takes only paths below /tmp.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

import yaml

from tests.apiserver.registration import ROOT
from tests.apiserver.waiting import wait_for
from tests.apiserver.workloads import create_namespace, pods_path
from tests.cluster import Api, Json
from tests.cluster.api import ApiError
from tests.cluster.kinds import apply

CRD_FILE = ROOT / "manifests" / "base" / "10-crd-databaseinstances.yaml"
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
VOLUMES = "/api/v1/persistentvolumes"
FINALIZER = "databaseinstance.example.com/finalizer"
NODE = "storage-1"
# The custom resources of external-snapshotter, from its Go module.
SNAPSHOTTER = "github.com/kubernetes-csi/external-snapshotter/client/v8"
SNAPSHOTTER_VERSION = "v8.2.0"
SNAPSHOTTER_SUM = "h1:Q3jQ1NkFqv5o+F8dMmHd8SfEmlcwNeo1immFApntEwE="
SNAPSHOT_API = "/apis/snapshot.storage.k8s.io/v1"
DONE_WITHIN_S = 40.0
CONFIG: Json = {
    "leaderElection": {"enabled": True, "leaseDuration": "4s", "renewDeadline": "3s", "retryPeriod": "1s"},
    "controllers": {"databaseInstance": {"enabled": True}},
}
# One for each run, so that two are not in each other's way. The hostPath deleter takes what matches ^/tmp/.+ and nothing else,
# whatever TMPDIR says (kubernetes/pkg/volume/hostpath).
FOLDER = Path(f"/tmp/gatehouse-volumes-{os.getpid()}")


def apply_crd(api: Api) -> None:
    """Serve DatabaseInstances."""
    serve(api, yaml.safe_load(CRD_FILE.read_text()))


def apply_snapshot_crds(api: Api) -> None:
    """Serve VolumeSnapshots and their contents, as external-snapshotter ships them."""
    command = ["go", "mod", "download", "-json", f"{SNAPSHOTTER}@{SNAPSHOTTER_VERSION}"]
    with tempfile.TemporaryDirectory() as elsewhere:  # outside of any module
        found = json.loads(subprocess.run(command, capture_output=True, check=True, timeout=120, cwd=elsewhere).stdout)
    if found["Sum"] != SNAPSHOTTER_SUM:
        raise AssertionError(f"{SNAPSHOTTER}: unexpected content {found['Sum']}")
    for name in ("volumesnapshotclasses", "volumesnapshotcontents", "volumesnapshots"):
        path = Path(found["Dir"]) / "config" / "crd" / f"snapshot.storage.k8s.io_{name}.yaml"
        serve(api, yaml.safe_load(path.read_text()))


def serve(api: Api, crd: Json) -> None:
    name = crd["metadata"]["name"]
    apply(api, crd)

    def established() -> bool:
        conditions = (api.get(f"{CRDS}/{name}").get("status") or {}).get("conditions") or []
        return any(one["type"] == "Established" and one["status"] == "True" for one in conditions)

    wait_for(established, 20.0, f"{name} established")
    group, version = crd["spec"]["group"], crd["spec"]["versions"][0]["name"]
    path = f"/apis/{group}/{version}/{crd['spec']['names']['plural']}"

    def served() -> bool:
        try:
            return api.find(path) is not None
        except ApiError as error:
            if error.status != 429:  # "storage is (re)initializing"
                raise
            return False

    wait_for(served, 20.0, f"{path} served")


class Place:
    """A namespace with databases in it."""

    def __init__(self, api: Api, namespace: str) -> None:
        self.api = api
        self.namespace = namespace
        create_namespace(api, namespace)

    def path(self, resource: str, name: str = "", group: str = "/api/v1") -> str:
        base = f"{group}/namespaces/{self.namespace}/{resource}"
        return f"{base}/{name}" if name else base

    def instance_path(self, name: str = "db") -> str:
        return self.path("databaseinstances", name, "/apis/example.com/v1")

    def instance(self, name: str = "db") -> Json | None:
        return self.api.find(self.instance_path(name))

    def create_instance(self, name: str = "db", *, guarded: bool = True, **spec: Any) -> Json:
        """An instance; *guarded*: wait until the controller has it, and has nothing left to do."""
        spec.setdefault("volumes", {})
        body = {"apiVersion": "example.com/v1", "kind": "DatabaseInstance", "metadata": {"name": name}, "spec": spec}
        made = self.api.create(self.path("databaseinstances", group="/apis/example.com/v1"), body)
        if guarded:
            wait_for(lambda: self.is_protected(name), DONE_WITHIN_S, f"{name} protected")
        return made

    def is_protected(self, name: str = "db") -> bool:
        found = self.instance(name) or {}
        conditions = found.get("status", {}).get("conditions", [])
        return FINALIZER in found["metadata"].get("finalizers", []) and any(one["type"] == "Protected" for one in conditions)

    def reason(self, name: str = "db") -> str:
        """What the deletion of the instance waits for; "" when it is gone or waits for nothing."""
        found = self.instance(name) or {}
        reason: str = (found.get("status", {}).get("waitingFor") or {}).get("reason", "")
        return reason

    def condition(self, kind: str, name: str = "db") -> Json:
        """A condition of the instance; empty when it has none of that type."""
        found = (self.instance(name) or {}).get("status", {}).get("conditions", [])
        return next((one for one in found if one["type"] == kind), {})

    def conditions(self, name: str = "db") -> set[str]:
        """The types of the instance's conditions."""
        return {one["type"] for one in (self.instance(name) or {}).get("status", {}).get("conditions", [])}

    def delete_instance(self, name: str = "db", propagation: str = "") -> None:
        self.api.delete(self.instance_path(name), {"propagationPolicy": propagation} if propagation else None)

    def wait_gone(self, name: str = "db", within_s: float = DONE_WITHIN_S) -> None:
        wait_for(lambda: self.instance(name) is None, within_s, f"{name} gone")

    def claim(self, name: str, *, owner: Json | None = None, reclaim: str = "Delete", finalizers: Sequence[str] = ()) -> str:
        """A claim and its hostPath volume, bound; the volume's name."""
        volume = f"{self.namespace}-{name}"
        self.volume(volume, name, reclaim, finalizers)
        self.unbound_claim(name, volume, owner=owner)
        wait_for(lambda: self.is_bound(name), 20.0, f"claim {name} bound")
        return volume

    def unbound_claim(self, name: str, volume: str, *, owner: Json | None = None) -> Json:
        """A claim that names *volume*, which may come later."""
        metadata: Json = {"name": name, "labels": {"app": "db"}}
        if owner is not None:
            metadata["ownerReferences"] = [reference(owner)]
        spec = {
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": "",
            "volumeName": volume,
            "resources": {"requests": {"storage": "1Mi"}},
        }
        body = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": metadata, "spec": spec}
        return self.api.create(self.path("persistentvolumeclaims"), body)

    def volume(self, volume: str, claim: str, reclaim: str = "Delete", finalizers: Sequence[str] = ()) -> None:
        """A hostPath volume reserved for a claim."""
        folder = FOLDER / volume
        folder.mkdir(parents=True, exist_ok=True)
        spec = {
            "capacity": {"storage": "1Mi"},
            "accessModes": ["ReadWriteOnce"],
            "persistentVolumeReclaimPolicy": reclaim,
            "hostPath": {"path": str(folder)},
            "claimRef": {"namespace": self.namespace, "name": claim},
        }
        metadata: Json = {"name": volume, "finalizers": list(finalizers)}
        self.api.create(VOLUMES, {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": metadata, "spec": spec})

    def is_bound(self, claim: str) -> bool:
        found = self.api.find(self.path("persistentvolumeclaims", claim)) or {}
        return bool(found.get("status", {}).get("phase") == "Bound")

    def claims(self) -> list[str]:
        return sorted(one["metadata"]["name"] for one in self.api.get(self.path("persistentvolumeclaims"))["items"])

    def claim_object(self, name: str) -> Json | None:
        return self.api.find(self.path("persistentvolumeclaims", name))

    def reclaim(self, volume: str) -> str | None:
        """The reclaim policy of a volume; None when it is gone."""
        found = self.api.find(f"{VOLUMES}/{volume}")
        return None if found is None else str(found["spec"]["persistentVolumeReclaimPolicy"])

    def pod(self, name: str, claim: str, owner: Json | None = None) -> Json:
        """A pod on a node, which uses a claim."""
        metadata: Json = {"name": name}
        if owner is not None:
            metadata["ownerReferences"] = [reference(owner)]
        body = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": pod_spec(claim)}
        return self.api.create(pods_path(self.namespace), body)

    def end_pod(self, name: str) -> None:
        """As its kubelet does when its containers have stopped."""
        self.api.delete(f"{pods_path(self.namespace)}/{name}", {"gracePeriodSeconds": 0})

    def stateful_set(self, owner: Json, name: str = "db", when_deleted: str = "Retain") -> Json:
        """A StatefulSet of one pod with a claim template `data`, whose volume is there already."""
        self.volume(f"{self.namespace}-data-{name}-0", f"data-{name}-0")
        labels = {"app": name}
        template = {
            "metadata": {"name": "data"},
            "spec": {
                "accessModes": ["ReadWriteOnce"],
                "storageClassName": "",
                "resources": {"requests": {"storage": "1Mi"}},
            },
        }
        spec = {
            "replicas": 1,
            "serviceName": name,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": pod_spec("")},
            "volumeClaimTemplates": [template],
            "persistentVolumeClaimRetentionPolicy": {"whenDeleted": when_deleted, "whenScaled": "Retain"},
        }
        metadata = {"name": name, "ownerReferences": [reference(owner)]}
        body = {"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": metadata, "spec": spec}
        made = self.api.create(self.path("statefulsets", group="/apis/apps/v1"), body)
        wait_for(lambda: self.is_bound(f"data-{name}-0"), 20.0, "the set's claim bound")
        wait_for(lambda: self.api.find(f"{pods_path(self.namespace)}/{name}-0") is not None, 20.0, "the set's pod")
        wait_for(lambda: self.remembers(f"data-{name}-0"), 20.0, "the set's claim in the status")
        return made

    def is_going(self, claim: str) -> bool:
        """Whether *claim* is gone, or being deleted."""
        found = self.claim_object(claim)
        return found is None or "deletionTimestamp" in found["metadata"]

    def remembers(self, claim: str, name: str = "db") -> bool:
        """Whether the instance's status names *claim* with its volume."""
        found = (self.instance(name) or {}).get("status", {}).get("volumes", [])
        return any(one["claimName"] == claim and one["volumeName"] for one in found)


def reference(owner: Json) -> Json:
    """An owner reference of a controller."""
    return {
        "apiVersion": owner.get("apiVersion", "example.com/v1"),
        "kind": owner.get("kind", "DatabaseInstance"),
        "name": owner["metadata"]["name"],
        "uid": owner["metadata"]["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }


def pod_spec(claim: str) -> Json:
    """Bound to a node, which nobody asks for."""
    mounts = [{"name": "data", "mountPath": "/data"}]
    spec: Json = {"nodeName": NODE, "containers": [{"name": "db", "image": "db:1", "volumeMounts": mounts}]}
    if claim:
        spec["volumes"] = [{"name": "data", "persistentVolumeClaim": {"claimName": claim}}]
    return spec


class _Thread(ABC):
    """Looks at the cluster every 200 ms until it is closed. A refused write is somebody else's progress."""

    def __init__(self, api: Api) -> None:
        self.api = api
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name=type(self).__name__)
        self.faults: list[BaseException] = []

    def __enter__(self) -> Any:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._stop.set()
        self._thread.join()
        self.api.close()
        if self.faults and error is None:
            raise self.faults[0]

    def _run(self) -> None:
        while not self._stop.wait(0.2):
            try:
                self.look()
            except ApiError as refused:
                if refused.status not in (404, 409, 422):
                    self.faults.append(refused)
                    return

    @abstractmethod
    def look(self) -> None:
        """One look."""


class Kubelet(_Thread):
    """Ends pods that terminate, on the node of these tests."""

    def look(self) -> None:
        for one in self.api.get("/api/v1/pods")["items"]:
            if one["metadata"].get("deletionTimestamp") and one["spec"].get("nodeName") == NODE:
                path = f"{pods_path(one['metadata']['namespace'])}/{one['metadata']['name']}"
                self.api.delete(path, {"gracePeriodSeconds": 0, "preconditions": {"uid": one["metadata"]["uid"]}})


class Driver(_Thread):
    """A snapshot controller and CSI driver: what it does is said by the name of the snapshot's claim.

    "slow…": ready after `slow_s` seconds: 30 in the long form (tests/soak), fewer here so that these tests stay short;
    "fails…": an error first, ready after that; "never…": begins and never ends.
    """

    def __init__(self, api: Api, slow_s: float = 5.0) -> None:
        super().__init__(api)
        self._slow_s = slow_s
        self._seen_s: dict[str, float] = {}

    def look(self) -> None:
        for one in self.api.get(f"{SNAPSHOT_API}/volumesnapshots")["items"]:
            if not one.get("status", {}).get("readyToUse"):
                self._work(one)

    def _work(self, snapshot: Json) -> None:
        meta, source = snapshot["metadata"], snapshot["spec"]["source"]["persistentVolumeClaimName"]
        age_s = time.monotonic() - self._seen_s.setdefault(meta["uid"], time.monotonic())
        content = f"content-{meta['uid']}"
        path = f"{SNAPSHOT_API}/namespaces/{meta['namespace']}/volumesnapshots/{meta['name']}/status"
        if source.startswith("fails") and not snapshot.get("status", {}).get("error"):
            self.api.patch(path, {"status": {"readyToUse": False, "error": {"message": "the disk is busy"}}})
            return
        if self.api.find(f"{SNAPSHOT_API}/volumesnapshotcontents/{content}") is None:
            self.api.create(f"{SNAPSHOT_API}/volumesnapshotcontents", _content(content, snapshot))
        bound: Json = {"boundVolumeSnapshotContentName": content, "readyToUse": False}
        if not source.startswith("never") and (age_s >= self._slow_s or not source.startswith("slow")):
            bound |= {"readyToUse": True, "error": None}
        self.api.patch(path, {"status": bound})


def _content(name: str, snapshot: Json) -> Json:
    meta = snapshot["metadata"]
    about = {"kind": "VolumeSnapshot", "name": meta["name"], "namespace": meta["namespace"], "uid": meta["uid"]}
    spec = {
        "deletionPolicy": "Delete",
        "driver": "scripted.example.com",
        "source": {"volumeHandle": meta["uid"]},
        "volumeSnapshotRef": about,
    }
    head = {"apiVersion": "snapshot.storage.k8s.io/v1", "kind": "VolumeSnapshotContent", "metadata": {"name": name}}
    return {**head, "spec": spec}


def clean_volumes() -> None:
    """Delete what the volumes left below the temporary folder."""
    shutil.rmtree(FOLDER, ignore_errors=True)
