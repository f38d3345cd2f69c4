"""Drop the taint that evicts the pods of a silent node, while the node's peers vouch for it.

Reads:   status.conditions (of oldObject), spec.taints, metadata.labels, the vote annotations
Ignores: writes by kubelets (group system:nodes); every other taint, the NoSchedule twin above all: new pods should not land
         on a silent node
Answers: removes node.kubernetes.io/unreachable:NoExecute; never refuses
Source:  SuperEdge edge-health-admission; kubernetes/pkg/controller/nodelifecycle (the taint is sent again every
         --node-monitor-period until it is stored, so that dropping it holds as long as the guard does)
"""

from __future__ import annotations

from typing import ClassVar

import attrs

from webhook.admission.draft import Draft
from webhook.admission.review import AdmissionRequest
from webhook.admission.service import Context, Verdict
from webhook.cluster import Status
from webhook.names import NO_EXECUTE, NODES_GROUP, UNREACHABLE_TAINT, Reason
from webhook.objects import nodes
from webhook.objects.votes import VotePolicy, guard


@attrs.frozen
class DropUnreachableTaint:
    """The rule node-taint."""

    policy: VotePolicy
    name: ClassVar[str] = "node-taint"

    def __call__(self, request: AdmissionRequest, draft: Draft, context: Context) -> Verdict:
        if NODES_GROUP in context.user.groups:
            # A kubelet may not change taints; the API server's NodeRestriction, run again after us, would refuse its write.
            return Verdict(Reason.NOT_APPLICABLE)
        taints = nodes.taints(draft.object)
        evicting = [index for index, taint in enumerate(taints) if nodes.is_unreachable_no_execute(taint)]
        if not evicting:
            return Verdict(Reason.NOTHING_TO_DO)
        # A review without oldObject takes Ready from object, as SuperEdge does for every review.
        status_of = request.old_object if request.old_object is not None else draft.object
        node = nodes.facts(draft.object, status_of, self.policy)
        verdict = guard(node, self.policy, context.now_s)
        reachable = self.policy.always_reachable and node.ready is Status.UNKNOWN
        if not verdict.active and not (reachable and self.policy.node_selector.matches(node.labels)):
            return Verdict(verdict.reason)
        for index in reversed(evicting):  # each removal shifts the ones after it (RFC 6902 section 4.2)
            draft.remove(("spec", "taints", index))
        why = "its peers say that it is healthy" if verdict.active else "votes.alwaysReachable is set"
        return Verdict(
            Reason.TAINT_REMOVED, f"node {request.name}: {UNREACHABLE_TAINT}:{NO_EXECUTE} dropped, Ready is Unknown and {why}"
        )
