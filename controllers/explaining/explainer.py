"""Explains what is asked: the same for files, for a live cluster and for what a running replica believes.

    Explainer(gate, cluster, …).explain(query) -> Explanation

The services are those of the gate, so that rules of others are among them; nothing is written: every review is a dry run.
Threads: any; holds nothing. Errors: MalformedObject, Unknown.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from enum import StrEnum
from typing import Final

import attrs

from controllers.explaining.addresses import address_report
from controllers.explaining.advice import advised
from controllers.explaining.asking import Panel
from controllers.explaining.kinds import BY_NAME
from controllers.explaining.objects import Memory, Target, answers_to, report_of, workload_questions
from controllers.explaining.pods import Case, explain
from controllers.explaining.questions import ANYBODY
from controllers.explaining.report import Report
from controllers.pod_ip.seen import Seen
from webhook.addresses.address import Address, AddressError
from webhook.admission.gate import Gate
from webhook.admission.registry import completion, pod_bounds
from webhook.admission.review import User
from webhook.clock import Clock, Deadline
from webhook.cluster import NONE_ON_FILES, Cluster, NodeFacts, Status, Vote
from webhook.names import READY
from webhook.objects import meta
from webhook.objects.meta import Json, format_time
from webhook.objects.votes import Protocol, VotePolicy
from webhook.objects.workloads import workload_of
from webhook.sidecars.misplaced import misplaced

BUDGET_S: Final = 5.0  # of everything that is asked about one object, live reads of rules included
REMEMBERED: Final = "the cache of this replica"


class Unknown(LookupError):
    """What is asked about is not known here. The text says what to do."""


class Tone(StrEnum):
    """How grave an explanation is, for its colour."""

    GOOD = "good"
    DOUBTFUL = "doubtful"
    BAD = "bad"


@attrs.frozen
class Query:
    """What is asked."""

    kind: str  # of kinds.KINDS
    name: str = ""  # of the object, or the address; needed only without an object
    namespace: str = ""  # "" for cluster-scoped ones
    object: Json | None = None  # None of BY_NAME: as it is known here
    where: str = ""  # "file:line"
    user: User = ANYBODY  # who creates and deletes it


@attrs.frozen
class Explanation:
    """The answer, ready to show."""

    text: str
    json: Json
    is_fine: bool  # nothing is refused, undecided or in conflict
    tone: Tone


@attrs.frozen
class Explainer:
    """Everything that an explanation rests on."""

    gate: Gate
    cluster: Cluster
    clock: Clock
    synced: Callable[[str], bool] = lambda cache: True
    seen: Callable[[Address], Seen] | None = None  # who has an address; None where nobody follows them
    memory: Callable[[], Memory] | None = None  # of deletions of databases: the leader's
    inside: Callable[[str], AbstractContextManager[None]] = lambda name: nullcontext()  # while a plug-in's rule is asked

    def explain(self, query: Query) -> Explanation:
        """The explanation of *query*. Raises MalformedObject, Unknown."""
        deadline = Deadline.after(BUDGET_S, self.clock)
        panel = Panel(self.gate.services, self.cluster, self.clock.wall_s(), deadline, self.synced, self.inside)
        if query.kind == "address":
            return _shown(self._address(query, panel))
        if query.object is None:
            query = self._remembered(query)
        assert query.object is not None
        if query.kind in ("pod", "workload"):
            return self._pod(query, query.object, panel)
        votes = self.gate.settings.votes
        target = Target(query.kind, query.object, query.namespace, query.where, query.user)
        return _shown(report_of(target, panel, votes, self.memory() if self.memory is not None else None))

    def _address(self, query: Query, panel: Panel) -> Report:
        if self.seen is None:
            is_off = self.gate.settings.addresses is None
            raise Unknown("fixed addresses are switched off here: features.podIP" if is_off else NONE_ON_FILES)
        try:
            address = address_of(query.name)
        except AddressError as error:
            raise Unknown(str(error)) from error
        return address_report(self.seen(address), panel.now_s, self.gate.settings.addresses, query.where)

    def _remembered(self, query: Query) -> Query:
        node = self.cluster.nodes.get(query.name) if query.kind == "node" else None
        if node is None:
            what = f"{query.kind} {query.name}"
            raise Unknown(f"{what}: not in {REMEMBERED}" if query.kind in BY_NAME else f"{what}: the object itself is needed")
        return attrs.evolve(query, object=written(node, self.gate.settings.votes), where=query.where or REMEMBERED)

    def _pod(self, query: Query, obj: Json, panel: Panel) -> Explanation:
        workload = workload_of(obj)
        if workload is None:
            raise Unknown(f"{query.name or 'the object'}: is no pod and no workload")
        settings = self.gate.settings
        subject = f"{workload.kind} {query.namespace}/{meta.display_name(obj)}"
        pod = workload.pod(obj)
        target = Target(query.kind, copy.deepcopy(obj), query.namespace, query.where, query.user)
        answers = answers_to(workload_questions(workload, copy.deepcopy(pod), target), panel)
        case = Case(pod, query.namespace, subject, query.where, misplaced(workload, obj))
        after, judges = completion(settings, self.cluster), pod_bounds(settings)
        found = explain(case, self.cluster, settings.sidecars, panel.now_s, panel.deadline, after, judges)
        told = {reason for reason, _ in found.advice}
        more = tuple((reason, text) for reason, text in advised(answers, settings.votes) if reason not in told)
        whole = attrs.evolve(found, answers=answers, more_advice=more)
        is_fine = not whole.is_refused and whole.is_decided
        tone = Tone.BAD if not is_fine else Tone.DOUBTFUL if whole.findings or whole.bounds else Tone.GOOD
        return Explanation(whole.to_text(), whole.to_json(), is_fine, tone)


def address_of(name: str) -> Address:
    """The address that *name* writes, as itself or as its reservation is called. Raises AddressError."""
    return Address.from_name(name) if "-" in name else Address.parse(name)


def _shown(report: Report) -> Explanation:
    warned = any(rule.warnings for one in report.answers for service in one.services for rule in service.rules)
    tone = Tone.BAD if not report.is_fine else Tone.DOUBTFUL if warned else Tone.GOOD
    return Explanation(report.to_text(), report.to_json(), report.is_fine, tone)


def written(node: NodeFacts, votes: VotePolicy) -> Json:
    """A Node with what a cache keeps of it, so that rules can be asked about what the replica believes."""
    annotations = dict(_vote(node.vote, votes))
    if votes.time_annotation and node.vote_time_s is not None:
        annotations[votes.time_annotation] = format_time(node.vote_time_s)
    ready: Json = {"type": READY, "status": node.ready.value if node.ready is not None else Status.UNKNOWN.value}
    if node.ready_since_s is not None:
        ready["lastTransitionTime"] = format_time(node.ready_since_s)
    taints = [{"key": one.key, **({"value": one.value} if one.value else {}), "effect": one.effect} for one in node.taints]
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": node.name, "uid": node.uid, "labels": dict(node.labels), "annotations": annotations},
        "spec": {"taints": taints, "unschedulable": node.unschedulable},
        "status": {"conditions": [ready] if node.ready is not None else []},
    }


def _vote(vote: Vote, votes: VotePolicy) -> list[tuple[str, str]]:
    """The annotation that reads as *vote*."""
    said = {Vote.HEALTHY: votes.healthy_value, Vote.UNHEALTHY: votes.unhealthy_value}.get(vote)
    if votes.protocol is Protocol.SUPEREDGE:
        said = {Vote.UNHEALTHY: "yes", Vote.UNKNOWN: "unknown"}.get(vote)
    keys = votes.annotation_keys() - {votes.time_annotation}
    return [(key, said) for key in keys if said is not None]
