"""Whatever arrives, the gate gives a patch that applies or a clear error, and never an exception of ours."""

from __future__ import annotations

import base64
import json
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from webhook.admission.call import Call
from webhook.admission.gate import Gate
from webhook.admission.settings import Settings
from webhook.admission.verify import apply
from webhook.cluster import Status
from webhook.telemetry import Telemetry
from webhook.testing import facts, golden

NAMES = st.sampled_from(["edge-1", "edge-2", "cloud-1", ""])
JUNK = (
    st.none() | st.booleans() | st.integers() | st.text(max_size=3) | st.lists(st.integers(), max_size=2) | st.just({"a": {}})
)


def or_junk(strategy: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Mostly well-formed, sometimes of a type that the API forbids."""
    return st.integers(0, 19).flatmap(lambda n: JUNK if n == 0 else strategy)


def record(**fields: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return or_junk(st.fixed_dictionaries({}, optional={key: or_junk(value) for key, value in fields.items()}))


CONDITION = record(
    type=st.sampled_from(["Ready", "ContainersReady", "Initialized"]),
    status=st.sampled_from(["True", "False", "Unknown", "maybe"]),
    lastTransitionTime=st.sampled_from(["2026-11-29T09:59:00Z", "yesterday", ""]),
)
METADATA = record(
    name=NAMES,
    namespace=st.just("shop"),
    labels=st.dictionaries(st.text(max_size=3), st.text(max_size=3), max_size=2),
    annotations=st.dictionaries(st.just("superedgehealth/node-health"), st.sampled_from(["true", "false"])),
    deletionTimestamp=st.just("2026-11-29T09:59:00Z"),
)
STATUS = record(conditions=st.lists(CONDITION, max_size=4), phase=st.just("Running"))
TARGET = record(
    kind=st.sampled_from(["Pod", "Node"]), namespace=st.just("shop"), name=st.just("web-1"), uid=st.just("uid-web-1")
)
ADDRESS = record(ip=st.just("10.0.0.1"), nodeName=NAMES, targetRef=TARGET)
ENDPOINT = record(
    addresses=st.lists(st.just("10.0.0.1"), max_size=2),
    nodeName=NAMES,
    targetRef=TARGET,
    conditions=record(ready=st.booleans(), serving=st.booleans(), terminating=st.booleans()),
)
TAINT = record(
    key=st.sampled_from(["node.kubernetes.io/unreachable", "x"]), effect=st.sampled_from(["NoExecute", "NoSchedule"])
)
OBJECTS = {
    ("/node-taint", "", "nodes", ""): record(
        metadata=METADATA, spec=record(taints=st.lists(TAINT, max_size=3), unschedulable=st.booleans()), status=STATUS
    ),
    ("/endpoint", "", "endpoints", ""): record(
        metadata=METADATA,
        subsets=st.lists(
            record(addresses=st.lists(ADDRESS, max_size=3), notReadyAddresses=st.lists(ADDRESS, max_size=3)), max_size=3
        ),
    ),
    ("/endpoint", "discovery.k8s.io", "endpointslices", ""): record(
        metadata=METADATA, endpoints=st.lists(ENDPOINT, max_size=3)
    ),
    ("/pod-status", "", "pods", "status"): record(metadata=METADATA, spec=record(nodeName=NAMES), status=STATUS),
}


def make_gate() -> tuple[Gate, Telemetry]:
    cluster = facts.cluster(
        [facts.node_facts("edge-1"), facts.node_facts("edge-2", ready=Status.TRUE)],
        [facts.pod_facts("web-1")],
        live=[facts.node_facts("edge-2")],
    )
    telemetry = Telemetry()
    clock = golden.FixedClock(60.0)
    return Gate(Settings(verify_patches=True), cluster, telemetry, clock), telemetry


def review(group: str, resource: str, subresource: str, obj: Any, old: Any) -> bytes:
    request = {
        "uid": "u-1",
        "resource": {"group": group, "version": "v1", "resource": resource},
        "subResource": subresource,
        "name": "n",
        "operation": "UPDATE",
        "userInfo": {"username": "system:serviceaccount:kube-system:node-controller"},
        "object": obj,
        "oldObject": old,
    }
    return json.dumps({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}).encode()


@pytest.mark.parametrize("key", OBJECTS, ids=lambda key: "/".join(filter(None, key[1:])))
@settings(max_examples=300, suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(data=st.data())
def test_any_object_gives_a_patch_that_applies_or_a_clear_error(key: tuple[str, str, str, str], data: st.DataObject) -> None:
    path, group, resource, subresource = key
    obj, old = data.draw(OBJECTS[key]), data.draw(st.none() | OBJECTS[key])
    gate, telemetry = make_gate()

    reply = gate.answer(
        Call("POST", path, "timeout=3s", "application/json", review(group, resource, subresource, obj, old), 1000.0)
    )

    assert reply.status in (200, 400), reply.body
    assert b"gatehouse_admission_patch_misfits_total 1" not in telemetry.expose()
    if reply.status == 400:
        assert msgspec.json.decode(reply.body)["message"].startswith("gatehouse: ")
        return
    response = msgspec.json.decode(reply.body)["response"]
    assert response["allowed"] is True, "a service that guards availability never refuses"
    if "patch" in response:
        apply(obj, [*msgspec.json.decode(base64.b64decode(response["patch"]))])


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=200) | st.text(max_size=200).map(lambda text: text.encode("utf-8", "surrogatepass")))
def test_any_bytes_give_a_clear_400(body: bytes) -> None:
    gate, _ = make_gate()

    reply = gate.answer(Call("POST", "/node-taint", "", "application/json", body, 1000.0))

    assert reply.status == 400
    assert msgspec.json.decode(reply.body)["reason"] in ("BadRequest", "MalformedObject")


@pytest.mark.parametrize("depth", [100, 900, 960, 980, 990, 1000, 10_000])
def test_any_depth_is_answered_or_refused(depth: int) -> None:
    deep = b'{"a":' * depth + b"1" + b"}" * depth
    body = review("", "nodes", "", {"metadata": {"name": "edge-1"}, "spec": "DEEP"}, None).replace(b'"DEEP"', deep)
    gate, _ = make_gate()

    reply = gate.answer(Call("POST", "/node-taint", "", "application/json", body, 1000.0))

    assert reply.status in ((200,) if depth <= 100 else (200, 400)), reply.body
