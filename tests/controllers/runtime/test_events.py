from __future__ import annotations

import json
import re
from typing import Any

import pytest

from controllers.runtime import event_series, events
from controllers.runtime.event_series import BURST, NOTE_LIMIT_BYTES
from controllers.runtime.events import QUEUE_LIMIT, EventRecorder, Reference
from controllers.runtime.rest import RestClient
from controllers.testing import FakeApi, FakeClock
from controllers.testing.answers import cut, status
from tests.controllers.runtime.builders import refuse_death
from webhook.clock import Deadline
from webhook.telemetry import Telemetry

POD = Reference("Pod", "web-1", "shop", uid="u1")
NODE = Reference("Node", "edge-1")


@pytest.fixture
def recorder(client: RestClient, telemetry: Telemetry, clock: FakeClock) -> EventRecorder:
    return EventRecorder("gatehouse", "host-1_abc", client, telemetry, clock, refuse_death)


def say(recorder: Any, regarding: Reference = POD, reason: str = "PodKeptReady", note: str = "kept", **rest: Any) -> None:
    recorder.record(regarding, reason=reason, action="KeepReady", note=note, **rest)


def stored(api: FakeApi) -> list[dict[str, Any]]:
    return list(api.objects.all("Event").values())


def counts(telemetry: Telemetry) -> dict[str, float]:
    lines = re.findall(r'^gatehouse_events_total\{result="(\w+)"\} (\S+)$', telemetry.expose().decode(), re.MULTILINE)
    return {word: float(value) for word, value in lines}


def test_an_event_says_what_happened_to_which_object_and_who_says_so(
    recorder: EventRecorder, api: FakeApi, telemetry: Telemetry
) -> None:
    say(recorder, warning=True)

    recorder.work()

    [event] = stored(api)
    name = event["metadata"]["name"]
    assert re.fullmatch(r"web-1\.[0-9a-f]{16}", name)
    assert event["metadata"]["namespace"] == "shop"
    assert event["regarding"] == {"apiVersion": "v1", "kind": "Pod", "name": "web-1", "namespace": "shop", "uid": "u1"}
    assert (event["reason"], event["action"], event["note"], event["type"]) == ("PodKeptReady", "KeepReady", "kept", "Warning")
    assert (event["reportingController"], event["reportingInstance"]) == ("gatehouse.dev/gatehouse", "host-1_abc")
    assert event["eventTime"] == "2027-01-15T08:00:00.000000Z"
    assert "series" not in event
    assert counts(telemetry) == {"created": 1}


def test_events_of_cluster_scoped_objects_live_in_the_default_namespace(recorder: EventRecorder, api: FakeApi) -> None:
    say(recorder, NODE)

    recorder.work()

    [event] = stored(api)
    assert event["metadata"]["namespace"] == "default"
    assert event["regarding"] == {"apiVersion": "v1", "kind": "Node", "name": "edge-1"}


def test_events_alike_become_one_series(recorder: EventRecorder, api: FakeApi, clock: FakeClock, telemetry: Telemetry) -> None:
    for number in range(5):
        say(recorder, note=f"for {number} s")
        clock.advance(60)
        recorder.work()

    [event] = stored(api)
    assert event["series"]["count"] == 2  # the second is written at once, later ones now and then
    assert api.count("create") == 1
    assert api.count("patch") == 1
    assert counts(telemetry) == {"created": 1, "counted": 4}


def test_the_count_of_a_series_is_written_now_and_then_and_at_its_end(
    recorder: EventRecorder, api: FakeApi, clock: FakeClock
) -> None:
    for _ in range(3):
        say(recorder)
    recorder.work()
    clock.advance(301)
    recorder.work()
    by_then = stored(api)[0]["series"]
    say(recorder)
    recorder.work()
    clock.advance(361)
    recorder.work()

    assert by_then == {"count": 3, "lastObservedTime": "2027-01-15T08:00:00.000000Z"}
    assert stored(api)[0]["series"]["count"] == 4


def test_after_a_series_has_ended_the_next_one_begins_with_a_new_event(
    recorder: EventRecorder, api: FakeApi, clock: FakeClock
) -> None:
    say(recorder)
    recorder.work()
    clock.advance(361)
    say(recorder)
    recorder.work()

    assert len(stored(api)) == 2


def test_another_reason_or_object_is_another_event(recorder: EventRecorder, api: FakeApi) -> None:
    say(recorder)
    say(recorder, reason="TaintRemoved")
    say(recorder, NODE)
    say(recorder, warning=True)
    recorder.work()

    assert len(stored(api)) == 4


def test_new_events_of_one_object_are_capped_and_refilled(
    recorder: EventRecorder, api: FakeApi, clock: FakeClock, telemetry: Telemetry
) -> None:
    for number in range(BURST + 5):
        say(recorder, reason=f"Reason{number}")
    say(recorder, NODE)
    recorder.work()
    at_first = (len(stored(api)), counts(telemetry)["capped"])
    clock.advance(300)
    for number in range(2):
        say(recorder, reason=f"Later{number}")
    recorder.work()

    assert at_first == (BURST + 1, 5)
    assert len(stored(api)) == BURST + 2


def test_a_full_queue_drops_and_counts_and_never_blocks(recorder: EventRecorder, telemetry: Telemetry) -> None:
    for _ in range(QUEUE_LIMIT + 3):
        say(recorder)

    assert counts(telemetry) == {"overflow": 3}


@pytest.mark.parametrize("answer", [status(403, "Forbidden", "namespace shop is being terminated"), status(404, "NotFound")])
def test_an_event_in_a_namespace_that_ends_is_no_error(
    recorder: EventRecorder, api: FakeApi, telemetry: Telemetry, caplog: pytest.LogCaptureFixture, answer: Any
) -> None:
    api.next("create", answer)
    say(recorder)

    recorder.work()

    assert counts(telemetry) == {"refused": 1}
    assert api.count("create") == 1
    assert caplog.records == []


def test_an_event_that_has_been_forgotten_by_the_server_is_made_anew(recorder: EventRecorder, api: FakeApi) -> None:
    say(recorder)
    recorder.work()
    api.objects.drop("Event", f"shop/{stored(api)[0]['metadata']['name']}")
    say(recorder)
    recorder.work()
    say(recorder)
    recorder.work()

    assert len(stored(api)) == 1


def test_an_event_is_tried_again_while_the_server_is_busy(
    recorder: EventRecorder, api: FakeApi, clock: FakeClock, telemetry: Telemetry
) -> None:
    api.next("create", status(500), cut, status(429, retry_after_s=7))
    say(recorder)

    recorder.work()

    assert counts(telemetry) == {"created": 1}
    assert clock.waits == [2.0, 4.0, 8.0]


def test_an_event_is_lost_after_some_tries(
    recorder: EventRecorder, api: FakeApi, telemetry: Telemetry, caplog: pytest.LogCaptureFixture
) -> None:
    api.always("create", status(500))
    say(recorder)

    recorder.work()

    assert counts(telemetry) == {"failed": 1}
    assert api.count("create") == 4
    assert [record.message for record in caplog.records] == ["event lost"]


def test_a_retry_that_meets_its_own_event_is_a_success(recorder: EventRecorder, api: FakeApi, telemetry: Telemetry) -> None:
    api.next("create", status(409, "AlreadyExists"))
    say(recorder)

    recorder.work()

    assert counts(telemetry) == {"created": 1}


def test_an_event_that_the_server_finds_invalid_is_not_repeated(recorder: EventRecorder, api: FakeApi) -> None:
    api.next("create", status(422, "Invalid"))
    say(recorder)

    recorder.work()

    assert api.count("create") == 1


def test_long_notes_are_cut_within_a_character(recorder: EventRecorder, api: FakeApi) -> None:
    say(recorder, note="é" * 2000)

    recorder.work()

    note = stored(api)[0]["note"]
    assert len(note.encode()) <= NOTE_LIMIT_BYTES
    assert note.endswith("é…")


def test_only_the_leader_reports_what_every_replica_sees(recorder: EventRecorder, api: FakeApi) -> None:
    leading = {"now": False}
    led = recorder.only_while(lambda: leading["now"])
    say(led, note="unheard")
    leading["now"] = True
    say(led, note="heard")
    recorder.work()

    assert [event["note"] for event in stored(api)] == ["heard"]


def test_stopping_writes_what_is_left_and_the_last_counts(client: RestClient, api: FakeApi, telemetry: Telemetry) -> None:
    clock = FakeClock()
    recorder = EventRecorder("gatehouse", "a", client, telemetry, clock, refuse_death)
    recorder.start()
    for _ in range(3):
        say(recorder)

    assert recorder.stop(Deadline.after(5, clock))

    [event] = stored(api)
    assert event["series"]["count"] == 3
    assert recorder.is_alive()  # ended because it was told to


class SlowClient:
    """Every request takes six seconds."""

    def __init__(self, clock: FakeClock) -> None:
        self.clock = clock
        self.requests = 0

    def create(self, path: str, body: dict[str, Any], *, timeout_s: float | None = None) -> dict[str, Any]:
        self.requests += 1
        self.clock.advance(6)
        return body

    def patch_merge(self, path: str, patch: dict[str, Any], *, timeout_s: float | None = None) -> dict[str, Any]:
        return self.create(path, patch)


def test_after_the_deadline_of_the_stop_nothing_is_sent_and_the_rest_is_counted(telemetry: Telemetry) -> None:
    clock = FakeClock()
    client = SlowClient(clock)
    recorder = EventRecorder("gatehouse", "a", client, telemetry, clock, refuse_death)
    for number in range(5):
        say(recorder, Reference("Node", f"edge-{number}"))
    recorder.stop(Deadline.after(5, clock))

    recorder.work()

    assert client.requests == 1
    assert counts(telemetry) == {"created": 1, "overflow": 4}


def test_after_the_stop_events_are_dropped(client: RestClient, api: FakeApi, telemetry: Telemetry) -> None:
    clock = FakeClock()
    recorder = EventRecorder("gatehouse", "a", client, telemetry, clock, refuse_death)
    recorder.start()
    recorder.stop(Deadline.after(5, clock))
    say(recorder)

    assert stored(api) == []
    assert counts(telemetry) == {"overflow": 1}


def test_a_recorder_writes_while_it_runs(client: RestClient, api: FakeApi, telemetry: Telemetry) -> None:
    clock = FakeClock()
    recorder = EventRecorder("gatehouse", "a", client, telemetry, clock, refuse_death)
    recorder.start()
    say(recorder)
    api.until(lambda: api.count("create") == 1)
    recorder.stop(Deadline.after(5, clock))

    assert json.loads(api.asked("create")[0].body)["reason"] == "PodKeptReady"


@pytest.mark.parametrize("end", [".", "-", ".-.", "a"])
def test_the_name_of_an_event_about_a_long_name_is_a_name(recorder: EventRecorder, api: FakeApi, end: str) -> None:
    long = "n" * (230 - len(end)) + end
    say(recorder, Reference("Node", f"{long}and-more"))

    recorder.work()

    [event] = stored(api)
    assert re.fullmatch(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*", event["metadata"]["name"])


def nodes(count: int) -> list[Reference]:
    return [Reference("Node", f"edge-{number}") for number in range(count)]


def test_a_warning_takes_the_place_of_what_is_none_when_the_queue_is_full(
    recorder: EventRecorder, api: FakeApi, telemetry: Telemetry, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(events, "QUEUE_LIMIT", 6)
    for node in nodes(6):
        say(recorder, node, "PodsRestored")
    for node in nodes(7):
        say(recorder, node, "GuardBegun", warning=True)

    recorder.work()

    assert sorted(event["reason"] for event in stored(api)) == ["GuardBegun"] * 6
    assert counts(telemetry) == {"created": 6, "overflow": 7}


def test_events_come_in_the_order_in_which_they_were_told(recorder: EventRecorder, api: FakeApi, clock: FakeClock) -> None:
    for number, node in enumerate(nodes(4)):
        say(recorder, node, f"R{number}", warning=number % 2 == 0)
        clock.advance(1.0)

    recorder.work()

    assert [json.loads(request.body)["reason"] for request in api.asked("create")] == ["R0", "R1", "R2", "R3"]


def test_what_a_full_queue_loses_is_said_once_and_counted(
    recorder: EventRecorder, telemetry: Telemetry, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(events, "QUEUE_LIMIT", 2)
    caplog.set_level("WARNING", "gatehouse")
    for node in nodes(500):
        say(recorder, node)

    assert [record.getMessage() for record in caplog.records] == ["events lost, the queue is full"]
    assert counts(telemetry) == {"overflow": 498}


def test_a_series_that_has_to_be_given_up_is_counted(
    recorder: EventRecorder, telemetry: Telemetry, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(event_series, "KEPT", 3)
    for node in nodes(5):
        say(recorder, node)

    recorder.work()

    assert "gatehouse_event_series_forgotten_total 2.0" in telemetry.expose().decode()


def test_each_topic_is_a_series_of_its_own(recorder: EventRecorder, api: FakeApi) -> None:
    for topic in ("a", "b", "a"):
        say(recorder, note=f"about {topic}", topic=topic)

    recorder.work()

    assert sorted((event["note"], event.get("series", {}).get("count")) for event in stored(api)) == [
        ("about a", 2),
        ("about b", None),
    ]
