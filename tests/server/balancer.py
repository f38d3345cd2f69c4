"""A TCP balancer that reads nothing but may be listened in on: each new connection goes to the next backend in turn.

    with Balancer([lambda: socket.create_connection(address)]) as balancer:
        connect(balancer.port)

A backend that refuses is left out for that connection, as a balancer with health checks would. `Wiretap` as *tap* checks
that nothing but TLS passes. One thread; what it is handed blocks it for a moment only, since reviews are small.
"""

from __future__ import annotations

import contextlib
import selectors
import socket
import threading
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Protocol

import attrs

CHUNK_BYTES = 64 * 1024
SEND_WITHIN_S = 10.0
GOODBYE_WITHIN_S = 1.0
TICK_S = 0.02


class Tap(Protocol):
    """Hears every byte, in order; the balancer's thread."""

    def hear(self, stream: tuple[int, str], data: bytes) -> None:
        """*data* passed on *stream*: the connection's number, and who sent it, `client` or `server`."""


class Wiretap:
    """Whether every byte belongs to a TLS record."""

    RECORDS = frozenset({20, 21, 22, 23})  # change cipher spec, alert, handshake, application data
    LONGEST = 2**14 + 256

    def __init__(self) -> None:
        self.octets = 0
        self.faults: list[str] = []
        self._waiting: dict[tuple[int, str], bytes] = {}  # of each stream, an incomplete record

    def hear(self, stream: tuple[int, str], data: bytes) -> None:
        """Take the records apart."""
        self.octets += len(data)
        data = self._waiting.get(stream, b"") + data
        while len(data) >= 5:
            length = int.from_bytes(data[3:5], "big")
            if data[0] not in self.RECORDS or data[1] != 3 or length > self.LONGEST:
                self.faults.append(f"connection {stream[0]}, from the {stream[1]}: {data[:60]!r}")
                data = b""
                break
            if len(data) < 5 + length:
                break
            data = data[5 + length :]
        self._waiting[stream] = data


@attrs.define(eq=False)
class _End:
    """One side of a connection."""

    socket: socket.socket
    number: int
    who: str
    other: _End | None = None


class Balancer:
    """Runs inside the block."""

    def __init__(
        self,
        backends: Sequence[Callable[[], socket.socket]],
        *,
        listener: socket.socket | None = None,
        tap: Tap | None = None,
    ) -> None:
        """backends: what connects to each. listener: where to listen, instead of a free port of 127.0.0.1; owned."""
        self._backends = list(backends)
        self._listener = listener or socket.create_server(("127.0.0.1", 0), backlog=512)
        self._tap = tap
        self._selector = selectors.DefaultSelector()
        self._ends: set[_End] = set()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="test/balancer")
        self._severed = threading.Event()  # cleared: every connection is to be closed
        self._severed.set()
        self.carried = [0] * len(self._backends)  # connections so far, by backend
        self._next = 0

    @property
    def port(self) -> int:
        """Where it listens."""
        return int(self._listener.getsockname()[1])

    def sever(self) -> None:
        """Close every connection, as balancers do with those that have been idle for long; then each client has closed it, too.

        Who had not noticed would send its next request into a connection that is gone.
        """
        self._severed.clear()
        if not self._severed.wait(SEND_WITHIN_S):
            raise TimeoutError("the balancer's thread does not get on")

    def __enter__(self) -> Balancer:
        self._listener.setblocking(False)
        self._selector.register(self._listener, selectors.EVENT_READ)
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._stop.set()
        self._thread.join(SEND_WITHIN_S + 5.0)
        for end in self._ends:
            end.socket.close()
        self._listener.close()
        self._selector.close()

    def _run(self) -> None:
        while not self._stop.is_set():
            for key, _ in self._selector.select(TICK_S):
                if key.data is None:
                    self._accept()
                elif key.data in self._ends:
                    self._carry(key.data)
            if not self._severed.is_set():
                for end in sorted(self._ends, key=lambda end: end.who == "server"):  # clients first: they are waited for
                    if end.who == "client":
                        self._say_goodbye(end)
                    self._close(end)
                self._severed.set()

    def _accept(self) -> None:
        with contextlib.suppress(BlockingIOError):
            client, _ = self._listener.accept()
            server = self._connect()
            if server is None:
                client.close()
                return
            number = sum(self.carried)
            ends = [_End(client, number, "client"), _End(server, number, "server")]
            ends[0].other, ends[1].other = ends[1], ends[0]
            for end in ends:
                end.socket.settimeout(SEND_WITHIN_S)
                end.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                self._ends.add(end)
                self._selector.register(end.socket, selectors.EVENT_READ, end)

    def _connect(self) -> socket.socket | None:
        for _ in self._backends:
            number = self._next
            self._next = (number + 1) % len(self._backends)
            with contextlib.suppress(OSError):
                made = self._backends[number]()
                self.carried[number] += 1
                return made
        return None

    def _carry(self, end: _End) -> None:
        assert end.other is not None
        try:
            data = end.socket.recv(CHUNK_BYTES)
            if data and self._tap is not None:
                self._tap.hear((end.number, end.who), data)
            if data:
                end.other.socket.sendall(data)
                return
        except OSError:
            pass
        # Half-closed connections are of no use to TLS: the end of one direction is the end of both.
        self._close(end)
        self._close(end.other)

    @staticmethod
    def _say_goodbye(end: _End) -> None:
        """Send nothing more, and wait until the other side does not either."""
        with contextlib.suppress(OSError):
            end.socket.settimeout(GOODBYE_WITHIN_S)
            end.socket.shutdown(socket.SHUT_WR)
            while end.socket.recv(CHUNK_BYTES):
                pass

    def _close(self, end: _End) -> None:
        self._selector.unregister(end.socket)
        end.socket.close()
        self._ends.discard(end)
