"""Pods ask for no more, and no less, than their namespace's policies allow.

    Created pods                               judged: every container and the effective pod
    Resized pods                               judged by what the resize makes worse, container by container
    Other updates, ephemeral containers        pass: the API forbids to change resources there
    Mirror pods, as their kubelet shows them   pass: they run already

Every breach is told at once, each with the path of its field and both figures; those in mode Deny refuse the pod, those in mode
Warn are warnings, and so are amounts that are probably mistyped (400m of memory). `webhook.objects.resource_policies` has the
bounds. Pure.
Source: kubernetes/kubernetes#142171 (resizes refused for what they leave alone), kyverno/kyverno#8815, kubernetes/kubectl#1426.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import ClassVar

import attrs

from webhook.admission.draft import Draft
from webhook.admission.review import FORBIDDEN, AdmissionRequest, Denial, Operations
from webhook.admission.service import Context, Verdict
from webhook.names import NODES_GROUP, Reason
from webhook.objects import pods, resources
from webhook.objects.enforcement import Complaint, Mode, Namespaces, joined
from webhook.objects.limit_ranges import LimitRange, with_defaults
from webhook.objects.meta import Json, display_name
from webhook.objects.resource_policies import Breach, ResourcePolicy, breaches_of, hints, worsened
from webhook.objects.resources import PodResources


@attrs.frozen
class ResourceLimits:
    """How the rule resource-limits is set."""

    policies: tuple[ResourcePolicy, ...] = ()  # every one whose namespaces include the pod's counts
    hints: bool = True  # warn of amounts that are probably mistyped
    hinted_elsewhere: tuple[Namespaces, ...] = ()  # where another service is asked about the same pods, and warns of them


@attrs.frozen
class KeepResourcesInBounds:
    """The rule resource-limits."""

    settings: ResourceLimits
    name: ClassVar[str] = "resource-limits"

    def judge(self, pod: Json, namespace: str, ranges: Sequence[LimitRange] = ()) -> tuple[Breach, ...]:
        """What a pod that is created in *namespace* breaks. Raises MalformedObject.

        ranges: of the namespace, for a template, which LimitRanger has not seen yet.
        """
        return self._judged(_once(pod), namespace, ranges)

    def doubts(self, pod: Json, namespace: str) -> tuple[Complaint, ...]:
        """What is probably mistyped. Raises MalformedObject."""
        return self._doubted(_once(pod), namespace)

    def _judged(self, demand: _Demand, namespace: str, ranges: Sequence[LimitRange] = ()) -> tuple[Breach, ...]:
        policies = [policy for policy in self.settings.policies if namespace in policy.namespaces and policy.is_in_force]
        if not policies:
            return ()
        completed = with_defaults(demand(), ranges)
        return tuple(breach for policy in policies for breach in breaches_of(completed, policy))

    def _doubted(self, demand: _Demand, namespace: str) -> tuple[Complaint, ...]:
        if any(namespace in one for one in self.settings.hinted_elsewhere):
            return ()
        found = hints(demand()) if self.settings.hints and self.settings.policies else ()
        return tuple(Complaint(Reason.AMOUNT_DOUBTFUL, Mode.WARN, sentence, field) for field, sentence in found)

    def complaints(self, pod: Json, namespace: str, ranges: Sequence[LimitRange] = ()) -> tuple[Complaint, ...]:
        """All that is said of a pod that is created in *namespace*: `judge`, then `doubts`. Raises MalformedObject."""
        return (*map(_complaint, self.judge(pod, namespace, ranges)), *self.doubts(pod, namespace))

    def __call__(self, request: AdmissionRequest, draft: Draft, context: Context) -> Verdict:
        """See `webhook.admission.service.Rule`."""
        is_create = request.operation is Operations.CREATE and not request.subresource
        is_resize = request.operation is Operations.UPDATE and request.subresource == "resize"
        if request.resource.resource != "pods" or not (is_create or is_resize):
            return Verdict(Reason.NOT_APPLICABLE)
        if NODES_GROUP in context.user.groups and pods.is_mirror(draft.object):
            return Verdict(Reason.MIRROR_POD)
        now = _once(draft.object)
        found, doubts = self._judged(now, request.namespace), self._doubted(now, request.namespace)
        if request.old_object is not None:
            old = _once(request.old_object)
            found = worsened(found, self._judged(old, request.namespace))
            before = self._doubted(old, request.namespace)
            doubts = tuple(doubt for doubt in doubts if doubt not in before)
        return _verdict(f"pod {request.namespace}/{display_name(draft.object)}", found, doubts)


_Demand = Callable[[], PodResources]


def _once(pod: Json) -> _Demand:
    """What *pod* asks for, read if anybody asks, and once: a limit and a doubt are about the same amounts."""
    return cache(lambda: resources.read(pod))


def _verdict(pod: str, found: Sequence[Breach], doubts: Sequence[Complaint]) -> Verdict:
    told = [_complaint(breach) for breach in found]
    warnings = tuple(f"{pod}: {one.told()}" for one in (*told, *doubts) if one.mode is Mode.WARN)
    if not found:
        reason = doubts[0].reason if doubts else Reason.WITHIN_LIMITS
        return Verdict(reason, joined([one.told() for one in doubts]), warnings=warnings)
    refusing = [one.told() for one in told if one.mode is Mode.DENY]
    denial = None
    if refusing:
        denial = Denial(FORBIDDEN, Reason.OUT_OF_LIMITS.value, f"{pod}: {joined(refusing)}")
    return Verdict(Reason.OUT_OF_LIMITS, joined([one.told() for one in told]), denial, warnings)


def _complaint(breach: Breach) -> Complaint:
    return Complaint(Reason.OUT_OF_LIMITS, breach.mode, breach.message, breach.field, breach.policy)
