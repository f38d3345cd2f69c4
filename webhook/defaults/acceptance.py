"""Whether a pod with more in it is still one that the API server takes: no default may cost anybody a pod.

A pod is held against what it was: an edit may add no refusal to those that it would have met without the edit. Looked at are
the rules of requests and limits themselves, what is stated for the pod as a whole, the LimitRanges of its namespace, and the
policies by which we refuse pods ourselves. Quotas are not: they count what pods ask for whoever wrote it down, and what is left
of them changes all the time.

Pure; raises MalformedObject (400) on a field of a type that the API forbids.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import attrs

from webhook.objects import resource_rules
from webhook.objects.limit_ranges import LimitRange, violations_of, with_defaults
from webhook.objects.pod_totals import overdrafts_of
from webhook.objects.resource_policies import POD, STATED, Breach, ResourcePolicy, breaches_of
from webhook.objects.resources import PodResources


@attrs.frozen
class Refusal:
    """One reason to refuse a pod. Two are equal when they are about the same bound of the same field."""

    path: str  # of the container that is at fault; "spec" when it is all of them together
    about: tuple[str, ...]
    message: str = attrs.field(eq=False)


@attrs.frozen
class Acceptance:
    """A pod, and what would be said against it."""

    completed: PodResources  # with every default of the API server and of LimitRanger
    refusals: Mapping[Refusal, None]  # in the order in which they are told

    def new(self, before: Acceptance) -> tuple[Refusal, ...]:
        """What is said against this one and was not said *before*."""
        return tuple(refusal for refusal in self.refusals if refusal not in before.refusals)


def judge(stated: PodResources, ranges: Sequence[LimitRange], policies: Sequence[ResourcePolicy] = ()) -> Acceptance:
    """What the API server would say of a pod that states this, and *policies*. O(amounts times bounds)."""
    completed = with_defaults(stated, ranges)
    found = [Refusal(one.path, ("rule", one.rule.value, one.field), one.message) for one in resource_rules.faults(completed)]
    if completed.pod.requests or completed.pod.limits:
        paths = {one.name: one.path for one in completed.apps}
        found += (
            Refusal(paths.get(one.container, POD), ("total", one.path, one.container), one.message)
            for one in overdrafts_of(completed)
        )
    if ranges:
        found += (
            Refusal(one.path, ("range", one.range, one.resource, one.kind.value), one.message)
            for one in violations_of(completed, ranges)
        )
    for policy in policies:
        found += (_of_policy(breach) for breach in breaches_of(completed, policy))
    return Acceptance(completed, dict.fromkeys(found))


def _of_policy(breach: Breach) -> Refusal:
    about = ("policy", breach.policy, breach.resource, breach.kind.value, breach.part.value if breach.part else "")
    return Refusal(POD if breach.path == STATED else breach.path, about, f"{breach.message} (policy {breach.policy})")


def of_namespace(policies: Sequence[ResourcePolicy], namespace: str) -> tuple[ResourcePolicy, ...]:
    """Those of *policies* that are for *namespace*."""
    return tuple(policy for policy in policies if namespace in policy.namespaces)
