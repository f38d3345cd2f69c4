"""Kinds that hold a pod template: where it stands, and the pod that a controller makes of it.

Pure; raises MalformedObject (400) on a field of a type that the API forbids. Absent and null read the same.
What a controller takes from a template: labels, annotations, finalizers and the spec, nothing else. What only the running
cluster knows is left out (pod-template-hash, controller-uid, a Job's labels); a generated name lacks its random parts.
Source: kubernetes pkg/controller controller_utils.go (GetPodFromTemplate), the StatefulSet, Job and CronJob controllers.
"""

from __future__ import annotations

from typing import Any, Final

import attrs

from webhook.objects import meta
from webhook.objects.meta import Json

Path = tuple[str, ...]

_KEPT: Final = ("labels", "annotations", "finalizers")  # of the template's metadata


@attrs.frozen
class Workload:
    """A kind with a pod template."""

    kind: str
    versions: tuple[str, ...]  # apiVersions of the same shape; those that are no longer served still stand in files
    template: Path  # of the template; () when the object is the pod itself
    owner: tuple[str, str] | None  # apiVersion and kind of what creates the pods, None when nothing does
    resource: str  # plural, lower case

    def template_of(self, workload: Json) -> Json:
        """Its pod template, {} when absent: the object itself for a Pod."""
        found, path = workload, ""
        for key in self.template:
            found = meta.mapping(found, key, path)
            path = f"{path}.{key}" if path else key
        return found

    def field(self, path: str) -> str:
        """A field of the pod ("spec.containers[0]") as a field of the workload ("spec.template.spec.containers[0]")."""
        return ".".join((*self.template, path) if path else self.template)

    def pod(self, workload: Json) -> Json:
        """The pod that is created from *workload*, as it arrives at the API server. Shares nothing with it.

        A StatefulSet's pod is its first; a Deployment's is named without the ReplicaSet's hash, a CronJob's without the time.
        """
        if not self.template:
            copy: Json = _copied(workload)
            return copy
        template = self.template_of(workload)
        metadata = meta.mapping(template, "metadata", ".".join(self.template))
        inner = {key: _copied(metadata[key]) for key in _KEPT if metadata.get(key) is not None}
        return {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {**self._name(workload), **inner, **self._owners(workload)},
            "spec": _copied(meta.mapping(template, "spec", ".".join(self.template))),
        }

    def with_pod(self, workload: Json, pod: Json) -> Json:
        """*workload* with what *pod* has of its template: labels, annotations and spec. Changes neither, shares with both."""
        if not self.template:
            return pod
        template = self.template_of(workload)
        metadata = dict(meta.mapping(template, "metadata", ".".join(self.template)))
        for key in ("labels", "annotations"):
            found = meta.mapping(meta.metadata(pod), key, "metadata")
            if found or metadata.get(key) is not None:
                metadata[key] = found
        changed = dict(template)
        if metadata or template.get("metadata") is not None:
            changed["metadata"] = metadata
            # A reader expects metadata above spec, also where the template had none.
            changed = {"metadata": metadata, **changed} if "metadata" not in template else changed
        changed["spec"] = meta.mapping(pod, "spec", "")
        return _put(workload, self.template, changed)

    def _name(self, workload: Json) -> Json:
        metadata = meta.metadata(workload)
        name = meta.text(metadata, "name", "metadata") or meta.text(metadata, "generateName", "metadata").rstrip("-")
        if not name:
            return {}
        if self.kind != "StatefulSet":
            return {"generateName": f"{name}-"}
        spec = meta.mapping(workload, "spec", "")
        start = meta.mapping(spec, "ordinals", "spec").get("start")
        return {"name": f"{name}-{start if type(start) is int else 0}"}

    def _owners(self, workload: Json) -> Json:
        if self.owner is None:
            return {}
        api_version, kind = self.owner
        name = meta.text(meta.metadata(workload), "name", "metadata")
        reference = {"apiVersion": api_version, "kind": kind, "name": name, "controller": True, "blockOwnerDeletion": True}
        return {"ownerReferences": [reference]}


_IN_SPEC: Final[Path] = ("spec", "template")
_APPS: Final = ("apps/v1", "apps/v1beta2", "apps/v1beta1", "extensions/v1beta1")

WORKLOADS: Final = (
    Workload("Pod", ("v1",), (), None, "pods"),
    Workload("Deployment", _APPS, _IN_SPEC, ("apps/v1", "ReplicaSet"), "deployments"),
    Workload(
        "ReplicaSet", ("apps/v1", "apps/v1beta2", "extensions/v1beta1"), _IN_SPEC, ("apps/v1", "ReplicaSet"), "replicasets"
    ),
    Workload("StatefulSet", ("apps/v1", "apps/v1beta2", "apps/v1beta1"), _IN_SPEC, ("apps/v1", "StatefulSet"), "statefulsets"),
    Workload("DaemonSet", ("apps/v1", "apps/v1beta2", "extensions/v1beta1"), _IN_SPEC, ("apps/v1", "DaemonSet"), "daemonsets"),
    Workload("ReplicationController", ("v1",), _IN_SPEC, ("v1", "ReplicationController"), "replicationcontrollers"),
    Workload("PodTemplate", ("v1",), ("template",), None, "podtemplates"),
    Workload("Job", ("batch/v1", "extensions/v1beta1"), _IN_SPEC, ("batch/v1", "Job"), "jobs"),
    Workload(
        "CronJob",
        ("batch/v1", "batch/v1beta1", "batch/v2alpha1"),
        ("spec", "jobTemplate", "spec", "template"),
        ("batch/v1", "Job"),
        "cronjobs",
    ),
)

_BY_KIND: Final = {(version, workload.kind): workload for workload in WORKLOADS for version in workload.versions}


def workload_of(value: Any) -> Workload | None:
    """The kind of *value* (any JSON) if it holds a pod template, by its apiVersion and kind; None for everything else."""
    if type(value) is not dict:
        return None
    version, kind = value.get("apiVersion"), value.get("kind")
    return _BY_KIND.get((version, kind)) if type(version) is str and type(kind) is str else None


def _put(parent: Json, path: Path, value: Json) -> Json:
    inner = value if len(path) == 1 else _put(meta.mapping(parent, path[0], ""), path[1:], value)
    return {**parent, path[0]: inner}


def _copied(value: Any) -> Any:
    if type(value) is dict:
        return {key: _copied(inner) for key, inner in value.items()}
    return [_copied(inner) for inner in value] if type(value) is list else value
