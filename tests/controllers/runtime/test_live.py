"""The live reads that rules may do: newer than the cache, shared, bounded in time."""

from __future__ import annotations

import threading
import time

import pytest

from controllers.runtime.lister import LiveConfigMaps, LiveObjects
from controllers.runtime.live import KEPT_ANSWERS, METADATA_ONLY
from controllers.runtime.rest import RestClient
from controllers.testing import FakeApi, FakeClock
from controllers.testing.answers import Exchange, body, hang, status
from tests.controllers.runtime.builders import NODES, config_map, node
from webhook.clock import Deadline, SystemClock
from webhook.cluster import ConfigMaps, Status
from webhook.telemetry import Telemetry


class Live:
    """Live reads on a clock that the test moves."""

    def __init__(self, client: RestClient, clock: FakeClock, telemetry: Telemetry) -> None:
        self.clock = clock
        self.nodes = LiveObjects(NODES, client, clock, telemetry)
        self._telemetry = telemetry

    def ready(self, name: str, within_s: float = 2.0) -> Status | None:
        facts = self.nodes.read(name, Deadline.after(within_s, self.clock))
        return facts.ready if facts else None

    def results(self) -> dict[str, int]:
        rows = [row for row in self._telemetry.expose().decode().splitlines() if row.startswith("gatehouse_confirmations")]
        return {row.split('result="')[1].split('"')[0]: int(float(row.split()[-1])) for row in rows if "_total{" in row}


@pytest.fixture
def live(client: RestClient, telemetry: Telemetry) -> Live:
    return Live(client, FakeClock(), telemetry)


def test_a_confirmation_is_newer_than_the_cache(api: FakeApi, live: Live) -> None:
    api.objects.put(node("edge-1", ready="Unknown"))

    assert live.ready("edge-1") is Status.UNKNOWN
    assert live.results() == {"found": 1}


def test_an_answer_is_kept_for_a_second(api: FakeApi, live: Live) -> None:
    api.objects.put(node("edge-1", ready="Unknown"))
    live.ready("edge-1")
    api.objects.put(node("edge-1", ready="True"))

    live.clock.advance(0.9)
    assert live.ready("edge-1") is Status.UNKNOWN
    live.clock.advance(0.2)
    assert live.ready("edge-1") is Status.TRUE

    assert live.results() == {"found": 2, "kept": 1}


def test_an_absent_node_is_an_answer_too(api: FakeApi, live: Live) -> None:
    assert live.ready("edge-1") is None
    assert live.ready("edge-1") is None

    assert live.results() == {"not-found": 1, "kept": 1}


@pytest.mark.parametrize("answer", [status(500), status(403), body(b"<html>"), body(b'{"metadata":{"name":3}}')])
def test_a_failure_is_no_answer_and_not_repeated_within_a_second(api: FakeApi, live: Live, answer: object) -> None:
    api.always("get", answer)  # type: ignore[arg-type]

    assert [live.ready("edge-1") for _ in range(3)] == [None, None, None]

    assert live.results() == {"failed": 1, "kept": 2}


def test_a_silent_server_costs_at_most_300_ms(api: FakeApi, client: RestClient, telemetry: Telemetry) -> None:
    api.always("get", hang)
    nodes = LiveObjects(NODES, client, SystemClock(), telemetry)
    began_s = time.monotonic()

    assert nodes.read("edge-1", Deadline.after(10.0, SystemClock())) is None

    assert time.monotonic() - began_s < 3.0  # the server would have taken for ever


def test_the_callers_deadline_is_kept(api: FakeApi, client: RestClient, telemetry: Telemetry) -> None:
    api.always("get", hang)
    nodes = LiveObjects(NODES, client, SystemClock(), telemetry)
    began_s = time.monotonic()

    assert nodes.read("edge-1", Deadline.after(0.05, SystemClock())) is None

    assert time.monotonic() - began_s < 3.0


def test_a_hurried_callers_timeout_is_not_kept_for_others(api: FakeApi, live: Live) -> None:
    api.objects.put(node("edge-1", ready="Unknown"))
    api.next("get", hang)

    assert live.ready("edge-1", within_s=0.05) is None
    assert live.ready("edge-1") is Status.UNKNOWN


def test_no_time_left_means_no_request(api: FakeApi, live: Live) -> None:
    assert live.ready("edge-1", within_s=0.0) is None

    assert api.requests == []


def test_an_empty_name_never_lists_all_nodes(api: FakeApi, live: Live) -> None:
    assert live.ready("") is None

    assert api.requests == []


def test_a_name_cannot_reach_another_path(api: FakeApi, live: Live) -> None:
    live.ready("../secrets/x")

    assert [request.path for request in api.requests] == ["/api/v1/nodes/..%2Fsecrets%2Fx"]


def test_many_callers_share_one_read(api: FakeApi, live: Live) -> None:
    arrived, release = threading.Event(), threading.Event()

    def slow(exchange: Exchange) -> None:
        arrived.set()
        release.wait(5.0)
        exchange.respond(200, b'{"metadata":{"name":"edge-1"},"status":{"conditions":[{"type":"Ready","status":"True"}]}}')

    api.always("get", slow)
    answers: list[Status | None] = []
    callers = [threading.Thread(target=lambda: answers.append(live.ready("edge-1"))) for _ in range(8)]
    callers[0].start()
    assert arrived.wait(5.0)
    for caller in callers[1:]:
        caller.start()
    live.clock.until_waiting(7)

    release.set()
    for caller in callers:
        caller.join(5.0)

    assert answers == [Status.TRUE] * 8
    assert api.count("get") == 1


def test_a_follower_leaves_at_its_own_deadline(api: FakeApi, live: Live) -> None:
    release = threading.Event()

    def slow(exchange: Exchange) -> None:
        release.wait(5.0)
        exchange.respond(200, b'{"metadata":{"name":"edge-1"}}')

    api.always("get", slow)
    leader = threading.Thread(target=lambda: live.ready("edge-1"))
    leader.start()
    api.until(lambda: api.count("get") == 1)
    answers: list[Status | None] = []
    follower = threading.Thread(target=lambda: answers.append(live.ready("edge-1", within_s=0.1)))
    follower.start()
    live.clock.until_waiting(1)

    live.clock.advance(0.1)
    follower.join(5.0)

    assert answers == [None]
    assert live.results()["timeout"] == 1
    release.set()
    leader.join(5.0)


def test_kept_answers_are_bounded(api: FakeApi, telemetry: Telemetry) -> None:
    class Everything:
        def get_bytes(
            self, path: str, params: object = None, *, timeout_s: float | None = None, accept: str = "application/json"
        ) -> bytes:
            return b'{"metadata":{"name":"%s"}}' % path.rsplit("/", 1)[1].encode()

    clock = FakeClock()
    nodes = LiveObjects(NODES, Everything(), clock, telemetry)

    for number in range(KEPT_ANSWERS + 10):
        assert nodes.read(f"edge-{number}", Deadline.after(1.0, clock)) is not None

    assert len(nodes._reads._flights) == KEPT_ANSWERS


# -- whether a ConfigMap exists


class Existing:
    """Questions about ConfigMaps on a clock that the test moves."""

    def __init__(self, client: RestClient, telemetry: Telemetry) -> None:
        self.clock = FakeClock()
        self._config_maps: ConfigMaps = LiveConfigMaps(client, self.clock, telemetry)

    def __call__(self, name: str = "settings", namespace: str = "shop") -> bool | None:
        return self._config_maps.exists(namespace, name, Deadline.after(2.0, self.clock))


@pytest.fixture
def exists(client: RestClient, telemetry: Telemetry) -> Existing:
    return Existing(client, telemetry)


def test_a_config_map_exists_or_not(api: FakeApi, exists: Existing) -> None:
    api.objects.put(config_map("settings"))

    assert exists() is True
    assert exists("other") is False


def test_without_an_answer_nobody_knows_whether_it_exists(api: FakeApi, exists: Existing) -> None:
    api.always("get", status(403))

    assert exists() is None


def test_only_its_metadata_is_asked_for(api: FakeApi, exists: Existing) -> None:
    exists()

    assert [request.headers["accept"] for request in api.requests] == [METADATA_ONLY]


def test_a_config_map_that_exists_is_believed_for_ten_seconds(api: FakeApi, exists: Existing) -> None:
    api.objects.put(config_map("settings"))
    exists()
    api.objects.drop("ConfigMap", "shop/settings")

    exists.clock.advance(9.9)
    assert exists() is True
    exists.clock.advance(0.2)
    assert exists() is False


def test_a_config_map_that_is_missing_is_asked_for_again_after_a_second(api: FakeApi, exists: Existing) -> None:
    assert exists() is False
    api.objects.put(config_map("settings"))

    assert exists() is False
    exists.clock.advance(1.1)
    assert exists() is True


@pytest.mark.parametrize(("name", "namespace"), [("", "shop"), ("settings", "")])
def test_a_collection_is_never_asked_for(api: FakeApi, exists: Existing, name: str, namespace: str) -> None:
    assert exists(name, namespace) is None

    assert api.requests == []
