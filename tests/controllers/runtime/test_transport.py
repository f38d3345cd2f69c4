"""Requests that end when somebody says so, answers in pieces and in lines, and every foreign error as one of ours.

Over real sockets and urllib3's own answers, mostly without a server; a client of one: test_rest.
"""

from __future__ import annotations

import http.client
import io
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import urllib3
from urllib3 import exceptions

from controllers.runtime import errors
from controllers.runtime.rest import RestClient
from controllers.runtime.transport import (
    LINE_LIMIT_BYTES,
    Cancel,
    LineStream,
    announced_to,
    read_body,
    read_pieces,
    sent_only_if,
    translate,
    translated,
)
from controllers.testing import FakeApi

REQUEST = "GET /api/v1/nodes"


@pytest.fixture
def pair() -> Iterator[tuple[socket.socket, socket.socket]]:
    """Two ends of one connection; a read that nobody ends fails the test after five seconds."""
    ours, theirs = socket.socketpair()
    ours.settimeout(5.0)
    with ours, theirs:
        yield ours, theirs


class Pieces(io.BufferedIOBase):
    """What a server sends, one piece for each read; a piece that is an error is raised."""

    def __init__(self, *pieces: bytes | Exception) -> None:
        self._left = list(pieces)

    def readable(self) -> bool:
        return True

    def read1(self, size: int = -1) -> bytes:
        piece = self._left.pop(0) if self._left else b""
        if isinstance(piece, Exception):
            raise piece
        assert size < 0 or len(piece) <= size
        return piece


def answer(*pieces: bytes | Exception) -> urllib3.HTTPResponse:
    return urllib3.HTTPResponse(body=Pieces(*pieces), preload_content=False)


def lines(*pieces: bytes | Exception, cancel: Cancel | None = None, heard: list[str] | None = None) -> LineStream:
    told: list[str] = [] if heard is None else heard
    return LineStream(answer(*pieces), REQUEST, cancel or Cancel(), on_silence=lambda: told.append("silence"))


# -- cancellations


def test_a_cancellation_ends_a_read_that_is_waiting(pair: tuple[socket.socket, socket.socket]) -> None:
    cancel = Cancel()
    cancel.attach(pair[0])
    thread = threading.Thread(target=cancel.cancel)
    thread.start()

    assert pair[0].recv(1) == b""

    thread.join()
    assert cancel.cancelled


def test_a_socket_that_is_announced_after_the_cancellation_is_shut_at_once(pair: tuple[socket.socket, socket.socket]) -> None:
    cancel = Cancel()
    cancel.cancel()

    cancel.attach(pair[0])

    assert pair[0].recv(1) == b""


def test_a_socket_that_was_given_back_belongs_to_others(pair: tuple[socket.socket, socket.socket]) -> None:
    cancel = Cancel()
    cancel.attach(pair[0])
    cancel.detach()

    cancel.cancel()

    pair[1].sendall(b"a")
    assert pair[0].recv(1) == b"a"


def test_a_socket_that_is_given_back_unread_is_shut(pair: tuple[socket.socket, socket.socket]) -> None:
    cancel = Cancel()
    cancel.attach(pair[0])

    cancel.detach(shut=True)

    assert pair[1].recv(1) == b""


def test_the_real_socket_below_tls_to_a_proxy_is_shut(pair: tuple[socket.socket, socket.socket]) -> None:
    class Transport:  # as urllib3's SSLTransport: TLS within TLS has no file descriptor of its own
        def __init__(self, sock: Any) -> None:
            self.socket = sock

    cancel = Cancel()
    cancel.attach(Transport(Transport(pair[0])))

    cancel.cancel()

    assert pair[0].recv(1) == b""


@pytest.mark.parametrize("end", [lambda sock: None, lambda sock: sock.close(), lambda sock: sock.shutdown(socket.SHUT_RDWR)])
def test_a_cancellation_twice_or_of_a_closed_socket_is_no_error(
    end: Callable[[socket.socket], object], pair: tuple[socket.socket, socket.socket]
) -> None:
    cancel = Cancel()
    cancel.cancel()
    cancel.attach(None)
    cancel.attach(pair[0])
    end(pair[0])

    cancel.cancel()
    cancel.detach(shut=True)

    assert cancel.cancelled


def test_a_thread_that_was_told_to_stop_begins_no_request() -> None:
    cancel = Cancel()
    with announced_to(cancel), announced_to(None):
        pass

    cancel.cancel()

    with pytest.raises(errors.Cancelled), announced_to(cancel):
        pytest.fail("it began")


def test_a_request_that_may_not_leave_any_more_does_not(api: FakeApi, client: RestClient) -> None:
    def refuse() -> None:
        raise errors.LeaseLost("somebody else leads")

    with pytest.raises(errors.LeaseLost, match="somebody else leads"), sent_only_if(refuse):
        client.get("/api/v1/nodes")
    assert api.requests == []

    client.get("/api/v1/nodes")
    with sent_only_if(lambda: None):
        client.get("/api/v1/nodes")
    assert len(api.requests) == 2


# -- errors


POOL = urllib3.HTTPConnectionPool("api.example.com")
CONNECTION = urllib3.connection.HTTPConnection("api.example.com")


@pytest.mark.parametrize(
    ("error", "kind", "said"),
    [
        (exceptions.ReadTimeoutError(POOL, "/", "read timed out"), errors.TimedOut, "no answer in time"),
        (exceptions.ConnectTimeoutError(CONNECTION, "timed out"), errors.TimedOut, "no answer in time"),
        (TimeoutError(), errors.TimedOut, "no answer in time"),
        (exceptions.NewConnectionError(CONNECTION, "refused"), errors.Unreachable, "NewConnectionError: "),
        (
            exceptions.NameResolutionError("api.example.com", CONNECTION, socket.gaierror(8)),
            errors.Unreachable,
            "api.example.com",
        ),
        (exceptions.ProtocolError("Connection broken"), errors.Unreachable, "ProtocolError: Connection broken"),
        (exceptions.SSLError("bad certificate"), errors.Unreachable, "SSLError: bad certificate"),
        (http.client.IncompleteRead(b"abc"), errors.Unreachable, "IncompleteRead: "),
        (http.client.BadStatusLine("hello"), errors.Unreachable, "BadStatusLine: hello"),
        (ConnectionResetError(104, "Connection reset by peer"), errors.Unreachable, "ConnectionResetError: "),
        (ssl.SSLEOFError(8, "EOF occurred"), errors.Unreachable, "SSLEOFError: "),
        (ValueError("invalid literal for int() with base 16: b'xyz'"), errors.Unreachable, "ValueError: invalid literal"),
    ],
)
def test_a_foreign_error_becomes_one_of_ours_with_its_request(error: Exception, kind: type[Exception], said: str) -> None:
    found = translate(error, REQUEST, None)

    assert type(found) is kind
    assert str(found).startswith(f"{REQUEST}: ")
    assert said in str(found)


def test_whatever_breaks_after_a_cancellation_is_the_cancellation() -> None:
    cancel = Cancel()
    assert type(translate(OSError("bad file descriptor"), REQUEST, cancel)) is errors.Unreachable

    cancel.cancel()

    assert type(translate(OSError("bad file descriptor"), REQUEST, cancel)) is errors.Cancelled


def test_inside_the_block_foreign_errors_are_ours_and_others_stay() -> None:
    with pytest.raises(errors.Unreachable) as caught, translated(REQUEST, None):
        raise ConnectionResetError
    assert isinstance(caught.value.__cause__, ConnectionResetError)

    with pytest.raises(KeyError), translated(REQUEST, None):
        raise KeyError("a fault of our own")


# -- lines


@pytest.mark.parametrize(
    ("pieces", "expected"),
    [
        ((), []),
        ((b"a\nb\n",), [b"a", b"b"]),
        ((b"a", b"b", b"c\nd", b"\n"), [b"abc", b"d"]),
        ((b"\n", b"\n\n", b" \r\n", b"a\n\n"), [b"a"]),
        ((b'{"a":1}\r\n',), [b'{"a":1}\r']),  # JSON does not mind
        ((b"a\nb",), [b"a"]),  # a cut event: the next watch brings it again
        ((b"\xff\x00\n",), [b"\xff\x00"]),
    ],
)
def test_lines_are_what_is_between_line_breaks_however_they_arrive(pieces: tuple[bytes, ...], expected: list[bytes]) -> None:
    assert list(lines(*pieces)) == expected


@pytest.mark.parametrize("excess", [0, 1])
def test_a_line_that_never_ends_is_given_up(excess: int) -> None:
    piece = b" " * (256 * 1024)
    stream = lines(*[piece] * (LINE_LIMIT_BYTES // len(piece)), b"a" * excess, b"\n")

    if excess:
        with pytest.raises(errors.Unreachable, match=f"{REQUEST}: a line exceeds {LINE_LIMIT_BYTES} bytes"):
            list(stream)
    else:
        assert list(stream) == []  # it is blank


def test_lines_before_an_error_are_given_and_then_it_is_raised() -> None:
    stream = iter(lines(b"a\nb", ConnectionResetError("reset")))

    assert next(stream) == b"a"
    with pytest.raises(errors.Unreachable, match=f"{REQUEST}: "):
        next(stream)


@pytest.mark.parametrize(
    ("error", "kind", "heard"),
    [(TimeoutError(), errors.TimedOut, ["silence"]), (ConnectionResetError(), errors.Unreachable, [])],
)
def test_only_silence_is_told_to_whoever_listens_for_it(error: Exception, kind: type[Exception], heard: list[str]) -> None:
    told: list[str] = []

    with pytest.raises(kind):
        list(lines(error, heard=told))

    assert told == heard


def test_a_silence_after_the_cancellation_is_no_silence() -> None:
    cancel, told = Cancel(), list[str]()
    cancel.cancel()

    with pytest.raises(errors.Cancelled):
        list(lines(TimeoutError(), cancel=cancel, heard=told))

    assert told == []


def test_a_closed_stream_has_no_more_lines_and_closes_once(pair: tuple[socket.socket, socket.socket]) -> None:
    cancel = Cancel()
    cancel.attach(pair[0])
    stream = lines(b"a\n", b"b\n", cancel=cancel)
    found = iter(stream)
    assert next(found) == b"a"

    stream.close()
    stream.close()

    assert list(found) == []
    assert pair[1].recv(1) == b""


# -- bodies


def ignored(_silent_s: float) -> None:
    """Nobody wants to know."""


def always(left_s: float = 5.0) -> Callable[[], float]:
    return lambda: left_s


@pytest.mark.parametrize("pieces", [(), (b"abc",), (b"a", b"bc"), (b"a" * 300_000,)])
def test_a_body_is_all_its_pieces(pieces: tuple[bytes, ...]) -> None:
    body = b"".join(pieces)
    response = urllib3.HTTPResponse(body=io.BytesIO(body), preload_content=False)

    assert read_body(response, 400_000, always(), ignored) == body


@pytest.mark.parametrize(("limit_bytes", "fits"), [(4, True), (3, False)])
def test_a_body_beyond_its_limit_is_not_read_on(limit_bytes: int, fits: bool) -> None:
    response = answer(b"ab", b"cd", b"")

    if fits:
        assert read_body(response, limit_bytes, always(), ignored) == b"abcd"
    else:
        with pytest.raises(OSError, match=f"the answer exceeds {limit_bytes} bytes"):
            read_body(response, limit_bytes, always(), ignored)


def test_pieces_arrive_until_the_time_is_up() -> None:
    left_s = iter([1.0, 0.5, 0.0])
    pieces = read_pieces(answer(b"a", b"b", b"c"), 100, lambda: next(left_s), ignored)

    assert [next(pieces), next(pieces)] == [b"a", b"b"]
    with pytest.raises(TimeoutError):
        next(pieces)


def test_each_read_of_a_body_gets_the_time_that_is_left(pair: tuple[socket.socket, socket.socket]) -> None:
    class Connected(urllib3.HTTPResponse):
        class connection:  # noqa: N801 - urllib3's name for it
            sock = pair[0]

    response = Connected(body=Pieces(b"a", b"b", b"c"), preload_content=False)
    left_s = iter([3.0, 2.98, 1.0, 0.9])
    seen: list[float | None] = []

    for _ in read_pieces(response, 100, lambda: next(left_s), ignored):
        seen.append(pair[0].gettimeout())

    assert seen == [3.0, 3.0, 1.0]  # a change of less than 50 ms is not worth a call of the kernel
    assert pair[0].gettimeout() == pytest.approx(0.9)


def test_a_read_without_a_byte_tells_how_long_it_waited(pair: tuple[socket.socket, socket.socket]) -> None:
    class Silent(Pieces):
        def read(self, *_: object) -> bytes:
            raise TimeoutError

        read1 = read

    class Connected(urllib3.HTTPResponse):
        class connection:  # noqa: N801 - urllib3's name for it
            sock = pair[0]

    told_s: list[float] = []

    with pytest.raises(urllib3.exceptions.ReadTimeoutError):
        read_body(Connected(body=Silent(), preload_content=False), 100, always(0.7), told_s.append)

    assert told_s == [0.7]
