"""What is remembered of requests that did not get what they asked for."""

from __future__ import annotations

import json

import msgspec
import pytest

from tests.webhook.admission.test_interceptors import BODY, Label, Refuse, SteppingClock, call, gate_of, service_of
from webhook.admission.gate import Gate
from webhook.admission.refusals import TEXT_LIMIT
from webhook.telemetry import Telemetry


def review(**request: object) -> bytes:
    document = json.loads(BODY)
    document["request"] |= request
    return msgspec.json.encode(document)


@pytest.fixture
def telemetry() -> Telemetry:
    return Telemetry()


@pytest.fixture
def gate(telemetry: Telemetry) -> Gate:
    return gate_of(service_of(Refuse(), guards_availability=False), clock=SteppingClock(1234.5), telemetry=telemetry)


def test_the_last_refusal_has_its_time_reason_object_and_user(gate: Gate, telemetry: Telemetry) -> None:
    for name in ("edge-1", "edge-2"):
        gate.answer(call(body=review(name=name, userInfo={"username": "ann"}), accepted_s=1234.5))

    last = gate.refusals.last_refused("node-taint")

    assert last is not None
    assert (last.at_s, last.reason, last.message) == (1234.5, "Guarded", "node edge-1: 9 exceeds 8")
    assert (last.subject, last.user) == ("nodes edge-2", "ann")
    assert b'gatehouse_admission_refused_total{service="node-taint"} 2.0' in telemetry.expose()


def test_what_passes_leaves_nothing(telemetry: Telemetry) -> None:
    gate = gate_of(service_of(Label()), telemetry=telemetry)
    gate.answer(call())

    assert gate.refusals.last_refused("node-taint") is None
    assert gate.refusals.last_undecided("node-taint") is None
    assert b'gatehouse_admission_refused_total{service="node-taint"} 0.0' in telemetry.expose()


def test_what_could_not_be_decided_is_another_thing(gate: Gate) -> None:
    gate.answer(call(body=b"{", accepted_s=1234.5))

    last = gate.refusals.last_undecided("node-taint")

    assert gate.refusals.last_refused("node-taint") is None
    assert last is not None
    assert last.reason == "BadRequest" and "not valid JSON" in last.message
    assert (last.subject, last.user) == ("a review that was not read", "")


def test_an_exception_of_ours_is_remembered_without_its_words() -> None:
    class Break(Refuse):
        def __call__(self, *given: object) -> object:
            raise KeyError("secret")

    gate = gate_of(service_of(Break()))
    gate.answer(call())

    last = gate.refusals.last_undecided("node-taint")

    assert last is not None
    assert "secret" not in last.message and last.subject == "nodes edge-1"


def test_an_object_without_a_name_yet_is_known_by_what_it_will_begin_with(gate: Gate) -> None:
    made = {"metadata": {"generateName": "web-"}}
    gate.answer(call(body=review(name="", namespace="shop", object=made), accepted_s=1234.5))

    last = gate.refusals.last_refused("node-taint")

    assert last is not None
    assert last.subject == "nodes shop/web-…"


@pytest.mark.parametrize("meta", [None, 5, {"generateName": 5}, {}])
def test_an_odd_object_without_a_name_is_no_fault(gate: Gate, meta: object) -> None:
    gate.answer(call(body=review(name="", object={"metadata": meta}), accepted_s=1234.5))

    assert gate.refusals.last_undecided("node-taint") or gate.refusals.last_refused("node-taint")


def test_texts_are_cut_and_the_paths_of_strangers_are_not_kept(gate: Gate) -> None:
    gate.answer(call(body=review(name="n" * 10_000, userInfo={"username": "u" * 10_000}), accepted_s=1234.5))
    gate.answer(call(path="/nothing", accepted_s=1234.5))

    last = gate.refusals.last_refused("node-taint")

    assert last is not None
    assert len(last.subject) == len(last.user) == TEXT_LIMIT
    assert gate.refusals.last_undecided("/nothing") is None
