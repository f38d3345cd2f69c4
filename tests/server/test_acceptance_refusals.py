"""What no honest client sends, against the real process: a clean refusal each, one counted line, no traceback."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Iterator

import attrs
import pytest

from tests.server.client import Client, post, tls_1_1, wait_until
from tests.server.replica import PATH, Replica, example_review, replica

START = b"POST /node-taint?timeout=1s HTTP/1.1\r\nHost: a\r\n"


@attrs.frozen
class Offence:
    """Bytes after the handshake, and how they are refused."""

    sent: bytes
    status: int
    reason: str


OFFENCES = {
    "two Content-Lengths": Offence(START + b"Content-Length: 3\r\nContent-Length: 5\r\n\r\nabcde", 400, "repeated-header"),
    "a negative one": Offence(START + b"Content-Length: -3\r\n\r\n", 400, "content-length"),
    "one beside chunked": Offence(
        START + b"Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400, "length-and-chunked"
    ),
    "no Host": Offence(b"GET / HTTP/1.1\r\n\r\n", 400, "no-host"),
    "10,000 headers": Offence(START + b"a: b\r\n" * 10_000 + b"\r\n", 431, "header-count"),
    "a header line of 1 MB": Offence(START + b"X: " + b"x" * 10**6 + b"\r\n\r\n", 431, "head-bytes"),
    "a body that stops half-way": Offence(START + b"Content-Length: 100\r\n\r\nabc", 408, "body-timeout"),
    "a second request that is none": Offence(
        post(example_review(), PATH, ["Content-Type: application/json"]) + b"PRI * HTTP/2.0\r\n\r\n", 505, "version"
    ),
}


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Replica]:
    with replica(tmp_path_factory.mktemp("refusals")) as process:
        yield process


def counted(running: Replica, label: str) -> tuple[float, int]:
    """How often the metrics have *label*, and how many log lines."""
    metrics = running.total("gatehouse_server_refused_total", reason=label) + running.total(
        "gatehouse_server_handshakes_total", result=label
    )
    return metrics, running.served.log().count(f"reason={label} ")


def assert_counted_once(running: Replica, label: str) -> None:
    wait_until(lambda: counted(running, label) == (1, 1))
    assert "Traceback" not in running.served.log()
    assert running.total("gatehouse_server_faults_total") == 0


@pytest.mark.parametrize("offence", OFFENCES.values(), ids=OFFENCES.keys())
def test_a_request_that_is_none_is_refused(running: Replica, offence: Offence) -> None:
    with Client(running.address, running.trusting()) as client:
        client.send(offence.sent)
        reply = client.reply()
        if reply.status == 200:  # of the good one before it
            reply = client.reply()
        assert (reply.status, reply.closes) == (offence.status, True)
        assert reply.body
        assert client.ended()

    assert_counted_once(running, offence.reason)


def test_pipelined_requests_are_answered_each_in_its_turn(running: Replica) -> None:
    one = post(example_review(), f"{PATH}?timeout=3s", ["Content-Type: application/json"])

    with Client(running.address, running.trusting()) as client:
        client.send(one * 5)
        assert [client.reply().status for _ in range(5)] == [200] * 5


@pytest.mark.parametrize(
    ("sent", "label"),
    [(bytes(range(256)) * 4, "not-tls"), (b"GET / HTTP/1.1\r\nHost: a\r\n\r\n", "plain-http")],
    ids=["garbage", "plain HTTP"],
)
def test_what_is_not_tls_is_refused(running: Replica, sent: bytes, label: str) -> None:
    with socket.create_connection(running.address, timeout=5) as client:
        client.sendall(sent)
        answer = b"".join(iter(lambda: client.recv(1000), b""))

    assert (b"speaks HTTPS only" in answer) == (label == "plain-http")
    assert_counted_once(running, label)


def test_tls_1_1_is_refused(running: Replica) -> None:
    with pytest.raises(ssl.SSLError):
        Client(running.address, tls_1_1())
    assert_counted_once(running, "tls-version")
