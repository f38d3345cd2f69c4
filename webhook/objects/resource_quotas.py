"""ResourceQuotas: what all objects of a namespace may use together, and what one pod uses of it.

As the API server's quota evaluator for pods. A quota without a status counts here by its spec and as unused; the API server
refuses pods until it has one, which takes a moment. Only the pod's spec is read: this is about pods that are to be created.

Pure. `from_object` raises ValueError that names the field; what reads pods raises MalformedObject (400).
Source: kubernetes v1.37.2, pkg/quota/v1/evaluator/core/pods.go; apiserver v0.37.2, pkg/admission/plugin/resourcequota.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import attrs

from webhook.errors import MalformedObject
from webhook.objects import limit_ranges, meta, pods, resources
from webhook.objects.limit_ranges import LimitRange
from webhook.objects.quantity import ZERO, Amounts, Quantity, in_whole_millis, parse, read_amounts
from webhook.objects.resources import CPU, EPHEMERAL_STORAGE, HUGE_PAGES, MEMORY, Part, PodResources, is_native

EXISTS = "Exists"
_ONE = parse("1")


@attrs.frozen
class ScopeRequirement:
    """One line of spec.scopeSelector.matchExpressions; a plain scope is one with operator Exists."""

    scope: str  # Terminating, BestEffort, PriorityClass, …
    operator: str  # In, NotIn, Exists, DoesNotExist
    values: tuple[str, ...] = ()


@attrs.frozen
class ResourceQuota:
    """One ResourceQuota."""

    namespace: str
    name: str
    hard: Amounts
    used: Amounts
    scopes: tuple[ScopeRequirement, ...] = ()


def from_object(obj: Mapping[str, Any]) -> ResourceQuota:
    """A ResourceQuota of the API. What counts is its status, as for the API server; spec.hard where there is none yet.

    Raises ValueError that names the field.
    """
    try:
        return _read(obj)
    except MalformedObject as error:
        raise ValueError(str(error)) from None


def _read(obj: Mapping[str, Any]) -> ResourceQuota:
    metadata, spec, status = meta.metadata(obj), meta.mapping(obj, "spec", ""), meta.mapping(obj, "status", "")
    hard = read_amounts(status.get("hard"), "status.hard") or read_amounts(spec.get("hard"), "spec.hard")
    used = read_amounts(status.get("used"), "status.used")
    return ResourceQuota(
        meta.text(metadata, "namespace", "metadata"),
        meta.text(metadata, "name", "metadata"),
        in_whole_millis(hard),
        in_whole_millis(used),
        _scopes(spec),
    )


def _scopes(spec: meta.Json) -> tuple[ScopeRequirement, ...]:
    plain = _texts(spec, "scopes", "spec")
    path = "spec.scopeSelector"
    lines = meta.objects(meta.mapping(spec, "scopeSelector", "spec"), "matchExpressions", path)
    path = f"{path}.matchExpressions"
    return (
        *(ScopeRequirement(scope, EXISTS) for scope in plain),
        *(
            ScopeRequirement(
                meta.text(line, "scopeName", f"{path}[{index}]"),
                meta.text(line, "operator", f"{path}[{index}]"),
                _texts(line, "values", f"{path}[{index}]"),
            )
            for index, line in enumerate(lines)
        ),
    )


def _texts(parent: meta.Json, key: str, path: str) -> tuple[str, ...]:
    values = meta.sequence(parent, key, path)
    if any(type(value) is not str for value in values):
        raise ValueError(f"{path}.{key}: expected a list of strings")
    return tuple(values)


# -- who counts ----------------------------------------------------------------------------------------------------

_COMPUTE = (CPU, MEMORY, EPHEMERAL_STORAGE)
_COUNTED = frozenset(("pods", "count/pods", *_COMPUTE, *(f"{part}.{resource}" for part in Part for resource in _COMPUTE)))
# What every container has to state if a quota counts it; for other resources nothing stated is nothing used.
_TO_BE_STATED = frozenset((CPU, MEMORY, *(f"{part}.{resource}" for part in Part for resource in (CPU, MEMORY))))
_DEVICE_CLASS = "deviceclass.resource.kubernetes.io/"


def matches(quota: ResourceQuota, pod: Mapping[str, Any]) -> bool:
    """Whether *pod*, as it is, counts in *quota*: it counts something that pods have, and the pod is in all its scopes."""
    return _counts(quota, pod, resources.read(pod))


def _counts(quota: ResourceQuota, pod: Mapping[str, Any], demand: PodResources) -> bool:
    return any(map(_is_counted, quota.hard)) and all(_is_in(scope, pod, demand) for scope in quota.scopes)


def _is_counted(resource: str) -> bool:
    if resource in _COUNTED or resource.startswith((HUGE_PAGES, f"requests.{HUGE_PAGES}", f"requests.{_DEVICE_CLASS}")):
        return True
    return resource.startswith("requests.") and not is_native(resource)


def _is_in(scope: ScopeRequirement, pod: Mapping[str, Any], demand: PodResources) -> bool:
    match scope.scope:
        case "Terminating":
            return _ends(pod)
        case "NotTerminating":
            return not _ends(pod)
        case "BestEffort":
            return _is_best_effort(pod, demand)
        case "NotBestEffort":
            return not _is_best_effort(pod, demand)
        case "PriorityClass":
            return _has_priority(scope, meta.text(pods.spec(pod), "priorityClassName", "spec"))
        case "CrossNamespacePodAffinity":
            return _looks_across_namespaces(pod)
    return False  # a scope of other objects


def _ends(pod: Mapping[str, Any]) -> bool:
    seconds = pods.spec(pod).get("activeDeadlineSeconds")
    return isinstance(seconds, int | float) and seconds >= 0


def _is_best_effort(pod: Mapping[str, Any], demand: PodResources) -> bool:
    """Whether its class is BestEffort: it states neither cpu nor memory (or 0)."""
    status = meta.text(meta.mapping(pod, "status", ""), "qosClass", "status")
    if status:
        return status == "BestEffort"
    stating = (demand.pod,) if demand.has_pod_level else demand.containers
    return not any(one.of(part).get(resource) for one in stating for part in Part for resource in (CPU, MEMORY))


def _has_priority(scope: ScopeRequirement, name: str) -> bool:
    match scope.operator:
        case "Exists":
            return bool(name)
        case "DoesNotExist":
            return not name
        case "In":
            return bool(name) and name in scope.values
        case "NotIn":
            return not name or name not in scope.values
    return False


def _looks_across_namespaces(pod: Mapping[str, Any]) -> bool:
    affinity = meta.mapping(pods.spec(pod), "affinity", "spec")
    for kind in ("podAffinity", "podAntiAffinity"):
        path = f"spec.affinity.{kind}"
        inside = meta.mapping(affinity, kind, "spec.affinity")
        terms = meta.objects(inside, "requiredDuringSchedulingIgnoredDuringExecution", path)
        weighted = meta.objects(inside, "preferredDuringSchedulingIgnoredDuringExecution", path)
        terms = [*terms, *(meta.mapping(one, "podAffinityTerm", path) for one in weighted)]
        if any(meta.sequence(term, "namespaces", path) or term.get("namespaceSelector") is not None for term in terms):
            return True
    return False


# -- how much ------------------------------------------------------------------------------------------------------


@attrs.frozen
class Shortage:
    """One resource of which a quota has too little left for a pod."""

    quota: str  # its name
    resource: str  # as the quota counts it: "limits.memory"
    wanted: Quantity
    used: Quantity
    hard: Quantity

    @property
    def message(self) -> str:
        """A whole sentence: ResourceQuota "team" has 512Mi of limits.memory left, 1Gi is wanted (7680Mi of 8Gi used)."""
        left = max(self.hard - self.used, ZERO)
        return (
            f'ResourceQuota "{self.quota}" has {left.shown} of {self.resource} left, {self.wanted.shown} is wanted '
            f"({self.used.shown} of {self.hard.shown} used)"
        )


@attrs.frozen
class Missing:
    """One amount that a quota wants every container to state, and the containers that do not."""

    quota: str  # its name
    resource: str  # "limits.cpu"
    containers: tuple[str, ...]  # names, in the order of the pod

    @property
    def message(self) -> str:
        """A whole sentence: ResourceQuota "team" requires limits.cpu of every container, "app" states none."""
        names = ", ".join(f'"{name}"' for name in self.containers)
        verb = "states" if len(self.containers) == 1 else "state"
        return f'ResourceQuota "{self.quota}" requires {self.resource} of every container, {names} {verb} none'


def usage(pod: Mapping[str, Any]) -> Amounts:
    """What *pod*, as it is, uses of quotas: "pods", "count/pods", "requests.cpu", "cpu", "requests.nvidia.com/gpu", …

    A finished pod only counts as an object. (A pod past its grace period does, too, but that is never created.)
    """
    return _usage(pod, resources.read(pod))


def _usage(pod: Mapping[str, Any], demand: PodResources) -> Amounts:
    used = {"count/pods": _ONE}
    if meta.text(meta.mapping(pod, "status", ""), "phase", "status") not in pods.FINISHED:
        used |= _computed(demand.requests(), demand.limits())
    return used


def _computed(requests: Amounts, limits: Amounts) -> dict[str, Quantity]:
    used = {"pods": _ONE}
    for resource, amount in requests.items():
        if resource in _COMPUTE or resource.startswith(HUGE_PAGES):
            used[resource] = used[f"requests.{resource}"] = amount
        elif resource.startswith(_DEVICE_CLASS) or (not is_native(resource) and not resource.startswith("requests.")):
            used[f"requests.{resource}"] = amount
    for resource in _COMPUTE:
        if resource in limits:
            used[f"limits.{resource}"] = limits[resource]
    return used


def shortages(
    pod: Mapping[str, Any], quotas: Sequence[ResourceQuota], ranges: Sequence[LimitRange] = ()
) -> tuple[Shortage, ...]:
    """What the quotas have too little of to create *pod*, with every default that it gets first (those of *ranges* as well)."""
    if not quotas:
        return ()
    demand = limit_ranges.with_defaults(resources.read(pod), ranges)
    wanted = {resource: amount for resource, amount in _usage(pod, demand).items() if amount}
    return tuple(
        Shortage(quota.name, resource, wanted[resource], used, hard)
        for quota in quotas
        if _counts(quota, pod, demand)
        for resource, hard in quota.hard.items()
        if resource in wanted and wanted[resource] + (used := quota.used.get(resource, ZERO)) > hard
    )


def missing(pod: Mapping[str, Any], quotas: Sequence[ResourceQuota], ranges: Sequence[LimitRange] = ()) -> tuple[Missing, ...]:
    """What a container of *pod* would have to state (Go: "must specify limits.cpu for: app"), after every default that it gets.

    Nothing where spec.resources states anything: then quotas count the pod as a whole.
    """
    if not quotas:
        return ()
    demand = limit_ranges.with_defaults(resources.read(pod), ranges)
    if demand.has_pod_level:
        return ()
    stated = [(one.name, _computed(one.requests, one.limits)) for one in demand.containers]
    found = []
    for quota in quotas:
        if _counts(quota, pod, demand):
            for resource in sorted(_TO_BE_STATED & quota.hard.keys()):
                names = tuple(name for name, amounts in stated if resource not in amounts)
                if names:
                    found.append(Missing(quota.name, resource, names))
    return tuple(found)
