"""What a well-meaning client gets."""

from __future__ import annotations

import time
from typing import Any

import pytest

from tests.server.client import post, wait_until
from tests.server.conftest import Serve
from webhook.serving.limits import ServerLimits


@pytest.fixture(params=[True, False], ids=["tls", "clear"])
def secure(request: pytest.FixtureRequest) -> Any:
    return request.param


def test_requests_follow_each_other_on_one_connection(serve: Serve, secure: bool) -> None:
    running = serve(secure=secure)

    with running.connect() as client:
        for body in (b"one", b"", b"x" * 100_000, b"four"):
            reply = client.post(body)
            assert (reply.status, reply.body, reply.closes) == (200, body, False)
    assert running.metric("gatehouse_server_connections_accepted_total") == 1


def test_a_body_of_seven_mebibytes_is_taken_and_one_byte_more_is_not(serve: Serve) -> None:
    running = serve(limits=ServerLimits(body_bytes=7 * 2**20))

    with running.connect() as client:
        assert client.post(b"x" * 7 * 2**20).status == 200
        client.send(b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 7340033\r\n\r\n")
        reply = client.reply()
        assert (reply.status, reply.closes, client.ended()) == (413, True, True)


def test_a_refusal_reaches_a_client_that_is_still_sending(serve: Serve) -> None:
    running = serve()

    with running.connect() as client:
        client.send(b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 8000000\r\n\r\n")
        for _ in range(20):
            client.send(b"x" * 100_000)
        assert client.reply().status == 413


def test_chunked_bodies_arrive_decoded(serve: Serve) -> None:
    running = serve()

    with running.connect() as client:
        client.send(b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nadmi")
        client.send(b"\r\n5;a=b\r\nssion\r\n0\r\n\r\n")
        assert client.reply().body == b"admission"
        assert client.post(b"next").body == b"next"
    assert "HTTP_TRANSFER_ENCODING" not in running.application.seen[0]


def test_a_chunked_body_over_the_limit_is_refused(serve: Serve) -> None:
    running = serve(limits=ServerLimits(body_bytes=1000))

    with running.connect() as client:
        client.send(b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n" + b"190\r\n%s\r\n" % (b"x" * 400) * 3)
        assert client.reply().status == 413


def test_pipelined_requests_are_answered_in_order(serve: Serve, secure: bool) -> None:
    running = serve(secure=secure)

    with running.connect() as client:
        client.send(b"".join(post(b"%d" % number) for number in range(20)))
        assert [client.reply().body for _ in range(20)] == [b"%d" % number for number in range(20)]


def test_a_request_cut_into_single_bytes_is_answered(serve: Serve) -> None:
    running = serve()

    with running.connect() as client:
        for byte in post(b"slowly"):
            client.send(bytes([byte]))
        assert client.reply().body == b"slowly"


def test_http_1_0_is_answered_and_closed(serve: Serve) -> None:
    running = serve()

    with running.connect() as client:
        client.send(b"POST / HTTP/1.0\r\nContent-Length: 2\r\nConnection: keep-alive\r\n\r\nhi")
        reply = client.reply()
        assert (reply.status, reply.body, reply.closes, client.ended()) == (200, b"hi", True, True)


def test_a_client_that_asks_to_close_gets_its_answer_and_the_end(serve: Serve) -> None:
    running = serve()

    with running.connect() as client:
        reply = client.post(b"bye", headers=["Connection: close"])
        assert (reply.body, reply.closes, client.ended()) == (b"bye", True, True)


def test_a_client_that_waits_for_100_continue_is_told_to_go_on(serve: Serve) -> None:
    running = serve()

    with running.connect() as client:
        client.send(b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n")
        assert client.reply().status == 100
        client.send(b"hi")
        assert client.reply().body == b"hi"


def test_head_is_answered_without_a_body(serve: Serve) -> None:
    running = serve()

    with running.connect() as client:
        client.send(b"HEAD / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc" + post(b"next"))
        assert "Content-Length: 3" in client.head()
        assert client.reply().body == b"next"


def test_a_half_closed_client_still_gets_its_answer(serve: Serve) -> None:
    running = serve(secure=False)

    with running.connect() as client:
        client.send(post(b"last"))
        client.raw.shutdown(1)
        assert client.reply().body == b"last"
        assert client.ended()


def test_the_environ_says_when_the_first_byte_came_and_what_was_asked(serve: Serve) -> None:
    running = serve()
    before = time.monotonic()

    with running.connect() as client:
        client.send(b"POST /a%2Fb?timeout=3s HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-")
        wait_until(lambda: running.metric("gatehouse_server_buffered_bytes") > 0)
        first_byte_was_read_by = time.monotonic()
        client.send(b"Length: 2\r\n\r\n{}")
        client.reply()

    environ = running.application.seen[0]
    assert before <= environ["gatehouse.accepted"] <= first_byte_was_read_by
    expected = {
        "REQUEST_METHOD": "POST",
        "PATH_INFO": "/a/b",
        "QUERY_STRING": "timeout=3s",
        "CONTENT_TYPE": "application/json",
        "CONTENT_LENGTH": "2",
        "SERVER_PROTOCOL": "HTTP/1.1",
        "REMOTE_ADDR": "127.0.0.1",
        "wsgi.url_scheme": "https",
        "gatehouse.client": "",
    }
    assert {key: environ[key] for key in expected} == expected


def test_ipv6_is_served(serve: Serve) -> None:
    running = serve(bind=("::1", 0))

    assert running.server.address[0] == "::1"
    assert running.answers_at_once()


def test_a_taken_address_is_an_oserror_that_leaves_nothing_behind(serve: Serve) -> None:
    running = serve()

    with pytest.raises(OSError, match="Address already in use"):
        serve(bind=running.server.address)


def test_connections_end_by_an_answer_after_about_so_many_requests(serve: Serve) -> None:
    running = serve(limits=ServerLimits(requests_per_connection=20))

    lengths = []
    for _ in range(8):
        with running.connect() as client:
            count = 1
            while not client.post(b"x").closes:
                count += 1
            assert client.ended()
            lengths.append(count)

    assert all(15 <= length <= 25 for length in lengths)
    assert len(set(lengths)) > 1


def test_connections_end_by_an_answer_after_about_such_an_age(serve: Serve) -> None:
    running = serve(limits=ServerLimits(connection_age_s=0.2))

    with running.connect() as client:
        begin = time.monotonic()
        while not client.post(b"x").closes:
            assert time.monotonic() - begin < 5
        assert time.monotonic() - begin > 0.1


def test_the_application_can_end_the_connection(serve: Serve) -> None:
    running = serve()

    with running.connect() as client:
        assert client.post(path="/close").closes
        assert client.ended()


def test_bytes_and_connections_are_counted(serve: Serve) -> None:
    running = serve()

    with running.connect() as client:
        client.post(b"x" * 50_000)
        assert running.metric("gatehouse_server_connections") == 1
        wait_until(lambda: running.metric("gatehouse_server_bytes_total", direction="in") > 50_000)
        wait_until(lambda: running.metric("gatehouse_server_bytes_total", direction="out") > 50_000)
    wait_until(lambda: running.metric("gatehouse_server_connections") == 0)
    assert running.metric("gatehouse_server_handshakes_total", result="ok") == 1


def test_a_pipelined_request_counts_from_when_it_came_not_from_when_its_turn_came(serve: Serve) -> None:
    running = serve()

    with running.connect() as client:
        client.send(post(path="/hold") + post(b"second"))
        assert running.application.holding.acquire(timeout=5)
        while_the_first_runs = time.monotonic()
        running.application.release.set()
        client.reply()
        client.reply()

    assert running.application.seen[1]["gatehouse.accepted"] <= while_the_first_runs
