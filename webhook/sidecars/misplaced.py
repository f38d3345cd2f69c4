"""Requests for sidecars that stand where nobody reads them, and so do nothing without a word.

    WrongLevel                  on the workload instead of its template, of which alone pods inherit (linkerd/linkerd2#4856)
    NamespaceKeyOnPod           on the pod instead of its namespace: the labels that switch a namespace on
    StubUnfilled                in a container with the image "auto", of whose name no entry of the pod brings one
    LabelInsteadOfAnnotation    changes of one container, written as a label (open-telemetry/opentelemetry-operator#1025)

Pure; raises MalformedObject on a field of a type that the API forbids.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from webhook.names import (
    INJECT,
    INJECT_ENTRIES,
    INJECTED_NAMESPACE_LABEL,
    MUTATE_LABEL,
    OPT_IN_NAMESPACE_LABEL,
    OVERRIDE_PREFIX,
    Reason,
)
from webhook.objects import meta, pods
from webhook.objects.meta import Json
from webhook.objects.workloads import Workload
from webhook.sidecars.findings import Finding
from webhook.sidecars.injection.stubs import AUTO
from webhook.sidecars.injection.wiring import PROXIES

_ASKING: Final = (INJECT, INJECT_ENTRIES)
_OF_NAMESPACES: Final = (OPT_IN_NAMESPACE_LABEL, INJECTED_NAMESPACE_LABEL, MUTATE_LABEL)


def misplaced(workload: Workload, obj: Json) -> tuple[Finding, ...]:
    """What *obj*, of the kind *workload*, says in the wrong place. Fields are those of *obj*."""
    template = workload.template_of(obj)
    found = list(_on_the_pod(workload, template))
    if workload.template:
        inner = meta.mapping(template, "metadata", workload.field(""))
        spoken = {*meta.texts(inner, "annotations", "metadata"), *meta.texts(inner, "labels", "metadata")}
        found = [*_on_the_workload(workload, obj, spoken), *found]
    return tuple(found)


def spoken(obj: Json) -> Mapping[str, str]:
    """What the own metadata of *obj* says of sidecars, wherever it belongs: a change of anything else changes no finding."""
    return {
        f"{place} {key}": value
        for place, values in (("annotation", meta.annotations_of(obj)), ("label", meta.labels_of(obj)))
        for key, value in values.items()
        if _is_for_pods(key)
    }


def unfilled(pod: Json) -> tuple[Finding, ...]:
    """The containers of *pod*, as it is when everything is injected, that still wait for an entry; other injectors' may."""
    return tuple(
        Finding(
            Reason.STUB_UNFILLED,
            f'container "{container.name}" keeps the image "{AUTO}", which no kubelet can pull: no entry that the pod gets '
            "brings a container of that name",
            f"{container.path}.image",
        )
        for container in pods.containers(pod, pods.Kind.INIT, pods.Kind.APP)
        if container.json.get("image") == AUTO and container.name not in PROXIES
    )


def _on_the_workload(workload: Workload, obj: Json, spoken_below: set[str]) -> Iterator[Finding]:
    owners = [("metadata", meta.metadata(obj))]
    if workload.kind == "CronJob":
        job = meta.mapping(meta.mapping(obj, "spec", ""), "jobTemplate", "spec")
        owners.append(("spec.jobTemplate.metadata", meta.mapping(job, "metadata", "spec.jobTemplate")))
    for path, metadata in owners:
        for place in ("annotations", "labels"):
            for key in meta.texts(metadata, place, path):
                # With its own word in the template, what stands above may be meant for a person.
                if _is_for_pods(key) and key not in spoken_below:
                    yield Finding(
                        Reason.WRONG_LEVEL,
                        f"{place[:-1]} {key} in {path} does nothing: pods inherit only {workload.field('metadata')}",
                        f"{path}.{place}",
                    )


def _on_the_pod(workload: Workload, template: Json) -> Iterator[Finding]:
    path = workload.field("metadata")
    metadata = meta.mapping(template, "metadata", workload.field(""))
    annotations, labels = (meta.texts(metadata, place, path) for place in ("annotations", "labels"))
    for place, values in (("annotations", annotations), ("labels", labels)):
        for key in _OF_NAMESPACES:
            if key in values:
                message = f"{place[:-1]} {key} in {path} does nothing: it counts on the pod's namespace only"
                yield Finding(Reason.NAMESPACE_KEY_ON_POD, message, f"{path}.{place}")
    for key in labels:
        if OVERRIDE_PREFIX in key:
            message = f"label {key} in {path} does nothing: only an annotation changes a container"
            yield Finding(Reason.LABEL_INSTEAD_OF_ANNOTATION, message, f"{path}.labels")


def _is_for_pods(key: str) -> bool:
    return key in _ASKING or OVERRIDE_PREFIX in key
