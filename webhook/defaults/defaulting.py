"""The whole decision about the defaults of one pod, and the edits.

The one function behind the service `mutate` and what works without a server: they say the same because they ask the same.
Idempotent: what is there is never changed, and no set can choose another pod once it is applied (`sets.faults`).
Pure but for what the facts do (a live read of a namespace that the cache lacks).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

import attrs

from webhook.admission.draft import Draft
from webhook.clock import Deadline
from webhook.cluster import Cluster, NamespaceFacts
from webhook.defaults import amounts, texts, values
from webhook.defaults.acceptance import of_namespace
from webhook.defaults.amounts import Amount
from webhook.defaults.sets import DefaultSet, PodDefaults
from webhook.names import Reason
from webhook.objects import meta, pods, resources
from webhook.objects.faults import listed
from webhook.objects.meta import Json
from webhook.objects.pods import Kind
from webhook.objects.quantity import field_of
from webhook.objects.resources import Part
from webhook.sidecars.findings import Finding
from webhook.sidecars.wish import obstacle

_TOLD: Final = 12  # changes that a message names: an audit annotation is no place for hundreds

# Neither keeps a pod from getting labels and requests, as it does from getting a sidecar.
_NO_OBSTACLE: Final = (Reason.HOST_NETWORK, Reason.WINDOWS_POD)


@attrs.frozen
class Outcome:
    """What was decided about a pod. What it changed stands in the draft."""

    reason: Reason
    message: str = ""
    findings: tuple[Finding, ...] = ()


def hindrance(pod: Json, namespace: str) -> Reason | None:
    """Why *pod* is left as it is, whatever is configured; None when nothing is in the way."""
    reason = obstacle(pod, namespace)
    return None if reason in _NO_OBSTACLE else reason


def namespace_facts(namespace: str, cluster: Cluster, deadline: Deadline) -> NamespaceFacts | None:
    """The namespace as the cache has it, else as the API server has it; None when nobody knows it."""
    return cluster.namespaces.get(namespace) or cluster.namespaces.confirm(namespace, deadline)


def set_defaults(
    draft: Draft, namespace: str, cluster: Cluster, settings: PodDefaults, now_s: float, deadline: Deadline
) -> Outcome:
    """Give *draft*, a pod that is created in *namespace*, what it lacks.

    now_s: seconds since the epoch, for `${now}`.
    Reason NAMESPACE_UNKNOWN: nothing was decided, for a set asks for a namespace that nobody knows.
    Raises MalformedObject on a field of a type that the API forbids; the draft is then unedited.
    """
    pod = draft.object
    reason = hindrance(pod, namespace)
    if reason is not None:
        return Outcome(reason)
    if not settings.sets or not settings.enabled:
        return Outcome(Reason.NOTHING_TO_DO)
    facts = cluster.namespaces.get(namespace)
    if facts is None and settings.asks_for_namespace:
        facts = namespace_facts(namespace, cluster, deadline)
        if facts is None:
            message = f'namespace "{namespace}" is not known, and defaults depend on its labels or annotations'
            return Outcome(Reason.NAMESPACE_UNKNOWN, message)
    chosen = matching(pod, facts, settings.sets)
    if not chosen:
        return Outcome(Reason.NOTHING_TO_DO)
    planned = texts.plan(chosen, values.scope_of(pod, namespace, facts, now_s))
    policies = of_namespace(settings.policies, namespace)
    needed = amounts.plan(resources.read(pod), chosen, cluster.limit_ranges.of(namespace), policies)
    _write_texts(draft, planned)
    _write_amounts(draft, needed.added)
    findings = planned.findings + needed.findings
    changes = list(_changes(planned, needed.added))
    if changes:
        return Outcome(Reason.DEFAULTED, listed(changes, _TOLD), findings)
    return Outcome(findings[0].reason, findings[0].message, findings) if findings else Outcome(Reason.NOTHING_TO_DO)


def matching(pod: Json, facts: NamespaceFacts | None, sets: Sequence[DefaultSet]) -> list[DefaultSet]:
    """The sets that choose *pod*; where the namespace is not known, only those that choose every one."""
    labels = meta.labels_of(pod)
    space: Mapping[str, str] = facts.labels if facts is not None else {}
    return [
        one
        for one in sets
        if one.pod_selector.matches(labels)
        and (one.namespace_selector.matches(space) if facts is not None else not one.namespace_selector.requirements)
    ]


def _write_texts(draft: Draft, planned: texts.TextPlan) -> None:
    for kind, added in (("labels", planned.labels), ("annotations", planned.annotations)):
        if added and not meta.metadata(draft.object).get(kind):
            draft.set(("metadata", kind), dict(added))
            continue
        for key, value in added.items():
            draft.set(("metadata", kind, key), value)


def _write_amounts(draft: Draft, added: Iterable[Amount]) -> None:
    by_path: dict[str, dict[Part, dict[str, str]]] = {}
    for one in added:
        by_path.setdefault(one.path, {}).setdefault(one.part, {})[one.resource] = one.value.text
    for container in pods.containers(draft.object, Kind.INIT, Kind.APP):
        parts = by_path.get(container.path)
        if parts:
            write_resources(draft, container, parts)


def write_resources(draft: Draft, container: pods.Container, parts: Mapping[Part, Mapping[str, str]]) -> None:
    """Add to, or replace in, a container's resources; as few operations as that takes."""
    path = ("spec", container.kind.value, container.index, "resources")
    have = container.json.get("resources")
    if not have:
        draft.set(path, {part.value: dict(amounts) for part, amounts in parts.items()}, own=True)
        return
    for part, amounts_of_part in parts.items():
        if not have.get(part.value):
            draft.set((*path, part.value), dict(amounts_of_part), own=True)
            continue
        for resource, text in amounts_of_part.items():
            draft.set((*path, part.value, resource), text)


def _changes(planned: texts.TextPlan, added: Sequence[Amount]) -> Iterator[str]:
    yield from (f"label {key}" for key in planned.labels)
    yield from (f"annotation {key}" for key in planned.annotations)
    yield from (f'container "{one.container}" {field_of(one.part.value, one.resource)} {one.value.text}' for one in added)
