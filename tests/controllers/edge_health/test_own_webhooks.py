"""The controller's writes as our own admission services see them: every one passes as it was sent."""

from __future__ import annotations

import base64
import copy
import json
from typing import Any

import pytest

from controllers.edge_health.plan import Cause, LetPodGo, RestorePod
from controllers.testing.patches import json_patch
from tests.controllers.edge_health.builders import EVICTING, TWIN, WALL_S, Json, after, node, pod, without_taint
from webhook.admission.call import Call
from webhook.admission.gate import Gate
from webhook.admission.settings import Settings
from webhook.cluster import NodeFacts, Status, Vote
from webhook.objects.votes import VotePolicy
from webhook.telemetry import Telemetry
from webhook.testing.facts import cluster, node_facts
from webhook.testing.golden import FixedClock

TIMED = VotePolicy(time_annotation="example.com/voted-at", max_age_s=60.0)
GUARDED = node_facts(ready_since_s=WALL_S - 90.0)
UNHEALTHY = node_facts(ready_since_s=WALL_S - 90.0, vote=Vote.UNHEALTHY)
RETURNED = node_facts(ready=Status.TRUE, ready_since_s=WALL_S - 90.0)


def admitted(path: str, resource: str, old: Json, new: Json, seen: NodeFacts, policy: VotePolicy = VotePolicy()) -> Json:
    """*new* after a review in which the replica's cache has the node as *seen*."""
    gate = Gate(Settings(votes=policy, verify_patches=True), cluster([seen], live=[seen]), Telemetry(), FixedClock(WALL_S))
    plural, _, subresource = resource.partition("/")
    request: Json = {
        "uid": "1",
        "kind": {"group": "", "version": "v1", "kind": new["kind"]},
        "resource": {"group": "", "version": "v1", "resource": plural},
        "subResource": subresource,
        "name": new["metadata"]["name"],
        "namespace": new["metadata"].get("namespace", ""),
        "operation": "UPDATE",
        "userInfo": {
            "username": "system:serviceaccount:kube-system:gatehouse",
            "groups": ["system:serviceaccounts", "system:serviceaccounts:kube-system", "system:authenticated"],
        },
        "object": new,
        "oldObject": old,
    }
    review = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}
    reply = gate.answer(Call("POST", path, "timeout=3s", "application/json", json.dumps(review).encode(), 1000.0))
    response: Json = json.loads(reply.body)["response"]
    assert response["allowed"] is True
    if "patch" not in response:
        return new
    changed: Json = json_patch(new, json.loads(base64.b64decode(response["patch"])))
    return changed


def written(step: RestorePod | LetPodGo, ready: str) -> tuple[Json, Json]:
    """A pod before and after *step*."""
    old = pod(ready=ready, uid="uid-1", resourceVersion="7")
    new = after(step, old)
    assert new is not None
    return old, new


@pytest.mark.parametrize(
    ("seen", "policy"),
    [
        (UNHEALTHY, VotePolicy()),
        (node_facts(ready_since_s=WALL_S - 90.0, vote=Vote.UNKNOWN), VotePolicy()),
        (node_facts(ready_since_s=WALL_S - 90.0, vote_time_s=WALL_S - 80.0), TIMED),
    ],
    ids=["unhealthy", "taken back", "expired"],
)
def test_a_pod_that_is_let_go_stays_let_go(seen: NodeFacts, policy: VotePolicy) -> None:
    old, new = written(LetPodGo("shop", "web-1", "uid-1"), "True")

    assert admitted("/pod-status", "pods/status", old, new, seen, policy) == new


def test_a_replica_whose_cache_has_the_former_vote_puts_ready_back_which_the_controller_notices() -> None:
    old, new = written(LetPodGo("shop", "web-1", "uid-1"), "True")

    assert admitted("/pod-status", "pods/status", old, new, GUARDED) == old


@pytest.mark.parametrize("seen", [GUARDED, RETURNED, UNHEALTHY], ids=["guarded", "returned", "unhealthy"])
def test_a_restored_pod_stays_restored(seen: NodeFacts) -> None:
    old, new = written(RestorePod("shop", "web-1", "uid-1", Cause.GUARDED), "False")

    assert admitted("/pod-status", "pods/status", old, new, seen) == new


@pytest.mark.parametrize("vote", ["true", "false"])
def test_a_removed_taint_stays_removed(vote: str) -> None:
    old = node("edge-1", TWIN, EVICTING, vote=vote)
    new: Any = json_patch(copy.deepcopy(old) | {"metadata": old["metadata"] | {"uid": "u", "resourceVersion": "1"}}, [])
    new = without_taint(new)

    assert admitted("/node-taint", "nodes", old, new, GUARDED) == new
