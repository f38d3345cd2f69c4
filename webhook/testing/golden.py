"""Golden cases: one YAML file says what is given, what is asked and what is expected.

    given:   {now: "2026-11-29T10:00:00Z", nodes: [{name: edge-1}], pods: [{name: web-1}], votes: {maxAge: 60s}}
    request: {path: /endpoint, operation: UPDATE, resource: endpoints, object: {…}, oldObject: {…}}
    expect:  {object: {…}, reason: AddressesKeptReady}

The module `given` describes `given`. `expect.object` absent means that nothing changes; `status` other than 200 means that it
cannot be decided. `expect.warning` is a part of a warning, or a list of such parts; without it there must be no warning.
Every case proves five things: the answer is the expected one; the patch applies (jsonpatch) and yields `expect.object`; a
second pass changes nothing; v1 and v1beta1 agree; apiVersion, kind and uid are echoed. A case fails by AssertionError.

Rules of one's own take part when they are given, under the names of their entry points; with a single one `path` may be absent.
What they make of a pod must besides be what the API server can decode: a patch that it cannot refuses the request even under
failurePolicy Ignore.

    @pytest.mark.parametrize("case", golden_cases(Path(__file__).parent / "cases"), ids=lambda case: case.stem)
    def test_golden_case(case: Path) -> None:
        run_golden_case(case, rules={"inherit-owner": plugin})
"""

from __future__ import annotations

import base64
import copy
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import attrs
import msgspec

from webhook.admission.call import Call, Reply
from webhook.admission.gate import Gate
from webhook.admission.plugin import RulePlugin, check_settings, service_of
from webhook.admission.registry import taken
from webhook.admission.review import VERSIONS
from webhook.admission.sections import read as read_settings
from webhook.admission.service import Service
from webhook.admission.verify import apply
from webhook.clock import Clock
from webhook.cluster import Cluster
from webhook.objects import meta, schema
from webhook.objects.documents import read_documents
from webhook.objects.faults import Faults, dotted
from webhook.objects.meta import Json
from webhook.telemetry import Telemetry
from webhook.testing.facts import StaticNodes
from webhook.testing.given import Given, known

Send = Callable[[Call], Reply]
Mount = Callable[[Gate, Clock], Send]  # how a call reaches the gate: directly, through wsgiref, over TLS

UID = "0f4d1c5e-7a5d-4e0e-9a53-3d5a1f1c9b10"


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


def golden_cases(folder: Path) -> list[Path]:
    """Every case below *folder*, in order. Raises AssertionError when there is none: a wrong folder is no success."""
    found = sorted(folder.rglob("*.yaml"))
    assert found, f"{folder}: holds no *.yaml"
    return found


def run_golden_case(file: Path, rules: Mapping[str, RulePlugin[Any]] | None = None) -> None:
    """Run the case in *file* with *rules* of one's own, by the names of their entry points.

    Raises AssertionError when it does not hold, DocumentError when it cannot be read, PluginError when a rule cannot be used.
    """
    run(file, rules=rules)


def run(file: Path, mount: Mount = directly, rules: Mapping[str, RulePlugin[Any]] | None = None) -> None:
    """As `run_golden_case`; *mount* says how calls reach the gate."""
    (document,) = read_documents(file.read_bytes(), file.name)
    case = document.value
    known(case, "given", "request", "expect")
    given, request, expect = case.get("given") or {}, case["request"], case["expect"]
    known(expect, "status", "message", "allowed", "object", "reason", "warning", "confirmed")
    read = Given.read(given)
    services = list(_services(rules or {}, given.get("rules") or {}))
    if "path" not in request and len(services) == 1:
        request = request | {"path": services[0].path}
    settings = attrs.evolve(read.settings, plugins=tuple(services), watch_rules=True)
    clock = FixedClock(read.now_s)
    outcomes = []
    for version in VERSIONS:
        cluster = read.cluster()
        send = mount(Gate(settings, cluster, Telemetry(), clock), clock)
        outcome = _ask(send, request, version)
        _check(outcome, request, expect, version, cluster)
        if outcome.object is not None and outcome.object != request.get("object"):
            _check_second_pass(send, request, outcome.object, version)
            if services:
                _check_decodable(request, outcome.object)
        outcomes.append(outcome)
    assert _comparable(outcomes[0]) == _comparable(outcomes[1]), "v1 and v1beta1 disagree"


def _services(rules: Mapping[str, RulePlugin[Any]], settings: Json) -> Iterator[Service]:
    known(settings, *rules)
    words = taken()
    for name, plugin in rules.items():
        origin = f"rule {name}"
        check_settings(plugin.settings, origin)
        try:
            values = read_settings(plugin.settings, settings.get(name))
        except Faults as error:
            raise AssertionError(f"given.rules.{name}: {error}") from error
        service = service_of(name, plugin, values, origin, words)
        words |= {service.name: origin, service.path: origin}
        yield service


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
        assert expect["message"] in _message(outcome.reply), outcome.reply.body
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
        wanted, warnings = expect["warning"], response.get("warnings", [])
        for part in [wanted] if isinstance(wanted, str) else wanted:
            assert any(part in warning for warning in warnings), warnings
    else:
        assert "warnings" not in response, response["warnings"]
    if "confirmed" in expect:
        assert isinstance(cluster.nodes, StaticNodes)
        assert cluster.nodes.confirmed == expect["confirmed"]


def _message(reply: Reply) -> str:
    """What a refusal, or a review that could not be decided, says."""
    answer = msgspec.json.decode(reply.body)
    status = answer.get("response", {}).get("status", {}) if reply.status == 200 else answer
    return str(status.get("message", ""))


def _check_decodable(request: Json, patched: Json) -> None:
    """That the API server can decode what became of a pod: what did not fit before is the case's own business."""
    if request.get("resource") != "pods":
        return
    before, after = _misfits(request["object"]), _misfits(patched)
    assert after <= before, f"the API server could not decode the patched pod: {'; '.join(sorted(after - before))}"


def _misfits(pod: Json) -> set[str]:
    for read in (meta.labels_of, meta.annotations_of):
        read(pod)  # raises MalformedObject
    spec = pod.get("spec") or {}
    return {f"{dotted(one.path)} {one.message}" for one in schema.check(spec, schema.named("PodSpec"), ("spec",))}


def _check_second_pass(send: Send, request: Json, patched: Json, version: str) -> None:
    again = _ask(send, request | {"object": patched}, version)
    assert again.object == patched, "a second pass changes the object again"


def _comparable(outcome: Outcome) -> tuple[int, Any, Any]:
    return outcome.reply.status, outcome.review.get("response"), outcome.object


def _review(request: Json, version: str) -> Json:
    known(
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
