"""Kinds with a pod template: which they are, the pod that comes of them, and what goes back into the template."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webhook.errors import MalformedObject
from webhook.objects.meta import Json
from webhook.objects.workloads import WORKLOADS, Workload, workload_of

POD = {
    "metadata": {
        "labels": {"app": "web"},
        "annotations": {"note": "yes"},
        "finalizers": ["example.com/hold"],
        "name": "ignored",
    },
    "spec": {"containers": [{"name": "app", "image": "web:1"}]},
}


def holding(template: Json, path: tuple[str, ...]) -> Json:
    """An object with *template* at *path*."""
    return holding({path[-1]: template}, path[:-1]) if path else template


def example(workload: Workload, version: str = "") -> Json:
    """An object of the kind, named web."""
    if not workload.template:
        return {"apiVersion": "v1", "kind": "Pod", **copy.deepcopy(POD)}
    inner = holding(copy.deepcopy(POD), workload.template)
    return {"apiVersion": version or workload.versions[0], "kind": workload.kind, "metadata": {"name": "web"}, **inner}


def kind(name: str) -> Workload:
    return next(workload for workload in WORKLOADS if workload.kind == name)


# -- which kinds -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("version", "name"), [(version, workload.kind) for workload in WORKLOADS for version in workload.versions]
)
def test_every_version_of_a_kind_has_the_same_template(version: str, name: str) -> None:
    obj = example(kind(name), version)

    found = workload_of(obj)

    assert found is kind(name)
    assert found.template_of(obj)["spec"] == POD["spec"]


@pytest.mark.parametrize(
    "value",
    [
        None,
        "Pod",
        [],
        {},
        {"kind": "Pod"},
        {"apiVersion": "v1", "kind": "Service"},
        {"apiVersion": "example.com/v1", "kind": "Deployment"},
        {"apiVersion": "apps/v1", "kind": "Pod"},
        {"apiVersion": {"a": 1}, "kind": ["Pod"]},
        {"apiVersion": "argoproj.io/v1alpha1", "kind": "Rollout", "spec": {"template": POD}},
    ],
)
def test_other_kinds_hold_no_pod(value: Any) -> None:
    assert workload_of(value) is None


def test_a_field_of_the_pod_has_a_place_in_the_workload() -> None:
    assert kind("Pod").field("spec.containers[0]") == "spec.containers[0]"
    assert kind("PodTemplate").field("spec.containers[0]") == "template.spec.containers[0]"
    assert kind("CronJob").field("metadata") == "spec.jobTemplate.spec.template.metadata"


# -- the pod ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "owner"),
    [
        ("Deployment", "apps/v1 ReplicaSet"),
        ("ReplicaSet", "apps/v1 ReplicaSet"),
        ("DaemonSet", "apps/v1 DaemonSet"),
        ("StatefulSet", "apps/v1 StatefulSet"),
        ("ReplicationController", "v1 ReplicationController"),
        ("Job", "batch/v1 Job"),
        ("CronJob", "batch/v1 Job"),
    ],
)
def test_a_pod_is_owned_by_what_creates_it(name: str, owner: str) -> None:
    (reference,) = kind(name).pod(example(kind(name)))["metadata"]["ownerReferences"]

    assert f"{reference['apiVersion']} {reference['kind']}" == owner
    assert reference["controller"] is True


def test_only_labels_annotations_and_finalizers_come_from_a_templates_metadata() -> None:
    pod = kind("Deployment").pod(example(kind("Deployment")))

    assert pod["metadata"].pop("ownerReferences")
    assert pod == {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "generateName": "web-",
            "labels": {"app": "web"},
            "annotations": {"note": "yes"},
            "finalizers": ["example.com/hold"],
        },
        "spec": POD["spec"],
    }


@pytest.mark.parametrize(
    ("name", "changes", "expected"),
    [
        ("Deployment", {}, {"generateName": "web-"}),
        ("Deployment", {"metadata": {"generateName": "web-"}}, {"generateName": "web-"}),
        ("Deployment", {"metadata": {}}, {}),
        ("StatefulSet", {}, {"name": "web-0"}),
        ("StatefulSet", {"spec": {"ordinals": {"start": 5}, "template": POD}}, {"name": "web-5"}),
        ("Pod", {"metadata": {"name": "alone"}}, {"name": "alone"}),
        ("Pod", {"metadata": {"generateName": "job-"}}, {"generateName": "job-"}),
    ],
)
def test_pods_are_named_as_their_controller_names_them(name: str, changes: Json, expected: Json) -> None:
    pod = kind(name).pod({**example(kind(name)), **changes})

    assert {key: value for key, value in pod["metadata"].items() if "ame" in key} == expected


@pytest.mark.parametrize("workload", WORKLOADS, ids=lambda workload: workload.kind)
def test_a_pod_shares_nothing_with_what_it_came_from(workload: Workload) -> None:
    obj = example(workload)
    before = copy.deepcopy(obj)

    pod = workload.pod(obj)
    pod["metadata"]["labels"]["app"] = "changed"
    pod["metadata"]["finalizers"].append("more")
    pod["spec"]["containers"][0]["image"] = "changed"
    pod["spec"]["containers"].append({})

    assert obj == before


@pytest.mark.parametrize("workload", WORKLOADS, ids=lambda workload: workload.kind)
def test_absent_and_null_templates_give_an_empty_pod(workload: Workload) -> None:
    for inner in ({}, holding({"metadata": None, "spec": None}, workload.template), holding({}, workload.template[:-1])):
        pod = workload.pod({"apiVersion": workload.versions[0], "kind": workload.kind, **inner})

        assert pod.get("spec") in ({}, None)


@pytest.mark.parametrize(
    "changes",
    [
        {"spec": []},
        {"spec": {"template": "x"}},
        {"metadata": "x"},
        {"metadata": {"name": 1}},
        {"spec": {"template": {"spec": 1}}},
    ],
)
def test_a_field_of_the_wrong_type_is_named(changes: Json) -> None:
    with pytest.raises(MalformedObject, match="expected"):
        kind("StatefulSet").pod({**example(kind("StatefulSet")), **changes})


# -- back into the template ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("workload", WORKLOADS, ids=lambda workload: workload.kind)
def test_an_unchanged_pod_changes_nothing(workload: Workload) -> None:
    obj = example(workload)

    assert workload.with_pod(obj, workload.pod(obj)) == obj


def test_a_template_takes_labels_annotations_and_spec_and_nothing_else() -> None:
    deployment = kind("Deployment")
    obj = {**example(deployment), "spec": {"replicas": 2, "unknown": 1, "template": {**copy.deepcopy(POD), "extra": True}}}
    before = copy.deepcopy(obj)
    pod = deployment.pod(obj)
    pod["metadata"]["labels"]["more"] = "1"
    pod["metadata"]["annotations"]["more"] = "2"
    pod["spec"]["containers"].append({"name": "sidecar"})

    result = deployment.with_pod(obj, pod)

    expected = copy.deepcopy(before)
    expected["spec"]["template"]["metadata"]["labels"]["more"] = "1"
    expected["spec"]["template"]["metadata"]["annotations"]["more"] = "2"
    expected["spec"]["template"]["spec"]["containers"].append({"name": "sidecar"})
    assert result == expected
    assert obj == before


def test_a_template_without_metadata_gets_it_above_its_spec() -> None:
    job = kind("Job")
    obj = {"apiVersion": "batch/v1", "kind": "Job", "spec": {"template": {"spec": {"containers": []}}}}
    pod = job.pod(obj)
    pod["metadata"]["annotations"] = {"a": "b"}

    result = job.with_pod(obj, pod)

    assert list(result["spec"]["template"].items()) == [("metadata", {"annotations": {"a": "b"}}), ("spec", {"containers": []})]


@given(st.sampled_from(WORKLOADS[1:]), st.dictionaries(st.text(min_size=1), st.text()), st.booleans())
def test_what_goes_back_comes_out_again(workload: Workload, annotations: dict[str, str], bare: bool) -> None:
    obj = example(workload)
    if bare:
        obj = {**obj, **holding({"spec": {}}, workload.template)}
    pod = workload.pod(obj)
    pod["metadata"]["annotations"] = annotations
    pod["spec"]["hostname"] = "h"

    again = workload.pod(workload.with_pod(obj, pod))

    assert again["spec"] == pod["spec"]
    assert again["metadata"].get("annotations", {}) == annotations
