"""An answer that was cut anywhere is no answer; a request that nobody takes is a silence."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress

import pytest
from kubernetes.client import Configuration

from controllers.runtime.errors import TimedOut, Unreachable
from controllers.runtime.rest import RestClient
from webhook.clock import SystemClock
from webhook.telemetry import Telemetry

BODY = b'{"kind":"Node"}'
ANSWER = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s" % (len(BODY), BODY)

Serve = Callable[[socket.socket], object]


class Server:
    """Gives each connection to `serve`, one at a time, and closes it then."""

    def __init__(self) -> None:
        self.serve: Serve = lambda connection: None
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._listener.getsockname()[1]}"

    def _run(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            with connection, suppress(OSError):
                self.serve(connection)

    def close(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._thread.join(10)
        self._listener.close()


@pytest.fixture
def server() -> Iterator[Server]:
    server = Server()
    yield server
    server.close()


@pytest.fixture
def client(server: Server) -> Iterator[RestClient]:
    configuration = Configuration()
    configuration.host = server.url
    client = RestClient(lambda: configuration, Telemetry(), SystemClock())
    yield client
    client.close()


def test_an_answer_that_was_cut_anywhere_is_none(server: Server, client: RestClient) -> None:
    for sent in range(len(ANSWER)):

        def cut(connection: socket.socket, sent: int = sent) -> None:
            connection.recv(65536)
            connection.sendall(ANSWER[:sent])

        server.serve = cut
        with pytest.raises(Unreachable):
            client.get("/api/v1/nodes/a", timeout_s=5.0)

    server.serve = lambda connection: (connection.recv(65536), connection.sendall(ANSWER))
    assert client.get("/api/v1/nodes/a", timeout_s=5.0) == {"kind": "Node"}


def test_a_kept_connection_that_takes_no_more_is_a_silence(server: Server, client: RestClient) -> None:
    let_go = threading.Event()

    def answer_once(connection: socket.socket) -> None:
        connection.recv(65536)
        connection.sendall(ANSWER)
        let_go.wait(30)

    server.serve = answer_once
    client.get("/api/v1/nodes/a", timeout_s=5.0)
    era = client._access.trust.era

    with pytest.raises(TimedOut):
        client.create("/api/v1/nodes", {"a": "x" * 30_000_000}, timeout_s=0.5)

    let_go.set()
    assert client._access.trust.era == era + 1
