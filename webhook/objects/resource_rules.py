"""What the API server refuses in the requests and limits of a pod: amounts that cannot be, or that do not go together.

    faults(completed)             of containers and of what is stated for the pod as a whole
    amount_fault(name, amount)    of one amount that somebody configures

Whether the pod as a whole covers its containers is asked in `pod_totals`, what a namespace allows in `limit_ranges`.
Pure; nothing here raises.
Source: kubernetes v1.37.2, pkg/apis/core/validation (validateContainerResourceRequirements, ValidateResourceQuantityValue).
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum
from functools import lru_cache
from typing import Final

import attrs

from webhook.objects import quantity
from webhook.objects.quantity import NANOS, Quantity
from webhook.objects.resources import (
    CPU,
    EPHEMERAL_STORAGE,
    HUGE_PAGES,
    MEMORY,
    Part,
    PodResources,
    Resources,
    is_native,
    may_overcommit,
)
from webhook.objects.selectors import key_fault

STANDARD: Final = (CPU, MEMORY, EPHEMERAL_STORAGE)


class Rule(StrEnum):
    """What an amount breaks."""

    NEGATIVE = "negative"
    NOT_WHOLE = "not whole"  # extended resources come in whole pieces
    NOT_WHOLE_PAGES = "not whole pages"
    ABOVE_LIMIT = "above limit"
    NOT_EQUAL = "not equal"  # request and limit of what cannot be overcommitted
    LIMIT_MISSING = "limit missing"
    HUGE_PAGES_ALONE = "huge pages alone"  # they need cpu or memory beside them


@attrs.frozen
class Fault:
    """One thing that the API server refuses."""

    rule: Rule
    path: str  # of the container; "spec" for the pod as a whole
    field: str  # "spec.containers[0].resources.requests.cpu"
    message: str  # subject and fact


def faults(completed: PodResources) -> tuple[Fault, ...]:
    """Everything that is wrong with a pod that has every default already. O(amounts)."""
    return tuple(fault for one in (*completed.containers, completed.pod) for fault in _faults(one))


def _faults(one: Resources) -> Iterator[Fault]:
    if not one.requests and not one.limits:
        return
    subject = f'container "{one.name}"' if one.kind else "the pod as a whole"
    for part in Part:
        for resource, amount in one.of(part).items():
            for rule, fact in _amount_faults(resource, amount):
                yield Fault(rule, one.path, one.field(part, resource), f"{subject}: {fact}")
    for resource, request in one.requests.items():
        found = _against_limit(resource, request, one.limits.get(resource))
        if found:
            rule, fact = found
            yield Fault(rule, one.path, one.field(Part.REQUESTS, resource), f"{subject}: {fact}")
    named = {*one.requests, *one.limits}
    if any(resource.startswith(HUGE_PAGES) for resource in named) and not named & {CPU, MEMORY}:
        field = f"{one.path}.resources"
        yield Fault(Rule.HUGE_PAGES_ALONE, one.path, field, f"{subject}: huge pages need cpu or memory beside them")


def _against_limit(resource: str, request: Quantity, limit: Quantity | None) -> tuple[Rule, str] | None:
    if limit is None:
        if may_overcommit(resource):
            return None
        return Rule.LIMIT_MISSING, f"{resource} request {request.text} has no limit, which has to be equal"
    if not may_overcommit(resource) and request != limit:
        return Rule.NOT_EQUAL, f"{resource} request {request.text} is not equal to the limit of {limit.text}"
    if request > limit:
        return Rule.ABOVE_LIMIT, f"{resource} request {request.text} is above the limit of {limit.text}"
    return None


def _amount_faults(resource: str, amount: Quantity) -> Iterator[tuple[Rule, str]]:
    if amount.nanos < 0:
        yield Rule.NEGATIVE, f"{resource} {amount.text} is negative"
    if not is_native(resource) and amount.nanos % NANOS:
        yield Rule.NOT_WHOLE, f"{resource} {amount.text} is no whole number, as an extended resource has to be"
    if resource.startswith(HUGE_PAGES):
        page = _page_size(resource)
        if page is None or amount.nanos % page.nanos:
            yield Rule.NOT_WHOLE_PAGES, f"{resource} {amount.text} is no whole number of pages"


@lru_cache(maxsize=64)
def _page_size(resource: str) -> Quantity | None:
    try:
        size = quantity.parse(resource.removeprefix(HUGE_PAGES))
    except ValueError:
        return None
    return size if size.nanos > 0 else None


def amount_fault(resource: str, amount: Quantity) -> str | None:
    """Why the API server refuses *amount* of *resource* in a container; None when it takes it."""
    fault = _name_fault(resource)
    return fault or next((fact for _, fact in _amount_faults(resource, amount)), None)


def _name_fault(resource: str) -> str | None:
    if resource in STANDARD or (resource.startswith(HUGE_PAGES) and _page_size(resource) is not None):
        return None
    if "/" not in resource:
        known = ", ".join((*STANDARD, f"{HUGE_PAGES}2Mi"))
        return f'"{resource}" is no resource of a container: known are {known}, others have a domain such as example.com/gpu'
    if is_native(resource) or resource.startswith("requests."):
        return f'"{resource}" is no resource of a container: an extended one is outside kubernetes.io'
    if fault := key_fault(resource):
        return fault.replace("label key", "resource", 1)
    if fault := key_fault(f"requests.{resource}"):  # as quotas write it
        return fault.replace("label key", "resource", 1)
    return None
