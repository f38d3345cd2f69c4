"""Of the addresses of a host some may be dead: that takes from the one time that the request has, and nothing leaves after it.

Real sockets on several loopback addresses; only the name's resolution is made up, since no name here has several.
"""

from __future__ import annotations

import gc
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Thread
from typing import Any

import pytest
from kubernetes.client import Configuration

from controllers.runtime.errors import TimedOut, Unreachable
from controllers.runtime.rest import RestClient
from webhook.clock import SystemClock
from webhook.telemetry import Telemetry

HOST = "several.test"


class Answering(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        self.server.seen.append(self.path)  # type: ignore[attr-defined]
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(201)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"{}")

    def log_message(self, *_arguments: Any) -> None:
        pass


@pytest.fixture
def live() -> Iterator[ThreadingHTTPServer]:
    """On 127.0.0.1, at whose port others may be dead."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Answering) as server:
        server.seen = []  # type: ignore[attr-defined]
        thread = Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture
def sockets() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


def dead(sockets: ExitStack, address: str, port: int) -> str:
    """*address*, where nobody takes a connection and nobody refuses one: the backlog is full."""
    listener = sockets.enter_context(socket.socket())
    listener.bind((address, port))
    listener.listen(0)
    for _ in range(4):
        caller = sockets.enter_context(socket.socket())
        caller.setblocking(False)
        caller.connect_ex((address, port))
    return address


@pytest.fixture
def client(live: ThreadingHTTPServer) -> Iterator[RestClient]:
    configuration = Configuration()
    configuration.host = f"http://{HOST}:{live.server_port}"
    client = RestClient(lambda: configuration, Telemetry(), SystemClock())
    yield client
    client.close()


def resolve(monkeypatch: pytest.MonkeyPatch, *addresses: str, takes_s: float = 0.0) -> list[str]:
    """Let HOST stand for *addresses*. What comes back grows by the name each time that it is resolved."""
    really, asked = socket.getaddrinfo, []

    def found(host: Any, port: Any, *others: Any, **named: Any) -> list[Any]:
        if host == HOST:
            asked.append(host)
            Event().wait(takes_s)
        hosts = addresses if host == HOST else (host,)
        return [one for each in hosts for one in really(each, port, *others, **named)]

    monkeypatch.setattr(socket, "getaddrinfo", found)
    return asked


def test_the_address_that_answers_is_found_within_the_time_of_one_request(
    live: ThreadingHTTPServer, client: RestClient, sockets: ExitStack, monkeypatch: pytest.MonkeyPatch
) -> None:
    port = live.server_port
    resolve(monkeypatch, dead(sockets, "127.0.0.2", port), dead(sockets, "127.0.0.3", port), "127.0.0.1")

    assert client.create("/api/v1/nodes", {}, timeout_s=1.5) == {}

    assert live.seen == ["/api/v1/nodes"]  # type: ignore[attr-defined]


def test_dead_addresses_take_no_more_than_the_time_of_one_request(
    live: ThreadingHTTPServer, client: RestClient, sockets: ExitStack, monkeypatch: pytest.MonkeyPatch
) -> None:
    resolve(monkeypatch, *(dead(sockets, f"127.0.0.{last}", live.server_port) for last in range(2, 8)))

    began_s = time.monotonic()
    with pytest.raises(TimedOut):
        client.create("/api/v1/nodes", {}, timeout_s=1.0)

    assert time.monotonic() - began_s < 3.0, "six addresses took the time of one each"


def test_an_address_that_refuses_costs_nothing(
    live: ThreadingHTTPServer, client: RestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    resolve(monkeypatch, "127.0.0.2", "127.0.0.1")

    assert client.create("/api/v1/nodes", {}, timeout_s=5.0) == {}


def times_out(client: RestClient, path: str) -> bool:
    """Not by pytest.raises, which keeps the error and all that its frames hold."""
    try:
        client.create(path, {}, timeout_s=0.1)
    except TimedOut:
        return True
    return False


def test_a_name_is_resolved_once(live: ThreadingHTTPServer, client: RestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = resolve(monkeypatch, "127.0.0.1")

    client.create("/api/v1/nodes", {}, timeout_s=5.0)

    assert asked == [HOST]


def test_nothing_is_sent_when_the_name_took_all_the_time(
    live: ThreadingHTTPServer, client: RestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    resolve(monkeypatch, "127.0.0.1", takes_s=0.3)

    assert times_out(client, "/late")

    client.create("/in-time", {}, timeout_s=5.0)
    gc.collect()  # the error's frames hold the pool in a cycle, and urllib3 closes a pool when nobody has it
    assert live.seen == ["/in-time"]  # type: ignore[attr-defined]


def test_a_name_that_nobody_knows_is_told_as_that(client: RestClient) -> None:
    with pytest.raises(Unreachable, match=HOST):
        client.create("/api/v1/nodes", {}, timeout_s=5.0)
