"""Rules of the API server between one container and the rest of its pod, which no look at the container alone can tell.

    breaches(pod)    hooks that sleep longer than the pod's grace, resizes that restart what never restarts, Windows settings in
                     a pod for Linux, other host ports on the node's network, more annotations than an object may bear

Pure; raises MalformedObject (400) on a field of a type that the API forbids.
Source: kubernetes v1.37.2, pkg/apis/core/validation (validateSleepAction, validateResizePolicy, validateOS,
validateHostNetwork), apimachinery pkg/api/validation (ValidateAnnotationsSize).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

import attrs

from webhook.objects import meta, pods
from webhook.objects.pods import Container

ANNOTATIONS_LIMIT: Final = 256 * 1024  # bytes, keys and values together
_GRACE_S: Final = 30  # of a pod that says nothing


@attrs.frozen
class Breach:
    """One rule that the pod does not keep."""

    rule: str  # for telling breaches apart
    field: str  # "spec.containers[1].lifecycle.preStop.sleep.seconds"
    message: str  # subject, fact and limit
    container: str = ""  # "" for the pod as a whole


def breaches(pod: Mapping[str, Any]) -> Iterator[Breach]:
    """Every rule that *pod* breaks. O(size of the pod)."""
    spec = pods.spec(pod)
    given = spec.get("terminationGracePeriodSeconds")
    grace_s = given if type(given) is int else _GRACE_S
    is_final = meta.text(spec, "restartPolicy", "spec") == "Never"
    is_linux = meta.text(meta.mapping(spec, "os", "spec"), "name", "spec.os") == "linux"
    on_host = pods.uses_host_network(pod)
    for container in pods.containers(pod, pods.Kind.INIT, pods.Kind.APP):
        if container.json.get("lifecycle") is not None:
            yield from _sleeps(container, grace_s)
        if is_final:
            yield from _resizes(container)
        if is_linux:
            yield from _windows(container)
        if on_host and container.kind is pods.Kind.APP:  # nobody looks at those of init containers
            yield from _ports(container)
    size = annotations_size(meta.annotations_of(pod))
    if size > ANNOTATIONS_LIMIT:
        message = f"the pod's annotations together are {size} bytes, {ANNOTATIONS_LIMIT} are allowed"
        yield Breach("annotations", "metadata.annotations", message)


def annotations_size(annotations: Mapping[str, str]) -> int:
    """What the API server counts of them, in bytes."""
    return sum(len(key.encode(errors="replace")) + len(value.encode(errors="replace")) for key, value in annotations.items())


def _sleeps(container: Container, grace_s: int) -> Iterator[Breach]:
    path = f"{container.path}.lifecycle"
    lifecycle = meta.mapping(container.json, "lifecycle", container.path)
    for hook in ("postStart", "preStop"):
        sleep = meta.mapping(meta.mapping(lifecycle, hook, path), "sleep", f"{path}.{hook}")
        seconds = sleep.get("seconds")
        if type(seconds) is int and seconds > grace_s:
            message = (
                f'{hook} of container "{container.name}" sleeps {seconds} s, '
                f"the pod's terminationGracePeriodSeconds is {grace_s}"
            )
            yield Breach(f"sleep {hook}", f"{path}.{hook}.sleep.seconds", message, container.name)


def _resizes(container: Container) -> Iterator[Breach]:
    for index, policy in enumerate(meta.objects(container.json, "resizePolicy", container.path)):
        if policy.get("restartPolicy") == "RestartContainer":
            subject = f'a resize of {policy.get("resourceName")} restarts container "{container.name}"'
            message = f"{subject}, the pod's restartPolicy is Never"
            yield Breach("resize", f"{container.path}.resizePolicy[{index}].restartPolicy", message, container.name)


def _windows(container: Container) -> Iterator[Breach]:
    security = meta.mapping(container.json, "securityContext", container.path)
    if security.get("windowsOptions") is not None:
        message = f'container "{container.name}" has windowsOptions, the pod\'s os is linux'
        yield Breach("windows", f"{container.path}.securityContext.windowsOptions", message, container.name)


def _ports(container: Container) -> Iterator[Breach]:
    for index, port in enumerate(meta.objects(container.json, "ports", container.path)):
        number, on_node = port.get("containerPort"), port.get("hostPort")
        if on_node and on_node != number:
            subject = f'port {number} of container "{container.name}" has hostPort {on_node}'
            message = f"{subject}, on the node's network both are the same"
            yield Breach("host port", f"{container.path}.ports[{index}].hostPort", message, container.name)
