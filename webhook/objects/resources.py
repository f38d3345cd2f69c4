"""What a pod asks for: per container, and as a whole as the scheduler, quotas and limit ranges count it.

The effective pod: the sum of the app containers and all native sidecars, or, where more, any init container together with the
native sidecars before it; resources stated for the pod (spec.resources) replace that sum; overhead comes on top.

Pure; reads the spec only, never the status (which is empty on CREATE). Raises MalformedObject (400) that names the field.
Source: k8s.io/component-helpers v0.37.2, resource; kubernetes v1.37.2, pkg/apis/core/v1/defaults.go and pkg/api/pod/util.go.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from enum import StrEnum
from typing import Any

import msgspec

from webhook.errors import MalformedObject
from webhook.objects import meta, pods
from webhook.objects.meta import Json
from webhook.objects.pods import Kind
from webhook.objects.quantity import Amounts, Quantity, field_of, in_whole_millis, read_amounts

CPU, MEMORY, EPHEMERAL_STORAGE = "cpu", "memory", "ephemeral-storage"
HUGE_PAGES = "hugepages-"
_NOTHING: Amounts = {}


class Part(StrEnum):
    """The halves of a container's resources."""

    REQUESTS = "requests"
    LIMITS = "limits"


class Resources(msgspec.Struct, frozen=True):
    """What one container asks for, or what is stated for the pod as a whole."""

    path: str  # of the container, "spec.initContainers[2]"; "spec" for the pod
    name: str  # of the container; "" for the pod
    requests: Amounts = _NOTHING
    limits: Amounts = _NOTHING
    is_native_sidecar: bool = False
    kind: Kind | None = None  # None for the pod

    def of(self, part: Part) -> Amounts:
        """Its requests or its limits."""
        return self.requests if part is Part.REQUESTS else self.limits

    def field(self, part: Part, resource: str = "") -> str:
        """For messages: "spec.containers[0].resources.limits.cpu"."""
        path = f"{self.path}.resources.{part.value}"
        return field_of(path, resource) if resource else path

    def with_api_defaults(self) -> Resources:
        """As the API server completes it: in whole thousandths, and a limit without a request is also the request."""
        requests, limits = in_whole_millis(self.requests), in_whole_millis(self.limits)
        if not limits.keys() <= requests.keys():
            requests = {**limits, **requests}
        if requests is self.requests and limits is self.limits:
            return self
        return msgspec.structs.replace(self, requests=requests, limits=limits)


class PodResources(msgspec.Struct, frozen=True):
    """Everything that a pod asks for. The ephemeral containers are left out: the API forbids resources there."""

    apps: tuple[Resources, ...]
    inits: tuple[Resources, ...]
    pod: Resources  # spec.resources
    overhead: Amounts

    @property
    def containers(self) -> tuple[Resources, ...]:
        """App containers, then init containers, as LimitRanger visits them."""
        return self.apps + self.inits

    @property
    def has_pod_level(self) -> bool:
        """Whether spec.resources states anything that counts there."""
        return any(is_pod_level(resource) for resource in (*self.pod.requests, *self.pod.limits))

    def aggregate(self, part: Part) -> dict[str, Quantity]:
        """What the containers ask for together, without spec.resources and overhead."""
        return _aggregate(((one.of(part), one.is_native_sidecar) for one in self.inits), (one.of(part) for one in self.apps))

    def requests(self) -> Amounts:
        """The effective requests (Go: PodRequests)."""
        total = self._with_pod_level(Part.REQUESTS)
        _add(total, self.overhead)
        return total

    def limits(self) -> Amounts:
        """The effective limits (Go: PodLimits). A resource that some container does not limit counts what the others limit."""
        total = self._with_pod_level(Part.LIMITS)
        for resource, amount in self.overhead.items():
            limit = total.get(resource)
            if limit:
                total[resource] = limit + amount
        return total

    def map(self, change: Callable[[Resources], Resources]) -> PodResources:
        """The same pod with every container changed."""
        return PodResources(tuple(map(change, self.apps)), tuple(map(change, self.inits)), self.pod, self.overhead)

    def with_api_defaults(self) -> PodResources:
        """The same pod as the API server completes it while it decodes it."""
        requests, limits = in_whole_millis(self.pod.requests), in_whole_millis(self.pod.limits)
        stated = msgspec.structs.replace(self.pod, requests=requests, limits=limits)
        whole = self.map(Resources.with_api_defaults)
        return PodResources(whole.apps, whole.inits, stated, in_whole_millis(self.overhead))

    def with_pod_defaults(self) -> PodResources:
        """The same pod as the API server completes spec.resources before it validates it (Kubernetes 1.37 and newer).

        Only where something stands there already: limits of huge pages and requests come from the containers, requests then
        from limits, and limits from the containers if every one of them has that limit.
        """
        if not self.pod.requests and not self.pod.limits:
            return self
        requests, limits = dict(self.pod.requests), dict(self.pod.limits)
        of_containers = self.aggregate(Part.LIMITS)
        for resource, amount in of_containers.items():
            if resource.startswith(HUGE_PAGES) and resource not in requests:
                limits.setdefault(resource, amount)
        for resource, amount in self.aggregate(Part.REQUESTS).items():
            if resource in (CPU, MEMORY):
                requests.setdefault(resource, amount)
        for resource, amount in limits.items():
            if is_pod_level(resource):
                requests.setdefault(resource, amount)
        for resource, amount in requests.items():
            everywhere = all(resource in one.limits for one in self.containers)
            if resource not in limits and is_pod_level(resource) and everywhere and resource in of_containers:
                limits[resource] = max(amount, of_containers[resource])
        stated = msgspec.structs.replace(self.pod, requests=requests, limits=limits)
        return msgspec.structs.replace(self, pod=stated)

    def _with_pod_level(self, part: Part) -> dict[str, Quantity]:
        total = self.aggregate(part)
        for resource, amount in self.pod.of(part).items():
            if is_pod_level(resource):
                total[resource] = amount
        return total


def is_pod_level(resource: str) -> bool:
    """Whether spec.resources counts for *resource*."""
    return resource in (CPU, MEMORY) or resource.startswith(HUGE_PAGES)


def is_native(resource: str) -> bool:
    """Whether *resource* is one of Kubernetes' own, not an extended one such as "nvidia.com/gpu"."""
    return "/" not in resource or "kubernetes.io/" in resource


def may_overcommit(resource: str) -> bool:
    """Whether the limit of *resource* may be above its request: not for extended resources and huge pages."""
    return is_native(resource) and not resource.startswith(HUGE_PAGES)


# -- from pods -----------------------------------------------------------------------------------------------------


def read(pod: Mapping[str, Any]) -> PodResources:
    """Everything that *pod* asks for."""
    spec = pods.spec(pod)
    try:
        overhead = read_amounts(spec.get("overhead"), "spec.overhead")
    except ValueError as error:
        raise MalformedObject(str(error)) from None
    return PodResources(
        tuple(map(of_container, pods.containers(pod, Kind.APP))),
        tuple(map(of_container, pods.containers(pod, Kind.INIT))),
        _resources(spec, "spec", "", None, False),
        overhead,
    )


def of_container(container: pods.Container) -> Resources:
    """What *container* asks for."""
    return _resources(container.json, container.path, container.name, container.kind, container.is_native_sidecar)


def of_json(container_resources: Json) -> Resources:
    """What a container asks for whose `resources` are these."""
    return _resources({"resources": container_resources}, "", "", None, False)


def _resources(parent: Json, path: str, name: str, kind: Kind | None, is_native_sidecar: bool) -> Resources:
    inside = meta.mapping(parent, "resources", path)
    try:
        requests = read_amounts(inside.get("requests"), f"{path}.resources.requests")
        limits = read_amounts(inside.get("limits"), f"{path}.resources.limits")
    except ValueError as error:
        raise MalformedObject(str(error)) from None
    return Resources(path, name, requests, limits, is_native_sidecar, kind)


# -- arithmetic ----------------------------------------------------------------------------------------------------


def _aggregate(inits: Iterable[tuple[Amounts, bool]], apps: Iterable[Amounts]) -> dict[str, Quantity]:
    total: dict[str, Quantity] = {}
    for amounts in apps:
        _add(total, amounts)
    sidecars: dict[str, Quantity] = {}  # those that run already
    peak: dict[str, Quantity] = {}
    for amounts, is_native_sidecar in inits:
        if is_native_sidecar:
            _add(total, amounts)
            _add(sidecars, amounts)
            _raise(peak, sidecars)
        elif sidecars:
            together = dict(amounts)
            _add(together, sidecars)
            _raise(peak, together)
        else:
            _raise(peak, amounts)
    _raise(total, peak)
    return total


def _add(total: dict[str, Quantity], amounts: Amounts) -> None:
    for resource, amount in amounts.items():
        so_far = total.get(resource)
        total[resource] = amount if so_far is None else so_far + amount


def _raise(total: dict[str, Quantity], amounts: Amounts) -> None:
    for resource, amount in amounts.items():
        so_far = total.get(resource)
        if so_far is None or amount > so_far:
            total[resource] = amount
