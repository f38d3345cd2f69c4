"""The application and its rights under PEP 3333, and what of cheroot is leant on."""

from __future__ import annotations

import gc
import inspect
import logging
import socket
import sys
import weakref
from collections.abc import Iterator
from importlib.metadata import version
from typing import Any

import cheroot.server
import cheroot.wsgi
import pytest

from tests.server.client import post, wait_until
from tests.server.conftest import Serve


def test_a_generator_without_a_length_becomes_one_answer_with_one(serve: Serve) -> None:
    def app(environ: dict[str, Any], start_response: Any) -> Iterator[bytes]:
        start_response("200 OK", [("Content-Type", "text/plain")])
        yield b"one "
        yield b""
        yield b"two"

    running = serve(app=app)

    with running.connect() as client:
        reply = client.post()
        assert (reply.body, reply.headers["content-length"], "transfer-encoding" in reply.headers) == (b"one two", "7", False)


def test_the_write_function_works(serve: Serve) -> None:
    def app(environ: dict[str, Any], start_response: Any) -> list[bytes]:
        write = start_response("200 OK", [("Content-Type", "text/plain")])
        write(b"one ")
        return [b"two"]

    with serve(app=app).connect() as client:
        assert client.post().body == b"one two"


@pytest.mark.parametrize("family", [socket.AF_INET, *([socket.AF_INET6] if socket.has_dualstack_ipv6() else [])])
def test_an_empty_host_is_every_interface_of_both_families(serve: Serve, family: socket.AddressFamily) -> None:
    running = serve(bind=("", 0), secure=False)
    loopback = "127.0.0.1" if family == socket.AF_INET else "::1"

    with socket.socket(family) as client:
        client.settimeout(5.0)
        client.connect((loopback, running.server.address[1]))
        client.sendall(post(b"{}"))

        assert client.recv(100).startswith(b"HTTP/1.1 200 ")


def test_an_exception_is_a_500_logged_and_counted_and_the_connection_goes_on(
    serve: Serve, caplog: pytest.LogCaptureFixture
) -> None:
    def app(environ: dict[str, Any], start_response: Any) -> list[bytes]:
        if environ["PATH_INFO"] == "/fail":
            raise LookupError("ours")
        start_response("200 OK", [("Content-Type", "text/plain")])
        return [b"fine"]

    running = serve(app=app)

    with caplog.at_level(logging.ERROR), running.connect() as client:
        assert client.post(path="/fail").status == 500
        assert client.post().body == b"fine"
    assert running.metric("gatehouse_server_faults_total") == 1
    assert "LookupError: ours" in caplog.text


def test_an_exception_in_the_middle_of_the_body_still_becomes_a_clean_500(serve: Serve) -> None:
    def app(environ: dict[str, Any], start_response: Any) -> Iterator[bytes]:
        start_response("200 OK", [("Content-Type", "text/plain")])
        yield b"half"
        raise LookupError("ours")

    with serve(app=app).connect() as client:
        reply = client.post()
        assert (reply.status, b"half" in reply.body) == (500, False)


def test_start_response_may_be_called_again_with_an_exception(serve: Serve) -> None:
    def app(environ: dict[str, Any], start_response: Any) -> list[bytes]:
        start_response("200 OK", [("X-First", "1")])
        try:
            raise LookupError
        except LookupError:
            start_response("503 Service Unavailable", [("Retry-After", "1")], sys.exc_info())
        return [b""]

    with serve(app=app).connect() as client:
        reply = client.post()
        assert (reply.status, reply.headers["retry-after"], "x-first" in reply.headers) == (503, "1", False)


@pytest.mark.parametrize(
    "headers",
    [[("X", "a\r\nSet-Cookie: b")], [("X\n", "a")], [("X", b"a")], [("X", "a\0")]],
    ids=["CR LF", "name", "bytes", "NUL"],
)
def test_a_header_that_would_break_the_answer_is_a_500(serve: Serve, headers: list[Any]) -> None:
    def app(environ: dict[str, Any], start_response: Any) -> list[bytes]:
        start_response("200 OK", headers)
        return [b""]

    with serve(app=app).connect() as client:
        assert client.post().status == 500


def test_an_application_that_forgets_start_response_is_a_500(serve: Serve) -> None:
    with serve(app=lambda environ, start_response: []).connect() as client:
        assert client.post().status == 500


def test_an_application_cannot_end_the_process(serve: Serve) -> None:
    def app(environ: dict[str, Any], start_response: Any) -> list[bytes]:
        sys.exit(3)

    running = serve(app=app)

    with running.connect() as client:
        assert client.post().status == 500
    assert running.server.alive()
    assert running.metric("gatehouse_server_faults_total") == 1


def test_the_close_of_the_answer_is_called_also_after_an_exception(serve: Serve) -> None:
    class Body:
        closed = 0

        def __iter__(self) -> Iterator[bytes]:
            yield b"x"
            raise LookupError

        def close(self) -> None:
            Body.closed += 1

    def app(environ: dict[str, Any], start_response: Any) -> Body:
        start_response("200 OK", [])
        return Body()

    with serve(app=app).connect() as client:
        assert client.post().status == 500
    assert Body.closed == 1


def test_connection_close_in_the_application_s_headers_is_honoured_and_said_once(serve: Serve) -> None:
    def app(environ: dict[str, Any], start_response: Any) -> list[bytes]:
        start_response("503 Service Unavailable", [("Connection", "close"), ("Retry-After", "1"), ("Content-Length", "0")])
        return [b""]

    with serve(app=app).connect() as client:
        client.send(post())
        head = client.head()
        assert head.count("Connection: close") == head.count("Content-Length: 0") == 1
        assert client.ended()


@pytest.mark.parametrize("status", ["204 No Content", "304 Not Modified"])
def test_answers_that_have_no_body_have_none(serve: Serve, status: str) -> None:
    def app(environ: dict[str, Any], start_response: Any) -> list[bytes]:
        start_response(status, [])
        return [b"ignored"]

    with serve(app=app).connect() as client:
        client.send(post() + post())
        heads = client.head() + client.head()
        assert "ignored" not in heads
        assert "Content-Length" not in heads


LEANT_ON = {
    cheroot.server.HTTPConnection.communicate: "(self)",
    cheroot.server.HTTPConnection._conditional_error: "(self, req, response)",
    cheroot.server.HTTPRequest.__init__: "(self, server, conn, proxy_mode=False, strict_mode=True)",
    cheroot.server.HTTPRequest.parse_request: "(self)",
    cheroot.server.HTTPRequest.respond: "(self)",
    cheroot.server.HTTPRequest.ensure_headers_sent: "(self)",
    cheroot.server.HTTPRequest.write: "(self, chunk)",
    cheroot.server.HTTPRequest.simple_response: "(self, status, msg='')",
    cheroot.server.HTTPServer.prepare: "(self)",
    cheroot.server.HTTPServer.bind_socket: "(socket_, bind_addr)",
    cheroot.server.HTTPServer.error_log: "(self, msg='', level=20, traceback=False)",
    cheroot.wsgi.Gateway.__init__: "(self, req)",
    cheroot.wsgi.Gateway.respond: "(self)",
    cheroot.wsgi.Gateway.start_response: "(self, status, headers, exc_info=None)",
    cheroot.wsgi.Gateway.write: "(self, chunk)",
    cheroot.wsgi.Gateway_10.get_environ: "(self)",
}


@pytest.mark.parametrize(("method", "signature"), LEANT_ON.items(), ids=[method.__qualname__ for method in LEANT_ON])
def test_what_is_leant_on_in_cheroot_has_the_signature_that_was_read(method: Any, signature: str) -> None:
    assert str(inspect.signature(method)) == signature


def test_cheroot_is_the_version_that_was_read() -> None:
    assert version("cheroot") == "11.1.2"


def test_cheroot_drives_a_request_only_through_what_is_replaced() -> None:
    """Its steps, in its own words: a change of any would have to be read again."""
    steps = inspect.getsource(cheroot.server.HTTPConnection.communicate)

    assert "req = self.RequestHandlerClass(self.server, self)" in steps
    assert steps.index("req.parse_request()") < steps.index("if not req.ready") < steps.index("req.respond()")
    assert "self._conditional_error(req, '500 Internal Server Error')" in steps


def test_nothing_of_a_request_waits_for_the_garbage_collector(serve: Serve) -> None:
    bodies: list[weakref.ref[Any]] = []

    class Body(list[bytes]):
        pass

    def app(environ: dict[str, Any], start_response: Any) -> Body:
        bodies.extend([weakref.ref(environ["wsgi.input"]), weakref.ref(body := Body([b"x"]))])
        start_response("200 OK", [("Content-Type", "text/plain")])
        return body

    running = serve(app=app)
    gc.disable()
    try:
        with running.connect() as client:
            for _ in range(3):
                client.post(b"x")
            wait_until(lambda: not any(body() for body in bodies))
    finally:
        gc.enable()
