"""Clients that say nothing, or too slowly, or do not listen: they lose their connection, nobody else a moment."""

from __future__ import annotations

import socket
import ssl
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack

import pytest

from tests.server.client import Client, post, wait_until
from tests.server.conftest import Serve
from webhook.serving.limits import ServerLimits

SHORT = ServerLimits(handshake_s=0.3, head_s=0.3, request_s=0.3, request_cap_s=1.0, idle_s=0.3, write_s=0.3, linger_s=0.3)


def client_hello() -> bytes:
    outgoing = ssl.MemoryBIO()
    tls = ssl.create_default_context().wrap_bio(ssl.MemoryBIO(), outgoing, server_hostname="localhost")
    with pytest.raises(ssl.SSLWantReadError):
        tls.do_handshake()
    return outgoing.read()


def test_silent_and_dripping_clients_of_every_kind_delay_nobody(serve: Serve) -> None:
    running = serve(threads=2)
    hello = client_hello()
    with ExitStack() as crowd:
        for _ in range(60):
            crowd.enter_context(socket.create_connection(running.server.address))
            half = crowd.enter_context(socket.create_connection(running.server.address))
            half.sendall(hello[: len(hello) // 2])
        idle = [crowd.enter_context(running.connect()) for _ in range(60)]
        for client in idle[:10]:
            client.send(b"POST / HTTP/1.1\r\nHo")
        for client in idle[10:20]:
            client.send(b"POST /?timeout=30s HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\nabc")

        slowest = 0.0
        with running.connect() as caller:
            for number in range(50):
                for client in idle[:20]:
                    client.send(b"x")
                begin = time.monotonic()
                assert caller.post(b"%d" % number).body == b"%d" % number
                slowest = max(slowest, time.monotonic() - begin)
        assert running.answers_at_once()

    assert slowest < 1.0


def test_a_client_that_never_shakes_hands_is_cut_off(serve: Serve) -> None:
    running = serve(limits=SHORT)

    with socket.create_connection(running.server.address, timeout=5) as client:
        assert client.recv(1) == b""
    assert running.metric("gatehouse_server_handshakes_total", result="timeout") == 1


def test_a_client_that_stops_within_its_hello_is_cut_off(serve: Serve) -> None:
    running = serve(limits=SHORT)

    with socket.create_connection(running.server.address, timeout=5) as client:
        client.sendall(client_hello()[:100])
        assert client.recv(1) == b""
    assert running.metric("gatehouse_server_handshakes_total", result="timeout") == 1


def test_an_idle_connection_ends_quietly(serve: Serve) -> None:
    running = serve(limits=SHORT)

    with running.connect() as client:
        client.post(b"x")
        assert client.ended()
    assert running.metric("gatehouse_server_connections_closed_total", reason="idle") == 1


def test_a_head_that_drips_is_cut_off_however_steadily_it_drips(serve: Serve) -> None:
    running = serve(limits=SHORT)

    with running.connect() as client:
        begin = time.monotonic()
        client.socket.settimeout(0.02)
        client.send(b"POST / HTTP/1.1\r\nX: ")
        while True:
            try:
                client.send(b"x")
                reply = client.reply()
                break
            except TimeoutError:
                assert time.monotonic() - begin < 5
    assert (reply.status, reply.closes) == (408, True)
    assert running.refused("head-timeout") == 1


def test_a_head_that_begins_behind_another_request_has_its_time_too(serve: Serve) -> None:
    running = serve(limits=SHORT)

    with running.connect() as client:
        client.send(post(b"first") + b"POST / HTT")
        assert client.reply().body == b"first"
        assert client.reply().status == 408


def test_a_body_that_stops_half_way_is_cut_off_when_its_request_has_timed_out(serve: Serve) -> None:
    running = serve(limits=SHORT)

    with running.connect() as client:
        client.send(post(b"x" * 100)[:-50])
        assert client.reply().status == 408
        assert client.ended()
    assert running.refused("body-timeout") == 1


def test_a_body_may_take_as_long_as_its_caller_waits_but_no_longer_than_the_cap(serve: Serve) -> None:
    running = serve(limits=SHORT)

    with running.connect() as client:
        begin = time.monotonic()
        client.send(b"POST /?timeout=20s HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nabc")
        assert client.reply().status == 408
        assert 0.9 < time.monotonic() - begin < 5


def test_a_client_that_leaves_within_a_body_is_counted_and_forgotten(serve: Serve) -> None:
    running = serve()

    with running.connect() as client:
        client.send(post(b"x" * 100)[:-50])
        wait_until(lambda: running.metric("gatehouse_server_buffered_bytes") > 0)
    wait_until(lambda: running.refused("cut-short") == 1)
    wait_until(lambda: running.metric("gatehouse_server_connections") == 0)  # it is counted before it is forgotten


def test_a_client_that_does_not_read_its_answer_holds_no_thread_and_is_cut_off(serve: Serve) -> None:
    running = serve(threads=1, limits=ServerLimits(write_s=2.0))

    with ExitStack() as crowd:
        for _ in range(4):
            deaf = crowd.enter_context(running.connect())
            deaf.send(post(path="/large"))
        wait_until(lambda: running.metric("gatehouse_server_buffered_bytes") > 4 * 2**20)
        assert running.answers_at_once()
        wait_until(lambda: running.refused("write-timeout") == 4)


def test_a_large_answer_reaches_a_client_that_reads_slowly(serve: Serve) -> None:
    running = serve(threads=1)

    with running.connect() as client:
        client.send(post(path="/large"))
        wait_until(lambda: running.metric("gatehouse_server_buffered_bytes") > 2**20)
        assert len(client.reply().body) == 12_000_000
        assert client.post(b"and on").body == b"and on"


def test_slow_requests_stop_nobody_while_a_thread_is_left(serve: Serve) -> None:
    running = serve(threads=4)

    with ExitStack() as crowd:
        for _ in range(3):
            crowd.enter_context(running.connect()).send(post(path="/hold"))
            assert running.application.holding.acquire(timeout=5)
        begin = time.monotonic()
        assert running.answers_at_once()
        assert time.monotonic() - begin < 1.0
        running.application.release.set()


def test_a_request_that_computes_without_pause_stops_nobody(serve: Serve) -> None:
    def compute(environ: dict[str, object], start_response: Callable[..., object]) -> list[bytes]:
        end = time.monotonic() + (1.5 if environ["PATH_INFO"] == "/long" else 0)
        while time.monotonic() < end:
            pass
        start_response("200 OK", [("Content-Type", "text/plain")])
        return [b"done"]

    running = serve(app=compute, threads=2)

    with running.connect() as busy, running.connect() as client:
        busy.send(post(path="/long"))
        time.sleep(0.1)
        begin = time.monotonic()
        assert client.post().body == b"done"
        assert time.monotonic() - begin < 1.0
        assert busy.reply().body == b"done"


def test_a_slow_request_does_not_lose_what_its_client_pipelines_meanwhile(serve: Serve) -> None:
    running = serve()

    with running.connect() as client:
        client.send(post(path="/hold"))
        assert running.application.holding.acquire(timeout=5)
        wait_until(running.answers_at_once)  # the lead has passed on, and polls
        client.send(post(b"second"))
        assert running.answers_at_once()
        running.application.release.set()
        assert client.reply().status == 200
        assert client.reply().body == b"second"


def test_a_client_that_leaves_during_its_slow_request_is_forgotten(serve: Serve) -> None:
    running = serve()

    with running.connect() as client:
        client.send(post(path="/hold"))
        assert running.application.holding.acquire(timeout=5)
    assert running.answers_at_once()
    running.application.release.set()
    wait_until(lambda: running.metric("gatehouse_server_connections") == 0)


def test_a_thousand_connections_come_and_go(serve: Serve) -> None:
    running = serve(secure=False)

    for _ in range(1000):
        with Client(running.server.address) as client:
            assert client.post(b"x", headers=["Connection: close"]).status == 200
    wait_until(lambda: running.metric("gatehouse_server_connections") == 0)


def test_slow_requests_run_side_by_side(serve: Serve) -> None:
    inside, most, lock = 0, 0, threading.Lock()

    def sleep(environ: dict[str, object], start_response: Callable[..., object]) -> list[bytes]:
        nonlocal inside, most
        with lock:
            inside += 1
            most = max(most, inside)
        time.sleep(0.05)
        with lock:
            inside -= 1
        start_response("200 OK", [("Content-Type", "text/plain")])
        return [b"done"]

    running = serve(app=sleep, threads=10)

    def call() -> None:
        with running.connect() as client:
            for _ in range(6):
                assert client.post().body == b"done"

    callers = [threading.Thread(target=call) for _ in range(10)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join(30)

    assert not any(caller.is_alive() for caller in callers)
    assert most >= 5  # of ten; counted, since the clock runs for others, too
