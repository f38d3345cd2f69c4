"""The reflector against a scripted API server over real HTTP. Waits are virtual; only sockets are waited for."""

from __future__ import annotations

import ssl
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import trustme

from controllers.runtime.backoff import Backoff, BackoffPolicy
from controllers.runtime.errors import StoreError
from controllers.runtime.reflector import Reflector
from controllers.runtime.resource import Added, Removed
from controllers.runtime.rest import Limits, RestClient
from controllers.runtime.watch import WatchPolicy
from controllers.testing import FakeApi, FakeClock
from controllers.testing.answers import Exchange, body, cut, drip, hang, status, stream
from tests.controllers.runtime.builders import PAGES, Recorder, bookmark, event, node, pod, reflector
from webhook.clock import SystemClock
from webhook.cluster import NodeFacts
from webhook.telemetry import Telemetry

STREAMS = WatchPolicy(stream_lists=True)


class Followed:
    """A reflector driven step by step on the test's thread, and what it did to its sink."""

    def __init__(self, client: RestClient, sink: Recorder | None = None, **options: Any) -> None:
        self.clock = FakeClock(auto_advance=True)
        self.sink = sink or Recorder()
        self.reflector = reflector(client, self.sink, self.clock, **options)

    def until_called(self, count: int) -> list[str]:
        """Step until the sink was called *count* times."""
        for _ in range(100):
            if len(self.sink.calls) >= count:
                return self.sink.calls
            self.reflector.advance()
        raise AssertionError(self.sink.calls)


Follow = Callable[..., Followed]


@pytest.fixture
def follow(client: RestClient) -> Iterator[Follow]:
    made: list[Followed] = []

    def make(**options: Any) -> Followed:
        made.append(Followed(client, **options))
        return made[-1]

    yield make

    for one in made:
        one.reflector.hang_up()


@pytest.fixture
def followed(follow: Follow) -> Followed:
    return follow()


# -- following


def test_pages_become_one_replacement(api: FakeApi, follow: Follow) -> None:
    for number in range(5):
        api.objects.put(node(f"edge-{number}"))
    followed = follow(policy=WatchPolicy(page_limit=2, stream_lists=False))

    assert followed.until_called(1) == ["replace edge-0,edge-1,edge-2,edge-3,edge-4"]
    assert [request.params.get("limit") for request in api.asked("list")] == ["2", "2", "2"]


def test_a_server_that_ignores_the_limit_is_taken_whole(follow: Follow, api: FakeApi) -> None:
    api.objects.pages_at_zero = False
    for number in range(5):
        api.objects.put(node(f"edge-{number}"))
    followed = follow(policy=WatchPolicy(page_limit=2, stream_lists=False))

    assert followed.until_called(1) == ["replace edge-0,edge-1,edge-2,edge-3,edge-4"]
    assert api.count("list") == 1


def test_events_follow_the_list(api: FakeApi, followed: Followed) -> None:
    api.objects.put(node("a"))
    followed.until_called(1)

    api.objects.put(node("b"))
    api.objects.put(node("a", ready="Unknown"))
    api.objects.drop("Node", "a")
    # The watch has to be open before a bookmark is sent: bookmarks are no history.
    followed.until_called(4)
    api.objects.bookmark()

    assert followed.until_called(5)[1:] == ["put b", "put a", "remove a", f"advance {api.objects.version}"]


def test_a_stream_of_initial_events_becomes_one_replacement(api: FakeApi, follow: Follow) -> None:
    api.objects.put(node("a"))
    api.objects.put(node("b"))
    followed = follow(policy=STREAMS)

    assert followed.until_called(1) == ["replace a,b"]
    assert (api.count("list"), api.count("watch")) == (0, 1)


def test_a_server_without_streams_is_listed(api: FakeApi, follow: Follow) -> None:
    api.watch_list = False
    api.objects.put(node("a"))
    followed = follow(policy=STREAMS)

    assert followed.until_called(1) == ["replace a"]
    assert followed.clock.waits == []


def test_nothing_is_replaced_before_the_mark_of_the_stream(api: FakeApi, follow: Follow) -> None:
    initial = event("ADDED", node("a", resourceVersion="5"))
    api.next("watch", stream(initial, bookmark(5), then="cut"), stream(initial, bookmark(5, end=True), then="hang"))
    followed = follow(policy=STREAMS)

    for _ in range(5):
        followed.reflector.advance()
    assert followed.sink.calls == []

    assert followed.until_called(1) == ["replace a"]


def test_a_deletion_within_the_initial_events_counts(api: FakeApi, follow: Follow) -> None:
    api.next(
        "watch",
        stream(
            event("ADDED", node("a", resourceVersion="5")),
            event("ADDED", node("b", resourceVersion="6")),
            event("DELETED", node("a", resourceVersion="7")),
            bookmark(7, end=True),
            then="hang",
        ),
    )

    assert follow(policy=STREAMS).until_called(1) == ["replace b"]


# -- what is not usable


def test_an_event_of_another_kind_is_skipped(api: FakeApi, followed: Followed) -> None:
    api.next("watch", stream(event("ADDED", pod()), event("ADDED", node("a", resourceVersion="200")), then="hang"))

    assert followed.until_called(2) == ["replace ", "put a"]


def test_an_event_that_cannot_be_decoded_costs_itself_only(api: FakeApi, follow: Follow, telemetry: Telemetry) -> None:
    broken = node("a")
    broken["spec"] = {"taints": "none"}
    api.next("watch", stream(event("ADDED", broken), event("ADDED", node("b", resourceVersion="200")), then="hang"))
    followed = follow(telemetry=telemetry)

    assert followed.until_called(2) == ["replace ", "put b"]
    assert b'gatehouse_reflector_skipped_total{reason="undecodable",resource="nodes"} 1.0' in telemetry.expose()


@pytest.mark.parametrize("field", [b'"metadata":', b'"metadata":{"name":"x","managedFields":'])
def test_an_event_that_is_nested_too_deeply_costs_itself_only(api: FakeApi, followed: Followed, field: bytes) -> None:
    levels = 5000
    deep = b'{"type":"ADDED","object":{"kind":"Node","apiVersion":"v1",' + field + b'{"a":' * levels + b"1" + b"}" * levels
    deep += b"}" * (field.count(b"{") + 2)
    api.next("watch", stream(deep, event("ADDED", node("b", resourceVersion="200")), then="hang"))

    assert followed.until_called(2) == ["replace ", "put b"]
    assert followed.clock.waits == []


def test_an_object_in_a_page_that_cannot_be_decoded_costs_itself_only(api: FakeApi, followed: Followed) -> None:
    api.objects.put(node("a"))
    api.objects.put({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "b", "labels": 5}})
    api.objects.put(node("c"))

    assert followed.until_called(1) == ["replace a,c"]


@pytest.mark.parametrize(
    "answer",
    [
        b'{"kind":"Table","apiVersion":"meta.k8s.io/v1","metadata":{"resourceVersion":"5"},"rows":[]}',
        b'{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"5"},"items":[]}',
        b'{"kind":"NodeList","metadata":{"resourceVersion":"5"},"items":[{"metadata"',
        b"<html>login</html>",
        b"",
    ],
    ids=["table", "other-kind", "cut", "html", "empty"],
)
def test_what_is_no_list_never_empties_the_store(api: FakeApi, followed: Followed, answer: bytes) -> None:
    api.objects.put(node("a"))
    api.next("list", body(answer))

    assert followed.until_called(1) == ["replace a"]
    assert followed.clock.waits == [0.8]


def test_a_table_in_a_watch_is_refused(api: FakeApi, followed: Followed) -> None:
    table = {"kind": "Table", "apiVersion": "meta.k8s.io/v1", "metadata": {"resourceVersion": "300"}, "rows": []}
    api.next("watch", stream(event("ADDED", table), event("ADDED", node("a", resourceVersion="301")), then="hang"))

    assert followed.until_called(2) == ["replace ", "put a"]


def test_a_watch_of_rubbish_leads_to_a_list(api: FakeApi, followed: Followed) -> None:
    api.next("watch", stream(b"<html>", then="hang"))

    assert followed.until_called(2) == ["replace ", "replace "]
    assert followed.clock.waits == [0.8]


# -- faults


def test_any_script_of_errors_converges(api: FakeApi, followed: Followed) -> None:
    api.objects.put(node("a"))
    api.next("list", status(500), cut, status(429, retry_after_s=2), status(403), status(503), body(b"{"))
    api.next("watch", status(500), status(410), cut, stream(then="end"), status(401), stream(b"null"), status(404))

    followed.until_called(1)
    api.objects.put(node("b"))
    for _ in range(200):
        if followed.sink.keys == {"a", "b"}:
            break
        followed.reflector.advance()

    assert followed.sink.keys == {"a", "b"}


@pytest.mark.parametrize("fault", [status(500), cut, status(429), stream(then="end"), status(410)], ids=str)
def test_a_minute_of_faults_costs_fewer_than_20_requests(api: FakeApi, followed: Followed, fault: object) -> None:
    followed.until_called(1)
    before, began_s = len(api.requests), followed.clock.monotonic_s()
    api.always("any", fault)  # type: ignore[arg-type]

    while followed.clock.monotonic_s() - began_s < 60.0:
        followed.reflector.advance()

    assert len(api.requests) - before < 20


def test_a_minute_of_faults_before_the_first_list_costs_fewer_than_20_requests(api: FakeApi, follow: Follow) -> None:
    api.always("any", status(500))
    followed = follow(policy=STREAMS)
    began_s = followed.clock.monotonic_s()

    while followed.clock.monotonic_s() - began_s < 60.0:
        followed.reflector.advance()

    assert len(api.requests) < 20


def test_a_busy_server_is_watched_again_without_a_list(api: FakeApi, followed: Followed) -> None:
    api.next("watch", status(429, retry_after_s=7))
    followed.until_called(1)

    api.objects.put(node("a"))

    assert followed.until_called(2) == ["replace ", "put a"]
    assert (api.count("list"), followed.clock.waits) == (1, [7.0])


def test_a_compacted_version_leads_to_a_list_from_the_last_one(api: FakeApi, followed: Followed) -> None:
    api.objects.put(node("a"))
    followed.until_called(1)
    last = api.objects.version
    api.next("watch", cut)
    api.objects.put(node("b"))
    api.objects.compact()

    assert followed.until_called(2)[1] == "replace a,b"
    assert api.asked("list")[-1].params == {"resourceVersion": str(last)}


def test_an_expired_page_token_leads_to_a_full_list(api: FakeApi, follow: Follow) -> None:
    for number in range(4):
        api.objects.put(node(f"edge-{number}"))
    followed = follow(policy=WatchPolicy(page_limit=2, stream_lists=False))
    while api.count("list") < 1:
        followed.reflector.advance()
    api.objects.compact()

    assert followed.until_called(1) == ["replace edge-0,edge-1,edge-2,edge-3"]
    assert [request.params for request in api.asked("list")] == [
        {"limit": "2", "resourceVersion": "0"},
        {"limit": "2", "continue": api.asked("list")[1].params["continue"]},
        {"resourceVersion": "0"},
    ]


@pytest.mark.parametrize("policy", [PAGES, STREAMS], ids=["pages", "streams"])
def test_a_server_restored_from_a_backup_is_followed_again(api: FakeApi, follow: Follow, policy: WatchPolicy) -> None:
    api.objects.put(node("a"))
    followed = follow(policy=policy)
    followed.until_called(1)
    api.objects.drop("Node", "a")
    followed.until_called(2)
    api.objects.forget_versions(50)
    api.objects.put(node("b"))
    api.cut_watches()

    assert followed.until_called(3)[2] == "replace b"


def test_a_cut_line_is_not_an_event(api: FakeApi, followed: Followed) -> None:
    line = b'{"type":"ADDED","object":{"kind":"Node","apiVersion":"v1","metadata":{"name":"a","resourceVersion":"300"'

    def answer(exchange: Exchange) -> None:
        exchange.begin()
        exchange.chunk(line)
        exchange.end()

    api.next("watch", answer)
    followed.until_called(1)

    api.objects.put(node("b"))

    assert followed.until_called(2)[1:] == ["put b"]


def test_slow_bytes_are_waited_for(api: FakeApi, followed: Followed) -> None:
    slow = b'{"type":"ADDED","object":{"kind":"Node","apiVersion":"v1","metadata":{"name":"a","resourceVersion":"9"}}}\n'
    api.next("watch", drip(slow, 0.0005))

    assert followed.until_called(2) == ["replace ", "put a"]


def test_blank_lines_are_no_events(api: FakeApi, followed: Followed) -> None:
    api.next("watch", stream(b"", b"  ", event("ADDED", node("a", resourceVersion="300")), then="hang"))

    assert followed.until_called(2) == ["replace ", "put a"]


def test_a_half_open_socket_is_noticed_by_its_silence(api: FakeApi, follow: Follow) -> None:
    followed = follow(policy=WatchPolicy(read_timeout_s=0.2, stream_lists=False))
    followed.until_called(1)
    followed.reflector.advance()
    api.until(lambda: api.count("watch") == 1)
    api.mute_watches()
    api.objects.put(node("a"))

    assert followed.until_called(2)[1] == "put a"
    assert api.count("list") == 1


def test_a_failing_store_is_listed_again(api: FakeApi, follow: Follow) -> None:
    class Fragile(Recorder):
        def apply(self, event: Added[NodeFacts] | Removed[NodeFacts]) -> None:
            raise StoreError("index")

    followed = follow(sink=Fragile())
    followed.until_called(1)

    api.objects.put(node("a"))

    assert followed.until_called(2) == ["replace ", "replace a"]


def test_the_backoff_is_the_callers(api: FakeApi, follow: Follow) -> None:
    api.next("list", status(500), status(500))
    followed = follow(backoff=Backoff(BackoffPolicy(initial_s=0.1, factor=3.0)))

    followed.until_called(1)

    assert followed.clock.waits == pytest.approx([0.1, 0.3])


def test_silence_is_measured_from_the_last_event(api: FakeApi, followed: Followed) -> None:
    followed.until_called(1)
    followed.clock.advance(30.0)
    assert followed.reflector.silence_s() == 30.0

    followed.reflector.advance()

    assert followed.reflector.silence_s() == 0.0


# -- the thread


def started(client: RestClient, clock: FakeClock | SystemClock, **options: object) -> tuple[Reflector[NodeFacts], Recorder]:
    sink = Recorder()
    one = reflector(client, sink, clock, **options)  # type: ignore[arg-type]
    one.start()
    return one, sink


def stops_at_once(one: Reflector[NodeFacts]) -> None:
    began_s = time.monotonic()
    one.signal_stop()
    assert one.join(5.0)
    assert time.monotonic() - began_s < 5.0


def test_a_reflector_stops_in_a_blocked_read(api: FakeApi, client: RestClient) -> None:
    one, sink = started(client, SystemClock())
    api.until(lambda: api.count("watch") == 1)

    stops_at_once(one)

    assert sink.calls == ["replace "]


def test_a_reflector_stops_while_the_head_of_a_list_is_awaited(api: FakeApi, client: RestClient) -> None:
    api.always("list", hang)
    one, _ = started(client, SystemClock())
    api.until(lambda: api.count("list") == 1)

    stops_at_once(one)


def test_a_reflector_stops_while_the_head_of_a_watch_is_awaited(api: FakeApi, client: RestClient) -> None:
    api.always("watch", hang)
    one, _ = started(client, SystemClock())
    api.until(lambda: api.count("watch") == 1)

    stops_at_once(one)


def test_a_reflector_stops_in_the_middle_of_a_slow_list(api: FakeApi, client: RestClient) -> None:
    api.always("list", drip(b"{" + b" " * 100_000, 0.01))
    one, _ = started(client, SystemClock())
    api.until(lambda: api.count("list") == 1)

    stops_at_once(one)


def test_a_reflector_stops_in_its_sleep(api: FakeApi, client: RestClient) -> None:
    clock = FakeClock()
    api.always("list", status(500))
    one, _ = started(client, clock)
    assert clock.until_waiting() == [0.8]

    stops_at_once(one)


def test_a_reflector_stops_while_it_waits_for_the_rate_limit(api: FakeApi, tmp_path: Path) -> None:
    limits = Limits(per_second=0.05, burst=1)
    client = RestClient.from_kubeconfig(api.kubeconfig(tmp_path), Telemetry(), SystemClock(), limits)
    one, sink = started(client, SystemClock())
    api.until(lambda: sink.calls == ["replace "])

    stops_at_once(one)

    assert api.count("watch") == 0
    client.close()


def test_a_reflector_that_was_stopped_first_never_starts(api: FakeApi, client: RestClient) -> None:
    one = reflector(client, Recorder(), SystemClock())
    one.signal_stop()

    one.start()

    assert one.join(0.0)
    assert api.requests == []


def test_the_thread_is_named_after_its_resource(api: FakeApi, client: RestClient) -> None:
    one, _ = started(client, SystemClock())

    assert "reflector/nodes" in [thread.name for thread in threading.enumerate()]
    assert one.alive()

    stops_at_once(one)
    assert not one.alive()


def test_a_paused_server_costs_nothing_and_is_followed_when_it_goes_on(api: FakeApi, client: RestClient) -> None:
    clock = FakeClock()
    one, sink = started(client, clock)
    api.until(lambda: api.count("watch") == 1)
    asked = len(api.requests)

    api.pause()
    api.objects.put(node("a"))
    api.resume()

    api.until(lambda: sink.keys == {"a"})
    assert len(api.requests) == asked
    stops_at_once(one)


def test_a_restarted_and_compacted_server_is_followed_without_a_hot_loop(api: FakeApi, client: RestClient) -> None:
    clock = FakeClock()
    one, sink = started(client, clock)
    api.until(lambda: api.count("watch") == 1)
    api.pause()
    api.cut_watches()
    api.objects.put(node("a"))
    api.objects.compact()
    api.resume()

    for _ in range(2):  # the cut watch, then its successor's 410
        clock.advance(clock.until_waiting()[0])

    api.until(lambda: sink.keys == {"a"})
    api.until(lambda: api.count("watch") == 3)
    assert (api.count("list"), api.count("watch")) == (2, 3)
    stops_at_once(one)


def test_a_bug_ends_the_thread_and_is_reported(api: FakeApi, client: RestClient) -> None:
    class Buggy(Recorder):
        def replace(self, *_: object) -> None:
            raise ZeroDivisionError

    deaths: list[tuple[str, type[BaseException], bool]] = []

    def on_death(name: str, error: BaseException) -> None:
        deaths.append((name, type(error), one.join(5.0)))  # a supervisor may try to stop everything from here

    one = reflector(client, Buggy(), SystemClock(), on_death=on_death)

    one.start()

    assert one.join(5.0)
    assert deaths == [("reflector/nodes", ZeroDivisionError, False)]


def test_tls_does_not_keep_a_reflector_from_stopping(tmp_path: Path, telemetry: Telemetry) -> None:
    authority = trustme.CA()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(context)
    authority.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    with FakeApi(tls=context) as api:
        config = api.kubeconfig(tmp_path, cluster={"certificate-authority": str(tmp_path / "ca.pem")})
        client = RestClient.from_kubeconfig(config, telemetry, SystemClock())
        one, sink = started(client, SystemClock())
        api.objects.put(node("a"))
        api.until(lambda: sink.keys == {"a"})
        api.until(lambda: api.count("watch") == 1)

        stops_at_once(one)
        client.close()
