"""Whether what a pod states for itself (spec.resources) covers its containers, as the API server asks.

Pure; raises MalformedObject (400) on a field of a type that the API forbids.
Source: kubernetes v1.37.2, pkg/apis/core/validation (validatePodResourceConsistency).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import attrs

from webhook.objects import resources
from webhook.objects.limit_ranges import LimitRange, with_defaults
from webhook.objects.meta import Json
from webhook.objects.resources import HUGE_PAGES, Part, PodResources, Resources


@attrs.frozen
class Overdraft:
    """One amount of spec.resources that is too small."""

    part: Part
    resource: str  # "cpu"
    path: str  # "spec.resources.requests.cpu"
    message: str  # subject, fact and limit
    container: str = ""  # whose limit exceeds it; "" when it is all of them together


def overdrafts(pod: Json, ranges: Sequence[LimitRange] = ()) -> tuple[Overdraft, ...]:
    """Every amount of spec.resources that is too small for the containers; () = it covers them, or states nothing.

    ranges: of the pod's namespace, for what containers leave out.
    """
    stated = resources.read(pod)
    if not stated.pod.requests and not stated.pod.limits:
        return ()
    completed = with_defaults(stated, ranges)
    return (*overdrafts_of(completed), *_of_itself(stated, completed))


def overdrafts_of(completed: PodResources) -> tuple[Overdraft, ...]:
    """The same of a pod that has every default already."""
    return (
        *_of_totals(completed),
        *(found for one in completed.apps for found in _of_container(one, completed.pod)),
    )


def _of_totals(pod: PodResources) -> Iterator[Overdraft]:
    """Requests of all containers together; limits of huge pages, too, which cannot be overcommitted."""
    for part in Part:
        for resource, asked in pod.aggregate(part).items():
            stated = pod.pod.of(part).get(resource)
            counts = part is Part.REQUESTS or resource.startswith(HUGE_PAGES)
            if counts and stated is not None and asked > stated:
                path = pod.pod.field(part, resource)
                message = f"{path} is {stated.text}, the containers together ask for {asked}"
                yield Overdraft(part, resource, path, message)


def _of_itself(stated: PodResources, completed: PodResources) -> Iterator[Overdraft]:
    """Limits below the requests that follow from the containers where none are stated."""
    for resource, asked in completed.pod.requests.items():
        most = completed.pod.limits.get(resource)
        if resource not in stated.pod.requests and most is not None and asked > most:
            path = stated.pod.field(Part.LIMITS, resource)
            yield Overdraft(Part.LIMITS, resource, path, f"{path} is {most.text}, the requests together are {asked}")


def _of_container(one: Resources, pod: Resources) -> Iterator[Overdraft]:
    """Each limit of an app container."""
    for resource, limit in one.limits.items():
        most = pod.limits.get(resource)
        if most is not None and limit > most:
            path = pod.field(Part.LIMITS, resource)
            message = f'{path} is {most.text}, the limit of container "{one.name}" is {limit.text}'
            yield Overdraft(Part.LIMITS, resource, path, message, one.name)
