"""The load program against a small TLS server that answers as it is told."""

from __future__ import annotations

import json
import ssl
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import trustme

from tests.load.program import Load, LoadError, Program, run

REVIEW = {"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "request": {"uid": "11111111-2222", "object": {}}}


class Server(ThreadingHTTPServer):
    """Answers reviews; what it was sent and how it answers stands in its attributes."""

    daemon_threads = True

    def __init__(self, folder: Path) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        authority = trustme.CA()
        self.ca_file = folder / "ca.pem"
        authority.cert_pem.write_to_path(str(self.ca_file))
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        authority.issue_cert("127.0.0.1").configure_cert(context)
        self.socket = context.wrap_socket(self.socket, server_side=True, do_handshake_on_connect=False)
        self.lock = threading.Lock()  # guards seen and refusals
        self.seen: list[tuple[str, dict[str, str], str]] = []  # path, headers, uid
        self.refusals = 0  # how many of the next calls get a 503 with Retry-After
        self.answer: dict[str, Any] = {}  # what its response has beside the uid and allowed
        self.release = threading.Event()  # cleared: calls hang
        self.release.set()
        self.url = f"https://127.0.0.1:{self.server_address[1]}/mutate"

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that goes away, or refuses the certificate, is what a test is about."""


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Server

    def do_POST(self) -> None:
        sent = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        server = self.server
        with server.lock:
            server.seen.append((self.path, dict(self.headers), sent["request"]["uid"]))
            refuse = server.refusals > 0
            server.refusals -= 1 if refuse else 0
        server.release.wait(10.0)
        response = {"uid": sent["request"]["uid"], "allowed": True, **server.answer}
        text = json.dumps({**sent, "request": None, "response": response}, separators=(",", ":")).encode()
        self.send_response(503 if refuse else 200)
        if refuse:
            self.send_header("Retry-After", "0")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, format: str, *arguments: object) -> None:
        """Nothing is logged."""


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    server = Server(tmp_path)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, name="test/server")
    thread.start()
    yield server
    server.release.set()
    server.shutdown()
    thread.join(10.0)
    server.server_close()


@pytest.fixture
def body(tmp_path: Path) -> Path:
    file = tmp_path / "review.json"
    file.write_text(json.dumps(REVIEW))
    return file


@pytest.mark.parametrize("host", ["192.0.2.1", "example.com", "0.0.0.0"])
@pytest.mark.parametrize("allow_local", [False, True])
def test_what_is_not_of_this_machine_is_refused(host: str, allow_local: bool, tmp_path: Path, body: Path) -> None:
    load = Load(url=f"https://{host}:443/", ca_file=tmp_path / "none", bodies=(body,), requests=1, allow_local=allow_local)

    with pytest.raises(LoadError, match=f"{host} is refused"):
        run(load)


def test_every_call_is_counted(server: Server, body: Path) -> None:
    result = run(Load(url=server.url, ca_file=server.ca_file, bodies=(body,), callers=3, requests=40, warm_up=5))

    assert (result.requests, result.done, result.errors, result.statuses) == (40, 40, {}, {"200": 40})
    assert len(server.seen) == 45
    assert 0 < result.latency_us.min <= result.latency_us.p50 <= result.latency_us.p99 <= result.latency_us.max


def test_calls_look_like_those_of_the_api_server(server: Server, body: Path) -> None:
    run(Load(url=server.url, ca_file=server.ca_file, bodies=(body,), requests=1, timeout_s=2.5))

    path, headers, _ = server.seen[0]
    assert path == "/mutate?timeout=3s"
    assert headers["User-Agent"] == "kube-apiserver-admission"
    assert headers["Accept-Encoding"] == "gzip"
    assert headers["Content-Type"] == "application/json"


def test_connections_are_kept(server: Server, body: Path) -> None:
    result = run(Load(url=server.url, ca_file=server.ca_file, bodies=(body,), callers=1, requests=20))

    assert result.connections == 1


def test_each_call_can_have_a_uid_of_its_own(server: Server, body: Path) -> None:
    result = run(Load(url=server.url, ca_file=server.ca_file, bodies=(body,), requests=20, fresh_uid=True))

    assert result.done == 20
    assert len({uid for _, _, uid in server.seen}) == 20


def test_an_answer_to_another_request_is_an_error(server: Server, body: Path) -> None:
    server.answer = {"uid": "someone-else"}

    result = run(Load(url=server.url, ca_file=server.ca_file, bodies=(body,), requests=4))

    assert (result.done, result.errors) == (0, {"uid": 4})


def test_a_missing_patch_is_an_error_where_one_is_expected(server: Server, body: Path) -> None:
    load = Load(url=server.url, ca_file=server.ca_file, bodies=(body,), requests=2, check="patch")

    without = run(load)
    server.answer = {"patchType": "JSONPatch", "patch": "W10="}
    with_patch = run(load)

    assert (without.errors, with_patch.errors) == ({"decision": 2}, {})


def test_a_503_with_retry_after_is_sent_again_and_counted(server: Server, body: Path) -> None:
    server.refusals = 3

    result = run(Load(url=server.url, ca_file=server.ca_file, bodies=(body,), callers=1, requests=2, retry=True))

    assert (result.done, result.retries, result.statuses) == (2, 3, {"200": 2})


def test_a_503_is_sent_again_at_most_ten_times(server: Server, body: Path) -> None:
    server.refusals = 11

    result = run(Load(url=server.url, ca_file=server.ca_file, bodies=(body,), callers=1, requests=1, retry=True))

    assert (result.errors, result.retries, result.statuses) == ({"status": 1}, 10, {"503": 1})


def test_a_call_that_hangs_is_a_timeout(server: Server, body: Path) -> None:
    server.release.clear()

    result = run(Load(url=server.url, ca_file=server.ca_file, bodies=(body,), callers=2, requests=2, timeout_s=0.3))

    assert (result.done, result.errors) == (0, {"timeout": 2})


def test_a_certificate_of_another_authority_is_not_taken(server: Server, body: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.pem"
    trustme.CA().cert_pem.write_to_path(str(other))

    result = run(Load(url=server.url, ca_file=other, bodies=(body,), callers=1, requests=1))

    assert result.errors == {"tls": 1}


def test_a_duration_bounds_the_run(server: Server, body: Path) -> None:
    result = run(Load(url=server.url, ca_file=server.ca_file, bodies=(body,), duration_s=0.3))

    assert result.done > 0 and not result.errors
    assert result.seconds < 5.0


def test_nothing_that_counts_is_sent_before_the_word(server: Server, body: Path) -> None:
    with Program.start(
        Load(url=server.url, ca_file=server.ca_file, bodies=(body,), requests=7, warm_up=4, wait=True)
    ) as program:
        program.wait_until_warm()
        before = len(server.seen)
        program.begin()
        result = program.result()

    assert (before, len(server.seen), result.requests) == (4, 11, 7)
