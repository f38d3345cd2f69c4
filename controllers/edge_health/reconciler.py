"""One pass over one node: caches -> plan -> live node -> plan again -> writes.

The caches say whether there is anything to do; only then is the node read from the API server, and what it says is planned
anew, so that a vote or a heartbeat of the last moment counts. Each pod is read before it is written, and each write tests that
nobody wrote in between. Every request first asks the pass for leave: deadline, stop, lease.

One pod that cannot be written does not keep the others waiting: the pass goes on and fails at its end. A server that cannot be
reached, or says that it is busy, ends the pass; so does a node whose Ready or vote turns meanwhile.
Threads: any worker; a node is in one worker's hands at a time.
Errors:  ApiError, UndecodableObject, LeaseLost: the node comes again after a backoff.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, Protocol
from urllib.parse import quote

import attrs

from controllers.edge_health.guards import Guards, Turn
from controllers.edge_health.mending import has_status, ready_operations, taint_operations, wanted_status
from controllers.edge_health.news import News
from controllers.edge_health.plan import Duties, LetPodGo, Plan, RemoveTaint, RestorePod, Step, plan
from controllers.runtime.errors import (
    BadRequest,
    Conflict,
    Forbidden,
    Invalid,
    NotFound,
    RuntimeFault,
    ServerError,
    UndecodableObject,
)
from controllers.runtime.freshness import OwnWrites
from controllers.runtime.projection import node_facts_from_object
from controllers.runtime.reconcile import Context, Done, Key, Outcome, RequeueAfter
from controllers.runtime.resource import Json, Params
from webhook.admission.cluster import NodeFacts, Pods
from webhook.clock import Clock
from webhook.logs import get_log
from webhook.objects.votes import VotePolicy
from webhook.telemetry import Telemetry

log = get_log("edge-health")

SOON_S = 0.1  # the node's event, which has made the key dirty, is seen by then
TRIES = 3  # reading anew after each; who loses three races in a row comes again after a backoff
# What an object's own state, or a webhook that looks at it, can bring about: other objects may do better.
OF_ONE_OBJECT = (Conflict, Invalid, BadRequest, Forbidden, ServerError, UndecodableObject)


class Overruled(Conflict):
    """A write was answered with success, but changed nothing: a webhook put the old Ready back. Nobody's fault; retry later.

    Our own pod-status service does so for some milliseconds, in a replica whose cache still has the node's former vote.
    """


class Api(Protocol):
    """What is needed of `rest.RestClient`."""

    def get(self, path: str, params: Params | None = None, *, timeout_s: float | None = None) -> Json: ...

    def patch_json(self, path: str, operations: list[Json], *, timeout_s: float | None = None) -> Json: ...


class KnownNodes(Protocol):
    """The nodes as the cache has them."""

    def get(self, key: str, /) -> NodeFacts | None: ...


@attrs.frozen
class Live:
    """A node as the API server has it now."""

    object: Json
    facts: NodeFacts


class EdgeHealth:
    """The typed unary. A key is the name of a node."""

    def __init__(
        self,
        api: Api,
        nodes: KnownNodes,
        pods: Pods,
        policy: VotePolicy,
        duties: Duties,
        guards: Guards,
        news: News,
        own_writes: OwnWrites,
        telemetry: Telemetry,
        clock: Clock,
    ) -> None:
        self._api = api
        self._nodes = nodes
        self._pods = pods
        self._policy = policy
        self._duties = duties
        self._guards = guards
        self._news = news
        self._own_writes = own_writes
        self._clock = clock
        self._taints = telemetry.counter("gatehouse_edge_taints_removed", "Stored unreachable:NoExecute taints taken off.")
        self._restored = telemetry.counter("gatehouse_edge_pods_restored", "Pods made Ready again, by cause.", ("cause",))
        self._let_go = telemetry.counter(
            "gatehouse_edge_pods_let_go", "Ready pods of silent nodes marked not Ready, by reason.", ("reason",)
        )
        self._overruled = telemetry.counter(
            "gatehouse_edge_writes_overruled", "Writes that a webhook undid before they were stored."
        )

    def __call__(self, key: Key, context: Context, /) -> Outcome:
        """See `reconcile.Reconcile`."""
        context.request_timeout_s()  # without leave nothing is told either
        cached = node = self._nodes.get(key)
        live: Live | None = None
        decided = self._plan(key, node)
        if decided.steps:
            live = self._read(key, context)
            node = live.facts if live is not None else None
            decided = self._plan(key, node)
        self._report(key, node, decided)
        if live is not None and not self._take(live, decided, _turnable(cached), context):
            return RequeueAfter(SOON_S)
        return Done() if decided.look_again_s is None else RequeueAfter(decided.look_again_s)

    # -- deciding

    def _plan(self, name: str, node: NodeFacts | None) -> Plan:
        return plan(
            node,
            self._pods.on_node(name),
            self._policy,
            self._clock.wall_s(),
            duties=self._duties,
            unvouched_s=self._guards.unvouched_s(name),
        )

    def _report(self, name: str, node: NodeFacts | None, decided: Plan) -> None:
        if node is None:
            self._guards.forget(name)
            return
        match self._guards.report(name, decided):
            case Turn.BEGUN:
                self._news.guard_begun(node)
            case Turn.ENDED:
                self._news.guard_ended(node, decided.guard)

    # -- acting

    def _take(self, live: Live, decided: Plan, began: object, context: Context) -> bool:
        """Take every step of *decided* that can be taken, tell of them, and raise the first failure.

        False when the rest was left off, since in the cache the node is not any more what it was when the pass *began*.
        """
        taken: list[Step] = []
        failures: list[RuntimeFault] = []
        try:
            for step in decided.steps:
                if _turnable(self._nodes.get(live.facts.name)) != began:
                    return False
                try:
                    if self._took(step, live, context):
                        taken.append(step)
                except OF_ONE_OBJECT as error:
                    log.info("step not taken", node=live.facts.name, step=_words(step), error=error)
                    failures.append(error)
        finally:
            self._tell(live.facts, decided, taken)
        if failures:
            raise failures[0]
        return True

    def _took(self, step: Step, live: Live, context: Context) -> bool:
        if isinstance(step, RemoveTaint):
            return self._remove_taint(live, context)
        return self._set_ready(live.facts.name, step, context)

    def _remove_taint(self, live: Live, context: Context) -> bool:
        """Whether the taint was there, and is gone by our hand."""
        path = _node_path(live.facts.name)
        current: Live | None = live
        for tries_left in reversed(range(TRIES)):
            operations = taint_operations(current.object) if current is not None else []
            if current is None or not operations or not self._is_wanted(current.facts):
                return False
            try:
                written = self._api.patch_json(path, operations, timeout_s=context.request_timeout_s())
            except NotFound:
                return False
            except (Conflict, Invalid):  # a failed `test` is Invalid
                if not tries_left:
                    raise
                current = self._read(live.facts.name, context)
                continue
            self._note(live.facts.name, "nodes", written)
            return True
        raise AssertionError("the last try returns or raises")

    def _is_wanted(self, node: NodeFacts) -> bool:
        """Whether *node*'s taint is still to be removed."""
        steps = plan(node, (), self._policy, self._clock.wall_s(), duties=self._duties).steps
        return any(isinstance(step, RemoveTaint) for step in steps)

    def _set_ready(self, node: str, step: RestorePod | LetPodGo, context: Context) -> bool:
        """Whether the pod's Ready had to be changed, and was."""
        path = f"/api/v1/namespaces/{quote(step.namespace, safe='')}/pods/{quote(step.name, safe='')}"
        for tries_left in reversed(range(TRIES)):
            try:
                pod = self._api.get(path, timeout_s=context.request_timeout_s())
                operations = ready_operations(pod, step, self._clock.wall_s())
                if not operations:
                    return False
                written = self._api.patch_json(f"{path}/status", operations, timeout_s=context.request_timeout_s())
            except NotFound:
                return False
            except (Conflict, Invalid):
                if not tries_left:
                    raise
                continue
            if not has_status(written, wanted_status(step)):
                self._overruled.inc()
                raise Overruled(f"pod {step.namespace}/{step.name}: a webhook put Ready back")
            self._note(node, "pods", written)
            return True
        raise AssertionError("the last try returns or raises")

    def _read(self, name: str, context: Context) -> Live | None:
        """The node as the API server has it; None when it is gone."""
        try:
            found = self._api.get(_node_path(name), timeout_s=context.request_timeout_s())
        except NotFound:
            return None
        return Live(found, node_facts_from_object(found, self._policy))

    def _note(self, node: str, resource: str, written: Json) -> None:
        metadata: dict[str, Any] = written.get("metadata") or {}
        self._own_writes.note(node, resource, metadata.get("resourceVersion") or "")

    # -- telling

    def _tell(self, node: NodeFacts, decided: Plan, taken: Sequence[Step]) -> None:
        if not taken:
            return
        if any(isinstance(step, RemoveTaint) for step in taken):
            self._taints.inc()
            self._news.taint_removed(node)
        for cause, count in Counter(step.cause for step in taken if isinstance(step, RestorePod)).items():
            self._restored.labels(cause.value).inc(count)
            self._news.pods_restored(node, count, cause)
        let_go = sum(isinstance(step, LetPodGo) for step in taken)
        if let_go:
            self._let_go.labels(decided.guard.reason.value).inc(let_go)
            self._news.pods_let_go(node, let_go, decided.guard)


def _turnable(node: NodeFacts | None) -> object:
    """What of *node* can turn a plan into its opposite."""
    return None if node is None else (node.uid, node.ready, node.vote)


def _node_path(name: str) -> str:
    return f"/api/v1/nodes/{quote(name, safe='')}"


def _words(step: Step) -> str:
    match step:
        case RemoveTaint():
            return "remove taint"
        case RestorePod():
            return f"restore pod {step.namespace}/{step.name}"
        case LetPodGo():
            return f"let pod {step.namespace}/{step.name} go"
