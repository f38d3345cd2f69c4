"""LimitRanges: what a namespace sets and allows for its containers and pods.

As the API server's LimitRanger: defaults for what a container leaves out, then minimum, maximum and ratio of limit to request,
for each container and init container and for the pod as a whole. One difference: LimitRanger takes amounts from 2^63 units up
for anything (Go's Value overflows), here they are as large as they say.

Pure. `from_object` raises ValueError that names the field; what reads pods raises MalformedObject (400).
Source: kubernetes v1.37.2, plugin/pkg/admission/limitranger/admission.go, pkg/apis/core/v1/defaults.go.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from typing import Any

import attrs
import msgspec

from webhook.errors import MalformedObject
from webhook.objects import meta, resources
from webhook.objects.meta import Json
from webhook.objects.quantity import NANOS, ZERO, Amounts, Quantity, field_of, in_whole_millis, ratio, read_amounts
from webhook.objects.resources import CPU, MEMORY, Part, PodResources, Resources

CONTAINER, POD = "Container", "Pod"
_MOST_MILLI_UNITS = (2**63 - 1) // 1000  # above it LimitRanger compares whole units instead of thousandths
_MOST_FLOAT = 10**300  # a float holds it, and a thousand of it


@attrs.frozen
class LimitItem:
    """One item of a LimitRange."""

    type: str  # Container, Pod or PersistentVolumeClaim
    min: Amounts = attrs.field(factory=dict)
    max: Amounts = attrs.field(factory=dict)
    default: Amounts = attrs.field(factory=dict)  # limits of containers that have none
    default_request: Amounts = attrs.field(factory=dict)
    max_ratio: Amounts = attrs.field(factory=dict)  # maxLimitRequestRatio


@attrs.frozen
class LimitRange:
    """One LimitRange."""

    namespace: str
    name: str
    items: tuple[LimitItem, ...]


def from_object(obj: Mapping[str, Any]) -> LimitRange:
    """A LimitRange of the API, completed as the API server completes it: the default limit is the maximum, and so on.

    Raises ValueError that names the field.
    """
    try:
        return _read(obj)
    except MalformedObject as error:
        raise ValueError(str(error)) from None


def _read(obj: Mapping[str, Any]) -> LimitRange:
    metadata = meta.metadata(obj)
    items = meta.objects(meta.mapping(obj, "spec", ""), "limits", "spec")
    return LimitRange(
        meta.text(metadata, "namespace", "metadata"),
        meta.text(metadata, "name", "metadata"),
        tuple(_item(item, f"spec.limits[{index}]") for index, item in enumerate(items)),
    )


def _item(item: Json, path: str) -> LimitItem:
    def amounts(key: str) -> Amounts:
        return in_whole_millis(read_amounts(item.get(key), f"{path}.{key}"))

    kind = meta.text(item, "type", path)
    least, most, default, default_request = amounts("min"), amounts("max"), amounts("default"), amounts("defaultRequest")
    if kind == CONTAINER:
        default = {**most, **default}
        default_request = {**least, **default, **default_request}
    return LimitItem(kind, least, most, default, default_request, amounts("maxLimitRequestRatio"))


# -- defaults ------------------------------------------------------------------------------------------------------


def with_defaults(pod: PodResources, ranges: Sequence[LimitRange]) -> PodResources:
    """*pod* as it is validated: completed by the API server, by LimitRanger, and by the API server as a whole."""
    decoded = pod.with_api_defaults()
    completed = decoded.map(lambda container: _completed(container, ranges)) if ranges else decoded
    return completed.with_pod_defaults()


def _completed(container: Resources, ranges: Sequence[LimitRange]) -> Resources:
    if not ranges:
        return container
    requests, limits = (_filled(container.of(part), part, ranges) for part in (Part.REQUESTS, Part.LIMITS))
    return msgspec.structs.replace(container, requests=requests, limits=limits)


def _filled(stated: Amounts, part: Part, ranges: Sequence[LimitRange]) -> Amounts:
    """*stated*, and a default for what it leaves out: the first LimitRange that knows it wins; within one, its last item."""
    found = dict(stated)
    for limit_range in ranges:
        defaults: dict[str, Quantity] = {}
        for item in limit_range.items:
            if item.type == CONTAINER:
                defaults |= item.default_request if part is Part.REQUESTS else item.default
        for resource, value in defaults.items():
            found.setdefault(resource, value)
    return found


# -- bounds --------------------------------------------------------------------------------------------------------


class Bound(StrEnum):
    """What an amount is held against."""

    MIN = "min"
    MAX = "max"
    RATIO = "ratio"  # of limit to request


@attrs.frozen
class Violation:
    """One bound that a container, or the pod as a whole, does not keep."""

    path: str  # of the container; "spec" for the pod as a whole
    container: str  # its name; "" for the pod as a whole
    resource: str
    kind: Bound
    part: Part | None  # which of its amounts; None: their ratio
    value: Quantity | None  # None: there is none, which a bound forbids
    bound: Quantity
    range: str  # name of the LimitRange

    @property
    def field(self) -> str:
        """Where it is wrong: "spec.containers[0].resources.limits.cpu", or "spec" for the pod as a whole."""
        if self.path == "spec" or self.part is None:
            return self.path if self.path == "spec" else f"{self.path}.resources"
        return field_of(f"{self.path}.resources.{self.part.value}", self.resource)

    @property
    def message(self) -> str:
        """A whole sentence: container "app" has a memory limit of 9Gi, more than 8Gi (LimitRange "small")."""
        subject = "the pod as a whole" if self.path == "spec" else f'container "{self.container}"'
        side = "at least" if self.kind is Bound.MIN else "at most"
        what = "limit to request ratio" if self.part is None else self.part.value.removesuffix("s")
        if self.value is None:
            fact = f"has no {self.resource} {what}, and needs one of {side} {self.bound.shown}"
        else:
            relation = "less than" if self.kind is Bound.MIN else "more than"
            fact = f"has a {self.resource} {what} of {self.value.shown}, {relation} {self.bound.shown}"
        return f'{subject} {fact} (LimitRange "{self.range}")'


def violations(pod: Mapping[str, Any], ranges: Sequence[LimitRange]) -> tuple[Violation, ...]:
    """Every bound that *pod* does not keep once all defaults are set; () when LimitRanger admits it."""
    return violations_of(with_defaults(resources.read(pod), ranges), ranges) if ranges else ()


def violations_of(pod: PodResources, ranges: Sequence[LimitRange]) -> tuple[Violation, ...]:
    """Every bound that *pod*, as it is, does not keep."""
    found: list[Violation] = []
    for limit_range in ranges:
        for item in limit_range.items:
            if item.type == CONTAINER:
                for container in pod.containers:
                    found.extend(_violations(container, item, limit_range.name))
            elif item.type == POD:
                whole = Resources("spec", "", _total(pod, Part.REQUESTS), _total(pod, Part.LIMITS))
                found.extend(_violations(whole, item, limit_range.name))
    return tuple(found)


def _total(pod: PodResources, part: Part) -> Amounts:
    """The pod as a whole as LimitRanger counts it: without overhead, and huge pages from the containers only."""
    stated = pod.pod.of(part)
    return {**pod.aggregate(part), **{resource: stated[resource] for resource in (CPU, MEMORY) if resource in stated}}


def _violations(subject: Resources, item: LimitItem, name: str) -> Iterator[Violation]:
    """One for each bound at most, as LimitRanger reports them."""

    def violation(resource: str, kind: Bound, part: Part | None, value: Quantity | None, bound: Quantity) -> Violation:
        return Violation(subject.path, subject.name, resource, kind, part, value, bound, name)

    for kind, bounds, parts in (
        (Bound.MIN, item.min, (Part.REQUESTS, Part.LIMITS)),
        (Bound.MAX, item.max, (Part.LIMITS, Part.REQUESTS)),
    ):
        for resource, bound in bounds.items():
            # The first part has to be there, the second is checked if it is.
            for part, required in zip(parts, (True, False), strict=True):
                value = subject.of(part).get(resource)
                if value is None:
                    is_violated = required
                else:
                    is_violated = _is_beyond(subject, resource, value, bound, kind)
                if is_violated:
                    yield violation(resource, kind, part, value, bound)
                    break
    for resource, bound in item.max_ratio.items():
        found = _ratio(subject, resource)
        if found is None or _is_more(found, subject, resource, bound):
            shown = None if found is None else ratio(*found, bound)
            yield violation(resource, Bound.RATIO, None, shown, bound)


def _is_beyond(subject: Resources, resource: str, value: Quantity, bound: Quantity, kind: Bound) -> bool:
    unit = _unit(subject, resource, bound)
    return _in(unit, value) < _in(unit, bound) if kind is Bound.MIN else _in(unit, value) > _in(unit, bound)


def _ratio(subject: Resources, resource: str) -> tuple[Quantity, Quantity] | None:
    """Limit and request, None when one of them is absent or 0."""
    request, limit = subject.requests.get(resource), subject.limits.get(resource)
    return (limit, request) if limit and request else None


def _is_more(found: tuple[Quantity, Quantity], subject: Resources, resource: str, bound: Quantity) -> bool:
    """Whether limit to request exceeds *bound*. In floating point, as LimitRanger divides, as far as that reaches."""
    unit = _unit(subject, resource, bound)
    limit, request = (_in(unit, amount) for amount in found)
    if max(limit, request, bound.millis) < _MOST_FLOAT:
        return float(limit) / float(request) * 1000 > bound.millis
    return limit * 1000 > bound.millis * request


def _unit(subject: Resources, resource: str, bound: Quantity) -> int:
    """In how many nanos LimitRanger counts: thousandths, unless one of the three amounts is too large for an int64 of them."""
    amounts = (subject.requests.get(resource, ZERO), subject.limits.get(resource, ZERO), bound)
    return NANOS if any(amount.units > _MOST_MILLI_UNITS for amount in amounts) else NANOS // 1000


def _in(unit: int, amount: Quantity) -> int:
    return -(-amount.nanos // unit)


def outgrown(pod: Mapping[str, Any], ranges: Sequence[LimitRange]) -> Iterator[tuple[str, str, str, str]]:
    """Containers that ask for more than the limit that a LimitRange gives them: container, resource, field and message of each.

    Not a bound of the LimitRange: the API server refuses it when LimitRanger is done.
    """
    if not ranges:
        return
    stated = resources.read(pod).with_api_defaults()
    for one in stated.containers:
        given = _completed(one, ranges).limits
        for resource, asked in one.requests.items():
            limit = given.get(resource)
            if limit is None or resource in one.limits:
                continue
            if asked > limit or (asked != limit and not resources.may_overcommit(resource)):
                field = one.field(Part.REQUESTS, resource)
                said = f'{resource} request of container "{one.name}" is {asked.shown}'
                yield one.name, resource, field, f"{said}, the limit that a LimitRange gives it is {limit.shown}"


# -- repair --------------------------------------------------------------------------------------------------------


def clamped(container_resources: Json, ranges: Sequence[LimitRange]) -> Json:
    """A container's `resources` brought within what *ranges* allow a container, as far as that goes; a new value, or the same.

    What fits stays as it is written, and so does what LimitRanger's own defaults put right. A request never ends above its
    limit, and both are equal where they have to be (huge pages, extended resources). Of bounds that exclude each other the
    maximum is kept, and no amount is made up where there is only a ratio. Raises MalformedObject.
    """
    before = _completed(resources.of_json(container_resources).with_api_defaults(), ranges)
    items = [item for limit_range in ranges for item in limit_range.items if item.type == CONTAINER]
    changes: dict[Part, dict[str, str]] = {Part.REQUESTS: {}, Part.LIMITS: {}}
    bounded = (resource for item in items for bounds in (item.min, item.max, item.max_ratio) for resource in bounds)
    for resource in dict.fromkeys((*before.requests, *before.limits, *bounded)):
        after = _fitted(resource, before.requests.get(resource), before.limits.get(resource), items)
        for part, value in zip(Part, after, strict=True):
            if value is not None and value != before.of(part).get(resource):
                changes[part][resource] = value.text
    if not any(changes.values()):
        return container_resources
    result = dict(container_resources)
    for part, amounts in changes.items():
        if amounts:
            result[part.value] = {**(container_resources.get(part.value) or {}), **amounts}
    return result


def _fitted(
    resource: str, request: Quantity | None, limit: Quantity | None, items: Sequence[LimitItem]
) -> tuple[Quantity | None, Quantity | None]:
    """Request and limit within the bounds of *items*."""
    floors = [item.min[resource] for item in items if resource in item.min]
    ceilings = [item.max[resource] for item in items if resource in item.max]
    ratios = [item.max_ratio[resource] for item in items if resource in item.max_ratio]
    # What a bound requires is filled in: a minimum wants a request, a maximum a limit, a ratio both.
    request = max(floors) if request is None and floors else request
    limit = min(ceilings) if limit is None and ceilings else limit
    if ratios:
        request, limit = limit if request is None else request, request if limit is None else limit
    if limit is not None:
        # Most often the request is the container's own, and the limit below it is what LimitRanger fills in.
        limit = _within(limit if request is None else max(limit, request), floors, ceilings)
    if request is not None:
        request = _within(request, floors, ceilings)
        if limit is not None:
            request = min(request, limit)
    if request is not None and limit is not None:
        if ratios and min(ratios).nanos > 0 and limit.nanos * NANOS > request.nanos * min(ratios).nanos:
            request = min(limit, _least_request(limit, min(ratios)))
        if not resources.may_overcommit(resource):
            request = limit
    return request, limit


def _within(amount: Quantity, floors: Sequence[Quantity], ceilings: Sequence[Quantity]) -> Quantity:
    return min((max((amount, *floors)), *ceilings))


def _least_request(limit: Quantity, ratio: Quantity) -> Quantity:
    """The least request for *limit*, rounded up to what LimitRanger can tell apart: thousandths of a core, whole bytes."""
    nanos = -(-limit.nanos * NANOS // ratio.nanos)
    unit = NANOS if limit.nanos % NANOS == 0 and limit.nanos >= 1000 * NANOS else NANOS // 1000
    return Quantity(-(-nanos // unit) * unit, limit.format)
