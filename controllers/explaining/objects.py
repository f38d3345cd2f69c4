"""What is known of a node, an endpoint, a DatabaseInstance or any other object, with what every rule would answer.

    report_of(target, panel, votes) -> Report         by the kind of object
    answers_to(target, panel, …) -> answers     of a pod or workload, beside `pods`

Pure but for what the facts do. Raises MalformedObject on a field of a type that the API forbids.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

import attrs

from controllers.explaining import questions
from controllers.explaining.advice import advised
from controllers.explaining.asking import Panel, QuestionAnswer, ask
from controllers.explaining.conclusion import settled
from controllers.explaining.questions import ANYBODY, Question
from controllers.explaining.rendering import texts
from controllers.explaining.report import Report, Rows
from controllers.wording import span
from webhook.admission.review import GroupVersionResource, User
from webhook.admission.service import ANY
from webhook.cluster import NodeFacts, Status
from webhook.names import Reason
from webhook.objects import conditions, meta, nodes
from webhook.objects.databases import FINALIZER
from webhook.objects.endpoints import slice_address, subset_address
from webhook.objects.meta import Json, format_time
from webhook.objects.votes import Guard, VotePolicy, guard, vouched
from webhook.objects.workloads import Workload

PARTS: Final = 2000  # addresses of one endpoint that are asked about one by one; the API server holds slices to 1000

Memory = Mapping[str, tuple[str, str]]  # DatabaseInstance -> what its deletion waits for, why its last pass failed


@attrs.frozen
class Target:
    """An object to explain."""

    kind: str  # "node", "endpoint", "databaseinstance", "object"
    object: Json
    namespace: str = ""  # that it is in, "" for cluster-scoped ones
    where: str = ""  # "file:line"
    user: User = ANYBODY  # who creates and deletes it

    @property
    def subject(self) -> str:
        """Kind and name for messages."""
        name = meta.display_name(self.object)
        kind = self.object.get("kind")
        return f"{kind if isinstance(kind, str) else 'object'} {f'{self.namespace}/{name}' if self.namespace else name}"


def report_of(target: Target, panel: Panel, votes: VotePolicy, memory: Memory | None = None) -> Report:
    """The report of *target*. memory: the leader's, of DatabaseInstances; None where nobody leads here."""
    explain: Mapping[str, Callable[[Target, Panel, VotePolicy], Report]] = {
        "node": _node,
        "endpoint": _endpoint,
        "databaseinstance": lambda target, panel, votes: _instance(target, panel, votes, memory),
        "object": _object,
    }
    return explain[target.kind](target, panel, votes)


def answers_to(asked: Iterable[Question], panel: Panel) -> tuple[QuestionAnswer, ...]:
    """What every service says to each question, without those that are nobody's business."""
    found = (ask(question, panel) for question in asked)
    return tuple(one for one in found if one.services)


# -- nodes


def _node(target: Target, panel: Panel, votes: VotePolicy) -> Report:
    facts = nodes.facts(target.object, target.object, votes)
    known = panel.cluster.nodes.get(facts.name)
    decided = guard(facts, votes, panel.now_s)
    answers = answers_to(questions.of_node(target.object, format_time(panel.now_s)), panel)
    verdict = _node_verdict(facts, decided, votes) + _missing(answers)
    said = [*_node_facts(facts, decided, target.object, votes)]
    if known is None:
        said.append(("cache", "has no such node"))
    elif difference := _difference(facts, known):
        said.append(("cache", f"differs: {difference}"))
    pods = panel.cluster.pods.on_node(facts.name)
    said.append(("pods", f"{len(pods)} on it, {sum(pod.ready is Status.TRUE for pod in pods)} ready"))
    details = {
        "ready": facts.ready.value if facts.ready else None,
        "readySince": None if facts.ready_since_s is None else format_time(facts.ready_since_s),
        "vote": facts.vote.value,
        "voteTime": None if facts.vote_time_s is None else format_time(facts.vote_time_s),
        "guarded": decided.active,
        "reason": decided.reason.value,
        "ageSeconds": decided.age_s,
        "changesInSeconds": decided.changes_in_s,
        "cached": known is not None,
        "cacheDiffers": _difference(facts, known) if known is not None else None,
        "pods": len(pods),
    }
    advice = advised(answers, votes, (decided.reason,))
    return Report("node", target.subject, target.where, verdict, tuple(said), details, None, answers, advice)


def _missing(answers: Iterable[QuestionAnswer]) -> str:
    """That a service could not decide, behind a verdict that is about the object; "" when all could."""
    missing = next((one.undecided for one in answers if one.undecided is not None), None)
    return "" if missing is None else f"; NOT DECIDED by {missing.service}: {missing.why}"


def _node_verdict(facts: NodeFacts, decided: Guard, votes: VotePolicy) -> str:
    if decided.active:
        ends = "" if decided.changes_in_s is None else f"; ends in {span(decided.changes_in_s)} unless something is written"
        return f"guarded: it is silent and its peers say that it is healthy{ends}"
    if decided.reason is Reason.NODE_NOT_SILENT:
        would = "it would be guarded" if vouched(facts, votes) else "it would not be guarded"
        return f"not guarded, {decided.reason}: it is heard of; if it went silent, {would}"
    return f"not guarded, {decided.reason}: it is silent, and Kubernetes goes its usual way"


def _node_facts(facts: NodeFacts, decided: Guard, obj: Json, votes: VotePolicy) -> Iterator[tuple[str, str]]:
    since = "" if facts.ready_since_s is None else f" since {format_time(facts.ready_since_s)}"
    yield "Ready", f"{facts.ready.value if facts.ready else 'not said'}{since}"
    written = meta.annotations_of(obj)
    keys = sorted(votes.annotation_keys())
    found = ", ".join(f'{key}: "{written[key]}"' for key in keys if key in written) or f"no {' or '.join(keys)}"
    yield "vote", f"{facts.vote.value} ({found})"
    age = "" if decided.age_s is None else f", for {span(decided.age_s)}"
    yield "guard", f"{'active' if decided.active else 'none'}, {decided.reason}{age}"
    taints = [f"{taint.key}{f'={taint.value}' if taint.value else ''}:{taint.effect}" for taint in facts.taints]
    yield "taints", ", ".join(taints) or "none"


def _difference(facts: NodeFacts, known: NodeFacts) -> str:
    """What the cache believes otherwise than the object says."""
    pairs = (("Ready", facts.ready, known.ready), ("vote", facts.vote, known.vote), ("uid", facts.uid or known.uid, known.uid))
    found = [f"{word} is {texts(theirs)} there" for word, ours, theirs in pairs if ours != theirs]
    if {(one.key, one.effect) for one in facts.taints} != {(one.key, one.effect) for one in known.taints}:
        found.append("other taints there")
    return ", ".join(found)


# -- endpoints


def _endpoint(target: Target, panel: Panel, votes: VotePolicy) -> Report:
    is_slice = target.object.get("kind") == "EndpointSlice"
    read = slice_address if is_slice else subset_address
    rows, reasons, ready_count, kept = [], [], 0, 0
    for index, (item, ready, question) in enumerate(questions.of_addresses(target.object, target.namespace)):
        if index >= PARTS:
            break
        address = read(item, "addresses[]")
        told = [one for answer in ask(question, panel).services for one in answer.rules]
        ready_count += ready
        kept += any(one.reason == Reason.ADDRESSES_KEPT_READY for one in told)
        reasons += [one.reason for one in told]
        answer = ", ".join(one.reason for one in told) or "nobody is asked"
        rows.append((address.ip or "–", address.node or "–", address.pod or "–", "yes" if ready else "no", answer))
    answers = answers_to(questions.of_endpoints(target.object, target.namespace), panel)
    total = questions.address_count(target.object)
    cut = len(rows) < total
    counted = f"but only the first {len(rows)} were asked about: {ready_count} of these" if cut else f"{ready_count}"
    verdict = f"{total} addresses, {counted} ready; if all were taken out of service now, {kept} would stay ready" + _missing(
        answers
    )
    parts = Rows(
        "each address, if it were taken out of service now", ("address", "node", "pod", "ready", "answer"), tuple(rows)
    )
    silent = sorted({row[1] for row in rows if _is_silent(panel, row[1])})
    facts = (("silent nodes", ", ".join(silent) or "none of its addresses stands on one"),)
    details = {"addresses": total, "asked": len(rows), "ready": ready_count, "kept": kept, "silentNodes": silent}
    advice = advised(answers, votes, reasons)
    return Report("endpoint", target.subject, target.where, verdict, facts, details, parts, answers, advice)


def _is_silent(panel: Panel, name: str) -> bool:
    node = panel.cluster.nodes.get(name)
    return node is not None and node.ready is Status.UNKNOWN


# -- databases


def _instance(target: Target, panel: Panel, votes: VotePolicy, memory: Memory | None) -> Report:
    obj = target.object
    answers = answers_to(questions.of_instance(obj, target.namespace, target.user), panel)
    metadata = meta.metadata(obj)
    deleting = meta.text(metadata, "deletionTimestamp", "metadata")
    protected = FINALIZER in meta.sequence(metadata, "finalizers", "metadata")
    policy = meta.text(meta.mapping(obj, "spec", ""), "deletionPolicy", "spec")
    key = f"{target.namespace}/{meta.text(metadata, 'name', 'metadata')}"
    waits, failure = (memory or {}).get(key, ("", ""))
    facts = [("deletion policy", policy or "not written: the installation's default")]
    facts.append(("protected", "yes, by our finalizer" if protected else "no finalizer of ours: it would go at once"))
    if deleting:
        facts.append(("deleted", f"asked for at {deleting}{f', waits: {waits}' if waits else ''}"))
    if failure:
        facts.append(("last pass", f"FAILED: {failure}"))
    facts += [(f"status {kind}", text) for kind, text in _conditions(obj)]
    verdict = _verdict(answers, "being deleted" if deleting else "protected" if protected else "not protected")
    details: dict[str, Any] = {
        "deletionPolicy": policy or None,
        "protected": protected,
        "deletionTimestamp": deleting or None,
        "waitsFor": waits or None,
        "failure": failure or None,
        "conditions": [{"type": kind, "text": text} for kind, text in _conditions(obj)],
    }
    return Report(
        "databaseinstance", target.subject, target.where, verdict, tuple(facts), details, None, answers, advised(answers, votes)
    )


def _conditions(obj: Json) -> Iterator[tuple[str, str]]:
    for one in conditions.of(obj):
        said = ", ".join(str(one[key]) for key in ("status", "reason", "message") if one.get(key))
        yield str(one.get("type")), said


# -- everything else


def _object(target: Target, panel: Panel, votes: VotePolicy) -> Report:
    resources = resources_of(target.object, panel)
    answers = answers_to(questions.of_object(target.object, resources, target.namespace, target.user), panel)
    nothing = "nothing would be refused" if answers else "no rule that is switched on looks at it"
    verdict = _verdict(answers, nothing)
    return Report("object", target.subject, target.where, verdict, (), {}, None, answers, advised(answers, votes))


def _verdict(answers: Iterable[QuestionAnswer], otherwise: str) -> str:
    """What comes first: a refusal, a service that could not decide, or *otherwise*."""
    found = settled(answers)
    return otherwise if found is None else str(found)


def resources_of(obj: Json, panel: Panel) -> Sequence[GroupVersionResource]:
    """What the kind of *obj* may be called in the registrations of *panel*: a kind does not say its plural."""
    version, kind = obj.get("apiVersion"), obj.get("kind")
    if not isinstance(version, str) or not isinstance(kind, str) or not kind:
        return ()
    group, _, number = version.rpartition("/")
    lower = kind.lower()
    plurals = {lower + "s", lower + "es", lower, *([lower[:-1] + "ies"] if lower.endswith("y") else ())}
    named = {match.resource.partition("/")[0] for bound in panel.services for match in bound.takes}
    chosen = sorted(plurals & named) or ([_plural(lower)] if ANY in named else [])
    return [GroupVersionResource(group, number, plural) for plural in chosen]


def _plural(lower: str) -> str:
    """As apimachinery guesses it (meta UnsafeGuessKindToResource)."""
    if lower.endswith("s"):
        return f"{lower}es"
    return f"{lower[:-1]}ies" if lower.endswith("y") else f"{lower}s"


def workload_questions(workload: Workload, pod: Json, target: Target) -> Iterator[Question]:
    """Of a pod, or of a workload and the pod that is created from it."""
    yield from questions.of_pod(pod, target.namespace, target.user)
    if workload.template:
        yield from questions.of_workload(workload, target.object, target.namespace, target.user)
