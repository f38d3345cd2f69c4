"""Which ConfigMaps a pod cannot start without: those of its volumes and variables that are not optional.

Pure; raises MalformedObject (400) on a field of a type that the API forbids.
"""

from __future__ import annotations

from collections.abc import Iterator

import attrs

from webhook.objects import meta, pods
from webhook.objects.meta import Json


@attrs.frozen
class Need:
    """One reference to a ConfigMap."""

    name: str  # of the ConfigMap, in the pod's namespace
    path: str  # of the reference
    container: str = ""  # whose variables need it
    volume: str = ""  # that needs it


def needs_of(pod: Json) -> Iterator[Need]:
    """Every reference of *pod*: of its volumes, then of its containers of every kind."""
    for index, volume in enumerate(meta.objects(pods.spec(pod), "volumes", "spec")):
        yield from _of_volume(volume, f"spec.volumes[{index}]")
    for container in pods.containers(pod):
        if container.json.get("env") or container.json.get("envFrom"):
            yield from _of_variables(container.json, container.path, container.name)


def _of_volume(volume: Json, path: str) -> Iterator[Need]:
    name = meta.text(volume, "name", path)
    sources = [(volume, path)]
    if volume.get("projected") is not None:
        projected = meta.mapping(volume, "projected", path)
        for index, source in enumerate(meta.objects(projected, "sources", f"{path}.projected")):
            sources.append((source, f"{path}.projected.sources[{index}]"))
    for source, where in sources:
        for needed in _needed(source, "configMap", where):
            yield Need(needed, f"{where}.configMap.name", volume=name)


def _of_variables(container: Json, path: str, name: str) -> Iterator[Need]:
    for index, variable in enumerate(meta.objects(container, "env", path)):
        if variable.get("valueFrom") is None:
            continue  # nearly all of them: a pod may have thousands
        where = f"{path}.env[{index}]"
        source = meta.mapping(variable, "valueFrom", where)
        for needed in _needed(source, "configMapKeyRef", f"{where}.valueFrom"):
            yield Need(needed, f"{where}.valueFrom.configMapKeyRef.name", container=name)
    for index, source in enumerate(meta.objects(container, "envFrom", path)):
        where = f"{path}.envFrom[{index}]"
        for needed in _needed(source, "configMapRef", where):
            yield Need(needed, f"{where}.configMapRef.name", container=name)


def _needed(parent: Json, key: str, path: str) -> Iterator[str]:
    if parent.get(key) is None:
        return
    reference = meta.mapping(parent, key, path)
    name = meta.text(reference, "name", f"{path}.{key}")
    if name and not meta.boolean(reference, "optional", f"{path}.{key}"):
        yield name
