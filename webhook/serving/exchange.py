"""What happens on one connection: handshake, reading, answering, refusing, expiring. Never blocks.

Every method is called by the connection's owner and says what to wait for next; the reactor does the waiting. Answers
of any size leave without a thread: what the kernel does not take is sent when the peer has read.

Errors: none leave; a peer that is gone gives Step.CLOSED.
Thread rule: any thread, as owner of the connection.
"""

from __future__ import annotations

import enum
import ssl
from collections.abc import Callable

from webhook.admission.timeouts import caller_timeout_s
from webhook.clock import Clock
from webhook.serving.answers import CONTINUE, PLAIN_HTTP, Answer, AnswerWriter, refusal
from webhook.serving.channel import RECEIVE_BYTES, ChannelClosed
from webhook.serving.connections import NEVER_S, Connection, ConnectionTable, Phase
from webhook.serving.framing import Request
from webhook.serving.ledger import Handshake, Ledger
from webhook.serving.limits import ServerLimits
from webhook.serving.refusal import Refused

READ_BURST = 8  # full reads of one connection before the others get their turn


class Step(enum.Enum):
    """What a connection waits for."""

    READ = "read"
    WRITE = "write"
    READY = "ready"  # a thread: its request is whole
    CLOSED = "closed"


class Exchange:
    """The protocol on the connections of one table."""

    def __init__(
        self,
        table: ConnectionTable,
        limits: ServerLimits,
        ledger: Ledger,
        clock: Clock,
        subject: Callable[[ssl.SSLObject], str],
    ) -> None:
        self._table = table
        self._limits = limits
        self._ledger = ledger
        self._clock = clock
        self._subject = subject
        self._writer = AnswerWriter(clock)
        self.draining = False  # every answer from now on is its connection's last

    def advance(self, connection: Connection) -> Step:
        """The peer has sent something, or has taken something."""
        channel = connection.channel
        try:
            if connection.phase is Phase.FLUSH:
                if not channel.flush():
                    return Step.WRITE
                self._hold(connection, 0)
                return self._after_answer(connection)
            if connection.phase is Phase.LINGER:
                return Step.READ if channel.discard() else self.close(connection)
            if connection.phase is not Phase.HANDSHAKE:
                return self._read(connection, filled=False)
            if not channel.handshake():
                return Step.WRITE if channel.unsent_bytes else Step.READ
            self._greet(connection)
            return self._read(connection, filled=True)
        except Refused as refused:
            return self.refuse(connection, refused)
        except ChannelClosed as ended:
            return self._gone(connection, ended.reason)

    def answer(self, connection: Connection, answer: Answer) -> Step:
        """Send the answer to the connection's request."""
        request = connection.request
        assert request is not None
        connection.request = None
        now_s = self._clock.monotonic_s()
        connection.requests_left -= 1
        connection.closing = (
            answer.close or request.head.close or self.draining or connection.requests_left <= 0 or now_s >= connection.retire_s
        )
        payload = self._writer.encode(answer, close=connection.closing, head_only=request.head.method == "HEAD")
        if not connection.proven:
            self._table.prove(connection)
        try:
            sent = connection.channel.send(payload)
            if (connection.held_bytes or not sent) and not self._hold(connection, connection.channel.unsent_bytes):
                self._ledger.refused("buffered-bytes", connection.peer_text)
                return self.close(connection)
            if sent:
                return self._after_answer(connection)
        except ChannelClosed as ended:
            return self._gone(connection, ended.reason)
        except Refused as refused:  # by what was sent behind this request
            return self.refuse(connection, refused)
        connection.phase = Phase.FLUSH
        connection.deadline_s = now_s + self._limits.write_s
        return Step.WRITE

    def refuse(self, connection: Connection, refused: Refused) -> Step:
        """Turn the current request away; the connection ends once the peer has had time to read why."""
        self._ledger.refused(refused.reason, connection.peer_text)
        connection.request = None
        self._hold(connection, 0)
        try:
            if connection.channel.send(self._writer.encode(refusal(refused), close=True)):
                return self._linger(connection)
        except ChannelClosed:
            pass
        return self.close(connection)

    def expire(self, connection: Connection) -> Step:
        """The connection's deadline has passed."""
        phase = connection.phase
        if phase is Phase.HEAD:
            return self.refuse(connection, Refused(408, "head-timeout", "the head did not arrive in time"))
        if phase is Phase.BODY:
            return self.refuse(connection, Refused(408, "body-timeout", "the body did not arrive in time"))
        if phase is Phase.HANDSHAKE:
            self._ledger.handshake_failed(Handshake.TIMEOUT, connection.peer_text)
        elif phase is Phase.FLUSH:
            self._ledger.refused("write-timeout", connection.peer_text)
        elif phase is Phase.IDLE:
            self._ledger.closed("stop" if self.draining else "idle")
        return self.close(connection)

    def close(self, connection: Connection) -> Step:
        """Close for good. The owner's lock stays taken, so that nobody touches the connection again."""
        if not connection.closed:
            connection.closed = True
            connection.mounted = None  # it refers back to us
            self._table.remove(connection)
            connection.channel.close()
        return Step.CLOSED

    def _greet(self, connection: Connection) -> None:
        """The handshake is done."""
        if connection.channel.tls is not None:
            self._ledger.shook_hands()
            connection.client = self._subject(connection.channel.tls)
        connection.phase = Phase.IDLE
        connection.deadline_s = self._clock.monotonic_s() + self._limits.idle_s

    def _read(self, connection: Connection, *, filled: bool) -> Step:
        for _ in range(READ_BURST):
            data = connection.channel.receive(filled=filled)
            filled = False
            if not data:
                break
            connection.read_s = self._clock.monotonic_s()
            if connection.phase is Phase.IDLE:
                self._begin_request(connection, connection.read_s)
            request = connection.framer.receive(data)
            if request is not None:
                return self._whole(connection, request)
            self._incomplete(connection)
            if len(data) < RECEIVE_BYTES // 2:
                break
        return Step.READ

    def _begin_request(self, connection: Connection, now_s: float) -> None:
        connection.accepted_s = connection.read_s
        connection.phase = Phase.HEAD
        connection.deadline_s = now_s + self._limits.head_s

    @staticmethod
    def _whole(connection: Connection, request: Request) -> Step:
        connection.request = request
        connection.phase = Phase.ANSWER
        connection.deadline_s = NEVER_S
        return Step.READY

    def _incomplete(self, connection: Connection) -> None:
        """More must come: hold what there is, and the sender to its time. Raises Refused, ChannelClosed."""
        head = connection.framer.head
        if connection.phase is Phase.HEAD and head is not None:
            timeout_s = caller_timeout_s(head.query) or self._limits.request_s
            connection.phase = Phase.BODY
            connection.deadline_s = connection.accepted_s + min(timeout_s, self._limits.request_cap_s)
            if head.expects_continue:
                connection.channel.send(CONTINUE)
        if not self._hold(connection, connection.framer.buffered_bytes):
            raise Refused(503, "buffered-bytes", "too much is being sent to this server at once")

    def _after_answer(self, connection: Connection) -> Step:
        """The answer has left. Raises Refused for what was sent behind the request."""
        framer = connection.framer
        if connection.closing:
            if framer.pending:  # closing on unread bytes would reset the connection and could destroy the answer
                return self._linger(connection)
            return self.close(connection)
        if framer.pending:
            self._begin_request(connection, self._clock.monotonic_s())
            request = framer.next()
            if request is not None:
                return self._whole(connection, request)
            self._incomplete(connection)
            return Step.READ
        connection.phase = Phase.IDLE
        connection.deadline_s = self._clock.monotonic_s() + self._limits.idle_s
        return Step.READ

    def _linger(self, connection: Connection) -> Step:
        """Stop sending, and drop what still comes for a while (RFC 9112 9.6)."""
        connection.channel.end_sending()
        connection.phase = Phase.LINGER
        connection.deadline_s = self._clock.monotonic_s() + self._limits.linger_s
        return Step.READ

    def _gone(self, connection: Connection, reason: str) -> Step:
        """The peer went away, or does not speak our protocol."""
        if connection.phase is Phase.HANDSHAKE:
            self._ledger.handshake_failed(reason, connection.peer_text)
            if reason == Handshake.PLAIN_HTTP:
                connection.channel.send_clear(PLAIN_HTTP)
                return self._linger(connection)
        elif connection.phase in (Phase.HEAD, Phase.BODY):
            self._ledger.refused("cut-short", connection.peer_text)
        elif connection.phase in (Phase.ANSWER, Phase.FLUSH):
            self._ledger.closed("peer-left")
        return self.close(connection)

    def _hold(self, connection: Connection, held_bytes: int) -> bool:
        """Account for *held_bytes*; where there is no room, who holds the most of an unfinished request must go."""
        while not self._table.hold(connection, held_bytes):
            greediest = self._table.greediest()
            if greediest is None or greediest is connection or greediest.held_bytes < held_bytes:
                return False
            if not greediest.owner.acquire(blocking=False):
                return False
            self._ledger.refused("buffered-bytes", greediest.peer_text)
            self.close(greediest)
        return True
