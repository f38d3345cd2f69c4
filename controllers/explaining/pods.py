"""Why a pod gets what it gets: everything that one sidecar decision rests on, and what bounds then say, as a value to show.

    explain(case, …) -> PodExplanation              decides, through the same function as the server, and keeps the grounds
    PodExplanation.to_text(), .to_json()         for a person, for a program

Pure but for what the facts do (`webhook.sidecars.decision`). Raises MalformedObject on a field of a type that the API forbids.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import attrs

from controllers.explaining.asking import QuestionAnswer
from controllers.explaining.conclusion import Conclusion, Grounds, Told, conclude
from controllers.explaining.differences import Change, changes
from controllers.explaining.pod_advice import ADVICE
from controllers.explaining.rendering import answer_lines, as_json, change_line, page
from webhook.admission.draft import Draft
from webhook.clock import Deadline
from webhook.cluster import Cluster, NamespaceFacts
from webhook.defaults.completing import Completion
from webhook.defaults.defaulting import Outcome
from webhook.features.workload_warnings import Judge
from webhook.names import (
    INJECT,
    INJECT_ENTRIES,
    INJECTED_NAMESPACE_LABEL,
    MUTATE_LABEL,
    OPT_IN_NAMESPACE_LABEL,
    Reason,
)
from webhook.objects import meta
from webhook.objects.enforcement import Complaint, Mode
from webhook.objects.faults import quoted
from webhook.objects.meta import Json
from webhook.sidecars.decision import decide
from webhook.sidecars.entries.catalog import Catalog
from webhook.sidecars.findings import Finding
from webhook.sidecars.selection import Policy

# What the cluster has to say afterwards.
_FORECASTS: Final = frozenset(
    {Reason.POD_SECURITY, Reason.LIMIT_RANGE, Reason.QUOTA, Reason.POD_RESOURCES, Reason.CONFIG_MAP_MISSING}
)


@attrs.frozen
class Statement:
    """What stands at one key of one level."""

    level: str  # "pod annotation", "pod label", "namespace annotation", "namespace label"
    key: str
    value: str | None  # None: the key is absent
    decides: bool  # whether this is what counts


@attrs.frozen
class Search:
    """Where one entry was looked for, and what was found."""

    name: str
    outcome: str  # "found", "broken" or "missing"
    looked_in: tuple[str, ...]  # namespaces, in order
    source: str = ""  # "shop/envoy-initializer"
    key: str = ""
    revision: str = ""
    faults: tuple[str, ...] = ()  # of its newest version; when it was found, an older one is in force


@attrs.frozen
class Case:
    """A pod to explain."""

    pod: Json
    namespace: str  # that it is created in
    subject: str  # how to call it: "Deployment shop/web"
    where: str = ""  # "file:line"
    beside: tuple[Finding, ...] = ()  # what was noticed about the object that the pod comes from


@attrs.frozen
class PodExplanation:
    """One decision and its grounds."""

    subject: str  # "Pod shop/web", "Deployment shop/web"
    where: str  # "file:line", "" for what a running process decided
    reason: Reason
    message: str
    statements: tuple[Statement, ...]
    searches: tuple[Search, ...]
    changes: tuple[Change, ...]  # of the pod; () when it is refused
    findings: tuple[Finding, ...]  # warnings, also of what the cluster will say
    repairs: tuple[Finding, ...]
    refusal: Finding | None  # by an entry
    advice: tuple[tuple[Reason, str], ...]  # what would change it
    bounds: tuple[Complaint, ...] = ()  # what the rules of /validate say of what has become of the pod
    answers: tuple[QuestionAnswer, ...] = ()  # what every service says to it, third-party rules included
    more_advice: tuple[tuple[str, str], ...] = ()  # about that

    @property
    def is_refused(self) -> bool:
        """Whether the pod would be refused."""
        return self.conclusion.is_refused

    @property
    def conclusion(self) -> Conclusion:
        """What counts for who reads it. O(everything that is said)."""
        breach = next((one for one in self.bounds if one.mode is Mode.DENY), None)
        return conclude(
            Grounds(
                self._sidecars,
                self.refusal is not None,
                bool(self.changes),
                Told(breach.reason.value, breach.message) if breach is not None else None,
                self.answers,
            )
        )

    @property
    def is_decided(self) -> bool:
        """Whether the server would decide: without the namespace it answers 503, and is asked again."""
        return self.conclusion.is_decided

    def to_json(self) -> Json:
        """As JSON; null where there is nothing."""
        return {
            "subject": self.subject,
            "where": self.where or None,
            "verdict": str(self.conclusion),
            "reason": self.reason.value,
            "message": self.message,
            "levels": [attrs.asdict(statement) for statement in self.statements],
            "entries": [_search_json(search) for search in self.searches],
            "changes": [attrs.asdict(change) for change in self.changes],
            "findings": [_finding_json(finding) for finding in self.findings],
            "repairs": [_finding_json(finding) for finding in self.repairs],
            "refusal": _finding_json(self.refusal) if self.refusal else None,
            "bounds": [_complaint_json(one) for one in self.bounds],
            "rules": [as_json(one) for one in self.answers],
            "advice": [{"reason": str(reason), "text": text} for reason, text in (*self.advice, *self.more_advice)],
        }

    def to_text(self) -> str:
        """For a person; no line break at the end."""
        heading = f"{self.where}: {self.subject}" if self.where else self.subject
        conclusion = self.conclusion
        lines = [heading, str(conclusion)]
        if not conclusion.tells_sidecars:  # who asks why there is none looks for it here
            lines.append(f"sidecars: {self._sidecars}")
        for title, found in (
            ("who says what (the first that says something counts)", _statement_lines(self.statements)),
            ("entries", (line for search in self.searches for line in _search_lines(search))),
            ("what changes", map(change_line, self.changes)),
            ("repaired", map(_finding_line, self.repairs)),
            ("refused", map(_finding_line, [self.refusal] if self.refusal else [])),
            ("out of bounds: refused", (_complaint_line(one) for one in self.bounds if one.mode is Mode.DENY)),
            ("out of bounds: warnings", (_complaint_line(one) for one in self.bounds if one.mode is Mode.WARN)),
            ("what would refuse it", (_finding_line(one) for one in self.findings if one.reason in _FORECASTS)),
            ("warnings", (_finding_line(one) for one in self.findings if one.reason not in _FORECASTS)),
        ):
            block = list(found)
            if block:
                lines += ["", title, *block]
        above = page(lines)
        for one in self.answers:
            lines += ["", *answer_lines(one, above)]
        if advice := (*self.advice, *self.more_advice):
            lines += ["", "what would change it", *(f"  {reason}: {text}" for reason, text in advice)]
        return page(lines)

    @property
    def _sidecars(self) -> Told:
        return Told(self.reason.value, self.message)


def explain(
    case: Case,
    cluster: Cluster,
    policy: Policy,
    now_s: float,
    deadline: Deadline,
    completion: Completion | None = None,
    judges: Sequence[Judge] = (),
) -> PodExplanation:
    """What becomes of a pod, and why; through the server's own function. The pod is left as it is.

    completion: what follows the sidecars. judges: the rules that hold the result to bounds.
    """
    draft = Draft(copy.deepcopy(case.pod))
    decision = decide(draft, case.namespace, cluster, policy, now_s, deadline)
    outcomes: tuple[Outcome, ...] = ()
    if completion is not None and decision.refusal is None:
        outcomes = completion.complete(draft, case.namespace, now_s, deadline)
    asked = decision.selection.asked
    catalog = cluster.sidecars.catalog()
    ranges = cluster.limit_ranges.of(case.namespace)
    bounds = tuple(one for judge in judges for one in judge.complaints(draft.object, case.namespace, ranges))
    if decision.refusal is not None:
        bounds = ()  # nobody asks them then
    told = (
        *case.beside,
        *(finding for finding in decision.findings if finding != decision.refusal),
        *(finding for outcome in outcomes for finding in outcome.findings),
    )
    return PodExplanation(
        case.subject,
        case.where,
        decision.reason,
        decision.message,
        tuple(_statements(case.pod, cluster.namespaces.get(case.namespace), asked.level)),
        tuple(_search(name, case.namespace, catalog, policy) for name in asked.names),
        () if decision.refusal else tuple(changes(case.pod, draft.object)),
        tuple(finding for finding in told if finding.reason is not Reason.REPAIRED),
        tuple(finding for finding in told if finding.reason is Reason.REPAIRED),
        decision.refusal,
        tuple(_advice([decision.reason, *(one.reason for one in told), *(one.reason for one in bounds)])),
        bounds,
    )


def _statements(pod: Json, facts: NamespaceFacts | None, decisive: str) -> Iterator[Statement]:
    labels = facts.labels if facts else {}
    annotations = facts.annotations if facts else {}
    levels: Sequence[tuple[str, Sequence[str], Mapping[str, str]]] = (
        ("pod annotation", (INJECT, INJECT_ENTRIES), meta.annotations_of(pod)),
        ("pod label", (INJECT, INJECT_ENTRIES), meta.labels_of(pod)),
        ("namespace annotation", (INJECT_ENTRIES,), annotations),
        ("namespace label", (INJECTED_NAMESPACE_LABEL, OPT_IN_NAMESPACE_LABEL, MUTATE_LABEL), labels),
    )
    for level, keys, values in levels:
        for key in keys:
            yield Statement(level, key, values.get(key), decisive == f"{level} {key}")


def _search(name: str, namespace: str, catalog: Catalog, policy: Policy) -> Search:
    looked_in = tuple(dict.fromkeys((namespace, policy.home)))
    state = catalog.find(name, namespace, policy.home)
    if state is None:
        return Search(name, "missing", looked_in)
    faults = tuple(f"key {fault.key}, {fault.told()}" for fault in state.faults)
    if state.entry is None:
        return Search(name, "broken", looked_in, faults=faults)
    entry = state.entry
    return Search(name, "found", looked_in, entry.source, entry.key, entry.revision, faults)


def _advice(reasons: Sequence[Reason]) -> Iterator[tuple[Reason, str]]:
    """One line for each reason, the decision's own first."""
    for reason in dict.fromkeys(reasons):
        if reason in ADVICE:
            yield reason, ADVICE[reason]


# -- lines


def _statement_lines(statements: Sequence[Statement]) -> Iterator[str]:
    """A line for each key that is there, and one for each level without any."""
    for level in dict.fromkeys(statement.level for statement in statements):
        found = [statement for statement in statements if statement.level == level and statement.value is not None]
        for statement in found:
            mark = ">" if statement.decides else " "
            yield f"{mark} {level:<21}{statement.key}: {quoted(statement.value or '')}"
        if not found:
            yield f"  {level:<21}–"


def _search_lines(search: Search) -> Iterator[str]:
    places = " and ".join(search.looked_in)
    match search.outcome:
        case "missing":
            said = f"missing: no ConfigMap of namespace {places} gives it"
        case "broken":
            said = "broken, and no earlier version was good:"
        case _:
            said = f"found in ConfigMap {search.source}, key {search.key}, revision {search.revision}"
            said += "; its newest version is broken, this one stays in force:" if search.faults else ""
    yield f"  {search.name}: {said}"
    yield from (f"    {fault}" for fault in search.faults)


def _finding_line(finding: Finding) -> str:
    field = f"  ({finding.field})" if finding.field else ""
    return f"  {finding.reason}: {finding.message}{field}"


def _complaint_line(one: Complaint) -> str:
    return f"  {one.reason}: {one.told()}"


# -- JSON


def _finding_json(finding: Finding) -> Json:
    return {"reason": finding.reason.value, "message": finding.message, "field": finding.field or None}


def _complaint_json(one: Complaint) -> Json:
    return {
        "reason": one.reason.value,
        "mode": one.mode.value,
        "message": one.message,
        "field": one.field,
        "policy": one.policy,
    }


def _search_json(search: Search) -> Json:
    return {
        "name": search.name,
        "outcome": search.outcome,
        "lookedIn": list(search.looked_in),
        "configMap": search.source or None,
        "key": search.key or None,
        "revision": search.revision or None,
        "faults": list(search.faults),
    }
