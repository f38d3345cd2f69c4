"""Requests scaled to how full the cluster is: lower ones where room is scarce, as far as an operator allows.

    utilisation   what pods ask for, in per cent of what the nodes that take ordinary pods have; cpu and memory apart
    factor        of the last step that the utilisation has reached; below the first step nothing changes
    request       times the factor, never beyond `min` and `max`, never above the limit, never outside the LimitRanges

Steps and not a slope, so that pods of one rollout mostly get equal requests. What was decided stands in the annotation
`gatehouse.dev/tuned`, and what stands there is never decided again: a second call, which may see another utilisation, changes
nothing. Left alone are Guaranteed pods (their requests are their limits: lower ones would make them evictable), pods of a
priority class of the system, and resources that are stated for the pod as a whole.

Pure but for what the facts do (a live read of a namespace that the cache lacks).
Raises MalformedObject (400) on a field of a type that the API forbids.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import attrs
import msgspec

from webhook.admission.draft import Draft
from webhook.clock import Deadline
from webhook.cluster import CapacityFacts, Cluster
from webhook.defaults.acceptance import judge, of_namespace
from webhook.defaults.amounts import RangeBounds, with_additions
from webhook.defaults.defaulting import Outcome, hindrance, namespace_facts, write_resources
from webhook.defaults.texts import have_room
from webhook.names import TUNED, Reason
from webhook.objects import meta, pods, resources
from webhook.objects.limit_ranges import LimitRange, with_defaults
from webhook.objects.meta import Json
from webhook.objects.pods import Kind
from webhook.objects.quantity import NANOS, NANOS_OF_A_MILLI, Format, Quantity
from webhook.objects.resource_policies import ResourcePolicy
from webhook.objects.resources import CPU, MEMORY, Part, PodResources, Resources
from webhook.objects.selectors import Selector
from webhook.sidecars.findings import Finding

FIELD: Final = f"metadata.annotations[{TUNED}]"
_SYSTEM_PRIORITY: Final = "system-"  # kubernetes.io/docs: system-node-critical, system-cluster-critical
_MEBIBYTE: Final = 2**20 * NANOS


@attrs.frozen
class Step:
    """From which utilisation on which factor applies, both in per cent."""

    at_percent: int
    factor_percent: int


DEFAULT_STEPS: Final = (Step(70, 80), Step(80, 60), Step(90, 40))


@attrs.frozen
class Scale:
    """How requests of one resource are scaled."""

    steps: tuple[Step, ...] = DEFAULT_STEPS  # by rising utilisation
    min: Quantity = Quantity(0)  # no request is lowered below it
    max: Quantity | None = None  # none is raised above it

    def factor_percent(self, utilisation_percent: int) -> int:
        """The factor at a utilisation in whole per cent."""
        return next((step.factor_percent for step in reversed(self.steps) if step.at_percent <= utilisation_percent), 100)


@attrs.frozen
class Tuning:
    """How the rule resource-tuning is set."""

    scales: Mapping[str, Scale] = attrs.field(factory=dict)  # of cpu, memory, or both; others stay as they are
    namespace_selector: Selector = Selector()
    pod_selector: Selector = Selector()
    enabled: bool = False
    policies: tuple[ResourcePolicy, ...] = ()  # by which we refuse pods: no request is scaled beyond one


@attrs.frozen
class Change:
    """One request that is put in the place of another."""

    path: str  # of the container
    container: str
    resource: str
    old: Quantity
    new: Quantity


def tune(draft: Draft, namespace: str, cluster: Cluster, settings: Tuning, deadline: Deadline) -> Outcome:
    """Scale the requests of *draft*, a pod that is created in *namespace*.

    Reason NOTHING_TO_DO: also where the settings ask for the labels of a namespace that nobody knows.
    Raises MalformedObject on a field of a type that the API forbids; the draft is then unedited.
    """
    pod = draft.object
    reason = hindrance(pod, namespace) or _exempt(pod)
    if reason is not None:
        return Outcome(reason)
    if not settings.enabled or not settings.scales or not _is_chosen(pod, namespace, cluster, settings, deadline):
        return Outcome(Reason.NOTHING_TO_DO)
    capacity = cluster.capacity.capacity()
    if capacity is None:
        return Outcome(Reason.CAPACITY_UNKNOWN, "not all nodes and pods are known yet")
    if not capacity.nodes:
        return Outcome(Reason.CAPACITY_UNKNOWN, "no node takes ordinary pods")
    stated = resources.read(pod)
    ranges = cluster.limit_ranges.of(namespace)
    completed = with_defaults(stated, ranges)
    if _is_guaranteed(completed):
        return Outcome(Reason.GUARANTEED, "requests are limits, and lower ones would cost the pod its quality of service")
    record, findings = _record(meta.annotations_of(pod))
    policies = of_namespace(settings.policies, namespace)
    changes: list[Change] = []
    for resource, scale in settings.scales.items():
        wanted = _changes(completed, resource, scale, capacity, record, ranges)
        accepted, left_out = _accepted(stated, resource, wanted, ranges, policies)
        changes += accepted
        findings += left_out
    written = _text(completed, record, changes)
    if not changes or not have_room({**meta.annotations_of(pod), TUNED: written}):
        return Outcome(Reason.NOTHING_TO_DO, findings=findings)
    _write(draft, changes)
    draft.set(("metadata", "annotations", TUNED), written)
    told = tuple(Finding(Reason.TUNED, _told(change, capacity), f"{change.path}.resources.requests") for change in changes)
    return Outcome(Reason.TUNED, "; ".join(finding.message for finding in told), findings + told)


def _exempt(pod: Json) -> Reason | None:
    spec = pods.spec(pod)
    return Reason.CRITICAL_POD if meta.text(spec, "priorityClassName", "spec").startswith(_SYSTEM_PRIORITY) else None


def _is_chosen(pod: Json, namespace: str, cluster: Cluster, settings: Tuning, deadline: Deadline) -> bool:
    if not settings.pod_selector.matches(meta.labels_of(pod)):
        return False
    if not settings.namespace_selector.requirements:
        return True
    facts = namespace_facts(namespace, cluster, deadline)
    return facts is not None and settings.namespace_selector.matches(facts.labels)


def _is_guaranteed(completed: PodResources) -> bool:
    """Whether every container's requests of cpu and memory are its limits (kubernetes.io/docs: Quality of Service)."""
    subjects = (completed.pod,) if completed.has_pod_level else completed.containers
    return all(
        (limit := one.limits.get(resource)) is not None and bool(limit) and one.requests.get(resource) == limit
        for one in subjects
        for resource in (CPU, MEMORY)
    )


def _changes(
    completed: PodResources,
    resource: str,
    scale: Scale,
    capacity: CapacityFacts,
    record: Mapping[str, object],
    ranges: Sequence[LimitRange],
) -> list[Change]:
    utilisation = utilisation_percent(resource, capacity)
    percent = 100 if utilisation is None else scale.factor_percent(utilisation)
    if percent == 100 or resource in completed.pod.requests or resource in completed.pod.limits:
        return []
    bounds = RangeBounds.of(ranges, resource)
    found = []
    for one in completed.containers:
        old = one.requests.get(resource)
        if old is None or old.nanos <= 0 or one.name in record:
            continue
        new = scaled(old, percent, scale, one.limits.get(resource), bounds)
        if new != old:
            found.append(Change(one.path, one.name, resource, old, new))
    return found


def utilisation_percent(resource: str, capacity: CapacityFacts) -> int | None:
    """What pods ask for in whole per cent of what there is, rounded down; None when there is nothing."""
    used, there = _figures(resource, capacity)
    return used * 100 // there if there > 0 else None


def _figures(resource: str, capacity: CapacityFacts) -> tuple[int, int]:
    if resource == CPU:
        return capacity.requested_cpu_m, capacity.allocatable_cpu_m
    return capacity.requested_memory, capacity.allocatable_memory


def scaled(old: Quantity, percent: int, scale: Scale, limit: Quantity | None, bounds: RangeBounds) -> Quantity:
    """*old* times *percent*, as far as all bounds allow; what they would turn the other way stays as it is."""
    new = _tidy(old.nanos * percent, old)
    if percent < 100:
        least = None if limit is None else bounds.least_request(limit)
        for floor in (scale.min, least, *bounds.floors):
            new = new if floor is None else max(new, floor)
        return min(new, old)
    for ceiling in (scale.max, limit, *bounds.ceilings):
        new = new if ceiling is None else min(new, ceiling)
    return max(new, old)


def _tidy(hundredfold: int, like: Quantity) -> Quantity:
    """Rounded up to whole thousandths, bytes to whole mebibytes where they are many."""
    nanos = -(-hundredfold // 100)
    if nanos < _MEBIBYTE:
        return Quantity(-(-nanos // NANOS_OF_A_MILLI) * NANOS_OF_A_MILLI, Format.DECIMAL_SI)
    return Quantity(-(-nanos // _MEBIBYTE) * _MEBIBYTE, Format.BINARY_SI)


def _accepted(
    stated: PodResources,
    resource: str,
    changes: list[Change],
    ranges: Sequence[LimitRange],
    policies: Sequence[ResourcePolicy],
) -> tuple[list[Change], tuple[Finding, ...]]:
    """*changes*, or none of them, and why, where a bound on the pod as a whole, or on one container, is in the way."""
    if not changes:
        return [], ()
    additions = {change.path: {Part.REQUESTS: change.new} for change in changes}
    after = judge(with_additions(stated, resource, additions), ranges, policies)
    new = after.new(judge(stated, ranges, policies)) if after.refusals else ()
    if not new:
        return changes, ()
    message = f"{resource} requests stay as they are, the pod would be refused otherwise: {new[0].message}"
    return [], (Finding(Reason.DEFAULT_LEFT_OUT, message, new[0].path),)


def _write(draft: Draft, changes: Sequence[Change]) -> None:
    by_path: dict[str, dict[str, str]] = {}
    for change in changes:
        by_path.setdefault(change.path, {})[change.resource] = change.new.text
    for container in pods.containers(draft.object, Kind.INIT, Kind.APP):
        amounts = by_path.get(container.path)
        if amounts:
            write_resources(draft, container, {Part.REQUESTS: amounts})


def _told(change: Change, capacity: CapacityFacts) -> str:
    utilisation = utilisation_percent(change.resource, capacity)
    _, there = _figures(change.resource, capacity)
    if change.resource == CPU:
        fact = f"{utilisation}% of {there / 1000:g} schedulable cores are requested"
    else:
        fact = f"{utilisation}% of {there / 2**30:.4g}Gi of schedulable memory is requested"
    return f'container "{change.container}": {change.resource} request {change.old.text} → {change.new.text}: {fact}'


# -- the annotation ------------------------------------------------------------------------------------------------


def _record(annotations: Mapping[str, str]) -> tuple[Mapping[str, object], tuple[Finding, ...]]:
    """What an earlier call decided, by container; nothing, and why, when the annotation cannot be read."""
    text = annotations.get(TUNED)
    if not text:
        return {}, ()
    try:
        return msgspec.json.decode(text, type=dict[str, dict[str, list[str]]]), ()
    except (msgspec.MsgspecError, ValueError, RecursionError):
        message = f"annotation {TUNED} is not what Gatehouse writes: it counts as absent"
        return {}, (Finding(Reason.INVALID_VALUE, message, FIELD),)


def _text(completed: PodResources, record: Mapping[str, object], changes: Sequence[Change]) -> str:
    """{"app":{"cpu":["500m","300m"]}}: every container that was looked at, with what became of its requests."""
    found: dict[str, object] = dict(record)
    for one in completed.containers:
        found.setdefault(one.name, dict(_pairs(one, changes)))
    return msgspec.json.encode(found, order="sorted").decode()


def _pairs(container: Resources, changes: Sequence[Change]) -> Iterator[tuple[str, list[str]]]:
    for change in changes:
        if change.path == container.path:
            yield change.resource, [change.old.text, change.new.text]
