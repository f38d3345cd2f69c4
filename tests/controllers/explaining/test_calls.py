"""A plug-in's rule that hangs in POST /explain: named, counted as a review is, and in nobody's way."""

from __future__ import annotations

import io
import json
import logging
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from controllers.explaining.explainer import Explainer
from controllers.explaining.page import ANSWER_WITHIN_S, ExplainPage
from webhook.admission.gate import Gate
from webhook.admission.places import OVERDUE_S
from webhook.admission.review import AdmissionRequest, Operations
from webhook.admission.service import Context, Entry, Match, Service, Verdict
from webhook.admission.settings import Settings
from webhook.clock import SystemClock
from webhook.names import Reason
from webhook.telemetry import Telemetry
from webhook.testing.given import Given

GIVEN = {"now": "2026-11-29T10:00:00Z", "namespaces": [{"name": "shop"}]}
OBJECT = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a", "namespace": "shop"}}
WITHIN_S = 10.0


class Hanging:
    """A rule that answers when the test says so."""

    name = "block"

    def __init__(self) -> None:
        self.entered, self.go_on = threading.Event(), threading.Event()

    def __call__(self, request: AdmissionRequest, draft: Any, context: Context) -> Verdict:
        self.entered.set()
        assert self.go_on.wait(WITHIN_S)
        return Verdict(Reason.NOTHING_TO_DO)


class Scene:
    """A page over a service of that rule, and a clock of which a wait lasts until the rule is entered, or is held before it."""

    def __init__(self) -> None:
        self.rule, self.late_s, self.patient = Hanging(), 0.0, False
        self._begun_s = SystemClock().monotonic_s()  # no time passes but what a test lets pass
        self.held = threading.Event()  # once set, an explanation gets beyond reading the time of day, its first step
        self.held.set()
        match = Match("", "*", "secrets", (Operations.CREATE, Operations.UPDATE, Operations.DELETE))
        entries = (Entry((match,)),)
        service = Service("block", "/block", entries, lambda settings, cluster: (self.rule,), mutating=False, share="plug-ins")
        facts = Given.read(GIVEN).cluster()
        self.telemetry = Telemetry()
        self.gate = Gate(Settings(), facts, self.telemetry, self, services=(service,))
        self.page = ExplainPage(Explainer(self.gate, facts, self), self)

    def monotonic_s(self) -> float:
        return self._begun_s + self.late_s

    def wall_s(self) -> float:
        assert self.held.wait(WITHIN_S)
        return SystemClock().wall_s()

    def wait(self, event: threading.Event, timeout_s: float) -> bool:
        if self.patient:
            return event.wait(WITHIN_S)
        return self.held.is_set() and not self.rule.entered.wait(WITHIN_S)

    def post(self) -> tuple[str, Any]:
        body = json.dumps({"kind": "object", "object": OBJECT}).encode()
        asked = {"REQUEST_METHOD": "POST", "CONTENT_TYPE": "application/json", "wsgi.input": io.BytesIO(body)}
        status, answer = self.page.respond(asked)
        return status, json.loads(answer)


@pytest.fixture
def scene() -> Iterator[Scene]:
    made = Scene()
    yield made
    made.held.set()
    made.rule.go_on.set()
    for thread in threading.enumerate():
        if thread.name == "explain":
            thread.join(WITHIN_S)


def test_whoever_asks_a_rule_that_hangs_is_told_its_name_and_since_when(scene: Scene) -> None:
    status, found = scene.post()

    assert status == "503 Service Unavailable"
    assert found["error"].startswith("the rule block has not answered for 0 s; ")


def test_the_next_explanation_is_made_without_the_rule_that_hangs(scene: Scene) -> None:
    scene.post()
    scene.patient, scene.late_s = True, 12.0

    status, found = scene.post()

    assert status == "200 OK"
    assert found["fine"] is False
    assert "the rule block has not answered an explanation for 12 s: it is asked again once it has" in found["text"]


def test_while_one_is_explained_the_next_is_told_in_which_rule_it_is(scene: Scene) -> None:
    scene.patient = True
    first = threading.Thread(target=scene.post)
    first.start()
    assert scene.rule.entered.wait(WITHIN_S)
    scene.late_s = 3.0

    status, found = scene.post()

    scene.rule.go_on.set()
    first.join(WITHIN_S)
    assert status == "503 Service Unavailable"
    assert found["error"] == "another one is being explained, for 3 s, and has been in the rule block for 3 s: try again"


def test_a_rule_that_answers_at_last_is_asked_again(scene: Scene) -> None:
    scene.post()
    scene.rule.go_on.set()
    for thread in threading.enumerate():
        if thread.name == "explain":
            thread.join(WITHIN_S)
    scene.patient = True

    status, found = scene.post()

    assert (status, found["fine"]) == ("200 OK", True)
    assert scene.gate.shared.count() == 0


def test_a_call_that_hangs_is_overdue_for_readiness_metric_and_log_as_a_review_is(
    scene: Scene, caplog: pytest.LogCaptureFixture
) -> None:
    scene.post()
    scene.late_s = OVERDUE_S

    with caplog.at_level(logging.ERROR):
        scene.gate.shared.look()

    overdue = [value for _, _, value in scene.telemetry.samples("gatehouse_rule_overdue_reviews")]
    assert scene.gate.shared.why_late("block") == "1 of the rule block has been running for up to 30 s"
    assert overdue == [1]
    assert caplog.records[-1].getMessage() == "a rule hangs: its calls are overdue"


def test_a_rule_that_hangs_holds_up_neither_the_servers_thread_nor_the_end_of_the_process(scene: Scene) -> None:
    scene.post()  # has returned: the server's thread is free

    (left,) = (thread for thread in threading.enumerate() if thread.name == "explain")
    assert left.daemon


def test_an_explanation_takes_a_place_of_the_limit_that_rules_of_plug_ins_share(scene: Scene) -> None:
    scene.patient = True
    tickets = [scene.gate.shared.enter("block") for _ in range(scene.gate.settings.max_in_flight)]

    _, found = scene.post()

    assert f"{len(tickets)} reviews of the rule block are being answered, its share" in found["text"]


def test_an_explanation_that_enters_the_rule_after_its_time_gives_up_its_place_to_the_next(
    scene: Scene, caplog: pytest.LogCaptureFixture
) -> None:
    scene.held.clear()
    late, _ = scene.post()
    scene.held.set()
    assert scene.rule.entered.wait(WITHIN_S)
    scene.patient, scene.late_s = True, ANSWER_WITHIN_S + 1.0

    with caplog.at_level(logging.WARNING):
        status, found = scene.post()

    assert late == "503 Service Unavailable"
    assert status == "200 OK"
    assert "the rule block has not answered an explanation for 7 s" in found["text"]
    assert [record.getMessage() for record in caplog.records] == ["an explanation was left behind in a rule"]


def test_an_explanation_that_is_late_in_our_own_code_keeps_its_place(scene: Scene) -> None:
    scene.held.clear()
    scene.post()
    scene.late_s = ANSWER_WITHIN_S + 1.0

    status, found = scene.post()

    scene.held.set()
    assert status == "503 Service Unavailable"
    assert found["error"] == "another one is being explained, for 7 s: try again"
