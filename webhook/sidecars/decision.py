"""The whole decision about one pod: who it is, what it gets, whether the cluster will take it, and the edits.

The one function behind the service `mutate`, the workload warnings, `gatehouse inject` and `gatehouse explain`: what they say
is the same because they ask the same. Pure but for what the facts do (a live read of a namespace that the cache lacks).
"""

from __future__ import annotations

import msgspec

from webhook.admission.draft import Draft
from webhook.clock import Deadline
from webhook.cluster import Cluster, NamespaceFacts
from webhook.names import Reason
from webhook.sidecars.findings import Finding
from webhook.sidecars.fitting import Surroundings, fit
from webhook.sidecars.fitting.sizes import foreseen, outgrown
from webhook.sidecars.injection import Injection, Scene, apply, native_support, plan
from webhook.sidecars.injection.planned import LeftOut
from webhook.sidecars.misplaced import unfilled
from webhook.sidecars.selection import Policy, Selection, is_enabled, select


class Decision(msgspec.Struct, frozen=True):
    """What was decided about a pod. What it changed stands in the draft."""

    reason: Reason
    message: str
    selection: Selection
    findings: tuple[Finding, ...] = ()  # everything to tell, in the order in which it was noticed
    refusal: Finding | None = None  # then nothing was edited
    injection: Injection | None = None  # None when no entry was to be injected


def decide(
    draft: Draft, namespace: str, cluster: Cluster, policy: Policy, now_s: float, deadline: Deadline, *, confirm: bool = True
) -> Decision:
    """Inject into *draft*, a pod that is created in *namespace*, what it should get.

    now_s:   seconds since the epoch, for `${now}`.
    confirm: a namespace that the cache does not have, or has without our labels, is asked of the API server: it was one of
             these labels that brought the pod here. False where every namespace's objects come.
    Raises MalformedObject on a field of a type that the API forbids; the draft is then unedited.
    """
    facts = _namespace(namespace, cluster, deadline) if confirm else cluster.namespaces.get(namespace)
    selection = select(draft.object, namespace, facts, cluster.sidecars.catalog(), policy)
    if confirm and _lacks_entries(selection):
        catalog = cluster.sidecars.awaited(selection.asked.names, namespace, policy.home, deadline)
        selection = select(draft.object, namespace, facts, catalog, policy)
    decision = _decide(draft, selection, Scene(namespace, facts, now_s), cluster, deadline)
    if decision.refusal is not None or selection.reason in _NOT_OURS:
        return decision
    return msgspec.structs.replace(decision, findings=decision.findings + unfilled(draft.object))


# Nobody of Gatehouse's is meant there.
_NOT_OURS = (Reason.NAMESPACE_UNKNOWN, Reason.NAMESPACE_NOT_ENABLED)


def _lacks_entries(selection: Selection) -> bool:
    findings = (*selection.findings, selection.refusal)
    return any(finding is not None and finding.reason is Reason.ENTRY_MISSING for finding in findings)


def _decide(draft: Draft, selection: Selection, scene: Scene, cluster: Cluster, deadline: Deadline) -> Decision:
    namespace = scene.namespace
    if selection.refusal is not None:
        return _refused(selection, selection.refusal, selection.findings)
    if not selection.entries:
        return Decision(selection.reason, selection.message, selection, selection.findings)
    too_much = foreseen(draft.object, selection.entries)
    if too_much is not None:
        return _refused(selection, too_much, selection.findings)
    scene = msgspec.structs.replace(scene, native=native_support(cluster.nodes.oldest_kubelet()))
    planned = plan(draft.object, selection.entries, scene)
    surroundings = _surroundings(namespace, scene.namespace_facts, cluster, deadline)
    fitted = fit(draft.object, planned, surroundings, lambda left_out: plan(draft.object, selection.entries, scene, left_out))
    findings = selection.findings + fitted.findings
    refusal = fitted.refusal or outgrown(fitted.plan)
    if refusal is not None:
        return _refused(selection, refusal, findings)
    injection = apply(draft, fitted.plan)
    findings += injection.findings
    if injection.refusal is not None:
        return _refused(selection, injection.refusal, findings)
    return _done(selection, injection, findings, fitted.plan.left_out, changed=bool(draft.operations))


def _namespace(name: str, cluster: Cluster, deadline: Deadline) -> NamespaceFacts | None:
    facts = cluster.namespaces.get(name)
    if facts is not None and is_enabled(facts):
        return facts
    return cluster.namespaces.confirm(name, deadline) or facts


def _surroundings(namespace: str, facts: NamespaceFacts | None, cluster: Cluster, deadline: Deadline) -> Surroundings:
    return Surroundings(
        facts.labels if facts is not None else {},
        cluster.limit_ranges.of(namespace),
        cluster.resource_quotas.of(namespace),
        lambda name: cluster.config_maps.exists(namespace, name, deadline),
    )


def _refused(selection: Selection, refusal: Finding, findings: tuple[Finding, ...]) -> Decision:
    return Decision(refusal.reason, refusal.message, selection, findings, refusal)


def _done(
    selection: Selection,
    injection: Injection,
    findings: tuple[Finding, ...],
    left_out: tuple[LeftOut, ...],
    *,
    changed: bool,
) -> Decision:
    if not injection.applied:
        told = [one.finding for one in left_out] or findings
        last = told[-1] if told else Finding(Reason.NOTHING_TO_DO, "")
        return Decision(last.reason, last.message, selection, findings, injection=injection)
    names = ", ".join(f"{entry.name}@{entry.revision}" for entry in injection.applied)
    reason = Reason.INJECTED if changed else Reason.ALREADY_INJECTED
    return Decision(reason, names, selection, findings, injection=injection)
