"""What rules may ask: look-ups in the caches, and the one live read."""

from __future__ import annotations

import threading
import time

import pytest

from controllers.runtime.lister import CONFIRM_KEPT_NODES, LiveNodes, NodeLister, PodLister
from controllers.runtime.rest import RestClient
from controllers.testing import FakeApi, FakeClock
from controllers.testing.answers import Exchange, body, hang, status
from tests.controllers.runtime.builders import PODS, informer, node, pod
from webhook.clock import Deadline, SystemClock
from webhook.cluster import Nodes, Pods, Status, Vote
from webhook.names import VOTE_ANNOTATION
from webhook.objects.votes import VotePolicy
from webhook.telemetry import Telemetry


class Live:
    """Live reads on a clock that the test moves."""

    def __init__(self, client: RestClient, clock: FakeClock, telemetry: Telemetry) -> None:
        self.clock = clock
        self.nodes = LiveNodes(client, VotePolicy(), clock, telemetry)
        self._telemetry = telemetry

    def ready(self, name: str, within_s: float = 2.0) -> Status | None:
        facts = self.nodes.read(name, Deadline.after(within_s, self.clock))
        return facts.ready if facts else None

    def results(self) -> dict[str, int]:
        rows = [row for row in self._telemetry.expose().decode().splitlines() if row.startswith("gatehouse_node_conf")]
        return {row.split('result="')[1].split('"')[0]: int(float(row.split()[-1])) for row in rows if "_total{" in row}


@pytest.fixture
def live(client: RestClient, telemetry: Telemetry) -> Live:
    return Live(client, FakeClock(), telemetry)


def test_listers_answer_from_the_stores(api: FakeApi, client: RestClient, telemetry: Telemetry) -> None:
    clock = FakeClock(auto_advance=True)
    api.objects.put(node("edge-1", annotations={VOTE_ANNOTATION: "true"}))
    api.objects.put(pod("web-1", on="edge-1"))
    all_nodes, all_pods = informer(client, clock), informer(client, clock, PODS)
    for one in (all_nodes, all_pods):
        while not one.has_synced():
            one.reflector.advance()
    nodes: Nodes = NodeLister(all_nodes, client, VotePolicy(), clock, telemetry)
    pods: Pods = PodLister(all_pods)

    facts, running = nodes.get("edge-1"), pods.get("shop/web-1")

    assert facts is not None
    assert facts.vote is Vote.HEALTHY
    assert running is not None
    assert pods.on_node("edge-1") == [running]
    assert (nodes.get("edge-2"), pods.get("web-1"), pods.on_node("edge-2")) == (None, None, [])


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
    nodes = LiveNodes(client, VotePolicy(), SystemClock(), telemetry)
    began_s = time.monotonic()

    assert nodes.read("edge-1", Deadline.after(10.0, SystemClock())) is None

    assert time.monotonic() - began_s < 3.0  # the server would have taken for ever


def test_the_callers_deadline_is_kept(api: FakeApi, client: RestClient, telemetry: Telemetry) -> None:
    api.always("get", hang)
    nodes = LiveNodes(client, VotePolicy(), SystemClock(), telemetry)
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
        def get_bytes(self, path: str, params: object = None, *, timeout_s: float | None = None) -> bytes:
            return b'{"metadata":{"name":"%s"}}' % path.rsplit("/", 1)[1].encode()

    clock = FakeClock()
    nodes = LiveNodes(Everything(), VotePolicy(), clock, telemetry)

    for number in range(CONFIRM_KEPT_NODES + 10):
        assert nodes.read(f"edge-{number}", Deadline.after(1.0, clock)) is not None

    assert len(nodes._flights) == CONFIRM_KEPT_NODES
