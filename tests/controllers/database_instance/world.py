"""A cluster around the controller: what its other controllers do, on demand, and crashes between any two writes.

`tick` lets everybody else work once: kubelets end terminating pods, StatefulSets go after their pods, pvc-protection lets
unused claims go, released volumes of policy Delete go, a snapshot driver works as scripted.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from controllers.database_instance.caches import DatabaseCaches
from controllers.database_instance.controller import database_instance
from controllers.database_instance.deletions import Deletions
from controllers.database_instance.plan import Defaults
from controllers.runtime.controller import Controller
from controllers.runtime.errors import LeaseLost
from controllers.runtime.rest import RestClient
from controllers.testing import FakeApi, FakeClock
from tests.controllers.database_instance.builders import NAMESPACE, Json, volume
from tests.controllers.edge_health.scene import Heard, Lease
from tests.controllers.runtime.builders import refuse_death
from webhook.telemetry import Telemetry

KINDS = (
    ("/apis/example.com/v1", "databaseinstances", "example.com/v1", "DatabaseInstance"),
    ("/api/v1", "persistentvolumeclaims", "v1", "PersistentVolumeClaim"),
    ("/api/v1", "persistentvolumes", "v1", "PersistentVolume"),
    ("/api/v1", "replicationcontrollers", "v1", "ReplicationController"),
    ("/apis/apps/v1", "statefulsets", "apps/v1", "StatefulSet"),
    ("/apis/apps/v1", "deployments", "apps/v1", "Deployment"),
    ("/apis/apps/v1", "replicasets", "apps/v1", "ReplicaSet"),
    ("/apis/apps/v1", "daemonsets", "apps/v1", "DaemonSet"),
    ("/apis/batch/v1", "jobs", "batch/v1", "Job"),
    ("/apis/batch/v1", "cronjobs", "batch/v1", "CronJob"),
)
_SNAPSHOT_API = "snapshot.storage.k8s.io/v1"
SNAPSHOT_KINDS = (
    (f"/apis/{_SNAPSHOT_API}", "volumesnapshots", _SNAPSHOT_API, "VolumeSnapshot"),
    (f"/apis/{_SNAPSHOT_API}", "volumesnapshotcontents", _SNAPSHOT_API, "VolumeSnapshotContent"),
)


class Crash(LeaseLost):
    """The process ended between two writes."""


class Crashing:
    """The client, which lets *writes* more writes through and then fails every request."""

    def __init__(self, client: RestClient) -> None:
        self._client = client
        self.writes = 1_000_000
        self.written: list[str] = []
        self.delay: Callable[[], None] = lambda: None  # before each answer

    def get(self, path: str, params: Any = None, *, timeout_s: float | None = None) -> Json:
        self.delay()
        if self.writes < 0:
            raise Crash("gone")
        return self._client.get(path, params, timeout_s=timeout_s)

    def create(self, path: str, body: Json, **more: Any) -> Json:
        return self._write("create", path, lambda: self._client.create(path, body, **more))

    def patch_json(self, path: str, operations: list[Json], **more: Any) -> Json:
        return self._write("patch", path, lambda: self._client.patch_json(path, operations, **more))

    def patch_merge(self, path: str, patch: Json, **more: Any) -> Json:
        return self._write("patch", path, lambda: self._client.patch_merge(path, patch, **more))

    def delete(self, path: str, **more: Any) -> Json:
        return self._write("delete", path, lambda: self._client.delete(path, **more))

    def _write(self, verb: str, path: str, send: Callable[[], Json]) -> Json:
        if self.writes < 0:
            raise Crash("gone")
        self.delay()
        self.written.append(f"{verb} {path.rpartition('/namespaces/')[2] or path}")
        answer = send()
        self.writes -= 1
        if self.writes < 0:
            raise Crash("gone after the write, before its answer was used")
        return answer


class World:
    """Everything at hand."""

    def __init__(self, api: FakeApi, client: RestClient, defaults: Defaults = Defaults()) -> None:
        self.api = api
        self.clock = FakeClock()
        self.lease = Lease()
        self.heard = Heard()
        self.client = Crashing(client)
        self._rest = client
        self._defaults = defaults
        self.snapshots = "ready"  # "fails", "never": what the driver does
        self.restart()

    def restart(self) -> None:
        """The controller begins anew, with empty memory."""
        self.telemetry = Telemetry()
        self.client.writes = 1_000_000
        self.caches = DatabaseCaches(self._rest, self.telemetry, self.clock, refuse_death)
        self.deletions = Deletions(self.telemetry, self.clock)
        self.controller: Controller = database_instance(
            self.client,
            self.caches,
            self.heard,
            self.telemetry,
            self.clock,
            refuse_death,
            leadership=self.lease,
            deletions=self.deletions,
            defaults=self._defaults,
        )

    # -- the cluster

    def serve_snapshots(self) -> None:
        """The cluster has the CRDs of external-snapshotter."""
        for kind in SNAPSHOT_KINDS:
            self.api.objects.register(*kind)

    def put(self, *objects: Json) -> list[Json]:
        """As stored."""
        return [self.api.objects.put(one) for one in objects]

    def all(self, kind: str) -> dict[str, Json]:
        """By name."""
        return {key.rpartition("/")[2]: one for key, one in self.api.objects.all(kind).items()}

    def instance(self, name: str = "db") -> Json:
        return self.all("DatabaseInstance")[name]

    def delete(self, name: str = "db", *finalizers: str) -> None:
        """As `kubectl delete` does; *finalizers*: what the propagation policy adds."""
        found = self.instance(name)
        found["metadata"]["finalizers"] = [*found["metadata"].get("finalizers", []), *finalizers]
        found["metadata"]["deletionTimestamp"] = "2027-01-15T08:00:00Z"  # the clock's
        self.put(found)

    def condition(self, kind: str) -> Json | None:
        conditions = self.instance().get("status", {}).get("conditions", [])
        return next((one for one in conditions if one["type"] == kind), None)

    def reason(self) -> str:
        """What the deletion waits for."""
        found: str = self.instance()["status"]["waitingFor"]["reason"]
        return found

    # -- the controller

    def run(self) -> None:
        """The caches see everything, and whatever is in line is reconciled."""
        self.see()
        self.controller.run_ready()

    def see(self) -> None:
        """The caches see everything, as also while another replica leads."""
        for informer, kind in (
            (self.caches.instances, "DatabaseInstance"),
            (self.caches.claims, "PersistentVolumeClaim"),
            (self.caches.stateful_sets, "StatefulSet"),
            (self.caches.volumes, "PersistentVolume"),
        ):
            projection: Any = informer.resource.projection
            items = [projection.convert(one) for one in self.api.objects.all(kind).values()]
            informer.replace(items, str(self.api.objects.version), keep=())

    def settle(self, rounds: int = 12) -> None:
        """Let the controller and everybody else work until nothing changes any more."""
        for _ in range(rounds):
            before = self.api.objects.version
            self.clock.advance(20.0)
            self.run()
            self.tick()
            if self.api.objects.version == before:
                return

    def is_gone(self, name: str = "db") -> bool:
        return name not in self.all("DatabaseInstance")

    # -- everybody else

    def tick(self) -> None:
        self._kubelets()
        self._workloads()
        self._protection()
        self._reclaim()
        self._driver()

    def _kubelets(self) -> None:
        for name, one in self.all("Pod").items():
            if one["metadata"].get("deletionTimestamp"):
                self.api.objects.drop("Pod", f"{NAMESPACE}/{name}")

    def _workloads(self) -> None:
        for name, one in self.all("StatefulSet").items():
            if not one["metadata"].get("deletionTimestamp"):
                continue
            uid = one["metadata"]["uid"]
            for pod_name, pod in self.all("Pod").items():
                if any(owner["uid"] == uid for owner in pod["metadata"].get("ownerReferences", [])):
                    self.api.objects.drop("Pod", f"{NAMESPACE}/{pod_name}")
            self.api.objects.drop("StatefulSet", f"{NAMESPACE}/{name}")

    def _protection(self) -> None:
        used = {
            volume["persistentVolumeClaim"]["claimName"]
            for pod in self.all("Pod").values()
            if pod["spec"].get("nodeName")
            for volume in pod["spec"]["volumes"]
        }
        for name, one in self.all("PersistentVolumeClaim").items():
            if one["metadata"].get("deletionTimestamp") and name not in used:
                self.api.objects.drop("PersistentVolumeClaim", f"{NAMESPACE}/{name}")

    def _reclaim(self) -> None:
        claims = {one["metadata"]["uid"] for one in self.all("PersistentVolumeClaim").values()}
        for name, one in self.all("PersistentVolume").items():
            if one["spec"]["claimRef"].get("uid") in {None, *claims} or one["metadata"].get("finalizers"):
                continue
            if one["spec"]["persistentVolumeReclaimPolicy"] == "Delete":
                self.api.objects.drop("PersistentVolume", name)

    def _driver(self) -> None:
        try:
            found = self.all("VolumeSnapshot")
        except KeyError:
            return
        for name, one in found.items():
            if self.snapshots == "never" or one.get("status", {}).get("readyToUse"):
                continue
            if self.snapshots == "fails":
                self.snapshots = "ready"
                self.put(one | {"status": {"readyToUse": False, "error": {"message": "disk is busy"}}})
                continue
            reference = {"name": name, "uid": one["metadata"]["uid"]}
            spec = {"deletionPolicy": "Delete", "volumeSnapshotRef": reference}
            head = {"apiVersion": _SNAPSHOT_API, "kind": "VolumeSnapshotContent"}
            self.put({**head, "metadata": {"name": f"content-{name}"}, "spec": spec})
            self.put(one | {"status": {"readyToUse": True, "boundVolumeSnapshotContentName": f"content-{name}"}})


def bound(world: World, *claims: Json, reclaim: str = "Delete") -> None:
    """*claims* with their volumes."""
    for one in world.put(*claims):
        world.put(volume(one, reclaim))
