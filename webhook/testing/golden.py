"""Golden cases: one YAML file says what is given, what is asked and what is expected.

    given:   {now: "2026-11-29T10:00:00Z", nodes: [{name: edge-1}], pods: [{name: web-1}], votes: {maxAge: 60s}}
    request: {path: /endpoint, operation: UPDATE, resource: endpoints, object: {…}, oldObject: {…}}
    expect:  {object: {…}, reason: AddressesKeptReady}

`given` takes the keyword arguments of `facts.node_facts` and `facts.pod_facts` in camelCase; `live` is what a live read finds.
`expect.object` absent means that nothing changes; `status` other than 200 means that it cannot be decided.
Every case proves five things: the answer is the expected one; the patch applies (jsonpatch) and yields `expect.object`; a
second pass changes nothing; v1 and v1beta1 agree; apiVersion, kind and uid are echoed. A case fails by AssertionError.
"""

from __future__ import annotations

import base64
import copy
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import attrs
import msgspec

from webhook.admission.call import Call, Reply
from webhook.admission.gate import Gate
from webhook.admission.review import VERSIONS
from webhook.admission.settings import Settings
from webhook.admission.verify import apply
from webhook.clock import Clock
from webhook.cluster import Cluster, NodeFacts, PodFacts, Status, Vote
from webhook.objects.documents import read_documents
from webhook.objects.durations import parse_duration_s
from webhook.objects.meta import Json, parse_time_s
from webhook.objects.selectors import Selector
from webhook.objects.votes import Protocol, VotePolicy
from webhook.telemetry import Telemetry
from webhook.testing import facts

Send = Callable[[Call], Reply]
Mount = Callable[[Gate, Clock], Send]  # how a call reaches the gate: directly, through wsgiref, over TLS

UID = "0f4d1c5e-7a5d-4e0e-9a53-3d5a1f1c9b10"
NOW = "2026-11-29T10:00:00Z"


@attrs.frozen
class FixedClock:
    """A clock that stands still at *now_s* seconds since the epoch."""

    now_s: float

    def monotonic_s(self) -> float:
        return 1000.0

    def wall_s(self) -> float:
        return self.now_s

    def wait(self, event: Any, timeout_s: float) -> bool:
        return bool(event.is_set())


@attrs.frozen
class Outcome:
    """One answer, taken apart."""

    reply: Reply
    review: Json  # {} when it could not be decided
    object: Json | None  # after the patch


def directly(gate: Gate, clock: Clock) -> Send:
    """Calls the gate without any transport."""
    return gate.answer


def run(file: Path, mount: Mount = directly) -> None:
    """Run the case in *file*. Raises AssertionError when it does not hold, DocumentError when it cannot be read."""
    (document,) = read_documents(file.read_bytes(), file.name)
    case = document.value
    _known(case, "given", "request", "expect")
    given, request, expect = case.get("given") or {}, case["request"], case["expect"]
    _known(given, "now", "nodes", "live", "pods", "votes")
    _known(expect, "status", "message", "allowed", "object", "reason", "warning", "confirmed")
    clock = FixedClock(_seconds(given.get("now", NOW)))
    settings = Settings(votes=_votes(given.get("votes") or {}), verify_patches=True)
    outcomes = []
    for version in VERSIONS:
        cluster = _cluster(given)
        send = mount(Gate(settings, cluster, Telemetry(), clock), clock)
        outcome = _ask(send, request, version)
        _check(outcome, request, expect, version, cluster)
        if outcome.object is not None and outcome.object != request.get("object"):
            _check_second_pass(send, request, outcome.object, version)
        outcomes.append(outcome)
    assert _comparable(outcomes[0]) == _comparable(outcomes[1]), "v1 and v1beta1 disagree"


def _ask(send: Send, request: Json, version: str) -> Outcome:
    body = request.get("body")
    sent = msgspec.json.encode(_review(request, version)) if body is None else body.encode()
    call = Call(
        request.get("method", "POST"),
        request.get("path", ""),
        request.get("query", "timeout=3s"),
        request.get("contentType", "application/json"),
        sent,
        1000.0,
    )
    reply = send(call)
    review = msgspec.json.decode(reply.body) if reply.status == 200 else {}
    response = review.get("response", {})
    result = copy.deepcopy(request.get("object"))
    if "patch" in response:
        assert response.get("patchType") == "JSONPatch", "a patch without patchType is a call error"
        operations = msgspec.json.decode(base64.b64decode(response["patch"]))
        assert {operation["op"] for operation in operations} <= {"add", "replace", "remove"}
        result = apply(result, operations)
    else:
        assert "patchType" not in response, "patchType without a patch is a call error"
    return Outcome(reply, review, result)


def _check(outcome: Outcome, request: Json, expect: Json, version: str, cluster: Cluster) -> None:
    status = expect.get("status", 200)
    assert outcome.reply.status == status, f"HTTP {outcome.reply.status}: {outcome.reply.body[:300]!r}"
    if "message" in expect:
        assert expect["message"] in outcome.reply.body.decode(), outcome.reply.body
    if status != 200:
        return
    assert outcome.review["apiVersion"] == version
    assert outcome.review["kind"] == "AdmissionReview"
    response = outcome.review["response"]
    assert response["uid"] == UID
    assert response["allowed"] is expect.get("allowed", True), response
    assert outcome.object == expect.get("object", request.get("object")), msgspec.json.format(
        msgspec.json.encode(outcome.object)
    ).decode()
    if "object" not in expect:
        assert "patch" not in response, "nothing should change, not even by an empty patch"
    if "reason" in expect:
        reasons = [value.partition(":")[0] for value in response["auditAnnotations"].values()]
        assert expect["reason"] in reasons, response["auditAnnotations"]
    if "warning" in expect:
        assert any(expect["warning"] in warning for warning in response.get("warnings", [])), response.get("warnings")
    else:
        assert "warnings" not in response, response["warnings"]
    if "confirmed" in expect:
        assert isinstance(cluster.nodes, facts.StaticNodes)
        assert cluster.nodes.confirmed == expect["confirmed"]


def _check_second_pass(send: Send, request: Json, patched: Json, version: str) -> None:
    again = _ask(send, request | {"object": patched}, version)
    assert again.object == patched, "a second pass changes the object again"


def _comparable(outcome: Outcome) -> tuple[int, Any, Any]:
    return outcome.reply.status, outcome.review.get("response"), outcome.object


def _review(request: Json, version: str) -> Json:
    _known(
        request, "path", "query", "method", "contentType", "body", "resource", "operation", "object", "oldObject", "user", "raw"
    )
    name, _, subresource = request.get("resource", "").partition("/")
    plural, _, group = name.partition(".")
    obj = request.get("object") or request.get("oldObject")
    metadata = (obj.get("metadata") if isinstance(obj, dict) else None) or {}
    sent: Json = {
        "uid": UID,
        "kind": {"group": group, "version": "v1", "kind": "Any"},
        "resource": {"group": group, "version": "v1", "resource": plural},
        "subResource": subresource,
        "name": metadata.get("name", ""),
        "namespace": metadata.get("namespace", ""),
        "operation": request.get("operation", "UPDATE"),
        "userInfo": request.get("user", {"username": "system:serviceaccount:kube-system:node-controller", "groups": []}),
        "object": request.get("object"),
        "oldObject": request.get("oldObject"),
        "dryRun": False,
        "options": None,
    }
    return {"apiVersion": version, "kind": "AdmissionReview", "request": sent | request.get("raw", {})}


def _cluster(given: Json) -> Cluster:
    nodes = [_node(value) for value in given.get("nodes") or []]
    live = [_node(value) for value in given.get("live") or []]
    return facts.cluster(nodes, [_pod(value) for value in given.get("pods") or []], live)


def _node(value: Mapping[str, Any]) -> NodeFacts:
    node = {
        "name": value["name"],
        "ready": _status(value.get("ready", "Unknown")),
        "vote": Vote(value.get("vote", "healthy")),
        "ready_since_s": _seconds(value.get("readySince", "2026-11-29T09:59:00Z")),
        "vote_time_s": _seconds(value["voteTime"]) if "voteTime" in value else None,
        "labels": value.get("labels") or {},
    }
    _known(value, "name", "ready", "vote", "readySince", "voteTime", "labels")
    return facts.node_facts(**node)


def _pod(value: Mapping[str, Any]) -> PodFacts:
    _known(
        value, "name", "namespace", "node", "uid", "phase", "deleting", "ready", "readyReason", "containersReady", "gatesMet"
    )
    names = {"gatesMet": "gates_met", "readyReason": "ready_reason", "containersReady": "containers_ready"}
    pod = {names.get(key, key): item for key, item in value.items()}
    for condition in ("ready", "containers_ready"):
        if condition in pod:
            pod[condition] = _status(pod[condition])
    return facts.pod_facts(**pod)


def _votes(value: Mapping[str, Any]) -> VotePolicy:
    _known(value, "protocol", "timeAnnotation", "maxAge", "maxGuard", "nodeSelector", "alwaysReachable")
    return VotePolicy(
        protocol=Protocol(value.get("protocol", "annotation")),
        time_annotation=value.get("timeAnnotation", ""),
        max_age_s=parse_duration_s(value.get("maxAge", "0s")),
        max_guard_s=parse_duration_s(value.get("maxGuard", "24h")),
        node_selector=Selector.from_object(value.get("nodeSelector") or {}),
        always_reachable=value.get("alwaysReachable", False),
    )


def _status(value: str | None) -> Status | None:
    return None if value is None else Status(value)


def _seconds(value: str) -> float:
    seconds = parse_time_s(value)
    assert seconds is not None, f"{value!r} is not an RFC 3339 time"
    return seconds


def _known(value: Mapping[str, Any], *keys: str) -> None:
    assert set(value) <= set(keys), f"unknown keys {set(value) - set(keys)}"
