"""The whole decision about one pod: who it is, what it gets, whether the cluster will take it, and the edits.

The one function behind the service `mutate`, the workload warnings, `gatehouse inject` and `gatehouse explain`: what they say
is the same because they ask the same. Pure but for what the facts do (a live read of a namespace that the cache lacks).
"""

from __future__ import annotations

import attrs

from webhook.admission.draft import Draft
from webhook.clock import Deadline
from webhook.cluster import Cluster, NamespaceFacts
from webhook.names import Reason
from webhook.sidecars.findings import Finding
from webhook.sidecars.fitting import Surroundings, fit
from webhook.sidecars.injection import Injection, Scene, apply, native_support, plan
from webhook.sidecars.selection import Policy, Selection, is_enabled, select


@attrs.frozen
class Decision:
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
    if selection.refusal is not None:
        return _refused(selection, selection.refusal, selection.findings)
    if not selection.entries:
        return Decision(selection.reason, selection.message, selection, selection.findings)
    scene = Scene(namespace, facts, now_s, native_support(cluster.nodes.oldest_kubelet()))
    planned = plan(draft.object, selection.entries, scene)
    surroundings = _surroundings(namespace, facts, cluster, deadline)
    fitted = fit(draft.object, planned, surroundings, lambda entries: plan(draft.object, entries, scene))
    findings = selection.findings + fitted.findings
    if fitted.refusal is not None:
        return _refused(selection, fitted.refusal, findings)
    injection = apply(draft, fitted.plan)
    findings += injection.findings
    if injection.refusal is not None:
        return _refused(selection, injection.refusal, findings)
    return _done(selection, injection, findings, changed=bool(draft.operations))


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


def _done(selection: Selection, injection: Injection, findings: tuple[Finding, ...], *, changed: bool) -> Decision:
    if not injection.applied:
        last = findings[-1] if findings else Finding(Reason.NOTHING_TO_DO, "")
        return Decision(last.reason, last.message, selection, findings, injection=injection)
    names = ", ".join(f"{entry.name}@{entry.revision}" for entry in injection.applied)
    reason = Reason.INJECTED if changed else Reason.ALREADY_INJECTED
    return Decision(reason, names, selection, findings, injection=injection)
