"""A pod as the Pod Security checks look at it: who sets what, each with its path.

Pure; raises MalformedObject (400) on a field of a type that the API forbids. Absent and null read the same, and differ from
an empty object: `seccompProfile: {}` names a profile, of no type.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import attrs

from webhook.errors import MalformedObject
from webhook.objects import meta, pods
from webhook.objects.meta import Json


@attrs.frozen
class Setter:
    """The pod itself or one of its containers: whatever has a securityContext."""

    name: str  # the container's, "" for the pod
    path: str  # "spec", "spec.initContainers[2]"
    json: Json  # the pod's spec, the container
    security: Json | None  # its securityContext, None when it has none

    @property
    def who(self) -> str:
        """For messages: 'the pod', 'container "app"'."""
        return "the pod" if self.path == "spec" else f'container "{self.name}"'

    @property
    def security_path(self) -> str:
        """The path of its securityContext."""
        return f"{self.path}.securityContext"

    def option(self, key: str) -> Json | None:
        """The object at *key* of its securityContext; None when absent or null."""
        return None if self.security is None else member(self.security, key, self.security_path)

    def flag(self, key: str) -> bool | None:
        """The boolean at *key* of its securityContext; None when absent or null."""
        return None if self.security is None else meta.boolean(self.security, key, self.security_path)

    def number(self, key: str) -> int | None:
        """The integer at *key* of its securityContext; None when absent or null."""
        return None if self.security is None else integer(self.security, key, self.security_path)

    def word(self, key: str) -> str | None:
        """The string at *key* of its securityContext; None when absent or null."""
        if self.security is None or self.security.get(key) is None:
            return None
        return meta.text(self.security, key, self.security_path)

    @classmethod
    def of_pod(cls, spec: Json) -> Setter:
        """The pod of *spec* itself."""
        return cls("", "spec", spec, member(spec, "securityContext", "spec"))

    @classmethod
    def of_container(cls, container: Json, path: str) -> Setter:
        """The container that stands at *path*."""
        return cls(meta.text(container, "name", path), path, container, member(container, "securityContext", path))


@attrs.frozen
class View:
    """A pod under one version of the policy."""

    minor: int
    spec: Json
    annotations: Mapping[str, str]
    pod: Setter
    containers: tuple[Setter, ...]  # init, app and ephemeral ones
    is_windows: bool
    has_user_namespace: bool  # hostUsers: false, so that root inside is nobody outside

    @property
    def setters(self) -> Iterator[Setter]:
        """The pod, then its containers."""
        yield self.pod
        yield from self.containers

    @property
    def spares_windows(self) -> bool:
        """Whether settings that only Linux has are not asked for: since v1.25, for pods that say they are for Windows."""
        return self.is_windows and self.minor >= 25

    @property
    def spares_root(self) -> bool:
        """Whether the pod may be root and see an unmasked /proc: since v1.35, in a user namespace (KEP-127)."""
        return self.has_user_namespace and self.minor >= 35

    @classmethod
    def of(cls, pod: Json, minor: int) -> View:
        """*pod* under the policy of v1.*minor*."""
        spec = pods.spec(pod)
        return cls(
            minor,
            spec,
            meta.annotations_of(pod),
            Setter.of_pod(spec),
            tuple(Setter.of_container(container.json, container.path) for container in pods.containers(pod)),
            pods.is_windows(pod),
            meta.boolean(spec, "hostUsers", "spec") is False,
        )


def member(parent: Mapping[str, Any], key: str, path: str) -> Json | None:
    """The object at *key* of *parent*; None when absent or null. *path* is the parent's, for the message."""
    return None if parent.get(key) is None else meta.mapping(parent, key, path)


def integer(parent: Mapping[str, Any], key: str, path: str) -> int | None:
    """The integer at *key* of *parent*; None when absent or null."""
    value = parent.get(key)
    if value is not None and type(value) is not int:
        raise MalformedObject(f"{path}.{key}: expected an integer, found {value!r:.80}")
    return value


def words(parent: Mapping[str, Any], key: str, path: str) -> list[str]:
    """The list of strings at *key* of *parent*, [] when absent or null; a null element reads as "", as in Go."""
    items = ["" if item is None else item for item in meta.sequence(parent, key, path)]
    for index, item in enumerate(items):
        if type(item) is not str:
            raise MalformedObject(f"{path}.{key}[{index}]: expected a string, found {item!r:.80}")
    return items
