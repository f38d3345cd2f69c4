"""What the API server refuses of a container because of the rest of its pod."""

from __future__ import annotations

from typing import Any

import pytest

from webhook.errors import MalformedObject
from webhook.objects.meta import Json
from webhook.objects.pod_rules import ANNOTATIONS_LIMIT, annotations_size, breaches


def sleeping(hook: str, seconds: int) -> Json:
    return {"lifecycle": {hook: {"sleep": {"seconds": seconds}}}}


def pod(container: Json, kind: str = "containers", **spec: Any) -> Json:
    return {"spec": {**spec, kind: [{"name": "c", **container}]}}


RESTARTING = {"resizePolicy": [{"resourceName": "cpu", "restartPolicy": "RestartContainer"}]}
WINDOWS = {"securityContext": {"windowsOptions": {"runAsUserName": "x"}}}
ELSEWHERE = {"ports": [{"containerPort": 80, "hostPort": 81}]}


@pytest.mark.parametrize(
    ("given", "field"),
    [
        (pod(sleeping("preStop", 31)), "spec.containers[0].lifecycle.preStop.sleep.seconds"),
        (pod(sleeping("preStop", 30)), None),
        (
            pod(sleeping("postStart", 6), terminationGracePeriodSeconds=5),
            "spec.containers[0].lifecycle.postStart.sleep.seconds",
        ),
        (pod(sleeping("preStop", 60), terminationGracePeriodSeconds=60), None),
        (pod(RESTARTING, restartPolicy="Never"), "spec.containers[0].resizePolicy[0].restartPolicy"),
        (pod(RESTARTING, "initContainers", restartPolicy="Never"), "spec.initContainers[0].resizePolicy[0].restartPolicy"),
        (pod(RESTARTING), None),
        (pod(WINDOWS, os={"name": "linux"}), "spec.containers[0].securityContext.windowsOptions"),
        (pod(WINDOWS), None),
        (pod(ELSEWHERE, hostNetwork=True), "spec.containers[0].ports[0].hostPort"),
        (pod(ELSEWHERE, "initContainers", hostNetwork=True), None),
        (pod({"ports": [{"containerPort": 80}]}, hostNetwork=True), None),
        (pod(ELSEWHERE), None),
    ],
)
def test_a_container_that_does_not_suit_its_pod_is_found(given: Json, field: str | None) -> None:
    assert [one.field for one in breaches(given)] == ([field] if field else [])


def test_annotations_count_together_in_bytes() -> None:
    full = {"k": "é" * ((ANNOTATIONS_LIMIT - 1) // 2)}

    assert annotations_size(full) == ANNOTATIONS_LIMIT - 1
    assert [*breaches({"metadata": {"annotations": full}})] == []
    assert [one.field for one in breaches({"metadata": {"annotations": {**full, "l": "m"}}})] == ["metadata.annotations"]


def test_ports_of_another_type_are_malformed() -> None:
    with pytest.raises(MalformedObject, match="ports"):
        list(breaches(pod({"ports": 5}, hostNetwork=True)))
