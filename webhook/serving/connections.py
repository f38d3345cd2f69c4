"""Connections and the table of them: who is open, who owns what, who must go when there is no room.

A connection has one owner at a time, whoever holds `owner`: the thread that attends to it, or nobody while the poll
watches it. Whoever takes it must arm the poll again, pass it on, or close it before letting go; so an event that finds
it taken can be dropped.

Thread rule: the table by any thread; a connection's fields by its owner only, except `deadline_s`, which the sweep
reads and then checks again as owner.
"""

from __future__ import annotations

import enum
import heapq
import math
import random
import select
import threading

from webhook.serving.channel import Channel
from webhook.serving.framing import Framer, Request
from webhook.serving.limits import ServerLimits

READABLE = select.EPOLLIN | select.EPOLLRDHUP
WRITABLE = select.EPOLLOUT
NEVER_S = math.inf


class Phase(enum.Enum):
    """What a connection is waiting for."""

    HANDSHAKE = "handshake"
    IDLE = "idle"  # the first byte of a request
    HEAD = "head"
    BODY = "body"
    ANSWER = "answer"  # a thread
    FLUSH = "flush"  # the peer, to take an answer
    LINGER = "linger"  # the peer, to stop sending after a refusal


# Who goes first when there is no room; ANSWER is never free to go.
_LEAST_WORTH = {
    phase: rank
    for rank, phase in enumerate(
        (Phase.LINGER, Phase.HANDSHAKE, Phase.IDLE, Phase.HEAD, Phase.BODY, Phase.FLUSH, Phase.ANSWER),
    )
}


class Connection:
    """One client. `deadline_s` is monotonic; infinite while a thread answers."""

    __slots__ = (
        "accepted_s", "channel", "client", "closed", "closing", "counted_in", "counted_out", "deadline_s", "framer",
        "held_bytes", "mask", "mounted", "owner", "peer", "phase", "proven", "read_s", "request", "requests_left",
        "retire_s", "unpolled",
    )  # fmt: skip

    def __init__(self, channel: Channel, peer: tuple[str, int], limits: ServerLimits, now_s: float) -> None:
        self.channel = channel
        self.peer = peer
        self.framer = Framer(limits)
        self.owner = threading.Lock()
        self.phase = Phase.HANDSHAKE
        self.deadline_s = now_s + limits.handshake_s
        self.read_s = now_s  # when bytes were last read
        self.accepted_s = now_s  # when the first byte of the current request was read
        self.request: Request | None = None
        self.client = ""  # subject of a verified client certificate
        self.mounted: object | None = None  # what the application's mount keeps per connection
        self.closing = False  # the answer being flushed is the last
        self.closed = False
        self.proven = False  # has completed a request
        self.mask = READABLE  # what the poll watches for
        self.unpolled = False  # set by the leader: an event came while we were owned, so the poll watches no longer
        self.held_bytes = 0  # our part of the table's buffered bytes
        self.counted_in = 0
        self.counted_out = 0
        # Jitter, so that the connections of one burst do not all come back at once.
        self.requests_left = round(limits.requests_per_connection * random.uniform(0.75, 1.25)) or 1
        self.retire_s = now_s + limits.connection_age_s * random.uniform(0.75, 1.25)

    @property
    def peer_text(self) -> str:
        """`address:port` for logs."""
        return f"{self.peer[0]}:{self.peer[1]}"


class ConnectionTable:
    """All open connections by file number, and the bytes that they make us hold."""

    def __init__(self, limits: ServerLimits) -> None:
        self._limits = limits
        self._lock = threading.Lock()  # guards everything below; no IO under it
        self._by_fd: dict[int, Connection] = {}
        self._unproven: dict[Connection, None] = {}  # oldest first
        self._held_bytes = 0
        self._bytes_in = 0
        self._bytes_out = 0

    def get(self, fd: int) -> Connection | None:
        """The connection with this file number."""
        return self._by_fd.get(fd)  # one dict read, atomic

    def all(self) -> list[Connection]:
        """A snapshot."""
        with self._lock:
            return list(self._by_fd.values())

    def __len__(self) -> int:
        return len(self._by_fd)

    @property
    def unproven(self) -> int:
        """Connections that have not completed a request."""
        return len(self._unproven)

    @property
    def held_bytes(self) -> int:
        """Bytes of incomplete requests and unsent answers."""
        return self._held_bytes

    def add(self, connection: Connection) -> None:
        """A new connection."""
        with self._lock:
            self._by_fd[connection.channel.fd] = connection
            self._unproven[connection] = None

    def prove(self, connection: Connection) -> None:
        """*connection* has completed a request."""
        connection.proven = True
        with self._lock:
            self._unproven.pop(connection, None)

    def remove(self, connection: Connection) -> None:
        """*connection* is about to be closed; must come before, since its file number is free afterwards."""
        with self._lock:
            if self._by_fd.get(connection.channel.fd) is connection:
                del self._by_fd[connection.channel.fd]
            self._unproven.pop(connection, None)
            self._held_bytes -= connection.held_bytes
            connection.held_bytes = 0
            self._count(connection)

    def hold(self, connection: Connection, held_bytes: int) -> bool:
        """*connection* now makes us hold *held_bytes*; False, and nothing changes, when that is too much in all."""
        with self._lock:
            growth = held_bytes - connection.held_bytes
            if growth > 0 and self._held_bytes + growth > self._limits.buffered_bytes:
                return False
            self._held_bytes += growth
            connection.held_bytes = held_bytes
            return True

    def greediest(self) -> Connection | None:
        """The connection that holds the most of an incomplete request or an unsent answer."""
        with self._lock:
            return max(
                (c for c in self._by_fd.values() if c.phase in (Phase.BODY, Phase.HEAD, Phase.FLUSH)),
                key=lambda c: c.held_bytes,
                default=None,
            )

    def dispensable(self, *, forced: bool = False) -> tuple[list[Connection], str]:
        """Who must go, and why, before one more may come (*forced*: in any case); empty if nobody must, or nobody can.

        First the oldest that has not completed a request, then what is over, then those idle for longest: of these
        a few at once, since finding them takes a look at all.
        """
        with self._lock:
            crowded = forced or len(self._by_fd) >= self._limits.connections
            if not crowded and len(self._unproven) < self._limits.unproven_connections:
                return [], ""
            for candidate in self._unproven:
                if not candidate.owner.locked():
                    return [candidate], "unproven-connections"
            if not crowded:
                return [], ""
            free = [c for c in self._by_fd.values() if not c.owner.locked()]
            count = max(1, self._limits.connections // 128)
            return heapq.nsmallest(count, free, key=lambda c: (_LEAST_WORTH[c.phase], c.deadline_s)), "connections"

    def full(self) -> bool:
        """Whether one more connection is one too many."""
        return len(self._by_fd) >= self._limits.connections

    def expired(self, now_s: float) -> list[Connection]:
        """Those whose deadline has passed; also sums the bytes for `take_traffic`."""
        with self._lock:
            found = []
            for connection in self._by_fd.values():
                self._count(connection)
                if connection.deadline_s <= now_s:
                    found.append(connection)
            return found

    def take_traffic(self) -> tuple[int, int]:
        """Bytes in and out since the last call."""
        with self._lock:
            traffic = (self._bytes_in, self._bytes_out)
            self._bytes_in = self._bytes_out = 0
            return traffic

    def _count(self, connection: Connection) -> None:
        channel = connection.channel
        bytes_in, bytes_out = channel.bytes_in, channel.bytes_out
        self._bytes_in += bytes_in - connection.counted_in
        self._bytes_out += bytes_out - connection.counted_out
        connection.counted_in, connection.counted_out = bytes_in, bytes_out
