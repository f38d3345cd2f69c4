"""The whole process: started as an operator starts it, on real sockets, stopped by real signals."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tests.controllers.served import EXAMPLE, LIMIT_S, ROOT, Served, command, serve
from tests.server.client import Reply
from webhook.objects.documents import read_documents

MIB = 2**20


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serve(tmp_path_factory.mktemp("served"), "--config", str(EXAMPLE / "gatehouse.yaml")) as process:
        yield process


def review(name: str) -> bytes:
    (document,) = read_documents((EXAMPLE / "reviews" / name).read_bytes(), name)
    return json.dumps(document.value).encode()


def post(served: Served, body: bytes, path: str = "/node-taint", kind: str = "application/json") -> Reply:
    with served.connect() as client:
        return client.post(body, f"{path}?timeout=3s", [f"Content-Type: {kind}"])


def test_the_examples_are_answered_over_tls(served: Served) -> None:
    reply = post(served, review("1-node-taint.yaml"))

    assert reply.status == 200
    assert json.loads(reply.body)["response"]["patchType"] == "JSONPatch"


def test_probes_and_metrics_tell_what_is_going_on(served: Served) -> None:
    post(served, review("1-node-taint.yaml"))

    assert served.get("healthProbe", "/readyz") == (200, "ok")
    assert served.get("healthProbe", "/readyz/endpoint") == (200, "ok")
    assert served.get("healthProbe", "/healthz")[0] == 200
    assert served.get("healthProbe", "/readyz/nothing")[0] == 404
    assert 'gatehouse_admission_patched_total{service="node-taint"}' in served.get("metrics", "/metrics")[1]


def test_status_shows_what_it_knows(served: Served) -> None:
    def status(*flags: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "controllers", "status", "--address", served.addresses["metrics"], *flags]
        return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=LIMIT_S)

    page = json.loads(status("-o", "json").stdout)
    text = status()

    assert page["caches"]["nodes"] == {"synced": True, "objects": 4}
    assert [row["node"] for row in page["silentNodes"]["nodes"] if row["guarded"]] == ["edge-1", "edge-2"]
    assert text.returncode == 0
    assert "edge-1: guarded" in text.stdout


def test_status_of_nothing_is_a_clear_error() -> None:
    command = [sys.executable, "-m", "controllers", "status", "--address", "127.0.0.1:1"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=LIMIT_S)

    assert done.returncode == 1
    assert "127.0.0.1:1/statusz: " in done.stderr
    assert "Traceback" not in done.stderr


HUGE = b'{"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {"uid": "u", "x": "%s"}}'
REFUSED = {
    "over 7 MiB": (HUGE % (b"x" * (7 * MIB)), {}, 413),
    "10,000 levels": (b'{"a":' * 10_000 + b"1" + b"}" * 10_000, {}, 400),
    "invalid UTF-8": (b'{"a": "\xff\xfe"}', {}, 400),
    "a lone surrogate": (b'{"a": "\\ud800"}', {}, 400),
    "NaN": (b'{"a": NaN}', {}, 400),
    "a number out of range": (b'{"a": 1e999}', {}, 400),
    "an empty body": (b"", {}, 400),
    "a wrong path": (b"{}", {"path": "/no-such"}, 404),
    "a wrong content type": (b"{}", {"kind": "text/yaml"}, 415),
}


@pytest.mark.parametrize("name", REFUSED)
def test_bad_input_gets_a_clear_status(served: Served, name: str) -> None:
    body, options, status = REFUSED[name]

    reply = post(served, body, **options)

    assert reply.status == status
    assert reply.body, "a refusal says why"


def test_a_wrong_method_is_405(served: Served) -> None:
    with served.connect() as client:
        client.send(b"GET /node-taint HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert client.reply().status == 405


def test_http_1_0_is_answered_and_closed(served: Served) -> None:
    body = review("1-node-taint.yaml")
    with served.connect() as client:
        head = f"POST /node-taint HTTP/1.0\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        client.send(head.encode() + body)
        assert client.reply().status == 200
        with pytest.raises(EOFError):
            client.reply()


def test_a_chunked_body_is_accepted_within_the_limit_and_413_beyond_it(served: Served) -> None:
    head = b"POST /node-taint HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
    body = review("1-node-taint.yaml")
    with served.connect() as client:
        client.send(head + b"%x\r\n" % len(body) + body + b"\r\n0\r\n\r\n")
        assert client.reply().status == 200
    with served.connect() as client:
        client.send(head)
        try:
            for _ in range(9):
                client.send(b"%x\r\n" % MIB + b" " * MIB + b"\r\n")
            client.send(b"0\r\n\r\n")
        except OSError:
            pass  # it need not read on
        assert client.reply().status == 413


def test_bad_input_leaves_no_memory_behind(served: Served) -> None:
    def all_of_it(times: int) -> int:
        for _ in range(times):
            for body, options, _ in REFUSED.values():
                post(served, body, **options)
        return served.resident_bytes()

    before = all_of_it(5)

    assert all_of_it(45) - before < 5 * MIB


def test_no_traceback_reaches_the_log(served: Served) -> None:
    for body, options, _ in REFUSED.values():
        post(served, body, **options)

    assert "Traceback" not in served.log()


def test_sigterm_ends_it_cleanly(tmp_path: Path) -> None:
    with serve(tmp_path) as served:
        assert served.stop() == 0
        assert "Traceback" not in served.log()


STUCK = """
import threading
from controllers.process.signals import signals
from controllers.process.supervisor import Part, Supervisor
from webhook.clock import SystemClock

def hang(deadline):
    print("stopping", flush=True)
    threading.Event().wait()

supervisor = Supervisor([Part("stuck", lambda: None, hang)], SystemClock(), 60.0)
with signals(supervisor):
    supervisor.run(lambda: print("started", flush=True))
"""


def test_a_second_signal_ends_it_at_once() -> None:
    with subprocess.Popen([sys.executable, "-c", STUCK], cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for expected in ("started", "stopping"):
            assert process.stdout.readline().strip() == expected
            process.send_signal(signal.SIGTERM)
        while process.poll() is None:  # one that follows at once is the same wish, told twice
            process.send_signal(signal.SIGTERM)
            with suppress(subprocess.TimeoutExpired):
                process.wait(0.05)

        assert process.wait(LIMIT_S) == 1


def test_a_signal_that_comes_twice_at_once_is_one_wish() -> None:
    leaves_slowly = STUCK.replace("threading.Event().wait()", "threading.Event().wait(1.0)")
    with subprocess.Popen([sys.executable, "-c", leaves_slowly], cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline().strip() == "started"
        process.send_signal(signal.SIGTERM)
        process.send_signal(signal.SIGINT)

        assert process.wait(LIMIT_S) == 0


def failing(tmp_path: Path, *flags: str) -> tuple[int, str]:
    done = subprocess.run(command(*flags), cwd=ROOT, capture_output=True, text=True, timeout=LIMIT_S)
    assert "Traceback" not in done.stderr, done.stderr
    return done.returncode, done.stderr


def test_an_address_in_use_is_a_clear_error(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        code, log = failing(tmp_path, "--webhook-bind-address", address)

    assert code == 1
    assert f"webhook: cannot listen on {address}" in log


def test_a_certificate_that_is_missing_is_a_clear_error(tmp_path: Path) -> None:
    gone = str(tmp_path / "gone.crt")
    code, log = failing(tmp_path, "--tls-cert-file", gone, "--tls-private-key-file", str(tmp_path / "gone.key"))

    assert code == 1
    assert f"webhook: cannot read {gone}" in log


def test_without_a_cluster_it_says_so_instead_of_hanging(tmp_path: Path) -> None:
    environ = {key: value for key, value in os.environ.items() if not key.startswith("KUBE")} | {"HOME": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-m", "controllers", "serve"],
        cwd=ROOT,
        env=environ,
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
    )

    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert "kubeconfig" in done.stderr.lower()


def test_importing_what_serves_does_not_load_the_kubernetes_package() -> None:
    code = "import sys, controllers.process.assembly; sys.exit('kubernetes' in sys.modules)"

    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, timeout=LIMIT_S).returncode == 0


@pytest.mark.parametrize(
    ("redirection", "code", "said"),
    [("version > /dev/full", 1, "No space left"), ("manifests > /dev/full", 1, "No space left"), ("version >&-", 0, "")],
)
def test_output_that_cannot_be_written_is_no_traceback(redirection: str, code: int, said: str) -> None:
    line = f'exec "$0" -m controllers {redirection}'
    done = subprocess.run(["sh", "-c", line, sys.executable], cwd=ROOT, capture_output=True, text=True, timeout=LIMIT_S)

    assert done.returncode == code
    assert said in done.stderr
    assert "Traceback" not in done.stderr


def test_a_log_that_nobody_reads_stops_neither_answers_nor_the_end() -> None:
    reader, writer = os.pipe()  # never read: after 64 KiB a write would wait for ever
    with subprocess.Popen(command(), cwd=ROOT, stdout=subprocess.PIPE, stderr=writer, text=True) as process:
        os.close(writer)
        assert process.stdout is not None
        served = Served(process, json.loads(process.stdout.readline()), Path())
        with served.connect() as client:
            for _ in range(1500):
                client.send(b"GET /%s HTTP/1.1\r\nHost: h\r\n\r\n" % (b"a" * 200))
                assert client.reply().status == 404
        assert post(served, review("1-node-taint.yaml")).status == 200
        assert served.stop() == 0
    os.close(reader)


def test_a_pipe_among_the_local_files_is_a_fault_and_not_a_wait(tmp_path: Path) -> None:
    folder = tmp_path / "local"
    folder.mkdir()
    os.mkfifo(folder / "x.yaml")

    done = subprocess.run(command(local=folder), cwd=ROOT, capture_output=True, text=True, timeout=LIMIT_S)

    assert done.returncode == 1
    assert "x.yaml: not a regular file" in done.stderr


@pytest.mark.parametrize("oddity", ["1" * 400, '{"a": 1, "a": 2}', "[" * 300 + "]" * 300])
def test_an_odd_review_gets_the_very_bytes_of_the_server_offline(served: Served, tmp_path: Path, oddity: str) -> None:
    body = review("1-node-taint.yaml").replace(b'"dryRun": false', f'"options": {oddity}, "dryRun": false'.encode())
    file = tmp_path / "review.json"
    file.write_bytes(body)
    words = ["review", "--local", str(EXAMPLE), "--config", str(EXAMPLE / "gatehouse.yaml"), "-o", "json", str(file)]

    offline = subprocess.run([sys.executable, "-m", "controllers", *words], cwd=ROOT, capture_output=True, timeout=LIMIT_S)

    assert offline.stdout == post(served, body).body + b"\n"
    assert offline.returncode == 0
