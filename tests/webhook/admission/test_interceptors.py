"""What stands before every service: routes, deadlines, limits, callers, faults."""

from __future__ import annotations

import threading
from typing import ClassVar

import attrs
import msgspec
import pytest

from webhook.admission.call import Call, Reply
from webhook.admission.draft import Draft
from webhook.admission.gate import Gate
from webhook.admission.registry import by_name
from webhook.admission.review import AdmissionRequest, Denial
from webhook.admission.service import Context, Rule, Service, Verdict
from webhook.admission.settings import Settings
from webhook.names import Reason
from webhook.telemetry import Telemetry
from webhook.testing import facts

BODY = msgspec.json.encode(
    {
        "apiVersion": "admission.k8s.io/v1",
        "kind": "AdmissionReview",
        "request": {
            "uid": "u-1",
            "resource": {"group": "", "version": "v1", "resource": "nodes"},
            "name": "edge-1",
            "operation": "UPDATE",
            "object": {"metadata": {"name": "edge-1"}},
        },
    }
)


@attrs.define
class SteppingClock:
    """A clock that is moved by hand."""

    now_s: float = 1000.0

    def monotonic_s(self) -> float:
        return self.now_s

    def wall_s(self) -> float:
        return self.now_s

    def wait(self, event: threading.Event, timeout_s: float) -> bool:
        self.now_s += timeout_s
        return event.is_set()


def service_of(rule: Rule, **options: object) -> Service:
    """The node-taint service with *rule* in the place of its own."""
    return attrs.evolve(by_name("node-taint"), build=lambda settings, cluster: (rule,), **options)


def gate_of(*services: Service, clock: SteppingClock | None = None, telemetry: Telemetry | None = None, **options) -> Gate:
    settings = options.pop("settings", Settings())
    return Gate(settings, facts.cluster(), telemetry or Telemetry(), clock or SteppingClock(), services=services, **options)


def call(**changes: object) -> Call:
    return msgspec.structs.replace(Call("POST", "/node-taint", "timeout=3s", "application/json", BODY, 1000.0), **changes)


def message(reply: Reply) -> str:
    return msgspec.json.decode(reply.body)["message"]


class Refuse:
    """A rule that refuses, after an edit."""

    name: ClassVar[str] = "refuse"

    def __call__(self, request: AdmissionRequest, draft: Draft, context: Context) -> Verdict:
        draft.set(("metadata", "labels", "seen"), "yes")
        return Verdict(Reason.GUARDED, "why", Denial(403, "Forbidden", "node edge-1: 9 exceeds 8"), ("mind the gap",))


class Label:
    """A rule that edits."""

    name: ClassVar[str] = "label"

    def __call__(self, request: AdmissionRequest, draft: Draft, context: Context) -> Verdict:
        draft.set(("metadata", "labels", "seen"), "yes")
        return Verdict(Reason.GUARDED)


class Crash:
    """A rule with a fault."""

    name: ClassVar[str] = "crash"

    def __call__(self, request: AdmissionRequest, draft: Draft, context: Context) -> Verdict:
        raise KeyError("secret")


def test_a_refusal_is_http_200_with_status_and_no_patch() -> None:
    reply = gate_of(service_of(Refuse(), guards_availability=False)).answer(call())

    response = msgspec.json.decode(reply.body)["response"]
    assert reply.status == 200
    assert response["allowed"] is False
    assert response["status"] == {
        "status": "Failure",
        "message": "node edge-1: 9 exceeds 8",
        "reason": "Forbidden",
        "code": 403,
    }
    assert "patch" not in response
    assert response["warnings"] == ["gatehouse: mind the gap"]


def test_a_service_that_guards_availability_never_refuses() -> None:
    reply = gate_of(service_of(Refuse(), guards_availability=True)).answer(call())

    assert msgspec.json.decode(reply.body)["response"]["allowed"] is True


def test_an_exception_is_500_and_never_a_denial_and_tells_nothing() -> None:
    telemetry = Telemetry()
    reply = gate_of(service_of(Crash()), telemetry=telemetry).answer(call())

    assert reply.status == 500
    assert "secret" not in reply.body.decode()
    assert b"controller_runtime_webhook_panics_total 1.0" in telemetry.expose()


def test_later_rules_see_the_edits_of_earlier_ones() -> None:
    seen: list[object] = []

    class Look:
        name: ClassVar[str] = "look"

        def __call__(self, request: AdmissionRequest, draft: Draft, context: Context) -> Verdict:
            seen.append(draft.object["metadata"]["labels"])
            return Verdict(Reason.NOTHING_TO_DO)

    service = attrs.evolve(by_name("node-taint"), build=lambda settings, cluster: (Label(), Look()))
    gate_of(service).answer(call())

    assert seen == [{"seen": "yes"}]


@pytest.mark.parametrize(
    ("query", "accepted_s", "status"),
    [
        ("timeout=3s", 1000.0, 200),
        ("timeout=3s", 997.2, 504),  # 2.8 s have gone, and the way back needs a quarter of a second
        ("timeout=10s", 997.2, 200),
        ("timeout=1s", 999.2, 504),
        ("timeout=100ms", 999.94, 504),
        ("", 997.2, 504),  # the service's own 3 s
        ("timeout=soon", 997.2, 504),
        ("timeout=-5s", 997.2, 504),
        ("timeout=1000h", 969.0, 504),  # nobody may ask for more than 30 s
        ("timeout=%zz&&;", 1000.0, 200),
    ],
)
def test_the_deadline_counts_from_accept_and_leaves_a_margin(query: str, accepted_s: float, status: int) -> None:
    assert gate_of(service_of(Label())).answer(call(query=query, accepted_s=accepted_s)).status == status


def test_a_decision_that_comes_too_late_is_504() -> None:
    clock = SteppingClock()

    class Slow:
        name: ClassVar[str] = "slow"

        def __call__(self, request: AdmissionRequest, draft: Draft, context: Context) -> Verdict:
            assert context.deadline.remaining_s() == pytest.approx(2.75)
            clock.now_s += 3
            return Verdict(Reason.NOTHING_TO_DO)

    assert gate_of(service_of(Slow()), clock=clock).answer(call()).status == 504


def test_draining_sends_callers_to_another_replica() -> None:
    gate = gate_of(service_of(Label()))
    gate.drain()

    reply = gate.answer(call())

    assert (reply.status, reply.close) == (503, True)
    assert ("Retry-After", "1") in reply.headers


def test_a_service_waits_only_for_the_caches_that_it_reads() -> None:
    synced = {"nodes"}
    gate = gate_of(by_name("node-taint"), by_name("endpoint"), synced=lambda cache: cache in synced)

    assert gate.answer(call()).status == 200
    reply = gate.answer(call(path="/endpoint"))
    assert (reply.status, reply.close) == (503, True)
    assert "pods cache has not synced" in message(reply)


def test_beyond_the_limit_a_caller_gets_503_at_once_and_the_others_finish() -> None:
    entered, release = threading.Barrier(3), threading.Event()

    class Hold:
        name: ClassVar[str] = "hold"

        def __call__(self, request: AdmissionRequest, draft: Draft, context: Context) -> Verdict:
            entered.wait(10)
            release.wait(10)
            return Verdict(Reason.NOTHING_TO_DO)

    gate = gate_of(service_of(Hold()), settings=Settings(max_in_flight=2))
    replies: list[Reply] = []
    threads = [threading.Thread(target=lambda: replies.append(gate.answer(call()))) for _ in range(2)]
    for thread in threads:
        thread.start()
    entered.wait(10)

    refused = gate.answer(call())
    in_flight = gate.in_flight()
    release.set()
    for thread in threads:
        thread.join(10)

    assert (refused.status, refused.close) == (503, True)
    assert b"its limit (webhook.limits.maxInFlight)" in refused.body
    assert in_flight == 2
    assert [reply.status for reply in replies] == [200, 200]
    assert gate.in_flight() == 0


@pytest.mark.parametrize(("client", "status"), [("", 401), ("someone", 403), ("kube-apiserver", 200)])
def test_only_named_callers_where_the_operator_asks_for_certificates(client: str, status: int) -> None:
    settings = Settings(client_subjects=frozenset({"kube-apiserver"}))

    assert gate_of(service_of(Label()), settings=settings).answer(call(client=client)).status == status


def test_a_body_over_the_limit_is_413() -> None:
    reply = gate_of(service_of(Label()), settings=Settings(body_limit_bytes=100)).answer(call(body=b"x" * 101))

    assert (reply.status, reply.close) == (413, True)


def test_a_service_that_is_switched_off_has_no_path() -> None:
    gate = gate_of(by_name("node-taint"), by_name("endpoint"), settings=Settings(disabled=frozenset({"endpoint"})))

    assert gate.answer(call(path="/endpoint")).status == 404


def test_a_patch_that_does_not_fit_is_dropped_and_counted() -> None:
    telemetry = Telemetry()

    class Cheat:
        name: ClassVar[str] = "cheat"

        def __call__(self, request: AdmissionRequest, draft: Draft, context: Context) -> Verdict:
            draft.set(("metadata", "labels", "seen"), "yes")
            draft.object["metadata"]["labels"]["seen"] = "behind the draft's back"
            return Verdict(Reason.GUARDED)

    guards, others = service_of(Cheat()), service_of(Cheat(), guards_availability=False, path="/other", name="other")
    gate = gate_of(guards, others, telemetry=telemetry, settings=Settings(verify_patches=True))

    response = msgspec.json.decode(gate.answer(call()).body)["response"]
    other = gate.answer(call(path="/other"))

    assert response["allowed"] is True
    assert "patch" not in response
    assert other.status == 500, "half a mutation must not pass as a whole one"
    assert b'gatehouse_admission_patch_misfits_total{service="node-taint"} 1.0' in telemetry.expose()


def test_decisions_latency_and_status_are_counted_by_service_and_reason() -> None:
    telemetry = Telemetry()
    gate = gate_of(service_of(Label()), telemetry=telemetry)

    gate.answer(call())
    gate.answer(call(path="/nothing/here"))
    text = telemetry.expose().decode()

    assert 'gatehouse_admission_decisions_total{reason="Guarded",rule="label",service="node-taint"} 1.0' in text
    assert 'gatehouse_admission_patched_total{service="node-taint"} 1.0' in text
    assert 'controller_runtime_webhook_requests_total{code="200",webhook="/node-taint"} 1.0' in text
    assert 'controller_runtime_webhook_requests_total{code="404",webhook="other"} 1.0' in text
    assert 'controller_runtime_webhook_latency_seconds_count{webhook="/node-taint"} 1.0' in text


def test_what_could_not_be_decided_is_one_line_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level("INFO", logger="gatehouse"):
        gate_of(service_of(Label())).answer(call(body=b"{"))
        gate_of(service_of(Crash())).answer(call())

    assert [record.levelname for record in caplog.records] == ["WARNING", "ERROR"]


def test_a_flood_of_faults_is_no_flood_of_lines(caplog: pytest.LogCaptureFixture) -> None:
    clock = SteppingClock()
    gate = gate_of(service_of(Label()), clock=clock)

    with caplog.at_level("INFO", logger="gatehouse"):
        for _ in range(100):
            gate.answer(call(path="/nothing/here"))
        gate.answer(call(body=b"{"))  # another kind is still told
        lines = len(caplog.records)
        clock.now_s += 10
        gate.answer(call(path="/nothing/here", accepted_s=clock.now_s))

    assert lines == 11
    assert caplog.records[-1].facts["held_back"] == 90
