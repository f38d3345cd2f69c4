"""More than the server can bear: what goes, what stays, and what is said."""

from __future__ import annotations

import resource
import socket
from contextlib import ExitStack

import pytest

from tests.server.client import post, wait_until
from tests.server.conftest import Serve
from webhook.serving.host import raise_file_limit
from webhook.serving.limits import ServerLimits


def test_the_oldest_connection_without_a_request_makes_room(serve: Serve) -> None:
    running = serve(limits=ServerLimits(unproven_connections=5))

    with ExitStack() as crowd:
        proven = crowd.enter_context(running.connect())
        proven.post(b"x")
        strangers = [crowd.enter_context(socket.create_connection(running.server.address, timeout=5)) for _ in range(12)]
        wait_until(lambda: running.refused("unproven-connections") == 7)

        assert [stranger.recv(1) for stranger in strangers[:7]] == [b""] * 7
        assert running.metric("gatehouse_server_connections_unproven") == 5
        assert proven.post(b"mine").body == b"mine"
        assert running.answers_at_once()


def test_the_connection_idle_for_longest_makes_room(serve: Serve) -> None:
    running = serve(limits=ServerLimits(connections=5))

    with ExitStack() as crowd:
        clients = []
        for _ in range(7):
            clients.append(crowd.enter_context(running.connect()))
            clients[-1].post(b"x")

        assert [client.ended() for client in clients[:2]] == [True, True]
        assert clients[2].post(b"mine").body == b"mine"
        assert running.refused("connections") == 2


def test_an_accept_is_refused_only_when_every_connection_is_at_work(serve: Serve) -> None:
    running = serve(threads=3, limits=ServerLimits(connections=2))

    with ExitStack() as crowd:
        for _ in range(2):
            crowd.enter_context(running.connect()).send(post(path="/hold"))
            assert running.application.holding.acquire(timeout=5)
        with socket.create_connection(running.server.address, timeout=5) as surplus:
            assert surplus.recv(1) == b""
        running.application.release.set()
        wait_until(lambda: running.metric("gatehouse_server_requests_in_flight") == 0)
        assert running.answers_at_once()


def test_requests_beyond_the_queue_get_503_and_retry_after(serve: Serve) -> None:
    running = serve(threads=2, limits=ServerLimits(queue_length=3))

    with ExitStack() as crowd:
        clients = [crowd.enter_context(running.connect()) for _ in range(8)]
        for client in clients[:2]:
            client.send(post(path="/hold"))
            assert running.application.holding.acquire(timeout=5)
        for client in clients[2:5]:
            client.send(post(b"queued"))
        wait_until(lambda: running.metric("gatehouse_server_requests_queued") == 3)
        assert running.metric("gatehouse_server_requests_in_flight") == 2

        for client in clients[5:]:
            reply = client.post(b"too much")
            assert (reply.status, reply.headers["retry-after"], reply.closes) == (503, "1", True)
            assert client.ended()
        assert running.refused("queue-full") == 3

        running.application.release.set()
        assert [client.reply().body for client in clients[2:5]] == [b"queued"] * 3


def test_all_bytes_held_together_are_capped_and_the_greediest_pays(serve: Serve) -> None:
    running = serve(limits=ServerLimits(buffered_bytes=1_000_000))

    with ExitStack() as crowd:
        greedy = crowd.enter_context(running.connect())
        greedy.send(b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5000000\r\n\r\n" + b"x" * 800_000)
        wait_until(lambda: running.metric("gatehouse_server_buffered_bytes") >= 800_000)

        with running.connect() as modest:
            assert modest.post(b"y" * 400_000).body == b"y" * 400_000
        assert greedy.ended()
        assert running.refused("buffered-bytes") == 1


def test_a_body_beyond_the_cap_of_all_bytes_gets_503(serve: Serve) -> None:
    running = serve(limits=ServerLimits(buffered_bytes=1_000_000))

    with running.connect() as client:
        client.send(b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5000000\r\n\r\n" + b"x" * 1_500_000)
        reply = client.reply()
        assert (reply.status, reply.headers["retry-after"], reply.closes) == (503, "1", True)


def test_running_out_of_file_numbers_frees_an_idle_connection(serve: Serve) -> None:
    running = serve()
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)

    with ExitStack() as crowd:
        for _ in range(10):
            crowd.enter_context(running.connect()).post(b"x")
        spare = socket.socket()
        crowd.enter_context(spare)
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (spare.fileno() + 1, hard))  # the next accept finds no number
            spare.settimeout(5)
            spare.connect(running.server.address)
            wait_until(lambda: running.refused("connections") >= 1)
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        assert running.answers_at_once()
    assert running.metric("gatehouse_server_faults_total") == 0


def test_the_file_limit_is_raised_and_never_lowered() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (200, hard))
        raise_file_limit(300)
        assert resource.getrlimit(resource.RLIMIT_NOFILE)[0] == 300
        raise_file_limit(100)
        assert resource.getrlimit(resource.RLIMIT_NOFILE)[0] == 300
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.mark.parametrize("wrong", [{"head_s": 0.0}, {"connections": 0}, {"body_bytes": -1}])
def test_a_limit_that_is_not_above_zero_is_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=next(iter(wrong))):
        ServerLimits(**wrong)  # type: ignore[arg-type]
