"""What can be done about each answer that `controllers.explaining.pod_advice`, which is about what pods get, has no line for.

What depends on the configuration names its annotation, label or limit: which vote would change it, how long one counts.
A rule of one's own may bring lines, too: an attribute `advice`, a mapping of reasons to texts. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from controllers.explaining.asking import QuestionAnswer, RuleAnswer
from controllers.explaining.pod_advice import ADVICE
from controllers.wording import span
from webhook.names import ALLOCATABLE_IPS, IP_POOL, SUPEREDGE_UNHEALTHY_ANNOTATION, VOTE_ANNOTATION, Reason
from webhook.objects.votes import Protocol, VotePolicy

_POOL: Final = "kubectl get addresspools; gatehouse ip list"

STANDING: Final[Mapping[str, str]] = {
    Reason.NODE_UNKNOWN: "create the Node, or name the right one; offline, put it into the files that --local names",
    Reason.NODE_NOT_SILENT: "nothing: only a node whose Ready is Unknown is guarded, and this one is heard of",
    Reason.POD_UNKNOWN: "nothing: an address whose pod is gone goes as well; offline, put the Pod into the files of --local",
    Reason.POD_TERMINATING: "nothing: a pod that is being deleted is taken out of service by design",
    Reason.POD_FINISHED: "nothing: a finished pod serves nobody",
    Reason.POD_NEVER_READY: "mend the pod: it was not ready before its node went silent, either",
    Reason.POD_PROBE_FAILED: "mend the pod: its own probe had failed before its node went silent",
    Reason.NOT_A_NODE_CONTROLLER_FLIP: "nothing: what a kubelet says of its pod is never changed",
    Reason.WRONG_RESOURCE: "mend the webhook configuration: gatehouse manifests | kubectl diff -f -",
    Reason.CREATOR_NOT_ALLOWED: "have the user, group or ServiceAccount added to the rule's allow: features.creatorPolicy",
    Reason.DEFAULT_LEFT_OUT: "write it into the pod itself, or mend the set that is named: features.podDefaults",
    Reason.CAPACITY_UNKNOWN: "nothing: requests stay as they are until all nodes and pods are known",
    Reason.ADDRESSES_EXHAUSTED: f"give the pool more addresses, or free one: {_POOL}",
    Reason.ADDRESSES_INVALID: f"mend the list ({ALLOCATABLE_IPS}): 10.20.0.7, 10.20.0.0/28, 10.20.0.10-19, separated by commas",
    Reason.ADDRESS_OUT_OF_RANGE: "use a pool that the namespace may use and that lies in a pool of the network",
    Reason.ADDRESS_POOL_MISSING: f"mend the label {IP_POOL}, or create the AddressPool: {_POOL}",
    Reason.ADDRESS_NOT_RESERVED: f"remove the address; a pod asks for one by the label {IP_POOL} or {ALLOCATABLE_IPS}",
    Reason.ADDRESS_CHANGED: "leave the address as it is: delete the pod to give it another one",
    Reason.ADDRESS_AWAITED: f"nothing: the pod is let go once an address is free: {_POOL}",
    Reason.ADDRESS_CONFLICT: "delete the pods that carry it and to whom it does not belong: gatehouse ip show ADDRESS",
    Reason.OPT_IN_MISSING: f"write {ALLOCATABLE_IPS} as a label, too: an annotation alone asks for nothing",
    Reason.ASKED_TOO_LATE: "write it into the workload's template: a pod that runs keeps its address",
    Reason.ADDRESS_ALLOCATED: f"to do without, remove the label {IP_POOL} or {ALLOCATABLE_IPS}",
    Reason.CLAIM_TAKEN: "name another claim in spec.volumes, or take it out of the other instance first",
    Reason.SPEC_INVALID: "mend the field that is named: while it cannot be read, nothing is deleted",
    Reason.VOLUMES_WILL_GO: "to keep them, write spec.deletionPolicy: Retain (or Snapshot) before the deletion",
    Reason.VOLUMES_WILL_STAY: "to delete them as well, write spec.deletionPolicy: Delete before the deletion",
}


def advised(answers: Iterable[QuestionAnswer], votes: VotePolicy, first: Iterable[str] = ()) -> tuple[tuple[str, str], ...]:
    """A line for each reason, those in *first* before what the rules said."""
    about_votes = of_votes(votes)
    own = {rule.reason: rule.advice for rule in _of_rules(answers) if rule.advice}
    found: dict[str, str] = {}
    for reason in (*first, *(rule.reason for rule in _of_rules(answers))):
        text = own.get(reason) or about_votes.get(reason) or STANDING.get(reason) or _of_pods(reason)
        if text and text not in found.values():
            found.setdefault(str(reason), text)
    return tuple(found.items())


def of_votes(votes: VotePolicy) -> Mapping[str, str]:
    """What the votes of a node's peers would have to say, as the configuration has them read."""
    good, bad = healthy_vote(votes), unhealthy_vote(votes)
    timed = f" and {votes.time_annotation}: the time" if votes.time_annotation else ""
    if votes.max_age_s:
        renewed = f"its peers have to write {good}{timed} anew, or raise votes.maxAge ({span(votes.max_age_s)})"
    else:
        # Votes without a time cannot be renewed: what is limited counts from Ready's change.
        renewed = (
            f"raise votes.maxGuard ({span(votes.max_guard_s)} since Ready changed), or set votes.timeAnnotation and maxAge"
        )
    let_go = f"to let it go the usual way, its peers write {bad} on the Node"
    return {
        Reason.GUARDED: let_go,
        Reason.TAINT_REMOVED: let_go,
        Reason.ADDRESSES_KEPT_READY: let_go,
        Reason.POD_KEPT_READY: let_go,
        Reason.VOTE_MISSING: f"its peers have to write {good}{timed} on the Node",
        Reason.VOTE_UNHEALTHY: f"nothing, if it is dead; if its peers are wrong, they have to write {good}{timed} on the Node",
        Reason.VOTE_EXPIRED: renewed,
        Reason.NODE_NOT_SELECTED: f"label the Node as votes.nodeSelector asks ({votes.node_selector}), or change the selector",
    }


def healthy_vote(votes: VotePolicy) -> str:
    """How peers write that a node is healthy."""
    if votes.protocol is Protocol.SUPEREDGE:
        return f"nothing into {_annotation(votes)} (its absence says healthy)"
    return f'{votes.annotation}: "{votes.healthy_value}"'


def unhealthy_vote(votes: VotePolicy) -> str:
    """How peers write that it is dead."""
    if votes.protocol is Protocol.SUPEREDGE:
        return f'{_annotation(votes)}: "yes"'
    return f'{votes.annotation}: "{votes.unhealthy_value}"'


def _annotation(votes: VotePolicy) -> str:
    return SUPEREDGE_UNHEALTHY_ANNOTATION if votes.annotation == VOTE_ANNOTATION else votes.annotation


def _of_pods(reason: str) -> str:
    """The line about what pods get; NothingToDo speaks of entries there, and of other rules it needs no advice."""
    return "" if reason == Reason.NOTHING_TO_DO or reason not in set(Reason) else ADVICE.get(Reason(reason), "")


def _of_rules(answers: Iterable[QuestionAnswer]) -> Iterator[RuleAnswer]:
    return (rule for answer in answers for service in answer.services for rule in service.rules)
