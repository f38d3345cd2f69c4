"""Requests for sidecars in places where nobody reads them."""

from __future__ import annotations

from typing import Any

import pytest

from webhook.objects.meta import Json
from webhook.objects.workloads import workload_of
from webhook.sidecars.misplaced import misplaced, spoken

ASKING = {"sidecar-injector/inject": "true"}
OVERRIDE = {"envoy.sidecar.gatehouse.dev/cpu-limit": "2"}


def deployment(metadata: Json | None = None, template: Json | None = None) -> Json:
    spec = {"template": {"metadata": template, "spec": {"containers": []}}}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", **(metadata or {})}, "spec": spec}


def found(obj: Json) -> list[str]:
    workload = workload_of(obj)
    assert workload is not None
    return [f"{finding.reason}: {finding.message}" for finding in misplaced(workload, obj)]


@pytest.mark.parametrize("place", ["annotations", "labels"])
@pytest.mark.parametrize("said", [ASKING, {"gatehouse.dev/inject": "a"}, OVERRIDE], ids=str)
def test_a_word_on_the_workload_instead_of_its_template_is_told(place: str, said: dict[str, str]) -> None:
    (key,) = said

    assert found(deployment({place: said})) == [
        f"WrongLevel: {place[:-1]} {key} in metadata does nothing: pods inherit only spec.template.metadata"
    ]


@pytest.mark.parametrize("place", ["annotations", "labels"])
def test_the_same_word_in_the_template_makes_it_good(place: str) -> None:
    assert found(deployment({"annotations": ASKING}, {place: {"sidecar-injector/inject": "false"}})) == []


def test_a_cron_jobs_job_is_the_wrong_level_too() -> None:
    spec = {"jobTemplate": {"metadata": {"annotations": ASKING}, "spec": {"template": {}}}}
    cron_job = {"apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": "c"}, "spec": spec}

    assert found(cron_job) == [
        "WrongLevel: annotation sidecar-injector/inject in spec.jobTemplate.metadata does nothing: "
        "pods inherit only spec.jobTemplate.spec.template.metadata"
    ]


@pytest.mark.parametrize("key", ["sidecar-injector", "pod-admission-webhook-injection", "gatehouse.dev/mutate"])
def test_a_namespaces_label_on_a_pod_is_told(key: str) -> None:
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"labels": {key: "enabled"}}}

    assert found(pod) == [f"NamespaceKeyOnPod: label {key} in metadata does nothing: it counts on the pod's namespace only"]
    assert found(deployment(template={"annotations": {key: "enabled"}})) == [
        f"NamespaceKeyOnPod: annotation {key} in spec.template.metadata does nothing: it counts on the pod's namespace only"
    ]


def test_a_change_of_a_container_as_a_label_is_told() -> None:
    (message,) = found(deployment(template={"labels": OVERRIDE}))

    assert message.startswith("LabelInsteadOfAnnotation: ")
    assert message.endswith("in spec.template.metadata does nothing: only an annotation changes a container")


@pytest.mark.parametrize(
    "obj",
    [
        deployment(),
        deployment({"annotations": None, "labels": None}),
        deployment({"annotations": {"note": "x"}}, {"annotations": {**ASKING, **OVERRIDE}, "labels": ASKING}),
        {"apiVersion": "v1", "kind": "Pod", "metadata": {"annotations": ASKING}},
    ],
)
def test_everything_else_is_in_its_place(obj: Any) -> None:
    assert found(obj) == []


def test_only_what_is_said_of_sidecars_is_spoken() -> None:
    obj = deployment({"annotations": {**ASKING, "deployment.kubernetes.io/revision": "7"}, "labels": OVERRIDE})

    assert spoken(obj) == {
        "annotation sidecar-injector/inject": "true",
        "label envoy.sidecar.gatehouse.dev/cpu-limit": "2",
    }
