"""What a pod asks its node for, from the few fields that say so: for figures about a whole cluster.

Read only where somebody counts (`projection.pods_resource(counted=True)`). Pods of one workload are alike, so that the sum is
made once for all of them.
Pure; any thread. An amount that is no quantity counts as 0: the API server stores none.
Source: core/v1 PodSpec, NodeStatus; the sum itself is `webhook.objects.resources`.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import msgspec

from webhook.errors import MalformedObject
from webhook.objects import quantity, resources
from webhook.objects.resources import CPU, MEMORY

Demand = tuple[int, int]  # thousandths of a core, bytes
NONE: Demand = (0, 0)

# The Structs are frozen, so that equal ones are found, and omit what is absent, so that it stays so.


class Counted(msgspec.Struct, rename="camel", gc=False, frozen=True, omit_defaults=True):
    """Of all resources the two that are counted."""

    cpu: str | int | float | None = None
    memory: str | int | float | None = None


class Stated(msgspec.Struct, rename="camel", gc=False, frozen=True, omit_defaults=True):
    """`resources` of a container or a pod."""

    requests: Counted | None = None
    limits: Counted | None = None


class Container(msgspec.Struct, rename="camel", gc=False, frozen=True, omit_defaults=True):
    """Of a container what counts."""

    restart_policy: str | None = None
    resources: Stated | None = None


class Demanding(msgspec.Struct, rename="camel", gc=False, frozen=True, omit_defaults=True):
    """Of a pod's spec what counts."""

    containers: tuple[Container, ...] | None = None
    init_containers: tuple[Container, ...] | None = None
    resources: Stated | None = None
    overhead: Counted | None = None


@lru_cache(maxsize=8192)
def requested(spec: Demanding) -> Demand:
    """The effective requests of a pod, completed as the API server does."""
    pod: dict[str, Any] = {"spec": msgspec.json.decode(msgspec.json.encode(spec))}  # plain dicts and lists
    try:
        amounts = resources.read(pod).with_api_defaults().with_pod_defaults().requests()
    except MalformedObject:
        return NONE
    return amounts.get(CPU, quantity.ZERO).millis, amounts.get(MEMORY, quantity.ZERO).units


def allocatable(amounts: Counted | None) -> Demand:
    """What a node has for pods."""
    if amounts is None:
        return NONE
    try:
        return quantity.read(amounts.cpu).millis, quantity.read(amounts.memory).units
    except ValueError:
        return NONE
