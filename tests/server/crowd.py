"""Strangers of every kind who keep a server waiting, all at once, and who come back when they are sent away.

    with Crowd(address, context, Kinds(silent=200)) as crowd:
        crowd.settle()

One thread, no clear text: a client per socket that never gets beyond what its kind does. Loopback only.
"""

from __future__ import annotations

import contextlib
import enum
import ipaddress
import selectors
import socket
import ssl
import threading
import time
from types import TracebackType

import attrs

from tests.server.client import wait_until

TICK_S = 0.05
RETURN_PER_TICK = 40  # who was sent away comes back at this pace: 800 a second
DRIP_S = 1.0


class Kind(enum.Enum):
    """What a stranger does."""

    SILENT = "silent"  # connects
    HALF_HELLO = "half hello"  # sends half of a ClientHello
    IDLE = "idle"  # shakes hands
    HEAD = "head"  # then sends a head, one byte a second
    BODY = "body"  # or a body


@attrs.frozen
class Kinds:
    """How many of each kind."""

    silent: int = 200
    half_hellos: int = 200
    idle: int = 200
    heads: int = 10
    bodies: int = 10

    def each(self) -> list[Kind]:
        """The kind of every stranger."""
        counts = (self.silent, self.half_hellos, self.idle, self.heads, self.bodies)
        return [kind for kind, count in zip(Kind, counts, strict=True) for _ in range(count)]


class Stranger:
    """One of them; the crowd's thread only."""

    def __init__(self, kind: Kind) -> None:
        self.kind = kind
        self.socket: socket.socket | None = None
        self.settled = False
        self.next_drip_s = 0.0

    @property
    def greeting(self) -> bytes:
        """What it says after the handshake."""
        if self.kind is Kind.HEAD:
            return b"POST /node-taint?timeout=10s HTTP/1.1\r\nHost: localhost\r\nX-Drip: "
        if self.kind is Kind.BODY:
            return b"POST /node-taint?timeout=10s HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100000\r\n\r\n"
        return b""


class Crowd:
    """Inside the block they are all there, or on their way back."""

    def __init__(self, address: tuple[str, int], context: ssl.SSLContext, kinds: Kinds | None = None) -> None:
        assert ipaddress.ip_address(address[0]).is_loopback
        self._address = address
        self._context = context
        self._half = _half_hello(context)
        self._strangers = [Stranger(kind) for kind in (kinds or Kinds()).each()]
        self._away = list(self._strangers)
        self._selector = selectors.DefaultSelector()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="test/crowd")
        self.sent_away = 0  # how often the server ended one's connection

    @property
    def there(self) -> int:
        """How many have got as far as their kind goes."""
        return sum(stranger.settled for stranger in self._strangers)

    def settle(self, share: float = 0.8, bound_s: float = 10.0) -> None:
        """Wait until that share of them is there: the server need not keep them all. Raises TimeoutError."""
        wait_until(lambda: self.there >= share * len(self._strangers), bound_s)

    def __enter__(self) -> Crowd:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._stop.set()
        self._thread.join(10.0)
        for stranger in self._strangers:
            if stranger.socket is not None:
                stranger.socket.close()
        self._selector.close()

    def _run(self) -> None:
        while not self._stop.is_set():
            tick_s = time.monotonic() + TICK_S
            for _ in range(min(RETURN_PER_TICK, len(self._away))):
                self._arrive(self._away.pop())
            while (left_s := tick_s - time.monotonic()) > 0:
                for key, _ in self._selector.select(left_s):
                    self._hear(key.data)
            for stranger in self._strangers:
                if stranger.settled and stranger.greeting and time.monotonic() >= stranger.next_drip_s:
                    stranger.next_drip_s = time.monotonic() + DRIP_S
                    self._say(stranger, b"x")

    def _arrive(self, stranger: Stranger) -> None:
        raw = socket.socket()
        raw.settimeout(5.0)
        try:
            raw.connect(self._address)
        except OSError:
            raw.close()
            self._away.insert(0, stranger)
            return
        raw.setblocking(False)
        stranger.socket = raw
        if stranger.kind is Kind.SILENT:
            stranger.settled = True
        elif stranger.kind is Kind.HALF_HELLO:
            raw.send(self._half)
            stranger.settled = True
        else:
            stranger.socket = self._context.wrap_socket(raw, server_hostname="localhost", do_handshake_on_connect=False)
        self._selector.register(stranger.socket, selectors.EVENT_READ, stranger)
        if not stranger.settled:
            self._shake(stranger)

    def _hear(self, stranger: Stranger) -> None:
        if not stranger.settled:
            self._shake(stranger)
            return
        assert stranger.socket is not None
        try:
            if stranger.socket.recv(65536):  # a refusal, before the end
                return
        except (BlockingIOError, ssl.SSLWantReadError):
            return
        except OSError:
            pass
        self._leave(stranger)

    def _shake(self, stranger: Stranger) -> None:
        assert isinstance(stranger.socket, ssl.SSLSocket)
        try:
            stranger.socket.do_handshake()
        except ssl.SSLWantReadError:
            return
        except OSError:
            self._leave(stranger)
            return
        stranger.settled = True
        if stranger.greeting:
            self._say(stranger, stranger.greeting)

    def _say(self, stranger: Stranger, data: bytes) -> None:
        assert stranger.socket is not None
        with contextlib.suppress(OSError):
            stranger.socket.send(data)

    def _leave(self, stranger: Stranger) -> None:
        assert stranger.socket is not None
        self.sent_away += 1
        self._selector.unregister(stranger.socket)
        stranger.socket.close()
        stranger.socket, stranger.settled = None, False
        self._away.insert(0, stranger)


def _half_hello(context: ssl.SSLContext) -> bytes:
    outgoing = ssl.MemoryBIO()
    with contextlib.suppress(ssl.SSLWantReadError):
        context.wrap_bio(ssl.MemoryBIO(), outgoing, server_hostname="localhost").do_handshake()
    hello = outgoing.read()
    return hello[: len(hello) // 2]
