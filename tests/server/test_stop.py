"""Leaving: nothing that was begun is lost, nothing hangs, nothing leaks."""

from __future__ import annotations

import gc
import os
import socket
import threading
import time
from contextlib import ExitStack

from tests.server.client import Client, post, wait_until
from tests.server.conftest import Running, Serve
from webhook.serving.limits import ServerLimits


def stopping(running: Running, deadline_s: float) -> tuple[threading.Thread, list[bool]]:
    """A thread that stops the server, and where the result will be."""
    results: list[bool] = []
    thread = threading.Thread(target=lambda: results.append(running.server.stop(deadline_s)))
    thread.start()
    return thread, results


def test_every_answer_after_the_drain_has_begun_says_close(serve: Serve) -> None:
    running = serve()

    with ExitStack() as crowd:
        idle = crowd.enter_context(running.connect())
        assert not idle.post(b"x").closes
        busy = crowd.enter_context(running.connect())
        busy.send(post(path="/hold"))
        assert running.application.holding.acquire(timeout=5)
        running.server.begin_drain()
        running.application.release.set()

        assert busy.reply().closes
        assert idle.post(b"still usable").body == b"still usable"
        assert idle.ended()
        assert crowd.enter_context(running.connect()).post(b"new").closes


def test_a_stop_answers_what_is_in_flight_and_what_is_queued(serve: Serve) -> None:
    running = serve(threads=1)

    with ExitStack() as crowd:
        first, second = crowd.enter_context(running.connect()), crowd.enter_context(running.connect())
        first.send(post(b"first", path="/hold"))
        assert running.application.holding.acquire(timeout=5)
        second.send(post(b"second"))
        wait_until(lambda: running.metric("gatehouse_server_requests_queued") == 1)
        thread, results = stopping(running, 10.0)
        wait_until(lambda: refuses(running))
        running.application.release.set()

        assert (first.reply().body, second.reply().body) == (b"first", b"second")
        thread.join(10)
    assert results == [True]


def test_a_stop_lets_a_request_that_is_half_here_arrive(serve: Serve) -> None:
    running = serve()

    with running.connect() as client:
        whole = post(b"x" * 1000)
        client.send(whole[:-500])
        wait_until(lambda: running.metric("gatehouse_server_buffered_bytes") > 0)
        thread, results = stopping(running, 10.0)
        wait_until(lambda: refuses(running))
        client.send(whole[-500:])
        reply = client.reply()
        assert (reply.status, reply.closes) == (200, True)
        thread.join(10)
    assert results == [True]


def test_a_stop_without_work_is_quick_however_many_are_idle(serve: Serve) -> None:
    running = serve()

    with ExitStack() as crowd:
        for _ in range(20):
            crowd.enter_context(running.connect()).post(b"x")
            crowd.enter_context(socket.create_connection(running.server.address))
        begin = time.monotonic()
        assert running.server.stop(10.0)
        assert time.monotonic() - begin < 2.0


def test_a_handler_that_hangs_cannot_hang_the_stop(serve: Serve) -> None:
    running = serve()

    with running.connect() as client:
        client.send(post(path="/hold"))
        assert running.application.holding.acquire(timeout=5)
        begin = time.monotonic()
        assert not running.server.stop(0.3)
        assert time.monotonic() - begin < 3.0
        assert client.ended()
        running.application.release.set()


def test_a_forced_stop_puts_no_clear_text_on_the_wire(serve: Serve) -> None:
    running = serve()
    recorder = Recorder(running.server.address)

    with Client(recorder.address, running.context) as client:
        client.send(post(b"a secret", path="/hold"))
        assert running.application.holding.acquire(timeout=5)
        running.server.stop(0.1)
        running.application.release.set()  # the answer comes when nobody may hear it any more
        wait_until(lambda: not any(thread.name.startswith("server/") for thread in threading.enumerate()))
        assert client.ended()
    recorder.close()

    assert_only_tls_records(recorder.from_server)


def test_starting_and_stopping_five_times_leaves_nothing(serve: Serve) -> None:
    gc.collect()
    threads, files = threading.active_count(), open_files()

    for _ in range(5):
        running = serve()
        assert running.server.alive()
        with running.connect() as client:
            client.post(b"x")
        assert running.server.stop(5.0)
        assert not running.server.alive()

    wait_until(lambda: threading.active_count() == threads)
    assert open_files() <= files


def test_stopping_twice_and_before_the_start_is_harmless(serve: Serve) -> None:
    running = serve()

    assert running.server.stop(1.0)
    assert running.server.stop(1.0)


def test_threads_are_named(serve: Serve) -> None:
    serve(threads=2)

    names = {thread.name for thread in threading.enumerate() if thread.name.startswith("server/")}
    assert names == {"server/0", "server/1", "server/2", "server/watch", "server/certificates"}


def test_requests_under_way_during_a_drain_are_all_answered(serve: Serve) -> None:
    running = serve(limits=ServerLimits(idle_s=5.0))
    failures: list[str] = []
    draining = threading.Event()

    def call() -> None:
        """As kube-apiserver's client: reuse the connection until told to close; stop at the first refused connect."""
        while True:
            try:
                client = running.connect()
            except OSError:
                if not draining.is_set():
                    failures.append("refused before the drain")
                return
            with client:
                for number in range(1000):
                    try:
                        reply = client.post(b"%d" % number)
                    except (EOFError, OSError) as error:
                        # Only a connection that the drain had no answer to say goodbye on may end like this.
                        if number or not draining.is_set():
                            failures.append(f"request {number} was cut: {error!r}")
                        return
                    if reply.body != b"%d" % number:
                        failures.append("a wrong answer")
                    if reply.closes:
                        break

    callers = [threading.Thread(target=call) for _ in range(6)]
    for caller in callers:
        caller.start()
    wait_until(lambda: len(running.application.seen) > 200)
    draining.set()
    running.server.begin_drain()
    wait_until(lambda: running.metric("gatehouse_server_connections_accepted_total") > 20)
    assert running.server.stop(10.0)
    for caller in callers:
        caller.join(10)

    assert failures == []


class Recorder:
    """A TCP relay that keeps what the server says."""

    def __init__(self, target: tuple[str, int]) -> None:
        self.from_server = b""
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address: tuple[str, int] = self._listener.getsockname()
        self._upstream = socket.create_connection(target)
        self._threads = [threading.Thread(target=self._relay)]
        self._threads[0].start()

    def _relay(self) -> None:
        downstream, _ = self._listener.accept()
        with downstream:
            up = threading.Thread(target=self._copy, args=(downstream, self._upstream, False))
            up.start()
            self._copy(self._upstream, downstream, True)
            downstream.shutdown(socket.SHUT_RDWR)
            up.join()

    def _copy(self, source: socket.socket, sink: socket.socket, keep: bool) -> None:
        try:
            while data := source.recv(65536):
                if keep:
                    self.from_server += data
                sink.sendall(data)
        except OSError:
            pass

    def close(self) -> None:
        self._listener.close()
        self._threads[0].join(5)
        self._upstream.close()


def assert_only_tls_records(stream: bytes) -> None:
    """Every byte belongs to a TLS record; the last one may be cut."""
    assert stream
    while stream:
        kind, major, length = stream[0], stream[1], int.from_bytes(stream[3:5], "big")
        assert kind in (20, 21, 22, 23), f"not a TLS record: {stream[:40]!r}"
        assert (major, length <= 2**14 + 256) == (3, True)
        stream = stream[5 + length :]


def refuses(running: Running) -> bool:
    try:
        with socket.create_connection(running.server.address, timeout=0.3):
            return False
    except (ConnectionError, TimeoutError):  # in its last moments a listener lets packets go unheard
        return True


def open_files() -> int:
    return len(os.listdir("/proc/self/fd"))
