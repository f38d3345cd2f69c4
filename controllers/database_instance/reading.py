"""The facts of one instance, read live: nothing is deleted on the word of a cache.

The other instances of the namespace come from the cache: they only ever keep claims from being deleted, and admission refuses
two instances of one claim beforehand.
Threads: any worker. Errors: ApiError, UndecodableObject, LeaseLost; what is not there is None, or not in the list.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final, Protocol
from urllib.parse import quote

import attrs

from controllers.database_instance.belonging import belongings
from controllers.database_instance.objects import (
    INSTANCES_PATH,
    STATEFUL_SETS,
    claim_of,
    instance_of,
    is_deleting,
    pod_of,
    snapshot_of,
    volume_of,
    workload_of,
)
from controllers.database_instance.plan import Defaults, plan
from controllers.database_instance.values import PAST_WORKLOADS, Instance, Plan, Pod, Snapshot, Surroundings, Volume, Workload
from controllers.runtime.errors import NotFound
from controllers.runtime.reconcile import Context, Key
from controllers.runtime.resource import Json, Params
from webhook.objects.databases import UID_LABEL, ClaimFacts, DeletionPolicy, InstanceFacts

SNAPSHOTS: Final = "snapshot.storage.k8s.io/v1/volumesnapshots"
CONTENTS: Final = "/apis/snapshot.storage.k8s.io/v1/volumesnapshotcontents"
VOLUMES: Final = "/api/v1/persistentvolumes"
RETAIN: Final = "Retain"

# What may own pods that use claims. Other kinds are left to the garbage collector.
WORKLOADS: Final = (
    (STATEFUL_SETS, "StatefulSet"),
    ("apps/v1/deployments", "Deployment"),
    ("apps/v1/replicasets", "ReplicaSet"),
    ("apps/v1/daemonsets", "DaemonSet"),
    ("batch/v1/jobs", "Job"),
    ("batch/v1/cronjobs", "CronJob"),
    ("v1/replicationcontrollers", "ReplicationController"),
)


class Reader(Protocol):
    """What is needed of `rest.RestClient`."""

    def get(self, path: str, params: Params | None = None, *, timeout_s: float | None = None) -> Json: ...


@attrs.frozen
class Seen:
    """What a plan is made from: the arguments of `plan.plan`."""

    instance: Instance
    workloads: Sequence[Workload]
    pods: Sequence[Pod]
    claims: Sequence[ClaimFacts]
    volumes: Sequence[Volume]
    snapshots: Sequence[Snapshot] | None
    around: Surroundings

    def plan(self, now_s: float, defaults: Defaults) -> Plan:
        """What to do."""
        return plan(
            self.instance,
            self.workloads,
            self.pods,
            self.claims,
            self.volumes,
            self.snapshots,
            now_s,
            around=self.around,
            defaults=defaults,
        )


class Reading:
    """Reads what `Seen` holds, with no request that its plan does not need."""

    def __init__(self, api: Reader, instances: Callable[[str], Iterable[InstanceFacts]], defaults: Defaults) -> None:
        """instances: those of a namespace, as the cache has them."""
        self._api = api
        self._instances = instances
        self._defaults = defaults

    def read(self, key: Key, context: Context) -> Seen | None:
        """The instance *key* and what surrounds it; None when there is no such instance."""
        obj = self._found(instance_path(key), context)
        if obj is None:
            return None
        instance = instance_of(obj)
        facts = instance.facts
        namespace = facts.namespace
        deleting = facts.deleting_s is not None
        policy = facts.policy or self._defaults.policy
        before = instance.status.waiting
        past = deleting and before is not None and before.reason in PAST_WORKLOADS
        workloads = [] if past else list(self._workloads(namespace, WORKLOADS if deleting else WORKLOADS[:1], context))
        claims = [claim_of(one) for one in self._list(below(namespace, "v1/persistentvolumeclaims"), context)]
        snapshotted = deleting and policy is DeletionPolicy.SNAPSHOT
        terminating = snapshotted and self._is_terminating(namespace, context)
        around = Surroundings(tuple(self._instances(namespace)), terminating)
        own = belongings(instance, workloads, claims, around).own
        names = {claim.volume for claim in own} | {one.volume for one in instance.status.volumes}
        if not deleting and policy is DeletionPolicy.DELETE:
            names = set()  # nothing is decided from them before the deletion
        volumes = [volume for name in sorted(names - {""}) if (volume := self._volume(name, context)) is not None]
        pods = [pod_of(one) for one in self._list(below(namespace, "v1/pods"), context)] if deleting else []
        snapshots = self._snapshots(instance, context) if snapshotted and not terminating else ()
        return Seen(instance, workloads, pods, claims, volumes, snapshots, around)

    # -- inside

    def _workloads(self, namespace: str, kinds: Sequence[tuple[str, str]], context: Context) -> Iterator[Workload]:
        for collection, kind in kinds:
            for one in self._list(below(namespace, collection), context):
                yield workload_of(one, collection, kind)

    def _is_terminating(self, namespace: str, context: Context) -> bool:
        found = self._found(f"/api/v1/namespaces/{quote(namespace, safe='')}", context)
        return found is None or is_deleting(found)

    def _volume(self, name: str, context: Context) -> Volume | None:
        found = self._found(f"{VOLUMES}/{quote(name, safe='')}", context)
        return None if found is None else volume_of(found)

    def _snapshots(self, instance: Instance, context: Context) -> list[Snapshot] | None:
        try:
            path = below(instance.facts.namespace, SNAPSHOTS)
            found = self._list(path, context, {"labelSelector": f"{UID_LABEL}={instance.facts.uid}"})
        except NotFound:
            return None  # the cluster does not know the kind
        snapshots = []
        for one in found:
            content = snapshot_of(one, False).content
            body = self._found(f"{CONTENTS}/{quote(content, safe='')}", context) if content else None
            retained = body is not None and (body.get("spec") or {}).get("deletionPolicy") == RETAIN
            snapshots.append(snapshot_of(one, retained))
        return snapshots

    def _list(self, path: str, context: Context, params: Params | None = None) -> list[Json]:
        # Without a resource version: the newest state, not that of a cache of the API server.
        items: list[Json] = self._api.get(path, params, timeout_s=context.request_timeout_s()).get("items") or []
        return items

    def _found(self, path: str, context: Context) -> Json | None:
        try:
            return self._api.get(path, timeout_s=context.request_timeout_s())
        except NotFound:
            return None


def below(namespace: str, collection: str) -> str:
    """The path of a collection ("apps/v1/statefulsets", "v1/pods") in *namespace*."""
    version, _, plural = collection.rpartition("/")
    root = f"/apis/{version}" if "/" in version else f"/api/{version}"
    return f"{root}/namespaces/{quote(namespace, safe='')}/{plural}"


def instance_path(key: Key) -> str:
    """The path of the instance *key*."""
    namespace, _, name = key.partition("/")
    root, _, plural = INSTANCES_PATH.rpartition("/")
    return f"{root}/namespaces/{quote(namespace, safe='')}/{plural}/{quote(name, safe='')}"
