"""What was done to a pod is told in the words of a pod."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from controllers.explaining.differences import Change, changes

POD: dict[str, Any] = {
    "metadata": {"name": "web", "labels": {"app": "web"}, "annotations": {"note": "a"}},
    "spec": {
        "containers": [{"name": "app", "image": "app:1", "env": [{"name": "A", "value": "1"}]}],
        "volumes": [{"name": "data", "emptyDir": {}}],
    },
}


def edited(**spec: Any) -> dict[str, Any]:
    pod = copy.deepcopy(POD)
    pod["spec"].update(spec)
    return pod


APP = POD["spec"]["containers"][0]
PROXY = {"name": "proxy", "image": "proxy:1"}


@pytest.mark.parametrize(
    ("after", "expected"),
    [
        (edited(), []),
        (edited(containers=[PROXY, APP]), [Change("added", "container", "proxy", "spec.containers[0]")]),
        (edited(initContainers=[PROXY]), [Change("added", "init container", "proxy", "spec.initContainers[0]")]),
        (
            edited(initContainers=[{**PROXY, "restartPolicy": "Always"}]),
            [Change("added", "native sidecar", "proxy", "spec.initContainers[0]")],
        ),
        (edited(volumes=[]), [Change("removed", "volume", "data", "")]),
        (edited(volumes=None), [Change("removed", "volume", "data", "")]),
        (edited(imagePullSecrets=[{"name": "s"}]), [Change("added", "image pull secret", "s", "spec.imagePullSecrets[0]")]),
        (edited(hostAliases=[{"ip": "127.0.0.1"}]), [Change("added", "host alias", "127.0.0.1", "spec.hostAliases[0]")]),
        (edited(resources={"requests": {}}), [Change("added", "field", "resources", "spec")]),
        (
            edited(
                containers=[
                    {**APP, "image": "app:2", "env": [*APP["env"], {"name": "B"}], "volumeMounts": [{"mountPath": "/x"}]}
                ]
            ),
            [Change("changed", "container", "app", "spec.containers[0]", ("image", "variable B", "mount /x"))],
        ),
        (
            edited(containers=[{"name": "app", "image": "app:1", "ports": [{"containerPort": 80}]}]),
            [Change("changed", "container", "app", "spec.containers[0]", ("port 80", "variable A"))],
        ),
    ],
)
def test_each_difference_is_one_change(after: dict[str, Any], expected: list[Change]) -> None:
    assert list(changes(POD, after)) == expected


def test_labels_and_annotations_are_told_by_key() -> None:
    after = copy.deepcopy(POD)
    after["metadata"] |= {"labels": {"app": "web", "tier": "x"}, "annotations": {"note": "b"}}

    assert list(changes(POD, after)) == [
        Change("added", "label", "tier", "metadata.labels"),
        Change("changed", "annotation", "note", "metadata.annotations"),
    ]
    assert [change.action for change in changes(after, POD)] == ["removed", "changed"]


def test_a_pod_without_anything_may_become_one() -> None:
    assert [change.name for change in changes({}, POD)] == ["app", "note", "app", "data"]


@pytest.mark.parametrize("name", [["a"], {"b": 1}, 3, None])
def test_an_element_whose_name_is_no_text_is_told_as_it_stands_there(name: Any) -> None:
    (change,) = changes(POD, edited(containers=[APP, {"name": name, "image": "x:1"}]))

    assert change == Change("added", "container", str(name), "spec.containers[1]")


def test_a_variable_whose_name_is_no_text_is_told_as_well() -> None:
    (change,) = changes(POD, edited(containers=[{**APP, "env": [{"name": ["A"]}, {"name": "A", "value": "1"}]}]))

    assert change.details == ("variable ['A']",)
