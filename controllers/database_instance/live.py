"""The facts of one instance, read live: nothing is deleted on the word of a cache.

The other instances of the namespace come from the cache at first, and are read live, too, when claims are about to go: what
they say keeps claims from being deleted.
Threads: any worker. Errors: ApiError, UndecodableObject, LeaseLost; what is not there is None, or not in the list.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Final, Protocol
from urllib.parse import quote

import attrs

from controllers.database_instance.belonging import belongings, may_be_orphaned, unclaimed
from controllers.database_instance.memory import Memory, Orphanings
from controllers.database_instance.plan import Defaults
from controllers.database_instance.resources import (
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
from controllers.database_instance.status import ORPHANED
from controllers.database_instance.values import Instance, Reclaim, Situation, Snapshot, Surroundings, Volume, Workload
from controllers.runtime.api import Reads, read_or_none
from controllers.runtime.errors import NotFound
from controllers.runtime.reconcile import Context, Key
from controllers.runtime.resource import Json, Params
from webhook.objects.databases import ClaimFacts, DeletionPolicy, InstanceFacts

SNAPSHOTS: Final = "snapshot.storage.k8s.io/v1/volumesnapshots"
CONTENTS: Final = "/apis/snapshot.storage.k8s.io/v1/volumesnapshotcontents"
VOLUMES: Final = "/api/v1/persistentvolumes"
FEW_VOLUMES: Final = 10  # are read one by one; for more all of the cluster are listed, which takes a request for each page
_PAGE: Final = 500  # as client-go's reflector: some MB at most

# What may own pods that use claims. Other kinds are left to the garbage collector. StatefulSets come first: see `_kinds`.
WORKLOADS: Final = (
    (STATEFUL_SETS, "StatefulSet"),
    ("apps/v1/deployments", "Deployment"),
    ("apps/v1/replicasets", "ReplicaSet"),
    ("apps/v1/daemonsets", "DaemonSet"),
    ("batch/v1/jobs", "Job"),
    ("batch/v1/cronjobs", "CronJob"),
    ("v1/replicationcontrollers", "ReplicationController"),
)


class Watched(Protocol):
    """What the watches have told: `caches.DatabaseCaches`."""

    @property
    def orphanings(self) -> Orphanings: ...

    def instances_in(self, namespace: str) -> Iterable[InstanceFacts]:
        """The instances of *namespace*."""


class Live:
    """Reads what a `Situation` holds, with no request that its plan does not need."""

    def __init__(self, api: Reads, watched: Watched, defaults: Defaults, memory: Memory) -> None:
        """memory: is told which volumes each instance has."""
        self._api = api
        self._watched = watched
        self._defaults = defaults
        self._memory = memory

    def instance(self, key: Key, context: Context) -> Instance | None:
        """The instance *key*; None when there is no such instance."""
        obj = read_or_none(self._api, instance_path(key), context.request_timeout_s())
        return None if obj is None else instance_of(obj)

    def situation(self, instance: Instance, context: Context) -> Situation:
        """*instance* and what surrounds it."""
        facts = instance.facts
        namespace = facts.namespace
        deleting = facts.deleting_s is not None
        policy = facts.policy or self._defaults.policy
        claims = [claim_of(one) for one in self._list(below(namespace, "v1/persistentvolumeclaims"), context)]
        snapshotted = deleting and policy is DeletionPolicy.SNAPSHOT
        around = Surroundings(
            tuple(self._watched.instances_in(namespace)),
            snapshotted and self._is_terminating(namespace, context),
            self._watched.orphanings.is_orphaning(facts.uid) or instance.status.condition(ORPHANED) is not None,
        )
        workloads = list(self._workloads(namespace, WORKLOADS[:1], context))
        told = not deleting and any(unclaimed(claims, around.instances, workloads))  # a workload may use it nevertheless
        workloads += self._workloads(namespace, _kinds(instance, claims, policy, told=told), context)
        if not self._watched.orphanings.is_witnessed(facts.uid) and may_be_orphaned(instance, workloads, claims):
            around = attrs.evolve(around, orphaned=True)
        first = Situation(instance, workloads, claims=claims, around=around)
        known = belongings(first, self._defaults.policy).known
        return attrs.evolve(
            first,
            volumes=self._volumes(instance, known, policy, context),
            pods=[pod_of(one) for one in self._list(below(namespace, "v1/pods"), context)] if deleting or told else [],
            snapshots=self._snapshots(instance, context) if snapshotted and not around.terminating else (),
        )

    def confirmed(self, situation: Situation, context: Context) -> Situation:
        """*situation* with the other instances read live: before claims go, on whose word some of them would stay."""
        path = below(situation.instance.facts.namespace, INSTANCES_PATH.removeprefix("/apis/"))
        live = [instance_of(one).facts for one in self._list(path, context)]
        return attrs.evolve(situation, around=attrs.evolve(situation.around, instances=tuple(live)))

    # -- inside

    def _workloads(self, namespace: str, kinds: Sequence[tuple[str, str]], context: Context) -> Iterator[Workload]:
        for collection, kind in kinds:
            for one in self._list(below(namespace, collection), context):
                yield workload_of(one, collection, kind)

    def _is_terminating(self, namespace: str, context: Context) -> bool:
        found = read_or_none(self._api, f"/api/v1/namespaces/{quote(namespace, safe='')}", context.request_timeout_s())
        return found is None or is_deleting(found)

    def _volumes(
        self, instance: Instance, known: Sequence[ClaimFacts], policy: DeletionPolicy, context: Context
    ) -> list[Volume]:
        recorded = instance.status.volumes
        names = ({claim.volume for claim in known} | {one.volume for one in recorded}) - {""}
        self._memory.follow(instance.facts.key, names)
        if instance.facts.deleting_s is None and policy is DeletionPolicy.DELETE:
            # Nothing is decided from volumes before the deletion, but whether there is one to remember.
            there = {claim.uid for claim in known}
            names -= {one.volume for one in recorded if one.volume_uid and one.claim_uid in there}
        if len(names) > FEW_VOLUMES:
            return self._listed_volumes(names, context)
        return [volume for name in sorted(names) if (volume := self._volume(name, context)) is not None]

    def _listed_volumes(self, names: Collection[str], context: Context) -> list[Volume]:
        found: list[Volume] = []
        more: Params = {}
        while True:
            page = self._api.get(VOLUMES, {"limit": str(_PAGE), **more}, timeout_s=context.request_timeout_s())
            found += [volume_of(one) for one in page.get("items") or [] if (one.get("metadata") or {}).get("name") in names]
            token = (page.get("metadata") or {}).get("continue")
            if not token:
                return found
            more = {"continue": token}

    def _volume(self, name: str, context: Context) -> Volume | None:
        found = read_or_none(self._api, f"{VOLUMES}/{quote(name, safe='')}", context.request_timeout_s())
        return None if found is None else volume_of(found)

    def _snapshots(self, instance: Instance, context: Context) -> list[Snapshot] | None:
        try:
            path = below(instance.facts.namespace, SNAPSHOTS)
            found = self._list(path, context)  # not by our label, which somebody may have taken off
        except NotFound:
            return None  # the cluster does not know the kind
        uid = instance.facts.uid
        return [self._snapshot(one, context) for one in found if uid in (one.get("metadata") or {}).get("name", "")]

    def _snapshot(self, obj: Json, context: Context) -> Snapshot:
        content = snapshot_of(obj).content
        if not content:
            return snapshot_of(obj)
        body = read_or_none(self._api, f"{CONTENTS}/{quote(content, safe='')}", context.request_timeout_s())
        retained = body is not None and (body.get("spec") or {}).get("deletionPolicy") == Reclaim.RETAIN
        return snapshot_of(obj, content_retained=retained, content_gone=body is None)

    def _list(self, path: str, context: Context) -> list[Json]:
        # Without a resource version: the newest state, not that of a cache of the API server.
        items: list[Json] = self._api.get(path, timeout_s=context.request_timeout_s()).get("items") or []
        return items


def _kinds(
    instance: Instance, claims: Sequence[ClaimFacts], policy: DeletionPolicy, *, told: bool
) -> Sequence[tuple[str, str]]:
    """The kinds of workloads that matter beside StatefulSets, which have claims by name: what owns claims, or goes first."""
    if told or (instance.facts.deleting_s is not None and not instance.is_past_workloads(policy)):
        return WORKLOADS[1:]
    owners = {owner.kind for claim in claims for owner in claim.owners} if instance.facts.volumes.owned else set()
    return [one for one in WORKLOADS[1:] if one[1] in owners]


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
