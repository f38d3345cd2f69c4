"""One pass over one node: caches -> plan -> writes.

*Whose turn.* All nodes share one budget of requests. A taint goes first, of what the cache says, in one request. Pods wait
until no node has a taint to lose, pods that become Ready also until none is to be let go; and a pass writes PODS_A_PASS at
most, then the other nodes have theirs.

*What is known.* Before pods are written the node is read, and what the API server says of it is planned anew, so that a vote or
a heartbeat of the last moment counts. A node whose Ready, vote or guard turns meanwhile ends the pass.

*Failures.* One pod that cannot be written does not keep the others waiting: the pass goes on and fails at its end, and in the
next one that pod comes last. A server that cannot be reached ends the pass, or one that fails IN_A_ROW times whatever the pod.
What somebody undoes each time waits (`runtime.damper`).
Threads: any worker; a node is in one worker's hands at a time.
Errors:  ApiError, UndecodableObject, LeaseLost: the node comes again after a backoff.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Protocol

import attrs

from controllers.edge_health.guards import Guards, Turn
from controllers.edge_health.news import News
from controllers.edge_health.plan import (
    Duties,
    LetPodGo,
    Plan,
    RemoveTaint,
    RestorePod,
    Step,
    Urgency,
    plan,
    urgency_of,
)
from controllers.edge_health.stragglers import Stragglers
from controllers.edge_health.writes import Writes
from controllers.runtime.damper import Damper
from controllers.runtime.errors import (
    ApiError,
    BadRequest,
    Cancelled,
    Conflict,
    Invalid,
    TimedOut,
    UndecodableObject,
    Unreachable,
)
from controllers.runtime.reconcile import Context, Done, Key, Outcome, RequeueAfter
from controllers.runtime.resource import F, Item
from webhook.clock import Clock
from webhook.cluster import NodeFacts, PodFacts, Pods
from webhook.names import Reason
from webhook.objects.votes import Guard, VotePolicy, guard
from webhook.telemetry import Telemetry

SOON_S = 0.1  # the node's event, which has made the key dirty, is seen by then
YIELD_S = 0.5  # while others go first: long enough that a thousand nodes in line cost no CPU to speak of
PODS_A_PASS = 20  # 0.4 s of the 50 requests a second that all nodes share
IN_A_ROW = 3  # failures that need not be the object's: then the server is left in peace until the backoff
# What only an object's own state can bring about: the server is well, however many objects fail so.
OF_ONE_OBJECT = (Conflict, Invalid, BadRequest, UndecodableObject)
# How long a deed waits that somebody undoes each time. A taint less than any sensible tolerationSeconds.
TAINT_WAITS_AT_MOST_S = 10.0
POD_WAITS_AT_MOST_S = 30.0

_NOT_SILENT = Guard(False, Reason.NODE_NOT_SILENT)


class Known(Protocol[F]):
    """Objects as the cache has them (`store.Store`)."""

    def item(self, key: str, /) -> Item[F] | None: ...


@attrs.frozen
class _Wanted:
    """What is to be done for a node now."""

    plan: Plan
    taint: bool = False
    pods: tuple[RestorePod | LetPodGo, ...] = ()
    damped_s: float | None = None  # until the first deed may be done that has to wait; None = none has to

    @property
    def pods_urgency(self) -> Urgency:
        """Of the steps about pods; a plan never has both kinds."""
        return Urgency.LET_GO if any(isinstance(step, LetPodGo) for step in self.pods) else Urgency.RESTORE

    def rest(self) -> Outcome:
        """When the node comes again once all has been done."""
        waits_s = [wait_s for wait_s in (self.plan.look_again_s, self.damped_s) if wait_s is not None]
        urgency = Urgency.LET_GO if self.plan.unvouched else Urgency.RESTORE
        return RequeueAfter(min(waits_s), urgency) if waits_s else Done()


@attrs.define
class _Course:
    """What has become of the steps of one pass so far."""

    taken: list[Step] = attrs.field(factory=list)
    failures: list[ApiError | UndecodableObject] = attrs.field(factory=list)
    in_a_row: int = 0


class EdgeHealth:
    """A pass over one node, its taints and its pods. A key is the name of a node."""

    def __init__(
        self,
        writes: Writes,
        nodes: Known[NodeFacts],
        pod_items: Known[PodFacts],
        pods: Pods,
        policy: VotePolicy,
        duties: Duties,
        news: News,
        telemetry: Telemetry,
        clock: Clock,
    ) -> None:
        """pod_items, pods: the same cache."""
        self._writes = writes
        self._nodes = nodes
        self._pod_items = pod_items
        self._pods = pods
        self._policy = policy
        self._duties = duties
        self._guards = Guards(telemetry, clock)
        self._news = news
        self._stragglers = Stragglers()
        self._damper = Damper(telemetry, clock, "gatehouse_edge_deeds_damped")
        self._clock = clock
        self._under_way: dict[Key, Urgency] = {}  # what the workers are at; single changes only
        self._taints = telemetry.counter("gatehouse_edge_taints_removed", "Stored unreachable:NoExecute taints taken off.")
        self._restored = telemetry.counter("gatehouse_edge_pods_restored", "Pods made Ready again, by cause.", ("cause",))
        self._let_go = telemetry.counter(
            "gatehouse_edge_pods_let_go", "Ready pods of silent nodes marked not Ready, by reason.", ("reason",)
        )

    def __call__(self, key: Key, context: Context, /) -> Outcome:
        """See `reconcile.Reconcile`."""
        context.request_timeout_s()  # without leave nothing is told either
        course = _Course()
        try:
            outcome = self._pass(key, course, context)
        finally:
            self._under_way.pop(key, None)
        if course.failures:
            raise max(course.failures, key=_asked_s)
        return outcome

    def urgency(self, key: Key) -> Urgency:
        """How urgent it is to look at the node *key*. Any thread; memory only."""
        node = self._nodes.item(key)
        found = urgency_of(node.facts if node else None, self._policy, self._clock.wall_s(), self._duties)
        if found is Urgency.TAINT and node is not None and self._damper.wait_s(node.uid, _words(RemoveTaint)) > 0:
            return Urgency.RESTORE
        return found

    def forget(self) -> None:
        """Forget all that is remembered of nodes: this replica does not lead any more."""
        self._guards.clear()
        self._stragglers.clear()
        self._damper.clear()

    # -- deciding

    def _want(self, name: str, node: Item[NodeFacts] | None) -> _Wanted:
        decided = plan(
            node.facts if node is not None else None,
            self._pods.on_node(name),
            self._policy,
            self._clock.wall_s(),
            duties=self._duties,
            unvouched_s=self._guards.unvouched_s(name),
        )
        waits_s = {step: self._damper.wait_s(_uid(step, node), _words(type(step))) for step in decided.steps}
        now = [step for step, wait_s in waits_s.items() if wait_s <= 0]
        return _Wanted(
            decided,
            any(isinstance(step, RemoveTaint) for step in now),
            tuple(step for step in now if not isinstance(step, RemoveTaint)),
            min((wait_s for wait_s in waits_s.values() if wait_s > 0), default=None),
        )

    def _turnable(self, node: Item[NodeFacts] | None) -> object:
        """What of *node* can turn a plan into its opposite, as of now."""
        if node is None:
            return None
        verdict = guard(node.facts, self._policy, self._clock.wall_s())
        return (node.uid, node.facts.ready, node.facts.vote, verdict.active, verdict.reason)

    def _gives_way(self, key: Key, urgency: Urgency, context: Context) -> bool:
        """Whether another node has something more urgent to be done than *urgency*."""
        others = (other for name, other in list(self._under_way.items()) if name != key)
        return context.waiting(urgency) or any(other > urgency for other in others)

    # -- acting

    def _pass(self, key: Key, course: _Course, context: Context) -> Outcome:
        node = self._nodes.item(key)
        began = self._turnable(node)
        wanted = self._want(key, node)
        if wanted.taint and node is not None:
            self._under_way[key] = Urgency.TAINT
            self._report(key, node, wanted.plan)
            self._attempt(RemoveTaint(key), node, course, context)
        urgency = wanted.pods_urgency
        self._under_way[key] = urgency
        gives_way = bool(wanted.pods) and self._gives_way(key, urgency, context)
        if gives_way or not wanted.pods:
            self._report(key, node, wanted.plan)
            return RequeueAfter(YIELD_S, urgency) if gives_way else self._end(key, wanted, course)
        live = self._writes.node(key, context)
        wanted = self._want(key, live)
        self._report(key, live, wanted.plan)
        if live is None or not wanted.pods:
            return self._end(key, wanted, course)
        return self._mend_pods(live, wanted, began, course, context)

    def _mend_pods(self, live: Item[NodeFacts], wanted: _Wanted, began: object, course: _Course, context: Context) -> Outcome:
        """Set Ready of as many of the pods as may be set in this pass."""
        key, urgency = live.facts.name, wanted.pods_urgency
        self._under_way[key] = urgency
        before = len(course.taken)
        try:
            for number, step in enumerate(self._stragglers.last(key, wanted.pods)):
                if number == PODS_A_PASS or self._turnable(self._nodes.item(key)) != began:
                    return RequeueAfter(SOON_S, urgency)
                if self._gives_way(key, urgency, context):
                    return RequeueAfter(YIELD_S, urgency)
                if not self._attempt(step, live, course, context):
                    break
        finally:
            self._tell_pods(live.facts, wanted.plan, course.taken[before:])
        return self._end(key, wanted, course)

    def _attempt(self, step: Step, node: Item[NodeFacts], course: _Course, context: Context) -> bool:
        """Take *step*; False when the server is to be left in peace. Raises what ends the pass."""
        name = node.facts.name
        try:
            if self._took(step, node, context):
                course.taken.append(step)
                self._note(step, node)
            course.in_a_row = 0
        except (ApiError, UndecodableObject) as error:
            if _ends_pass(error, context):
                raise
            self._news.not_taken(node.facts, _in_full(step), error)
            self._stragglers.failed(name, step)
            course.failures.append(error)
            course.in_a_row = 0 if isinstance(error, OF_ONE_OBJECT) else course.in_a_row + 1
        return course.in_a_row < IN_A_ROW

    def _took(self, step: Step, node: Item[NodeFacts], context: Context) -> bool:
        if isinstance(step, RemoveTaint):
            return self._writes.remove_taint(node, context)
        return self._writes.set_ready(node.facts.name, self._pod_items.item(f"{step.namespace}/{step.name}"), step, context)

    def _note(self, step: Step, node: Item[NodeFacts]) -> None:
        """*step* has been taken."""
        taint = isinstance(step, RemoveTaint)
        longest_s = TAINT_WAITS_AT_MOST_S if taint else POD_WAITS_AT_MOST_S
        wait_s = self._damper.did(_uid(step, node), _words(type(step)), longest_s)
        if taint:
            self._taints.inc()
            self._news.taint_removed(node.facts)
        if wait_s > 0:
            self._news.damped(node.facts, _in_full(step), wait_s)

    def _end(self, key: Key, wanted: _Wanted, course: _Course) -> Outcome:
        if not course.failures:
            self._stragglers.forget(key)
        # Once more when the caches have seen it: what was undone before they had makes no event that shows.
        return RequeueAfter(SOON_S) if course.taken else wanted.rest()

    # -- telling

    def _report(self, name: str, node: Item[NodeFacts] | None, decided: Plan) -> None:
        if node is None:
            self._guards.forget(name)
            return
        turn = self._guards.report(name, decided)
        if turn in (Turn.ENDED, Turn.ANEW):
            self._news.guard_ended(node.facts, decided.guard if turn is Turn.ENDED else _NOT_SILENT)
        if turn in (Turn.BEGUN, Turn.ANEW):
            self._news.guard_begun(node.facts)

    def _tell_pods(self, node: NodeFacts, decided: Plan, taken: Sequence[Step]) -> None:
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


def _uid(step: Step, node: Item[NodeFacts] | None) -> str:
    if isinstance(step, RemoveTaint):
        return node.uid if node is not None else ""
    return step.uid


def _words(kind: type[Step]) -> str:
    return {RemoveTaint: "remove taint", RestorePod: "restore pod", LetPodGo: "let pod go"}[kind]


def _in_full(step: Step) -> str:
    return _words(type(step)) if isinstance(step, RemoveTaint) else f"{_words(type(step))} {step.namespace}/{step.name}"
