"""Any bytes that may come after a handshake, put through everything between the socket and the application.

`Bench.try_` opens a connection on a socket pair, lets the bytes arrive in pieces, answers each whole request as a worker
would, and checks after every step that the server is sound: framer, chunk decoder, exchange, channel, table, answers.
What it leaves out are the threads, the poll and OpenSSL's record layer, which the tests on real connections have.
`Mutator` makes inputs out of requests, out of what is wrong with requests, and out of chance; the same seed, the same inputs.
One thread.
"""

from __future__ import annotations

import random
import socket
import time
from collections.abc import Iterator

from webhook.clock import SystemClock
from webhook.serving.answers import Answer
from webhook.serving.channel import Channel
from webhook.serving.connections import NEVER_S, Connection, ConnectionTable, Phase
from webhook.serving.exchange import Exchange, Step
from webhook.serving.framing import Request
from webhook.serving.ledger import Ledger
from webhook.serving.limits import ServerLimits
from webhook.telemetry import Telemetry

STUCK_S = 1.0  # of the processor, for one input of a few kilobytes
# Small, so that inputs of a few kilobytes get beyond them.
LIMITS = ServerLimits(
    head_bytes=1024, target_bytes=128, header_count=16, body_bytes=2048, chunk_count=32, requests_per_connection=6
)
PIECES = (
    b"POST / HTTP/1.1\r\n",
    b"GET /node-taint?timeout=10s HTTP/1.1\r\n",
    b"HEAD /a%2fb%00 HTTP/1.0\r\n",
    b"Host: a\r\n",
    b"host: [::1]:9\r\n",
    b"Content-Length: 3\r\n",
    b"Content-Length: 0\r\n",
    b"Content-Length: -1\r\n",
    b"Content-Length: 99999999999999999999\r\n",
    b"Content-Length: +3\r\n",
    b"Content-Length: \xb2\r\n",
    b"Content-Length:\r\n",
    b"Transfer-Encoding: chunked\r\n",
    b"Transfer-Encoding: gzip, chunked\r\n",
    b"Connection: close\r\n",
    b"Connection: keep-alive, close\r\n",
    b"Expect: 100-continue\r\n",
    b"Content-Type: application/json\r\n",
    b"X_Y: z\r\n",
    b" folded\r\n",
    b"\r\n",
    b"\r\n\r\n",
    b"\n",
    b"\r",
    b"\0",
    b": ",
    b"abc",
    b"3\r\nabc\r\n",
    b"0\r\n\r\n",
    b"0\r\nTrailer: x\r\n\r\n",
    b"ffffffff\r\n",
    b"3;a=b\r\nabc\r\n",
    b"-1\r\n",
    b"\x16\x03\x01\x02\x00",
    b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    b"x" * 200,
    b"X: " + b"y" * 900 + b"\r\n",
    b"a: b\r\n" * 20,
    b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc",
    b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
)


class Unsound(AssertionError):
    """What no input may bring about."""


class Bench:
    """A server without threads. `requests` and `refusals` count what the inputs came to."""

    def __init__(self) -> None:
        clock, telemetry = SystemClock(), Telemetry()
        self._table = ConnectionTable(LIMITS)
        self._exchange = Exchange(self._table, LIMITS, Ledger(telemetry, clock), clock, lambda tls: "")
        self.inputs = self.requests = self.refusals = 0
        self.slowest_s = 0.0

    def try_(self, pieces: list[bytes]) -> None:
        """One connection on which *pieces* arrive. Raises whatever the server raises, and Unsound."""
        begin_s = time.thread_time()
        ours, theirs = socket.socketpair()
        with ours, theirs:
            ours.setblocking(False)
            theirs.setblocking(False)
            connection = Connection(Channel(ours, None), ("127.0.0.1", 1), LIMITS, time.monotonic())
            self._table.add(connection)
            for piece in pieces:
                theirs.send(piece)
                if self._arrive(connection, ours) is Step.CLOSED:
                    break
            else:
                self.refusals += connection.phase is Phase.LINGER
                theirs.shutdown(socket.SHUT_WR)
                step = self._arrive(connection, ours)
                self._expect(step is Step.CLOSED, "the end of the stream was not noticed", connection)
        self._expect(len(self._table) == 0 and self._table.unproven == 0, "the connection was not forgotten", connection)
        self._expect(self._table.held_bytes == 0, "bytes are still held", connection)
        took_s = time.thread_time() - begin_s
        self.slowest_s = max(self.slowest_s, took_s)
        self._expect(took_s < STUCK_S, f"it took {took_s:.1f} s", connection)
        self.inputs += 1

    def _arrive(self, connection: Connection, ours: socket.socket) -> Step:
        """Tell the exchange for as long as there is something to read, as the poll would."""
        step = Step.READ
        for _ in range(1000):
            if step is Step.READY:
                request = connection.request
                assert request is not None
                self._check(request, connection)
                self.requests += 1
                step = self._exchange.answer(connection, Answer("200 OK", [], request.body))
            elif step is Step.READ and _readable(ours):
                step = self._exchange.advance(connection)
            else:
                break
        else:
            self._expect(False, "it reads without end", connection)
        if step is not Step.CLOSED:
            self._expect(connection.deadline_s != NEVER_S, f"it waits without a deadline in {connection.phase}", connection)
            self._expect(connection.request is None, "it waits with a request in hand", connection)
        return step

    def _check(self, request: Request, connection: Connection) -> None:
        head = request.head
        length = head.variables.get("CONTENT_LENGTH", "0")
        self._expect(length.isascii() and int(length) == len(request.body), "the length is not the body's", connection)
        self._expect(len(request.body) <= LIMITS.body_bytes, "the body is over its limit", connection)
        self._expect("HTTP_TRANSFER_ENCODING" not in head.variables, "a hop-by-hop header went through", connection)
        self._expect("HTTP_HOST" in head.variables or head.version == "HTTP/1.0", "HTTP/1.1 without Host", connection)
        text = "".join((head.method, head.target, *head.variables, *head.variables.values()))
        self._expect(not set(text) & set("\r\n\0"), "a line end or NUL went through", connection)

    @staticmethod
    def _expect(holds: bool, otherwise: str, connection: Connection) -> None:
        if not holds:
            raise Unsound(f"{otherwise} (phase {connection.phase})")


def _readable(ours: socket.socket) -> bool:
    try:
        ours.recv(1, socket.MSG_PEEK)
    except BlockingIOError:
        return False
    return True


class Mutator:
    """Inputs without end."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def __iter__(self) -> Iterator[list[bytes]]:
        while True:
            yield self.one()

    def one(self) -> list[bytes]:
        """One input, in the pieces in which it arrives."""
        chance = self._random
        data = bytearray(b"".join(chance.choices(PIECES, k=chance.randint(1, 12))))
        for _ in range(chance.choice((0, 0, 1, 2, 8))):
            self._damage(data)
        return self._cut(bytes(data))

    def _damage(self, data: bytearray) -> None:
        chance = self._random
        at = chance.randrange(len(data) + 1)
        match chance.randrange(4):
            case 0:
                data[at:at] = chance.randbytes(chance.randint(1, 4))
            case 1:
                del data[at : at + chance.randint(1, 8)]
            case 2:
                data[at : at + 1] = bytes([chance.randrange(256)])
            case 3:
                end = chance.randrange(len(data) + 1)
                data[at:at] = data[min(at, end) : min(at, end) + 64]

    def _cut(self, data: bytes) -> list[bytes]:
        chance = self._random
        cuts = sorted(chance.randrange(len(data) + 1) for _ in range(chance.choice((0, 0, 1, 3))))
        return [data[begin:end] for begin, end in zip([0, *cuts], [*cuts, len(data)], strict=True) if begin < end]
