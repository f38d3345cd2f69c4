"""Who has to hear of a pod: the controlling owner that its pods are counted under, and the workload that people look at.

    key of a pod    "shop/ReplicaSet/web-5d7f"; "shop/Pod/web" of a pod that nobody controls
    its workload    Deployment "web": one live read of the ReplicaSet (or Job) says so; when that fails, the ReplicaSet it is

Threads: any. `Kinship`'s lock guards its maps, memory only. `Workloads` reads with the pass that asks.
Source: kubernetes docs, Owners and Dependents: at most one owner reference has `controller: true`.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterable
from typing import Any, Final
from urllib.parse import quote

from controllers.coverage.plan import is_left_alone
from controllers.runtime.api import Reads
from controllers.runtime.errors import ApiError, Cancelled
from controllers.runtime.events import Reference
from controllers.runtime.reconcile import Context, Key
from controllers.runtime.resource import Json
from webhook.cluster import PodFacts
from webhook.logs import get_log

log = get_log("coverage")

KEPT_WORKLOADS: Final = 4096
# Those that are themselves made by a workload, and where they live.
_MADE: Final = {"ReplicaSet": "/apis/apps/v1/namespaces/{}/replicasets", "Job": "/apis/batch/v1/namespaces/{}/jobs"}


def owner_key(pod: PodFacts) -> Key:
    """What *pod* is counted under."""
    return f"{pod.namespace}/{pod.owner or f'Pod/{pod.name}'}"


class Kinship:
    """The pods of each owner, as the cache's changes tell. Pods that are always left alone are not kept."""

    def __init__(self) -> None:
        self._lock = threading.Lock()  # guards _pods and what is in it
        self._pods: dict[str, dict[Key, set[str]]] = {}  # namespace -> owner -> keys of pods

    def add(self, name: str, pod: PodFacts) -> None:
        """*pod* is there; *name*: its key in the cache, which is shared."""
        if is_left_alone(pod):
            return
        with self._lock:
            self._pods.setdefault(pod.namespace, {}).setdefault(owner_key(pod), set()).add(name)

    def remove(self, name: str, pod: PodFacts) -> None:
        """*pod*, as it was last added, is not there any more."""
        with self._lock:
            owners = self._pods.get(pod.namespace, {})
            key = owner_key(pod)
            pods = owners.get(key, set())
            pods.discard(name)
            if not pods:
                owners.pop(key, None)
            if not owners:
                self._pods.pop(pod.namespace, None)

    def pods_of(self, key: Key) -> tuple[str, ...]:
        """The keys of the pods of owner *key*."""
        with self._lock:
            return tuple(self._pods.get(key.partition("/")[0], {}).get(key, ()))

    def owners(self, namespaces: Iterable[str] | None = None) -> list[Key]:
        """The owners in *namespaces*; None: everywhere."""
        with self._lock:
            found = self._pods.keys() if namespaces is None else namespaces
            return [key for name in found for key in self._pods.get(name, ())]

    def clear(self) -> None:
        """Forget everything."""
        with self._lock:
            self._pods.clear()


class Workloads:
    """What stands above the owners of pods."""

    def __init__(self, api: Reads) -> None:
        self._api = api
        self._lock = threading.Lock()  # guards _known; no IO under it
        self._known: OrderedDict[Reference, Reference] = OrderedDict()

    def of(self, pod: PodFacts, context: Context) -> Reference:
        """The workload of *pod*. Raises an ApiError only of a kind that a later try may not meet, and on the first tries."""
        owner = owner_of(pod)
        collection = _MADE.get(owner.kind)
        if collection is None:
            return owner
        with self._lock:
            known = self._known.get(owner)
        if known is not None:
            return known
        path = f"{collection.format(quote(owner.namespace, safe=''))}/{quote(owner.name, safe='')}"
        try:
            found = self._api.get(path, timeout_s=context.request_timeout_s())
        except ApiError as error:
            if is_worth_a_retry(error, context):
                raise
            log.warning("owner not read, its pods are told on it", owner=f"{owner.kind}/{owner.name}", error=error)
            return owner
        return self._remember(owner, _above(found, owner))

    def _remember(self, owner: Reference, workload: Reference) -> Reference:
        with self._lock:
            self._known[owner] = workload
            if len(self._known) > KEPT_WORKLOADS:
                self._known.popitem(last=False)
        return workload


def owner_of(pod: PodFacts) -> Reference:
    """The controlling owner of *pod*, or the pod."""
    kind, _, name = pod.owner.partition("/")
    if not kind:
        return Reference("Pod", pod.name, pod.namespace, uid=pod.uid)
    return Reference(kind, name, pod.namespace, pod.owner_api_version or "v1", pod.owner_uid)


def is_worth_a_retry(error: ApiError, context: Context) -> bool:
    """Whether a pass should end with *error* and come again, rather than go on without the answer."""
    return isinstance(error, Cancelled) or (error.retriable and context.failures < 3)


def _above(found: Json, owner: Reference) -> Reference:
    metadata: dict[str, Any] = found.get("metadata") or {}
    if owner.uid and metadata.get("uid") != owner.uid:  # another one of the same name
        return owner
    for one in metadata.get("ownerReferences") or ():
        if one.get("controller"):
            return Reference(one["kind"], one["name"], owner.namespace, one["apiVersion"], one["uid"])
    return owner
