"""Pods get the sidecars that their namespace or they themselves ask for.

    Created pods                     edited, or refused where an entry says so
    Everything else                  passes: the API forbids most changes of a pod that exists

What is decided, and why, stands in `webhook.sidecars`. Pure but for what the facts do.
"""

from __future__ import annotations

from typing import ClassVar

from webhook.admission.draft import Draft
from webhook.admission.review import AdmissionRequest, Denial, Operations
from webhook.admission.service import Context, Verdict
from webhook.cluster import Cluster
from webhook.errors import Unavailable
from webhook.names import Reason
from webhook.objects.meta import display_name
from webhook.sidecars.decision import Decision, decide
from webhook.sidecars.selection import Policy

UNPROCESSABLE = 422


class InjectSidecars:
    """The rule. Any thread."""

    name: ClassVar[str] = "sidecar"

    def __init__(self, policy: Policy, cluster: Cluster) -> None:
        self._policy = policy
        self._cluster = cluster

    def __call__(self, request: AdmissionRequest, draft: Draft, context: Context) -> Verdict:
        """See `webhook.admission.service.Rule`. Raises Unavailable when nobody knows the namespace: another replica may."""
        if request.operation is not Operations.CREATE:
            return Verdict(Reason.NOT_APPLICABLE)
        pod = f"pod {request.namespace}/{display_name(draft.object)}"
        decision = decide(draft, request.namespace, self._cluster, self._policy, context.now_s, context.deadline)
        if decision.reason is Reason.NAMESPACE_UNKNOWN:
            raise Unavailable(f"{pod}: {decision.message}")
        return Verdict(decision.reason, decision.message, _denial(pod, decision), _warnings(decision))


def _denial(pod: str, decision: Decision) -> Denial | None:
    if decision.refusal is None:
        return None
    return Denial(UNPROCESSABLE, decision.refusal.reason.value, f"{pod}: {decision.refusal.message}")


def _warnings(decision: Decision) -> tuple[str, ...]:
    return tuple(finding.message for finding in decision.findings)
