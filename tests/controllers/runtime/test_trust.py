"""Connections that go dark: which of the kept ones are used again, and what a slow server is spared."""

from __future__ import annotations

import ssl
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
import trustme

from controllers.runtime import errors
from controllers.runtime.again import asked_again
from controllers.runtime.live import TIMEOUT_S
from controllers.runtime.rest import Limits, RestClient
from controllers.runtime.transport import on_new_connections
from controllers.runtime.trust import SILENCE_S, WITHDRAWN_EVERY_S, Trust
from controllers.testing import FakeApi, FakeClock
from controllers.testing.answers import Exchange, hang
from tests.controllers.runtime.builders import Json, node
from webhook.clock import Deadline
from webhook.telemetry import Telemetry

NODES = "/api/v1/nodes"
PATIENCE_S = SILENCE_S * 1.2


class Line:
    """A client with a clock that stands still, and the ports that its requests came from."""

    def __init__(self, api: FakeApi, folder: Path, cluster: Json, limits: Limits) -> None:
        self.api, self.clock, self.ports = api, FakeClock(), []
        self.client = RestClient.from_kubeconfig(api.kubeconfig(folder, cluster=cluster), Telemetry(), self.clock, limits)
        api.always("any", self._noted)

    def _noted(self, exchange: Exchange) -> None:
        self.ports.append(exchange._handler.client_address[1])
        self.api.ordinary(exchange)

    def ask(self) -> int:
        """The port of a request that is answered."""
        self.client.get(NODES, timeout_s=5.0)
        return self.ports[-1]

    def keep(self, count: int = 2) -> list[int]:
        """The ports of *count* connections that were in use at once, and are idle now; the next one to be used last.

        Those that are idle already are used before new ones are made.
        """
        start = len(self.ports)
        with ExitStack() as stack:
            for pieces in [stack.enter_context(self.client.listing(NODES, {})) for _ in range(count)]:
                list(pieces)
        return self.ports[start:]

    def meet_silence(self) -> None:
        """A request on the next idle connection gets no answer."""
        self.api.next("list", hang)
        with pytest.raises(errors.TimedOut):
            self.client.get(NODES, timeout_s=PATIENCE_S)


@contextmanager
def line_to(api: FakeApi, folder: Path, cluster: Json | None = None, limits: Limits = Limits(burst=1000)) -> Iterator[Line]:
    line = Line(api, folder, cluster or {}, limits)
    try:
        yield line
    finally:
        line.client.close()


@pytest.fixture
def line(api: FakeApi, tmp_path: Path) -> Iterator[Line]:
    with line_to(api, tmp_path) as made:
        yield made


# -- which are used again


def test_one_silence_costs_one_request_however_many_connections_went_dark(line: Line) -> None:
    dark = line.keep(3)
    line.api.forget_connections()
    with pytest.raises(errors.TimedOut):
        line.client.get(NODES, timeout_s=PATIENCE_S)

    assert not {*line.keep(5)} & {*dark}


def test_over_tls_too(tmp_path: Path) -> None:
    authority, context = trustme.CA(), ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(context)
    authority.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    cluster = {"certificate-authority": str(tmp_path / "ca.pem")}
    with FakeApi(tls=context) as api, line_to(api, tmp_path, cluster) as line:
        dark = line.keep(3)
        api.forget_connections()
        with pytest.raises(errors.TimedOut):
            line.client.get(NODES, timeout_s=PATIENCE_S)

        assert not {*line.keep(5)} & {*dark}


def test_through_a_proxy_too(api: FakeApi, tmp_path: Path) -> None:
    with line_to(api, tmp_path, {"server": "http://cluster.invalid:6443", "proxy-url": api.url}) as line:
        dark = line.keep(3)
        api.forget_connections()
        with pytest.raises(errors.TimedOut):
            line.client.get(NODES, timeout_s=PATIENCE_S)

        assert not {*line.keep(5)} & {*dark}


def test_a_silence_in_the_middle_of_an_answer_counts(line: Line) -> None:
    def broken_off(exchange: Exchange) -> None:
        exchange.begin()
        exchange.chunk(b'{"kind":')
        exchange.hang()

    kept = line.keep()
    line.api.next("list", broken_off)
    with pytest.raises(errors.TimedOut):
        line.client.get(NODES, timeout_s=PATIENCE_S)

    assert not {*line.keep(4)} & {*kept}


def test_one_that_was_in_use_is_trusted_again_once_it_has_answered(line: Line) -> None:
    answer_it = threading.Event()

    def late(exchange: Exchange) -> None:
        answer_it.wait(10.0)
        line._noted(exchange)

    line.api.objects.put(node("a"))
    line.keep()
    line.api.next("get", late)
    waiting = threading.Thread(target=line.client.get, args=(f"{NODES}/a",))
    waiting.start()
    line.api.until(lambda: line.api.count("get") == 1)
    line.meet_silence()
    answer_it.set()
    waiting.join(10.0)

    assert line.ports[-1] == line.ask()


def test_new_connections_are_had_for_the_asking(line: Line) -> None:
    kept = line.keep()

    with on_new_connections():
        first, second = line.ask(), line.ask()

    assert first != second and not {first, second} & {*kept}
    assert line.ask() in (second, *kept), "only inside the block"


def test_a_second_attempt_uses_none_that_was_kept(line: Line) -> None:
    kept = line.keep()

    attempts = iter([errors.TimedOut("another thread has put a dark one back meanwhile"), None])

    def attempt(_left_s: float) -> int:
        failure = next(attempts)
        if failure is not None:
            raise failure
        return line.ask()

    assert asked_again(attempt, Deadline.after(5.0, line.clock), most_s=5.0) not in kept


# -- what says nothing about the others


def test_a_new_connection_without_an_answer_is_a_slow_server(line: Line) -> None:
    kept = line.keep()

    with on_new_connections():
        line.meet_silence()

    assert {*line.keep(4)} & {*kept} == {kept[0]}, "the last one was given up for the new connection"


def test_who_is_in_a_hurry_says_nothing_about_the_connection(line: Line) -> None:
    kept = line.keep(3)
    line.api.next("list", hang)
    with pytest.raises(errors.TimedOut):
        line.client.get(NODES, timeout_s=SILENCE_S / 5)

    assert {*line.keep(4)} & {*kept} == {*kept[:2]}, "all but the one that gave no answer"


@pytest.mark.parametrize("lasts_s", [SILENCE_S / 5, SILENCE_S * 2])
def test_a_body_that_flows_and_is_too_long_for_its_time_is_no_silence(line: Line, lasts_s: float) -> None:
    def endless(exchange: Exchange) -> None:
        exchange.begin()
        while not read.is_set():
            exchange.chunk(b'{"kind":')

    read, kept = threading.Event(), line.keep(3)
    line.api.next("list", endless)
    line.clock.monotonic_s = time.monotonic  # type: ignore[method-assign]
    with pytest.raises(errors.TimedOut):
        line.client.get(NODES, timeout_s=lasts_s)
    read.set()

    assert {*line.keep(4)} & {*kept} == {*kept[:2]}


def test_a_full_live_read_is_long_enough_to_count() -> None:
    assert SILENCE_S < TIMEOUT_S


def test_our_own_rate_limit_is_no_silence(api: FakeApi, tmp_path: Path) -> None:
    with line_to(api, tmp_path, limits=Limits(per_second=0.001, burst=1)) as line:
        kept = line.ask()
        with pytest.raises(errors.HeldBack):
            line.client.get(NODES, timeout_s=PATIENCE_S)
        line.clock.advance(1000.0)  # one request's worth

        assert line.ask() == kept


# -- what a slow server is spared


def test_a_slow_server_gets_no_more_handshakes_than_one_for_each_connection_in_ten_seconds(line: Line) -> None:
    line.keep()
    line.meet_silence()
    kept = line.keep(3)

    line.meet_silence()
    assert {*line.keep(4)} & {*kept} == {*kept[:2]}, "all but the one that gave no answer"

    kept = line.keep(3)
    line.clock.advance(WITHDRAWN_EVERY_S)
    line.meet_silence()
    assert not {*line.keep(4)} & {*kept}


def test_a_watch_that_fell_silent_is_believed_at_once() -> None:
    trust = Trust("cluster:6443", FakeClock())
    trust.doubt(SILENCE_S)
    before = trust.era

    trust.withdraw()
    after = trust.era
    trust.doubt(SILENCE_S)

    assert before < after == trust.era
