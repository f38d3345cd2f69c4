"""New connections in, and room for them: nobody is turned away while somebody else can go.

Thread rule: `accept` by the leader; `pause`, `resume`, `close` by any thread.
Source: accept(2) on EMFILE.
"""

from __future__ import annotations

import contextlib
import errno
import select
import socket
import ssl
from collections.abc import Callable

from webhook.clock import Clock
from webhook.serving.channel import Channel
from webhook.serving.connections import READABLE, Connection, ConnectionTable
from webhook.serving.exchange import Exchange
from webhook.serving.ledger import Ledger
from webhook.serving.limits import ServerLimits

ACCEPT_BATCH = 64
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

    def accept(self) -> None:
        """Take in who waits, a batch at most."""
        for _ in range(ACCEPT_BATCH):
            try:
                sock, peer = self._listener.accept()
            except (BlockingIOError, InterruptedError):
                return
            except OSError as error:
                if self._closed:
                    return
                if error.errno in _OUT_OF_ROOM and not self._make_room(forced=True):
                    self._pause()
                    return
                continue  # there is room now, or that peer is gone already
            self._make_room()
            if self._table.full():
                self._ledger.refused("connections", f"{peer[0]}:{peer[1]}")
                sock.close()
            else:
                self._open(sock, peer)

    def resume(self) -> None:
        """Accept again after the process had run out of file numbers."""
        if self._paused and not self._closed:
            self._paused = False
            self._poll.register(self.fd, READABLE)

    def close(self) -> None:
        """Accept no more."""
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
