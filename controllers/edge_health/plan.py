"""What has to be done about one node and its pods: facts in, ordered idempotent steps out.

    silent (Ready Unknown), guarded      the evicting taint goes, then pods that the node controller marked become Ready again
    silent, not guarded                  pods that still are Ready stop being so, and Services move on
    Ready again                          the kubelet's; only pods that it forgot become Ready again
    Ready False, no Ready, not selected  nothing, ever

*Taint first.* Its removal has a deadline, the pods' tolerationSeconds; the pods have none. That holds between nodes, too: see
`urgency_of`.

*A guard that was missed* (no replica answered): the node controller neither sends a taint again that is stored nor marks a pod
twice, so that admission never sees them. It may have died in the middle of marking (kubernetes#135205): every pod of a node
gets the same treatment.

*A guard that ends* leaves pods Ready that admission kept so, and the node controller marks pods only when the node's Ready
falls from True: not when a vote turns later, and not from False to Unknown (kubernetes#112733). So we mark them, as
MarkPodsNotReady does. The taint is the node controller's, which sends it every few seconds and is no longer held back; we never
add one. A vote "unhealthy" is somebody's word and counts at once. When nobody vouches any more (expired, or annotation gone),
peers get PEERS_SPEAK_WITHIN_S to do so: after an outage of the API server every vote is as old as the outage, although the
peers, who could not write either, are about to repeat them. A node that never had a vote is treated alike: the node controller
has marked its pods long before that, and the pods that it forgot belong marked.

*A node that is Ready again* is the kubelet's. The node controller takes its taints off within seconds, NoSchedule before
NoExecute (kubernetes#112930): we would only race it. Kubelets are known to leave pods not Ready that the node controller
marked (kubernetes#120256, openyurt#1682); after KUBELET_SPEAKS_WITHIN_S those become Ready again, if their containers are and
their gates pass.

*Which pods.* Static (mirror) and DaemonSet pods too: the node controller marks them like all others. Terminating pods are never
made Ready, but let go: an endpoint that serves while it terminates is used when there is no other. Finished pods never.
Pure. Source: kubernetes/pkg/controller/nodelifecycle, pkg/controller/util/node, pkg/kubelet/status.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import IntEnum, StrEnum

import attrs

from webhook.cluster import NodeFacts, PodFacts, Status, Taint
from webhook.names import NO_EXECUTE, UNREACHABLE_TAINT, Reason
from webhook.objects.votes import Guard, VotePolicy, guard

# Two rounds of SuperEdge's edge-health, whose peers vote every 10 s.
PEERS_SPEAK_WITHIN_S = 20.0
# A kubelet's status manager compares its pods with the API server's every 10 s. After six rounds it has forgotten the pod.
KUBELET_SPEAKS_WITHIN_S = 60.0
# The wall clock may be set, and a suspended machine's timers stand still: no wait is trusted for longer than this.
LOOK_AGAIN_WITHIN_S = 3600.0
_AFTER_S = 0.1  # a guard still holds at the very moment at which it ends


class Cause(StrEnum):
    """Why a pod is made Ready again."""

    GUARDED = "guarded"  # its node is silent and guarded
    FORGOTTEN = "forgotten"  # its node is Ready again, but its kubelet did not say so of the pod


@attrs.frozen
class Duties:
    """What the controller may touch: it mends what the services `node-taint` and `pod-status` decide, as far as they are on."""

    taints: bool = True
    pods: bool = True


@attrs.frozen
class RemoveTaint:
    """Take node.kubernetes.io/unreachable:NoExecute off the node, nothing else."""

    node: str


@attrs.frozen
class RestorePod:
    """Set the pod's Ready condition to True."""

    namespace: str
    name: str
    uid: str
    cause: Cause


@attrs.frozen
class LetPodGo:
    """Set the pod's Ready condition to False."""

    namespace: str
    name: str
    uid: str


Step = RemoveTaint | RestorePod | LetPodGo


class Urgency(IntEnum):
    """Whose turn it is when a whole site wants something: the priority of a key. Lower ones wait for all higher ones."""

    RESTORE = 0  # `workqueue.LIVE`: a pod that is not Ready for a while longer, as it has been
    LET_GO = 100  # Services send traffic to what is dead
    TAINT = 200  # pods are about to be evicted


@attrs.frozen
class Plan:
    """What to do about one node. Steps may be taken again, and may be left off anywhere: the next plan goes on from there."""

    guard: Guard
    steps: tuple[Step, ...] = ()
    look_again_s: float | None = None  # seconds until time alone may change this plan; None = only an event can
    silent_since_s: float | None = None  # of a guarded node: when Ready became Unknown; None = not guarded, or unknown

    @property
    def unvouched(self) -> bool:
        """Whether the node is silent and nobody vouches for it any more; an unhealthy vote is a word, too."""
        return self.guard.reason in (Reason.VOTE_EXPIRED, Reason.VOTE_MISSING)


def plan(
    node: NodeFacts | None,
    pods: Sequence[PodFacts],
    policy: VotePolicy,
    now_s: float,
    *,
    duties: Duties = Duties(),
    unvouched_s: float = 0.0,
) -> Plan:
    """What to do about *node* (None: it is gone) and *pods*, which are bound to it.

    now_s: seconds since the epoch. unvouched_s: for how long plans of this node have been `unvouched`; 0 at first sight.
    Pure, O(pods log pods).
    """
    verdict = guard(node, policy, now_s)
    if node is None or not policy.node_selector.matches(node.labels):
        return Plan(verdict)
    if node.ready is Status.UNKNOWN:
        return _silent(node, pods, policy, verdict, duties, now_s, unvouched_s)
    if node.ready is Status.TRUE and duties.pods:
        return _returned(node, pods, verdict, now_s)
    return Plan(verdict)


def urgency_of(node: NodeFacts | None, policy: VotePolicy, now_s: float, duties: Duties = Duties()) -> Urgency:
    """How urgent the steps of *node* are, should it need any; its pods are not looked at. O(taints)."""
    if node is None or node.ready is not Status.UNKNOWN or not policy.node_selector.matches(node.labels):
        return Urgency.RESTORE
    verdict = guard(node, policy, now_s)
    if _loses_taint(node, policy, verdict, duties):
        return Urgency.TAINT
    return Urgency.RESTORE if verdict.active or not duties.pods else Urgency.LET_GO


def _loses_taint(node: NodeFacts, policy: VotePolicy, verdict: Guard, duties: Duties) -> bool:
    return duties.taints and (verdict.active or policy.always_reachable) and bears_evicting_taint(node)


def bears_evicting_taint(node: NodeFacts) -> bool:
    """Whether the pods of *node* are about to be evicted because it is unreachable."""
    return any(is_evicting(taint) for taint in node.taints)


def is_evicting(taint: Taint) -> bool:
    """Whether *taint* is the one by which the node controller evicts the pods of a silent node."""
    return taint.key == UNREACHABLE_TAINT and taint.effect == NO_EXECUTE


def was_marked(pod: PodFacts) -> bool:
    """Whether *pod* runs and bears the node controller's signature."""
    return pod.is_marked and pod.phase == "Running" and not pod.deleting


def is_published(pod: PodFacts) -> bool:
    """Whether Services send traffic to *pod*, or would for want of a better one."""
    return pod.ready is Status.TRUE and pod.phase not in ("Succeeded", "Failed")


def _silent(
    node: NodeFacts,
    pods: Sequence[PodFacts],
    policy: VotePolicy,
    verdict: Guard,
    duties: Duties,
    now_s: float,
    unvouched_s: float,
) -> Plan:
    steps: list[Step] = []
    if _loses_taint(node, policy, verdict, duties):
        steps.append(RemoveTaint(node.name))
    waits_s = [] if verdict.changes_in_s is None else [verdict.changes_in_s + _AFTER_S]
    if verdict.active:
        if duties.pods:
            steps += _restore(pods, Cause.GUARDED)
        return Plan(verdict, tuple(steps), _soonest(waits_s), node.ready_since_s)
    published = _sorted(pods, is_published) if duties.pods else []
    patience_s = 0.0 if verdict.reason is Reason.VOTE_UNHEALTHY else PEERS_SPEAK_WITHIN_S - unvouched_s
    if patience_s <= 0:
        steps += [LetPodGo(pod.namespace, pod.name, pod.uid) for pod in published]
    elif published:
        waits_s.append(patience_s)
    return Plan(verdict, tuple(steps), _soonest(waits_s))


def _returned(node: NodeFacts, pods: Sequence[PodFacts], verdict: Guard, now_s: float) -> Plan:
    if node.ready_since_s is None:  # nobody knows how long the kubelet has had
        return Plan(verdict)
    forgotten = _restore(pods, Cause.FORGOTTEN)
    left_s = KUBELET_SPEAKS_WITHIN_S - (now_s - node.ready_since_s)
    if left_s > 0:
        return Plan(verdict, look_again_s=_soonest([left_s]) if forgotten else None)
    return Plan(verdict, tuple(forgotten))


def _restore(pods: Sequence[PodFacts], cause: Cause) -> list[RestorePod]:
    return [RestorePod(pod.namespace, pod.name, pod.uid, cause) for pod in _sorted(pods, was_marked)]


def _sorted(pods: Sequence[PodFacts], wanted: Callable[[PodFacts], bool]) -> list[PodFacts]:
    return sorted((pod for pod in pods if wanted(pod)), key=lambda pod: (pod.namespace, pod.name))


def _soonest(waits_s: Sequence[float]) -> float | None:
    return min(*waits_s, LOOK_AGAIN_WITHIN_S) if waits_s else None
