"""One pass over one node: caches -> plan -> live node -> plan again -> writes.

The caches say whether there is anything to do; only then is the node read from the API server, and what it says is planned
anew, so that a vote or a heartbeat of the last moment counts. Each pod is read before it is written, and each write tests that
nobody wrote in between. Every request first asks the pass for leave: deadline, stop, lease.

One pod that cannot be written does not keep the others waiting: the pass goes on and fails at its end, and in the next one
that pod comes last. A server that cannot be reached ends the pass, or one that fails IN_A_ROW times whatever the pod; so does a
node whose Ready, vote or guard turns meanwhile.
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
from controllers.edge_health.stragglers import Stragglers
from controllers.runtime.errors import (
    ApiError,
    BadRequest,
    Cancelled,
    Conflict,
    Invalid,
    NotFound,
    TimedOut,
    UndecodableObject,
    Unreachable,
)
from controllers.runtime.freshness import OwnWrites
from controllers.runtime.projection import node_facts_from_object
from controllers.runtime.reconcile import Context, Done, Key, Outcome, RequeueAfter
from controllers.runtime.resource import Json, Params
from webhook.clock import Clock
from webhook.cluster import NodeFacts, Pods
from webhook.logs import get_log
from webhook.objects.votes import VotePolicy, guard
from webhook.telemetry import Telemetry

log = get_log("edge-health")

SOON_S = 0.1  # the node's event, which has made the key dirty, is seen by then
TRIES = 3  # reading anew after each; who loses three races in a row comes again after a backoff
IN_A_ROW = 3  # failures that need not be the object's: then the server is left in peace until the backoff
# What only an object's own state can bring about: the server is well, however many objects fail so.
OF_ONE_OBJECT = (Conflict, Invalid, BadRequest, UndecodableObject)


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
        self._stragglers = Stragglers()
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
        node = self._nodes.get(key)
        began = self._turnable(node)
        live: Live | None = None
        decided = self._plan(key, node)
        if decided.steps:
            live = self._read(key, context)
            node = live.facts if live is not None else None
            decided = self._plan(key, node)
        self._report(key, node, decided)
        if live is not None and not self._take(live, decided, began, context):
            return RequeueAfter(SOON_S)
        self._stragglers.forget(key)
        return Done() if decided.look_again_s is None else RequeueAfter(decided.look_again_s)

    def forget(self) -> None:
        """Forget all that is remembered of nodes: this replica does not lead any more."""
        self._guards.clear()
        self._stragglers.clear()

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
        """Take every step of *decided* that can be taken, tell of them, and raise the failure that asks for the longest wait.

        False when the rest was left off, since in the cache the node is not any more what it was when the pass *began*.
        """
        name = live.facts.name
        taken: list[Step] = []
        failures: list[ApiError | UndecodableObject] = []
        in_a_row = 0
        try:
            for step in self._stragglers.last(name, decided.steps):
                if self._turnable(self._nodes.get(name)) != began:
                    return False
                try:
                    if self._took(step, live, context):
                        taken.append(step)
                    in_a_row = 0
                except (ApiError, UndecodableObject) as error:
                    if _ends_pass(error, context):
                        raise
                    log.info("step not taken", node=name, step=_words(step), error=error)
                    self._stragglers.failed(name, step)
                    failures.append(error)
                    in_a_row = 0 if isinstance(error, OF_ONE_OBJECT) else in_a_row + 1
                    if in_a_row == IN_A_ROW:
                        break
        finally:
            self._tell(live.facts, decided, taken)
        if failures:
            raise max(failures, key=_asked_s)
        return True

    def _turnable(self, node: NodeFacts | None) -> object:
        """What of *node* can turn a plan into its opposite, as of now."""
        if node is None:
            return None
        verdict = guard(node, self._policy, self._clock.wall_s())
        return (node.uid, node.ready, node.vote, verdict.active, verdict.reason)

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
            except (Conflict, Invalid):  # a failed `test` is Invalid, and so is what is refused for ever
                tested = _version(current.object)
                current = self._read(live.facts.name, context) if tries_left else current
                if current is not None and _version(current.object) == tested:
                    raise
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
        current = self._found(path, context)
        for tries_left in reversed(range(TRIES)):
            operations = ready_operations(current, step, self._clock.wall_s()) if current is not None else []
            if current is None or not operations:
                return False
            try:
                written = self._api.patch_json(f"{path}/status", operations, timeout_s=context.request_timeout_s())
            except NotFound:
                return False
            except (Conflict, Invalid):
                tested = _version(current)
                current = self._found(path, context) if tries_left else current
                if current is not None and _version(current) == tested:
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
        found = self._found(_node_path(name), context)
        return None if found is None else Live(found, node_facts_from_object(found, self._policy))

    def _found(self, path: str, context: Context) -> Json | None:
        try:
            return self._api.get(path, timeout_s=context.request_timeout_s())
        except NotFound:
            return None

    def _note(self, node: str, resource: str, written: Json) -> None:
        self._own_writes.note(node, resource, _version(written))

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


def _ends_pass(error: Exception, context: Context) -> bool:
    """Whether no other step would do better. A write that hangs may do so for a webhook that only this pod meets."""
    unreachable = isinstance(error, Unreachable) and not isinstance(error, TimedOut)
    return unreachable or isinstance(error, Cancelled) or context.deadline.expired()


def _asked_s(error: Exception) -> float:
    return (error.retry_after_s or 0.0) if isinstance(error, ApiError) else 0.0


def _version(obj: Json) -> str:
    metadata: dict[str, Any] = obj.get("metadata") or {}
    return metadata.get("resourceVersion") or ""


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
