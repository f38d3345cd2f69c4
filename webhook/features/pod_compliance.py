"""Pods keep to the operator's security rules: privilege, the node's own things, users, images, labels.

    Created pods                               judged as a whole, containers of every kind
    Updated pods, ephemeral containers         judged by what the update adds: an old offender may still be changed and deleted
    Updated status                             judged by the labels that it takes off
    Mirror pods, as their kubelet shows them   pass: they run already

Every breach is told at once, each with the path of its field; those in mode Deny refuse the pod, those in mode Warn are
warnings. `webhook.objects.compliance` has the rules. Pure.
Source: kyverno/kyverno#8815, open-policy-agent/gatekeeper#4121 (metadata-only updates refused by newer rules).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import attrs

from webhook.admission.draft import Draft
from webhook.admission.review import FORBIDDEN, AdmissionRequest, Denial, Operations
from webhook.admission.service import Context, Verdict
from webhook.names import NODES_GROUP, Reason
from webhook.objects import pods
from webhook.objects.compliance import Breach, CompliancePolicy, added, breaches
from webhook.objects.enforcement import Complaint, Mode, joined
from webhook.objects.limit_ranges import LimitRange
from webhook.objects.meta import Json, display_name

STATUS = "status"
# Subresources whose object is the pod itself. Of a resize nothing is ours; an update of the status may take labels off.
SUBRESOURCES = ("", "ephemeralcontainers", STATUS)


@attrs.frozen
class KeepPodsCompliant:
    """The rule pod-compliance. Every policy whose namespaces include the pod's counts."""

    policies: tuple[CompliancePolicy, ...]
    name: ClassVar[str] = "pod-compliance"

    def judge(self, pod: Json, namespace: str) -> tuple[Breach, ...]:
        """What a pod that is created in *namespace* breaks. Raises MalformedObject."""
        return tuple(breach for policy in self.policies if namespace in policy.namespaces for breach in breaches(pod, policy))

    def complaints(self, pod: Json, namespace: str, ranges: Sequence[LimitRange] = ()) -> tuple[Complaint, ...]:
        """The same for whoever asks every rule alike; *ranges* mean nothing here. Raises MalformedObject."""
        return tuple(map(_complaint, self.judge(pod, namespace)))

    def __call__(self, request: AdmissionRequest, draft: Draft, context: Context) -> Verdict:
        """See `webhook.admission.service.Rule`."""
        if request.resource.resource != "pods" or request.subresource not in SUBRESOURCES:
            return Verdict(Reason.NOT_APPLICABLE)
        if request.operation not in (Operations.CREATE, Operations.UPDATE):
            return Verdict(Reason.NOT_APPLICABLE)
        if NODES_GROUP in context.user.groups and pods.is_mirror(draft.object):
            return Verdict(Reason.MIRROR_POD)
        found = self.judge(draft.object, request.namespace)
        if request.old_object is not None:
            found = added(found, self.judge(request.old_object, request.namespace))
        if request.subresource == STATUS:
            found = tuple(breach for breach in found if breach.reason is Reason.LABEL_REQUIRED)
        return _verdict(f"pod {request.namespace}/{display_name(draft.object)}", found)


def _verdict(pod: str, found: Sequence[Breach]) -> Verdict:
    if not found:
        return Verdict(Reason.COMPLIANT)
    told = [_complaint(breach) for breach in found]
    refusing = [one for one in told if one.mode is Mode.DENY]
    warnings = tuple(f"{pod}: {one.told()}" for one in told if one.mode is Mode.WARN)
    first = (refusing or told)[0]
    denial = None
    if refusing:
        denial = Denial(FORBIDDEN, first.reason.value, f"{pod}: {joined([one.told() for one in refusing])}")
    return Verdict(first.reason, joined([one.told() for one in told]), denial, warnings)


def _complaint(breach: Breach) -> Complaint:
    return Complaint(breach.reason, breach.mode, breach.message, breach.path, breach.policy)
