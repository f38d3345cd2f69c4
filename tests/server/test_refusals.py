"""What no honest client sends: a clean refusal each, counted once, and no traceback anywhere."""

from __future__ import annotations

import logging
import socket
import ssl

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.server.client import tls_1_1, wait_until
from tests.server.conftest import Running, Serve

FRAMING = {
    "two lengths": (
        b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nContent-Length: 5\r\n\r\nabcde",
        400,
        "repeated-header",
    ),
    "a negative length": (b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: -3\r\n\r\n", 400, "content-length"),
    "a length that is no number": (b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: abc\r\n\r\n", 400, "content-length"),
    "a length beside chunked": (
        b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        400,
        "length-and-chunked",
    ),
    "no Host": (b"GET / HTTP/1.1\r\n\r\n", 400, "no-host"),
    "ten thousand headers": (b"GET / HTTP/1.1\r\nHost: a\r\n" + b"a: b\r\n" * 10_000 + b"\r\n", 431, "header-count"),
    "a header line of a megabyte": (b"GET / HTTP/1.1\r\nHost: a\r\nX: " + b"x" * 2**20 + b"\r\n\r\n", 431, "head-bytes"),
    "a target of a megabyte": (b"GET /" + b"x" * 2**20, 414, "target-bytes"),
    "bare line feeds": (b"GET / HTTP/1.1\nHost: a\n\n", 400, "control-character"),
    "a folded header": (b"GET / HTTP/1.1\r\nHost: a\r\nX: y\r\n z\r\n\r\n", 400, "header-name"),
    "a blank before a colon": (b"GET / HTTP/1.1\r\nHost : a\r\n\r\n", 400, "header-name"),
    "a NUL": (b"GET / HTTP/1.1\r\nHost: \0\r\n\r\n", 400, "control-character"),
    "a malformed chunk": (b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n", 400, "chunk"),
    "an HTTP/2 preface": (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505, "version"),
}


@pytest.fixture
def quiet(caplog: pytest.LogCaptureFixture) -> pytest.LogCaptureFixture:
    caplog.set_level(logging.DEBUG)
    return caplog


@pytest.mark.parametrize(("sent", "status", "reason"), FRAMING.values(), ids=FRAMING.keys())
def test_bad_framing_is_refused_counted_and_closed(
    serve: Serve, quiet: pytest.LogCaptureFixture, sent: bytes, status: int, reason: str
) -> None:
    running = serve()

    with running.connect() as client:
        client.send(sent)
        reply = client.reply()
        assert (reply.status, reply.closes, client.ended()) == (status, True, True)
    assert_counted_once(running, "gatehouse_server_refused_total", reason, quiet)
    assert running.application.seen == []


def test_what_follows_a_refused_request_is_not_read_as_one(serve: Serve) -> None:
    running = serve()

    with running.connect() as client:
        client.send(b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: x\r\n\r\nGET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n")
        assert client.reply().status == 400
        assert client.ended()
    assert running.application.seen == []


def test_plain_http_on_the_tls_port_is_told_so(serve: Serve, quiet: pytest.LogCaptureFixture) -> None:
    running = serve()

    with socket.create_connection(running.server.address, timeout=5) as client:
        client.sendall(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        answer = b"".join(iter(lambda: client.recv(1000), b""))
    assert answer.startswith(b"HTTP/1.0 400 ")
    assert b"HTTPS" in answer
    assert_counted_once(running, "gatehouse_server_handshakes_total", "plain-http", quiet)


@pytest.mark.parametrize(
    "garbage", [b"\0" * 600, b"\x16\x03\x01\xff\xff" + b"x" * 600, bytes(range(256)) * 4, b"\x80\x2e\x01\0\x02" * 50]
)
def test_garbage_instead_of_tls_is_closed(serve: Serve, quiet: pytest.LogCaptureFixture, garbage: bytes) -> None:
    running = serve()

    with socket.create_connection(running.server.address, timeout=5) as client:
        client.sendall(garbage)
        assert ended(client)
    assert "Traceback" not in quiet.text
    assert running.metric("gatehouse_server_faults_total") == 0
    wait_until(lambda: running.metric("gatehouse_server_connections") == 0)
    assert running.answers_at_once()


def test_tls_1_1_is_refused(serve: Serve, quiet: pytest.LogCaptureFixture) -> None:
    running = serve()

    with pytest.raises(ssl.SSLError):
        running.connect(tls_1_1())
    assert_counted_once(running, "gatehouse_server_handshakes_total", "tls-version", quiet)


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_tls_1_2_and_1_3_are_served_and_http_2_is_never_agreed_on(
    serve: Serve, trusting: ssl.SSLContext, version: ssl.TLSVersion
) -> None:
    running = serve()
    context = ssl.create_default_context()
    context.load_verify_locations(cadata=b"".join(trusting.get_ca_certs(binary_form=True)))
    context.minimum_version = context.maximum_version = version
    context.set_alpn_protocols(["h2", "http/1.1"])

    with running.connect(context) as client:
        assert isinstance(client.socket, ssl.SSLSocket)
        assert client.socket.selected_alpn_protocol() != "h2"
        assert client.post(b"x").body == b"x"


def test_a_damaged_record_ends_the_connection(serve: Serve) -> None:
    running = serve()

    with running.connect() as client:
        client.post(b"x")
        client.raw = socket.socket(fileno=client.socket.detach())
        client.raw.settimeout(5)
        client.raw.sendall(b"\x17\x03\x03\x00\x20" + b"x" * 32)
        assert ended(client.raw)
        client.raw.close()
    assert running.metric("gatehouse_server_faults_total") == 0


def test_any_bytes_after_the_handshake_leave_the_server_sound(serve: Serve) -> None:
    running = serve(threads=2)
    pieces = st.sampled_from(
        [
            b"POST / HTTP/1.1\r\n",
            b"Host: a\r\n",
            b"Content-Length: 3\r\n",
            b"Transfer-Encoding: chunked\r\n",
            b"\r\n",
            b"abc",
            b"3\r\n",
            b"0\r\n",
        ]
    )

    @settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
    @given(st.lists(st.one_of(pieces, pieces, pieces, st.binary(max_size=60)), max_size=20))
    def send(sent: list[bytes]) -> None:
        with running.connect() as client:
            client.send(b"".join(sent))

    send()

    assert running.answers_at_once()
    assert running.server.alive()
    assert running.metric("gatehouse_server_faults_total") == 0
    wait_until(lambda: running.metric("gatehouse_server_requests_in_flight") == 0)


def ended(client: socket.socket) -> bool:
    """Whether the server ends the connection; a TLS alert may come first."""
    try:
        while client.recv(1000):
            pass
    except ConnectionError:
        pass
    return True


def assert_counted_once(running: Running, metric: str, label: str, caplog: pytest.LogCaptureFixture) -> None:
    """One count under *label*, one log line, no traceback."""
    name = "result" if "handshakes" in metric else "reason"
    wait_until(lambda: running.metric(metric, **{name: label}) == 1)
    assert running.metric("gatehouse_server_faults_total") == 0
    lines = [record for record in caplog.records if getattr(record, "facts", {}).get("reason") == label]
    assert len(lines) == 1
    assert all(record.exc_info is None for record in caplog.records)
