"""What a plug-in's rule raises, edits and answers: nothing of it gets past the rule, offline as on the server."""

from __future__ import annotations

import base64
import logging
from collections.abc import Callable
from enum import StrEnum
from typing import Any

import msgspec
import pytest

from controllers.explaining.asking import Panel, ask
from controllers.explaining.questions import ANYBODY, Question
from controllers.explaining.questions import PODS as QUESTIONED
from tests.webhook.admission.test_plugin import FINE, ORIGIN, PODS, Decide, raising, service
from tests.webhook.admission.test_plugin import ask as send
from webhook.admission import (
    AdmissionRequest,
    Context,
    Denial,
    Draft,
    Entry,
    Facts,
    NoSettings,
    Operations,
    Reason,
    RulePlugin,
    Verdict,
)
from webhook.admission.gate import Gate
from webhook.admission.plugin import service_of
from webhook.admission.sealed import sealed
from webhook.admission.service import Service
from webhook.admission.settings import Settings
from webhook.admission.strangers import MESSAGE_LIMIT
from webhook.clock import Deadline, SystemClock
from webhook.telemetry import Telemetry
from webhook.testing import facts

CYCLE: dict[str, Any] = {}
CYCLE["again"] = CYCLE


class Team(StrEnum):
    A = "a"


def gate_of(*services: Service, telemetry: Telemetry | None = None, **fields: Any) -> Gate:
    given = facts.cluster(namespaces=[facts.namespace_facts(labels={"owner": "a"})])
    return Gate(Settings(plugins=services, **fields), given, telemetry or Telemetry(), SystemClock())


def editing(edit: Callable[[Draft], object]) -> Decide:
    def decide(request: AdmissionRequest, draft: Draft, context: Context) -> Verdict:
        edit(draft)
        return FINE

    return decide


def answered(decide: Callable[..., Any], **fields: Any) -> tuple[int, str]:
    """Status and message of the reply to a pod."""
    reply = send(gate_of(service(decide, mutating=True), **fields))
    answer = msgspec.json.decode(reply.body)
    return reply.status, answer.get("message", "") or answer.get("response", {}).get("status", {}).get("message", "")


@pytest.mark.parametrize("error", [RecursionError(), ValueError("secret"), SystemExit(0)])
def test_what_it_raises_is_its_own_fault_with_the_line_and_counted(
    error: BaseException, caplog: pytest.LogCaptureFixture
) -> None:
    telemetry = Telemetry()
    with caplog.at_level(logging.ERROR):
        reply = send(gate_of(service(raising(error)), telemetry=telemetry))

    assert reply.status == 500
    assert f"{ORIGIN} failed: {type(error).__name__} at test_plugin.py:" in reply.body.decode()
    assert b"secret" not in reply.body
    assert [value for suffix, _, value in telemetry.samples("controller_runtime_webhook_panics") if suffix == "_total"] == [1]
    assert caplog.records[-1].exc_info


@pytest.mark.parametrize(
    ("edit", "kind"),
    [
        (lambda draft: draft.set("metadata", {}), "TypeError"),
        (lambda draft: draft.set((), {}), "TypeError"),
        (lambda draft: draft.remove("metadata"), "TypeError"),
        (lambda draft: draft.set(("metadata", True), {}), "TypeError"),
        (lambda draft: draft.set(("spec", "x"), float("nan")), "TypeError"),
        (lambda draft: draft.set(("spec", "x"), [{"a": float("inf")}]), "TypeError"),
        (lambda draft: draft.set(("spec", "x"), {1: "a"}), "TypeError"),
        (lambda draft: draft.append(("spec", "x"), object()), "TypeError"),
        (lambda draft: draft.set(("spec", "x"), b"bytes"), "TypeError"),
        (lambda draft: draft.set(("spec", "x"), CYCLE), "TypeError"),
        (lambda draft: draft.set(("spec", "x"), "\ud800"), "UnicodeEncodeError"),
    ],
)
def test_what_is_not_json_or_no_path_is_refused_at_the_edit(edit: Callable[[Draft], object], kind: str) -> None:
    status, message = answered(editing(edit))

    assert (status, f"failed: {kind} at test_strangers.py:" in message) == (500, True)


def test_members_of_enums_tuples_and_mappings_are_taken_as_json_has_them() -> None:
    def edit(draft: Draft) -> None:
        draft.set(("metadata", "labels"), {Team.A: Team.A, "b": "c"})
        draft.set(("spec", "x"), (1, None, True, 2.5))

    reply = send(gate_of(service(editing(edit), mutating=True), verify_patches=True, watch_rules=True))

    patch = msgspec.json.decode(base64.b64decode(msgspec.json.decode(reply.body)["response"]["patch"]))
    assert [one["value"] for one in patch] == [{"a": "a", "b": "c"}, {}, [1, None, True, 2.5]]


def test_a_patch_above_what_the_api_server_takes_is_refused() -> None:
    status, message = answered(editing(lambda draft: draft.set(("metadata", "x"), "x" * 3 * 2**20)))

    assert status == 500
    assert "above the 3145728 that the API server takes" in message


def test_a_denial_of_endless_length_is_cut() -> None:
    status, message = answered(lambda *_: Verdict(Reason.GUARDED, denial=Denial(403, "No", "x" * 100_000)))

    assert (status, len(message), message[-1]) == (200, MESSAGE_LIMIT, "…")


def test_half_a_character_in_an_answer_is_told_of() -> None:
    status, message = answered(lambda *_: Verdict(Reason.GUARDED, "\ud800"))

    assert (status, "lone surrogate" in message) == (500, True)


@pytest.mark.parametrize(
    ("edit", "told"),
    [
        (lambda draft: draft.object["metadata"].update(labels={"a": "b"}), "the object itself, at /metadata/labels:"),
        (lambda draft: draft.object.pop("metadata"), "the object itself, at /metadata:"),
        (lambda draft: (draft.object.update(spec={}), draft.set(("spec", "x"), 1)), "the object itself ("),
        (lambda draft: (draft.object.update(spec={}), draft.remove(("metadata", "name"))), "the object itself, at /spec:"),
    ],
)
def test_an_edit_beside_the_draft_is_told_of_where_rules_are_watched(edit: Callable[[Draft], object], told: str) -> None:
    status, message = answered(editing(edit), watch_rules=True)

    assert status == 500
    assert told in message


def test_another_object_in_the_draft_is_told_of_always() -> None:
    status, message = answered(editing(lambda draft: setattr(draft, "object", {})))

    assert (status, "another object into the draft" in message) == (500, True)


def test_no_rule_can_change_what_other_rules_know() -> None:
    given = facts.cluster(nodes=[facts.node_facts(labels={"a": "b"})], namespaces=[facts.namespace_facts(labels={"a": "b"})])
    seen = sealed(given)

    for found in (seen.namespaces.get("shop"), seen.nodes.get("edge-1")):
        assert found is not None
        with pytest.raises(TypeError):
            found.labels["x"] = "y"  # type: ignore[index]
    assert not hasattr(seen, "addresses")
    assert given.namespaces.get("shop") == facts.namespace_facts(labels={"a": "b"})


def test_it_is_built_with_facts_that_it_cannot_change() -> None:
    held: list[Any] = []

    def build(settings: NoSettings, given: Facts) -> Decide:
        held.append(given.namespaces.get("shop"))
        return lambda *_: FINE

    plugin = RulePlugin(settings=NoSettings, build=build, entries=(Entry((PODS,)),))
    gate_of(service_of("own", plugin, NoSettings(), ORIGIN, {}))

    with pytest.raises(AttributeError):
        held[0].labels.update(owner="me")


def test_explain_says_what_was_raised_and_where() -> None:
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web", "namespace": "shop"}}
    gate = gate_of(service(raising(ValueError("no owner"))))
    clock = SystemClock()
    panel = Panel(gate.services, facts.cluster(), clock.wall_s(), Deadline.after(5, clock))

    found = ask(Question("", QUESTIONED, Operations.CREATE, ANYBODY, pod, namespace="shop"), panel)

    (mine,) = (one for one in found.services if one.service == "own")
    assert not mine.is_decided
    assert "failed: ValueError at test_plugin.py:" in mine.why
    assert mine.why.endswith(": no owner")
