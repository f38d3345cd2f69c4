"""What is asked of the API server: a node as it is now, a taint off, a pod's Ready set.

A write is made of what the cache has and guarded by its version, so that it costs one request; who has lost a race reads the
object and decides again. Every request first asks the pass for leave: deadline, stop, lease.
Threads: any; a node is in one thread's hands at a time.
Errors:  ApiError, UndecodableObject, LeaseLost.
"""

from __future__ import annotations

from typing import Any, Protocol
from urllib.parse import quote

from controllers.edge_health.mending import has_status, ready_patch, taint_operations, wanted_status
from controllers.edge_health.plan import Duties, LetPodGo, RemoveTaint, RestorePod, plan
from controllers.runtime.api import PatchesJson, PatchesStrategic, Reads, read_or_none
from controllers.runtime.errors import Conflict, Invalid, NotFound
from controllers.runtime.freshness import OwnWrites
from controllers.runtime.projection import nodes_resource, pods_resource
from controllers.runtime.reconcile import Context
from controllers.runtime.resource import Item, Json
from webhook.clock import Clock
from webhook.cluster import NodeFacts, PodFacts
from webhook.objects.votes import VotePolicy
from webhook.telemetry import Telemetry

TRIES = 3  # reading anew after each; who loses three races in a row comes again after a backoff


class Overruled(Conflict):
    """A write was answered with success, but changed nothing: a webhook put the old Ready back. Nobody's fault; retry later.

    Our own pod-status service does so for some milliseconds, in a replica whose cache still has the node's former vote.
    """


class Api(Reads, PatchesJson, PatchesStrategic, Protocol):
    """What is needed of `rest.RestClient`."""


class Writes:
    """The requests of one controller."""

    def __init__(
        self, api: Api, policy: VotePolicy, duties: Duties, own_writes: OwnWrites, telemetry: Telemetry, clock: Clock
    ) -> None:
        self._api = api
        self._policy = policy
        self._duties = duties
        self._own_writes = own_writes
        self._clock = clock
        self._node_items = nodes_resource(policy).projection
        self._pod_items = pods_resource().projection
        self._overruled = telemetry.counter(
            "gatehouse_edge_writes_overruled", "Writes that a webhook undid before they were stored."
        )

    def node(self, name: str, context: Context) -> Item[NodeFacts] | None:
        """The node as the API server has it; None when it is gone."""
        found = read_or_none(self._api, _node_path(name), context.request_timeout_s())
        return None if found is None else self._node_items.convert(found)

    def remove_taint(self, node: Item[NodeFacts], context: Context) -> bool:
        """Whether the taint was there, and is gone by our hand. *node*: as far as is known."""
        name = node.facts.name
        current: Item[NodeFacts] | None = node
        for tries_left in reversed(range(TRIES)):
            operations = taint_operations(current) if current is not None else []
            if current is None or not operations or not self._is_wanted(current.facts):
                return False
            try:
                written = self._api.patch_json(_node_path(name), operations, timeout_s=context.request_timeout_s())
            except NotFound:
                return False
            except (Conflict, Invalid):  # a failed `test` is Invalid, and so is what is refused for ever
                tested = current.version
                current = self.node(name, context) if tries_left else current
                if current is not None and current.version == tested:
                    raise
                continue
            self._own_writes.note(name, "nodes", _version(written))
            return True
        raise AssertionError("the last try returns or raises")

    def set_ready(self, node: str, known: Item[PodFacts] | None, step: RestorePod | LetPodGo, context: Context) -> bool:
        """Whether the pod's Ready had to be changed, and was. known: the pod as the cache has it; None when it is gone."""
        path = f"/api/v1/namespaces/{quote(step.namespace, safe='')}/pods/{quote(step.name, safe='')}"
        current = known
        for tries_left in reversed(range(TRIES)):
            patch = ready_patch(current, step, self._clock.wall_s()) if current is not None else None
            if current is None or patch is None:
                return False
            try:
                written = self._api.patch_strategic(f"{path}/status", patch, timeout_s=context.request_timeout_s())
            except NotFound:
                return False
            except (Conflict, Invalid):
                tested = current.version
                current = self._pod(path, context) if tries_left else current
                if current is not None and current.version == tested:
                    raise
                continue
            if not has_status(written, wanted_status(step)):
                self._overruled.inc()
                raise Overruled(f"pod {step.namespace}/{step.name}: a webhook put Ready back")
            self._own_writes.note(node, "pods", _version(written))
            return True
        raise AssertionError("the last try returns or raises")

    def _is_wanted(self, node: NodeFacts) -> bool:
        """Whether *node*'s taint is still to be removed."""
        steps = plan(node, (), self._policy, self._clock.wall_s(), duties=self._duties).steps
        return any(isinstance(step, RemoveTaint) for step in steps)

    def _pod(self, path: str, context: Context) -> Item[PodFacts] | None:
        found = read_or_none(self._api, path, context.request_timeout_s())
        return None if found is None else self._pod_items.convert(found)


def _version(obj: Json) -> str:
    metadata: dict[str, Any] = obj.get("metadata") or {}
    return metadata.get("resourceVersion") or ""


def _node_path(name: str) -> str:
    return f"/api/v1/nodes/{quote(name, safe='')}"
