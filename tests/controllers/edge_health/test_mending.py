"""The patches: one thing changes, nothing that somebody wrote in between is overwritten."""

from __future__ import annotations

from typing import Any

import pytest

from controllers.edge_health.mending import has_status, ready_patch, taint_operations
from controllers.edge_health.plan import Cause, LetPodGo, RestorePod
from controllers.runtime.projection import nodes_resource, pods_resource
from controllers.testing.patches import PatchRefused, json_patch
from tests.controllers.edge_health.builders import (
    EVICTING,
    OTHER,
    TWIN,
    WALL_S,
    Json,
    after,
    at,
    condition,
    node,
    pod,
    without_taint,
)
from webhook.cluster import Status
from webhook.objects.votes import VotePolicy

RESTORE = RestorePod("shop", "web-1", "uid-1", Cause.GUARDED)
FORGOTTEN = RestorePod("shop", "web-1", "uid-1", Cause.FORGOTTEN)
LET_GO = LetPodGo("shop", "web-1", "uid-1")


def stored(obj: Json) -> Json:
    return obj | {"metadata": obj["metadata"] | {"uid": "uid-1", "resourceVersion": "7"}}


def test_only_evicting_taints_leave_the_node_and_the_others_keep_their_order() -> None:
    seen = stored(node("edge-1", TWIN, EVICTING, OTHER, EVICTING | {"value": "again"}))

    patched = without_taint(seen)

    assert patched == seen | {"spec": {"taints": [TWIN, OTHER]}}


@pytest.mark.parametrize("changed", [{"resourceVersion": "8"}, {"uid": "uid-2"}])
def test_a_taint_patch_does_not_apply_to_what_somebody_wrote_since(changed: Json) -> None:
    seen = stored(node("edge-1", EVICTING))
    operations = taint_operations(nodes_resource(VotePolicy()).projection.convert(seen))

    with pytest.raises(PatchRefused):
        json_patch(seen | {"metadata": seen["metadata"] | changed}, operations)


def test_a_node_without_the_taint_needs_no_patch() -> None:
    assert taint_operations(nodes_resource(VotePolicy()).projection.convert(stored(node("edge-1", TWIN)))) == []


def test_a_pods_patch_names_what_it_was_made_of() -> None:
    patch = ready_patch(pods_resource().projection.convert(stored(pod())), RESTORE, WALL_S)

    assert patch is not None
    assert patch["metadata"] == {"uid": "uid-1", "resourceVersion": "7"}


@pytest.mark.parametrize(("step", "ready", "status"), [(RESTORE, "False", "True"), (LET_GO, "True", "False")])
def test_of_a_pod_only_the_ready_status_and_its_time_change(step: RestorePod | LetPodGo, ready: str, status: str) -> None:
    seen = stored(pod(ready=ready, reason="" if ready == "False" else "Kept"))

    patched = after(step, seen, WALL_S + 0.9)

    assert patched is not None
    assert condition(patched) == condition(seen) | {"status": status, "lastTransitionTime": at(WALL_S)}
    condition(patched).update(condition(seen))
    assert patched == seen


@pytest.mark.parametrize(
    "changes",
    [
        {"uid": "uid-2"},
        {"ready": "True"},
        {"containers_ready": "False"},
        {"gate": "False"},
        {"phase": "Failed"},
        {"deletionTimestamp": at(WALL_S)},
    ],
    ids=str,
)
def test_a_pod_that_has_changed_since_the_plan_is_not_made_ready(changes: dict[str, Any]) -> None:
    assert after(RESTORE, stored(pod()) | pod(**{"uid": "uid-1", **changes})) is None


def test_a_pod_whose_gates_pass_is_made_ready() -> None:
    assert after(RESTORE, stored(pod(gate="True"))) is not None


def test_what_a_kubelet_says_of_its_own_accord_is_not_overruled_on_a_node_that_is_back() -> None:
    waiting = stored(pod(gate="True", reason="ReadinessGatesNotReady"))

    assert after(FORGOTTEN, waiting) is None
    assert after(FORGOTTEN, stored(pod(gate="True"))) is not None


def test_a_pod_without_a_ready_condition_is_left_alone() -> None:
    bare = stored(pod())
    bare["status"]["conditions"] = []

    assert after(LET_GO, bare) is None


def test_whether_a_write_was_overruled_shows_in_the_answer() -> None:
    assert has_status(pod(ready="True"), Status.TRUE)
    assert not has_status(pod(ready="True"), Status.FALSE)
