"""Pods as they stand in a review: the one way to walk containers, and what decides about a pod as a whole.

Pure; raises MalformedObject (400) on a field of a type that the API forbids. Absent and null read the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import Any

import msgspec

from webhook.objects import meta
from webhook.objects.meta import Json

FINISHED = ("Succeeded", "Failed")  # phases of a pod whose containers run no more, and never will
MIRROR_ANNOTATION = "kubernetes.io/config.mirror"  # set by the kubelet on what it shows of a static pod


class Kind(StrEnum):
    """The list of a pod's spec that a container stands in."""

    INIT = "initContainers"
    APP = "containers"
    EPHEMERAL = "ephemeralContainers"


class Container(msgspec.Struct, frozen=True):
    """A container and where it stands."""

    kind: Kind
    index: int
    json: Json

    @property
    def name(self) -> str:
        """Its name, "" when it has none."""
        name = self.json.get("name")
        return name if type(name) is str else meta.text(self.json, "name", self.path)

    @property
    def path(self) -> str:
        """For messages: "spec.initContainers[2]"."""
        return f"spec.{self.kind}[{self.index}]"

    @property
    def is_native_sidecar(self) -> bool:
        """Whether it is an init container that runs as long as the pod (restartPolicy Always)."""
        return self.kind is Kind.INIT and self.json.get("restartPolicy") == "Always"


def spec(pod: Mapping[str, Any]) -> Json:
    """The pod's spec, {} when absent."""
    return meta.mapping(pod, "spec", "")


def containers(pod: Mapping[str, Any], *kinds: Kind) -> Iterator[Container]:
    """Every container of *kinds* (none given: init, app and ephemeral), in the order of the lists."""
    inside = spec(pod)
    for kind in kinds or Kind:
        field = str(kind)
        if field in inside:
            for index, container in enumerate(meta.objects(inside, field, "spec")):
                yield Container(kind, index, container)


def is_mirror(pod: Mapping[str, Any]) -> bool:
    """Whether it only shows a static pod: nobody but its kubelet can change that."""
    return MIRROR_ANNOTATION in meta.annotations_of(pod)


def uses_host_network(pod: Mapping[str, Any]) -> bool:
    """Whether it shares its node's network."""
    return bool(meta.boolean(spec(pod), "hostNetwork", "spec"))


def is_windows(pod: Mapping[str, Any]) -> bool:
    """Whether it says that it is for Windows nodes (spec.os.name)."""
    return meta.text(meta.mapping(spec(pod), "os", "spec"), "name", "spec.os") == "windows"


def runs_to_completion(pod: Mapping[str, Any]) -> bool:
    """Whether it is meant to end: a plain sidecar would keep it alive for ever (restartPolicy is not Always)."""
    return meta.text(spec(pod), "restartPolicy", "spec") not in ("", "Always")
