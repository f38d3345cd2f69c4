"""Which requests and limits the containers of a pod get: those that they lack, and only as far as the API server takes them.

What the API server and LimitRanger put into a container counts as its own: LimitRanger runs before any webhook, so that a
namespace's LimitRange goes before configured defaults. Then, resource by resource:

    a limit is missing       the default, raised to the request, within the LimitRanges and what the pod as a whole may use
    both are missing         the defaults, the request at most the limit; a default limit alone becomes the request as well,
                             as everywhere in Kubernetes
    a request is missing     never: the API server makes the limit one
    huge pages, extended     request and limit are always equal, so that one default gives both

Every addition is then put to the API server's rules. A container whose additions would be refused goes without; if the pod as a
whole would be (spec.resources, LimitRanges of type Pod), all its containers go without that resource.

Pure; raises MalformedObject (400) on a field of a type that the API forbids.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Final

import attrs
import msgspec

from webhook.defaults.acceptance import Acceptance, Refusal, judge
from webhook.defaults.sets import DefaultSet
from webhook.names import Reason
from webhook.objects.limit_ranges import CONTAINER, LimitItem, LimitRange, with_defaults
from webhook.objects.quantity import NANOS, Quantity
from webhook.objects.resource_policies import ResourcePolicy
from webhook.objects.resources import CPU, MEMORY, Part, PodResources, Resources, may_overcommit
from webhook.sidecars.findings import Finding

# Huge pages are refused in a container that has neither of these: what may make them possible comes first.
_FIRST: Final = (CPU, MEMORY)

Addition = Mapping[Part, Quantity]  # of one resource to one container


@attrs.frozen
class Amount:
    """One amount that is added."""

    path: str  # of the container
    container: str
    resource: str
    part: Part
    value: Quantity


@attrs.frozen
class AmountPlan:
    """What is added, and what had to be left out."""

    added: tuple[Amount, ...]
    findings: tuple[Finding, ...]


def plan(
    stated: PodResources, sets: Sequence[DefaultSet], ranges: Sequence[LimitRange], policies: Sequence[ResourcePolicy] = ()
) -> AmountPlan:
    """What *sets*, all of which match, give to the containers of a pod that states *stated* and is judged by *policies*."""
    completed = with_defaults(stated, ranges)
    wanted = {resource: _wanted(stated, completed, resource, sets, ranges) for resource in _resources(sets)}
    if not any(wanted.values()):
        return AmountPlan((), ())
    # Nearly always everything goes well, and then once is enough.
    everything = stated
    for resource, additions in wanted.items():
        everything = with_additions(everything, resource, additions)
    if judge(everything, ranges, policies).refusals:
        return _one_by_one(stated, sets, ranges, policies)
    return AmountPlan(tuple(one for resource, additions in wanted.items() for one in _amounts(stated, resource, additions)), ())


def _one_by_one(
    stated: PodResources, sets: Sequence[DefaultSet], ranges: Sequence[LimitRange], policies: Sequence[ResourcePolicy]
) -> AmountPlan:
    """The same, where some of it may have to be left out."""
    added: list[Amount] = []
    findings: list[Finding] = []
    judged = partial(judge, ranges=ranges, policies=policies)
    now = judged(stated)
    for resource in _resources(sets):
        wanted = _wanted(stated, now.completed, resource, sets, ranges)
        if not wanted:
            continue
        accepted, left_out, after = _accepted(stated, now, resource, wanted, judged)
        findings += left_out
        if accepted:
            now, stated = after, with_additions(stated, resource, accepted)
            added += _amounts(stated, resource, accepted)
    return AmountPlan(tuple(added), tuple(findings))


def _resources(sets: Sequence[DefaultSet]) -> list[str]:
    found = dict.fromkeys(resource for one in sets for amounts in one.amounts for resource in amounts.resources)
    return sorted(found, key=lambda resource: (resource not in _FIRST, resource))


def _wanted(
    stated: PodResources, completed: PodResources, resource: str, sets: Sequence[DefaultSet], ranges: Sequence[LimitRange]
) -> dict[str, Addition]:
    """By the path of the container."""
    bounds = RangeBounds.of(ranges, resource)
    most = stated.pod.limits.get(resource)
    if most is not None:
        bounds = attrs.evolve(bounds, ceilings=(*bounds.ceilings, most))
    found = {}
    for one, written in zip(completed.containers, stated.containers, strict=True):
        request, limit = _first(one, resource, Part.REQUESTS, sets), _first(one, resource, Part.LIMITS, sets)
        if request is not None or limit is not None:
            addition = missing(resource, one, request, limit, bounds)
            if addition:
                found[one.path] = _with_request(addition, resource, one, written)
    return found


def _with_request(addition: Addition, resource: str, completed: Resources, written: Resources) -> Addition:
    """With the request that LimitRanger has yet to set, in a pod from a file: or the new limit would become the request."""
    request = completed.requests.get(resource)
    if request is None or resource in written.requests or Part.REQUESTS in addition:
        return addition
    return {Part.REQUESTS: request, **addition}


def _first(container: Resources, resource: str, part: Part, sets: Sequence[DefaultSet]) -> Quantity | None:
    for one in sets:
        for amounts in one.of(container):
            value = amounts.of(part).get(resource)
            if value is not None:
                return value
    return None


@attrs.frozen
class RangeBounds:
    """What LimitRanges allow a container of one resource."""

    floors: Sequence[Quantity]
    ceilings: Sequence[Quantity]
    ratios: Sequence[Quantity]

    @classmethod
    def of(cls, ranges: Sequence[LimitRange], resource: str) -> RangeBounds:
        """Those of all *ranges* together."""
        items = [item for one in ranges for item in one.items if item.type == CONTAINER]
        return cls(*([found for item in items if (found := kind(item).get(resource)) is not None] for kind in _KINDS))

    def within(self, amount: Quantity) -> Quantity:
        """The nearest amount that they allow; the lowest ceiling where they exclude each other."""
        return min((max((amount, *self.floors)), *self.ceilings))

    def least_request(self, limit: Quantity) -> Quantity | None:
        """The least request that goes with *limit*; None when any does."""
        ratio = min(self.ratios, default=None)
        if ratio is None or ratio.nanos <= 0:
            return None
        return _rounded(-(-limit.nanos * NANOS // ratio.nanos), limit, up=True)

    def most_limit(self, request: Quantity) -> Quantity | None:
        """The highest limit that goes with *request*; None when any does."""
        ratio = min(self.ratios, default=None)
        if ratio is None or ratio.nanos <= 0:
            return None
        return _rounded(request.nanos * ratio.nanos // NANOS, request, up=False)


def _min(item: LimitItem) -> Mapping[str, Quantity]:
    return item.min


def _max(item: LimitItem) -> Mapping[str, Quantity]:
    return item.max


def _ratio(item: LimitItem) -> Mapping[str, Quantity]:
    return item.max_ratio


_KINDS: Final = (_min, _max, _ratio)


def _rounded(nanos: int, like: Quantity, *, up: bool) -> Quantity:
    """To whole units where *like* is one of many, else to thousandths: what LimitRanger can tell apart."""
    unit = NANOS if like.nanos % NANOS == 0 and like.nanos >= 1000 * NANOS else NANOS // 1000
    return Quantity((-(-nanos // unit) if up else nanos // unit) * unit, like.format)


def missing(
    resource: str, container: Resources, request: Quantity | None, limit: Quantity | None, bounds: RangeBounds
) -> Addition:
    """What *container*, which has all other defaults, gets of *resource*; *request* and *limit* are the configured ones."""
    own = container.requests.get(resource)
    default = request if limit is None else limit
    if resource in container.limits or default is None:
        return {}
    if not may_overcommit(resource):
        value = bounds.within(default) if own is None else own
        return {Part.LIMITS: value} if own is not None else {Part.REQUESTS: value, Part.LIMITS: value}
    if own is not None:
        return {} if limit is None else {Part.LIMITS: _limit_for(own, limit, bounds)}
    if limit is not None:
        limit = bounds.within(limit)
    if request is not None:
        request = bounds.within(request)
        if limit is not None:
            least = bounds.least_request(limit)
            request = min(limit, request if least is None else max(request, least))
    return {part: value for part, value in ((Part.REQUESTS, request), (Part.LIMITS, limit)) if value is not None}


def _limit_for(own: Quantity, limit: Quantity, bounds: RangeBounds) -> Quantity:
    most = bounds.most_limit(own)
    wanted = bounds.within(max(limit, own))
    return wanted if most is None else min(wanted, most)


def _accepted(
    stated: PodResources,
    before: Acceptance,
    resource: str,
    wanted: Mapping[str, Addition],
    judged: Callable[[PodResources], Acceptance],
) -> tuple[Mapping[str, Addition], list[Finding], Acceptance]:
    """The additions that add no refusal, why the others are left out, and the pod with those that stay."""
    after = judged(with_additions(stated, resource, wanted))
    new = after.new(before)
    if not new:
        return wanted, [], after
    at_fault = {refusal.path for refusal in new} & wanted.keys()
    findings = [_left_out(resource, refusal) for refusal in new if refusal.path in at_fault]
    wanted = {path: addition for path, addition in wanted.items() if path not in at_fault}
    if wanted and at_fault:
        after = judged(with_additions(stated, resource, wanted))
        new = after.new(before)
    elif not wanted:
        new = ()
    if new:
        findings += (_left_out(resource, refusal) for refusal in new)
        wanted = {}
    return wanted, findings, after if wanted else before


def with_additions(stated: PodResources, resource: str, additions: Mapping[str, Addition]) -> PodResources:
    """The pod with amounts of one resource added to, or put in the place of, those of its containers."""

    def changed(one: Resources) -> Resources:
        addition = additions.get(one.path)
        if not addition:
            return one
        parts = {part: {**one.of(part), resource: addition[part]} if part in addition else one.of(part) for part in Part}
        return msgspec.structs.replace(one, requests=parts[Part.REQUESTS], limits=parts[Part.LIMITS])

    return stated.map(changed)


def _amounts(stated: PodResources, resource: str, additions: Mapping[str, Addition]) -> list[Amount]:
    return [
        Amount(one.path, one.name, resource, part, value)
        for one in stated.containers
        for part, value in additions.get(one.path, {}).items()
    ]


def _left_out(resource: str, refusal: Refusal) -> Finding:
    message = f"no default {resource}, with which the pod would be refused: {refusal.message}"
    return Finding(Reason.DEFAULT_LEFT_OUT, message, refusal.path)
