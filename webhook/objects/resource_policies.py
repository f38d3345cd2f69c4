"""What an operator allows pods to ask for, beyond what a LimitRange can say, and what a pod breaks of it.

Minimum, maximum and ratio, for requests and limits apart, for each container (app, init and native sidecar alike) and for the
effective pod, overhead included. What is absent is decided, never skipped by accident: see `Absent`.

Pure; raises MalformedObject (400) that names the field.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import StrEnum

import attrs
import msgspec

from webhook.objects import limit_ranges, resources
from webhook.objects.enforcement import Mode, Namespaces
from webhook.objects.limit_ranges import Bound, LimitRange
from webhook.objects.meta import Json
from webhook.objects.quantity import NANOS, ZERO, Quantity, field_of, hint, ratio
from webhook.objects.resources import Part, PodResources, Resources

POD = "spec"  # the path of the effective pod, of all containers together
STATED = "spec.resources"  # of what is stated for the pod, which its containers share


class Absent(StrEnum):
    """What an amount that nobody states means where there is a bound for it."""

    COUNTS = "Counts"  # what it means to a node: no request is 0, no limit is more than any maximum
    PASSES = "Passes"  # nothing: only what is stated is held to bounds
    REFUSED = "Refused"  # a breach by itself: what has a bound has to be stated


@attrs.frozen
class Span:
    """From where to where an amount may be."""

    min: Quantity | None = None
    max: Quantity | None = None


@attrs.frozen
class Bounds:
    """What one resource is held to."""

    requests: Span = Span()
    limits: Span = Span()
    max_ratio: Quantity | None = None  # of limit to request

    def of(self, part: Part) -> Span:
        """Those of requests or of limits."""
        return self.requests if part is Part.REQUESTS else self.limits


@attrs.frozen
class ResourcePolicy:
    """One set of bounds, and the namespaces that it is for."""

    name: str
    namespaces: Namespaces = Namespaces()
    mode: Mode = Mode.DENY
    absent: Absent = Absent.COUNTS
    container: Mapping[str, Bounds] = attrs.field(factory=dict)  # by resource, for every single container
    pod: Mapping[str, Bounds] = attrs.field(factory=dict)  # by resource, for the effective pod

    @property
    def is_in_force(self) -> bool:
        """Whether it says anything of anybody."""
        return self.mode is not Mode.OFF and bool(self.container or self.pod)


@attrs.frozen
class Breach:
    """One bound that a container, or the effective pod, does not keep."""

    policy: str  # its name
    mode: Mode
    path: str  # of the container; "spec" for the effective pod, "spec.resources" for what is stated for it
    container: str  # its name; "" for the pod
    resource: str
    kind: Bound
    part: Part | None  # None: the ratio of both
    value: Quantity | None  # None: it is absent
    bound: Quantity

    @property
    def field(self) -> str:
        """Where it is wrong: "spec.containers[0].resources.limits.cpu", or "spec" for the effective pod."""
        if self.path == POD:
            return POD
        where = self.path if self.path == STATED else f"{self.path}.resources"
        return where if self.part is None else field_of(f"{where}.{self.part.value}", self.resource)

    @property
    def message(self) -> str:
        """Subject, fact and limit: container "app": memory limit 9Gi exceeds the maximum of 8Gi."""
        subject = f'container "{self.container}"' if self.container or self.path not in (POD, STATED) else "the pod as a whole"
        bound = f"the {'minimum' if self.kind is Bound.MIN else 'maximum'} of {self.bound.shown}"
        if self.path == STATED:
            bound += " for a container, and one may take what the others leave"
        what = f"{self.resource} {self.part.value.removesuffix('s') if self.part else 'limit to request ratio'}"
        if self.value is None:
            return f"{subject}: no {what}, against {bound}"
        return f"{subject}: {what} {self.value.shown} {'is below' if self.kind is Bound.MIN else 'exceeds'} {bound}"

    def is_worse_than(self, before: Breach) -> bool:
        """Whether it is further from its bound than it was *before*. An absent amount is as far as can be."""
        if self.value is None or before.value is None:
            return before.value is not None
        return self.value < before.value if self.kind is Bound.MIN else self.value > before.value


def breaches(pod: Json, policy: ResourcePolicy, ranges: Sequence[LimitRange] = ()) -> tuple[Breach, ...]:
    """Every bound of *policy* that *pod* does not keep, with every default that it gets first. The namespace is not looked at.

    ranges: of the pod's namespace, for what has not been through admission yet (a workload's template).
    """
    return breaches_of(limit_ranges.with_defaults(resources.read(pod), ranges), policy) if policy.is_in_force else ()


def breaches_of(demand: PodResources, policy: ResourcePolicy) -> tuple[Breach, ...]:
    """The same of a pod that has every default, and of a policy that is in force."""
    of_containers = (
        breach
        for one in demand.containers
        for resource, bounds in policy.container.items()
        for breach in _breaches(_Subject.of(one, resource), resource, bounds, policy)
    )
    of_shared = (
        breach
        for resource, bounds in policy.container.items()
        if resource not in policy.pod and resources.is_pod_level(resource)
        for breach in _shared(demand, resource, bounds, policy)
    )
    requests, limits = demand.requests(), demand.limits()
    of_pod = (
        breach
        for resource, bounds in policy.pod.items()
        for breach in _breaches(
            _Subject(POD, "", requests.get(resource), limits.get(resource), _is_open(demand, resource)),
            resource,
            bounds,
            policy,
        )
    )
    return (*of_containers, *of_shared, *of_pod)


def worsened(now: Iterable[Breach], before: Iterable[Breach]) -> tuple[Breach, ...]:
    """Those of *now* that were not as bad *before*: what a resize is asked about (containers keep their names).

    An old offender may thus be resized in its other containers, and towards the bound.
    """
    known = {_identity(breach): breach for breach in before}
    return tuple(breach for breach in now if (old := known.get(_identity(breach))) is None or breach.is_worse_than(old))


def hints(demand: PodResources) -> tuple[tuple[str, str], ...]:
    """Amounts that are probably mistyped, each once: (field, sentence)."""
    found: dict[tuple[str, str], tuple[str, str]] = {}
    for one in (*demand.containers, demand.pod):
        for part in (Part.LIMITS, Part.REQUESTS):
            for resource, amount in one.of(part).items():
                said = hint(resource, amount.text)
                if said:  # a limit that has become the request, too, is told once
                    subject = f'container "{one.name}"' if one.kind else "the pod as a whole"
                    found.setdefault((one.path, said), (one.field(part, resource), f"{subject}: {said}"))
    return tuple(found.values())


# -- one resource of one subject


class _Subject(msgspec.Struct, frozen=True):
    path: str
    name: str
    request: Quantity | None
    limit: Quantity | None
    is_open: bool  # whether nothing limits it, whatever `limit` adds up to

    @classmethod
    def of(cls, one: Resources, resource: str) -> _Subject:
        limit = one.limits.get(resource)
        return cls(one.path, one.name, one.requests.get(resource), limit, limit is None)


def _is_open(pod: PodResources, resource: str) -> bool:
    """Whether some container may use as much of *resource* as the node has: limits of the others do not limit the pod then."""
    if resources.is_pod_level(resource) and resource in pod.pod.limits:
        return False
    return any(resource not in one.limits for one in pod.containers)


def _breaches(subject: _Subject, resource: str, bounds: Bounds, policy: ResourcePolicy) -> Iterator[Breach]:
    def breach(kind: Bound, part: Part | None, value: Quantity | None, bound: Quantity) -> Breach:
        return Breach(policy.name, policy.mode, subject.path, subject.name, resource, kind, part, value, bound)

    for part, value in ((Part.REQUESTS, subject.request), (Part.LIMITS, subject.limit)):
        span = bounds.of(part)
        is_absent = value is None if part is Part.REQUESTS else subject.is_open
        if span.min is not None:
            if value is not None and not is_absent and value < span.min:
                yield breach(Bound.MIN, part, value, span.min)
            elif is_absent and _absence_breaks(policy.absent, part is Part.REQUESTS and span.min > ZERO):
                yield breach(Bound.MIN, part, None, span.min)
        if span.max is not None:
            if value is not None and value > span.max:
                yield breach(Bound.MAX, part, value, span.max)
            elif is_absent and _absence_breaks(policy.absent, part is Part.LIMITS):
                yield breach(Bound.MAX, part, None, span.max)
    if bounds.max_ratio is not None:
        yield from (
            breach(Bound.RATIO, None, value, bounds.max_ratio) for value in _bad_ratio(subject, bounds.max_ratio, policy)
        )


def _shared(demand: PodResources, resource: str, bounds: Bounds, policy: ResourcePolicy) -> Iterator[Breach]:
    """What is stated for the pod, where a single container may thereby have more than its maximum.

    That is what the others leave of the request, and all of the limit if it has none of its own.
    """
    for part in Part:
        most, stated = bounds.of(part).max, demand.pod.of(part).get(resource)
        if most is None or stated is None or stated <= most:
            continue
        own = [one.of(part).get(resource) for one in demand.containers]
        if part is Part.LIMITS:
            exceeds = None in own
        else:
            left = stated - demand.aggregate(part).get(resource, ZERO)
            exceeds = max((amount or ZERO for amount in own), default=ZERO) + left > most
        if exceeds:
            yield Breach(policy.name, policy.mode, STATED, "", resource, Bound.MAX, part, stated, most)


def _absence_breaks(absent: Absent, counts: bool) -> bool:
    return absent is Absent.REFUSED or (absent is Absent.COUNTS and counts)


def _bad_ratio(subject: _Subject, most: Quantity, policy: ResourcePolicy) -> Iterator[Quantity | None]:
    """The ratio of limit to request if it is too large, None if there is none; nothing if it is right."""
    request, limit = subject.request, subject.limit
    if request is None or limit is None or subject.is_open:
        if policy.absent is not Absent.PASSES:
            yield None
    elif limit.nanos * NANOS > request.nanos * most.nanos:
        # Any limit is infinitely many times a request of 0.
        yield ratio(limit, request, most) if request else None


def _identity(breach: Breach) -> tuple[str, str, str, str, Bound, Part | None]:
    # By name, not by place; but an init container may bear the name of none.
    return (
        breach.policy,
        breach.container,
        breach.path if not breach.container else "",
        breach.resource,
        breach.kind,
        breach.part,
    )
