"""New connections in, and room for them: nobody is turned away while somebody else can go.

At the end nobody is cut who has connected: first new connections are no longer begun, then those that wait are taken
in, then the listener is closed. Closing it at once would reset whoever the kernel has already welcomed for us.

Thread rule: `accept` by the leader; `resume`, `turn_away`, `close` by any thread.
Source: accept(2) on EMFILE; socket(7) SO_ATTACH_FILTER, Linux networking/filter.rst (classic BPF).
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import select
import socket
import ssl
import struct
from collections.abc import Callable

from webhook.clock import Clock
from webhook.serving.channel import Channel
from webhook.serving.connections import READABLE, Connection, ConnectionTable
from webhook.serving.exchange import Exchange
from webhook.serving.ledger import Ledger
from webhook.serving.limits import ServerLimits

ACCEPT_BATCH = 64
# A packet that begins a connection (SYN without ACK) is dropped, every other passes: byte 13 of a TCP header has its flags.
_NO_SYN = b"".join(
    struct.pack("=HBBI", *instruction)
    for instruction in ((0x30, 0, 0, 13), (0x54, 0, 0, 0x12), (0x15, 0, 1, 0x02), (0x06, 0, 0, 0), (0x06, 0, 0, 0xFFFFFFFF))
)
_SO_ATTACH_FILTER = 26
_OUT_OF_ROOM = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})


class Acceptor:
    """The listener, and the table that its connections go into. New ones are given to *opened*, owned."""

    def __init__(
        self,
        listener: socket.socket,
        poll: select.epoll,
        table: ConnectionTable,
        exchange: Exchange,
        *,
        opened: Callable[[Connection], None],
        context: Callable[[], ssl.SSLContext | None],
        limits: ServerLimits,
        ledger: Ledger,
        clock: Clock,
    ) -> None:
        self._listener = listener
        self._poll = poll
        self._table = table
        self._exchange = exchange
        self._opened = opened
        self._context = context
        self._limits = limits
        self._ledger = ledger
        self._clock = clock
        self._closed = False
        self._paused = False
        self.fd = listener.fileno()
        listener.setblocking(False)
        poll.register(self.fd, READABLE)

    def accept(self) -> bool:
        """Take in who waits, a batch at most; True when nobody waits any more."""
        for _ in range(ACCEPT_BATCH):
            try:
                sock, peer = self._listener.accept()
            except (BlockingIOError, InterruptedError):
                return True
            except OSError as error:
                if self._closed:
                    return True
                if error.errno in _OUT_OF_ROOM and not self._make_room(forced=True):
                    self._pause()
                    return True
                continue  # there is room now, or that peer is gone already
            self._make_room()
            if self._table.full():
                self._ledger.refused("connections", f"{peer[0]}:{peer[1]}")
                sock.close()
            else:
                self._open(sock, peer)
        return False

    def resume(self) -> None:
        """Accept again after the process had run out of file numbers."""
        if self._paused and not self._closed:
            self._paused = False
            self._poll.register(self.fd, READABLE)

    def turn_away(self) -> None:
        """Begin no new connection; those that are being made are finished, and accepted as before."""
        program = ctypes.create_string_buffer(_NO_SYN, len(_NO_SYN))
        with contextlib.suppress(OSError):  # a kernel that cannot: then `close` leaves a moment in which some are reset
            self._listener.setsockopt(
                socket.SOL_SOCKET, _SO_ATTACH_FILTER, struct.pack("HP", len(_NO_SYN) // 8, ctypes.addressof(program))
            )

    def close(self) -> None:
        """Take in who has connected, and accept no more. Idempotent."""
        while not self._closed and not self.accept():
            pass
        self._closed = True
        with contextlib.suppress(FileNotFoundError):  # while paused it is off the poll
            self._poll.unregister(self.fd)
        self._listener.close()

    def _pause(self) -> None:
        self._paused = True
        self._poll.unregister(self.fd)

    def _open(self, sock: socket.socket, peer: tuple[str, int]) -> None:
        sock.setblocking(False)
        self._ledger.accepted()
        connection = Connection(Channel(sock, self._context()), peer, self._limits, self._clock.monotonic_s())
        connection.owner.acquire()
        self._table.add(connection)
        self._poll.register(connection.channel.fd, READABLE)
        self._opened(connection)

    def _make_room(self, *, forced: bool = False) -> bool:
        """Close whoever must go before one more connection may come, with *forced* somebody; whether it helped."""
        made = False
        while not (made and forced):
            victims, reason = self._table.dispensable(forced=forced)
            if not victims:
                break
            for victim in victims:
                if victim.owner.acquire(blocking=False):
                    self._ledger.refused(reason, victim.peer_text)
                    self._exchange.close(victim)
                    made = True
        return made
