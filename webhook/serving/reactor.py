"""The threads that move bytes and run requests: one leads, the others stand by.

The leader waits on the poll, reads what has come without blocking, and once a whole request is in memory runs the
application itself and sends the answer. A client's silence never costs a thread, and an ordinary request costs no
hand-over: passing it to a worker would cost more than all the parsing, since two threads that do short work under one
interpreter lock mostly wake each other up (measured: half the processor time, and twice the requests a second).

What a request must not do is stop the others, so the leader is watched. If it has been inside one request for too long, the
lead passes to a thread that stands by, and the slow request goes on as a worker. `slowness` says how long that is: a request
that waits for something is given less time than one that computes, since others could only compute in turn with that one.
Its path is remembered, and the lead is passed on before the next one there.
There is one thread more than requests may run at once: when all are taken the leader still accepts, shakes hands and
reads, puts whole requests into the bounded queue, and turns away the rest.

Errors: none leave; a fault is logged and counted and costs one connection.
Thread rule: `start`, `begin_drain`, `stop` by the owner of the server, everything else by the threads here.
What the gate guards is looked at without it where a look that is out of date does no harm: by a thread at whether it leads (it
is called after it was made the leader), by the watch, by the metrics. `_watch_sleeps` has no lock, but an order: who begins a
request sets `_leader_in_request` and then looks at it, the watch sets it and then looks at `_leader_in_request`, so that one of
the two sees the other. Waking the watch once too often costs it one look.
Source: Schmidt et al., Leader/Followers (POSA 2); epoll(7).
"""

from __future__ import annotations

import collections
import contextlib
import os
import select
import socket
import ssl
import threading
import time
from collections.abc import Callable

from webhook.clock import Clock, Deadline
from webhook.serving.acceptor import Acceptor
from webhook.serving.answers import Answer, refusal
from webhook.serving.connections import READABLE, WRITABLE, Connection, ConnectionTable, Phase
from webhook.serving.exchange import Exchange, Step
from webhook.serving.ledger import Ledger
from webhook.serving.limits import ServerLimits
from webhook.serving.refusal import Refused
from webhook.serving.slowness import PATIENCE_S, Progress, SlowPaths

EVENT_BATCH = 64
SWEEP_S = 0.25
WELCOME_S = 0.05  # a connection that is being made is finished: a round trip
LAST_LOOK_S = 0.1  # at a stop an idle connection may still bring what is already on the wire
JOIN_S = 1.0  # for threads that have nothing left to do
OVERLOADED = refusal(Refused(503, "queue-full", "too many requests are waiting here"))

Handler = Callable[[Connection], Answer]


class _Seat:
    """One thread's place: where it stands by until it is called."""

    __slots__ = ("called", "clock", "number", "path")

    def __init__(self, number: int) -> None:
        self.number = number
        self.path = ""  # of the request it is in
        self.clock = time.CLOCK_MONOTONIC  # of its thread's processor time, once that runs
        self.called = threading.Semaphore(0)


class Reactor:
    """Serves the connections of *listener* with *handle*, which gets a connection whose request is whole."""

    def __init__(
        self,
        listener: socket.socket,
        handle: Handler,
        *,
        context: Callable[[], ssl.SSLContext | None],
        subject: Callable[[ssl.SSLObject], str],
        limits: ServerLimits,
        ledger: Ledger,
        clock: Clock,
        workers: int,
    ) -> None:
        self._handle = handle
        self._limits = limits
        self._ledger = ledger
        self._clock = clock
        self._workers = workers
        self._table = ConnectionTable(limits)
        self._exchange = Exchange(self._table, limits, ledger, clock, subject)
        self._epoll = select.epoll()
        self._wake_fd = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        self._acceptor = Acceptor(
            listener,
            self._epoll,
            self._table,
            self._exchange,
            opened=self._let_go,
            context=context,
            limits=limits,
            ledger=ledger,
            clock=clock,
        )
        self._slow = SlowPaths()
        self._stopped = False
        self._events: collections.deque[tuple[int, int]] = collections.deque()  # polled, not yet attended; the leader's
        self._seats = [_Seat(number) for number in range(workers + 1)]
        self._gate = threading.Lock()  # guards the five below; no IO under it
        self._leader = self._seats[0]
        self._leader_in_request = False
        self._standing_by = self._seats[:0:-1]
        self._busy = 0  # threads inside requests
        self._queue: collections.deque[Connection] = collections.deque()  # not empty only while all workers are busy
        self._watch_sleeps = True  # without the gate: see above
        self._turns = 0  # written by the leader alone; the watch sees by it whether the leader gets on
        self._watch_wanted = threading.Semaphore(0)
        self._threads = [
            threading.Thread(target=self._run, args=(seat,), name=f"server/{seat.number}", daemon=True) for seat in self._seats
        ]
        self._threads.append(threading.Thread(target=self._watch, name="server/watch", daemon=True))

    # -- called by the owner of the server

    def start(self) -> None:
        """Begin to accept."""
        self._epoll.register(self._wake_fd, select.EPOLLIN)
        self._ledger.watch(
            connections=lambda: len(self._table),
            unproven=lambda: self._table.unproven,
            in_flight=lambda: self._busy,
            queued=lambda: len(self._queue),
            buffered_bytes=lambda: self._table.held_bytes,
        )
        for thread in self._threads:
            thread.start()

    def begin_drain(self) -> None:
        """From now on every answer is its connection's last."""
        self._exchange.draining = True

    def alive(self) -> bool:
        """Whether every thread runs."""
        return all(thread.is_alive() for thread in self._threads)

    def stop(self, deadline: Deadline) -> bool:
        """Finish what has begun, until *deadline*; then cut everything. True when no thread is left.

        Idle connections are closed after a last look; requests that are whole, or half here, are answered.
        """
        self.begin_drain()
        pause = threading.Event()
        self._acceptor.turn_away()
        self._clock.wait(pause, min(WELCOME_S, deadline.remaining_s()))
        self._acceptor.close()
        while len(self._table) and not deadline.expired():
            self._hurry()
            self._sweep()
            self._clock.wait(pause, min(0.02, deadline.remaining_s()))
        self._stopped = True
        os.eventfd_write(self._wake_fd, 1)
        for seat in self._seats:
            seat.called.release()
        self._watch_wanted.release()
        for connection in self._table.all():
            self._cut(connection)
        joined = Deadline.after(JOIN_S, self._clock)
        for thread in self._threads:
            thread.join(joined.remaining_s())
        self._ledger.transferred(*self._table.take_traffic())
        if any(thread.is_alive() for thread in self._threads):
            return False  # a handler hangs; the poll stays open for its thread, which is a daemon
        self._epoll.close()
        os.close(self._wake_fd)
        return True

    def _hurry(self) -> None:
        """Leave those without a request a last moment only. Again and again: one may just have become idle."""
        last_s = self._clock.monotonic_s() + LAST_LOOK_S
        for connection in self._table.all():
            if connection.phase in (Phase.IDLE, Phase.HANDSHAKE, Phase.LINGER):
                connection.deadline_s = min(connection.deadline_s, last_s)

    def _cut(self, connection: Connection) -> None:
        if connection.owner.acquire(blocking=False):
            self._exchange.close(connection)
        else:
            # Its thread may hang in the application. All it can still do to the wire is fail.
            connection.channel.abort()

    # -- the leader

    def _run(self, seat: _Seat) -> None:
        seat.clock = time.pthread_getcpuclockid(threading.get_ident())
        if seat is not self._leader:
            seat.called.acquire()
        while not self._stopped:
            self._lead(seat)
            if not self._stopped:
                seat.called.acquire()

    def _lead(self, seat: _Seat) -> None:
        """Attend to events until the lead has passed to another thread."""
        events, poll = self._events, self._epoll.poll
        while self._leader is seat and not self._stopped:
            if not events:
                events.extend(poll(None, EVENT_BATCH))
            fd, _ = events.popleft()
            self._turns += 1
            try:
                if fd == self._acceptor.fd:
                    self._acceptor.accept()
                elif fd != self._wake_fd:
                    self._attend(fd, seat)
            except Exception as error:
                self._ledger.fault("a server thread met an exception", error)

    def _attend(self, fd: int, seat: _Seat) -> None:
        connection = self._table.get(fd)
        if connection is None:
            return
        if not connection.owner.acquire(blocking=False):
            # Its owner is in a slow request, or just letting go. Do not poll for it until the owner has seen the mark;
            # look again in case it has let go before the mark was set.
            with contextlib.suppress(OSError):
                self._epoll.unregister(fd)
            connection.unpolled = True
            if not connection.owner.acquire(blocking=False):
                return
        try:
            step = self._exchange.advance(connection)
        except BaseException:
            self._exchange.close(connection)
            raise
        if step is Step.READY:
            self._dispatch(connection, seat)
        else:
            self._wait_for(connection, step)

    def _dispatch(self, connection: Connection, seat: _Seat) -> None:
        """Run the request here if a worker's place is free; else queue it, or turn it away."""
        assert connection.request is not None
        slow = connection.request.head.path in self._slow
        with self._gate:
            free = self._busy < self._workers
            if free:
                self._busy += 1
                self._leader_in_request = True
                if slow:
                    self._call_next()
            elif len(self._queue) < self._limits.queue_length:
                self._queue.append(connection)
                return
        if free:
            self._work(connection, seat)
        else:
            self._ledger.refused("queue-full", connection.peer_text)
            self._wait_for(connection, self._exchange.answer(connection, OVERLOADED))

    # -- a worker: the leader, or a thread that was the leader when its request began

    def _work(self, connection: Connection | None, seat: _Seat) -> None:
        """Answer the connection's request, then those that are queued, until none is."""
        if self._watch_sleeps:
            self._watch_sleeps = False
            self._watch_wanted.release()
        while connection is not None:
            again = self._serve(connection, seat)
            with self._gate:
                if again:  # a pipelined request waits behind those of others
                    self._queue.append(connection)
                if self._queue:
                    connection = self._queue.popleft()
                    continue
                connection = None
                self._busy -= 1
                if self._leader is seat:
                    self._leader_in_request = False
                else:
                    self._standing_by.append(seat)

    def _serve(self, connection: Connection, seat: _Seat) -> bool:
        """Answer one request; True when the next one of the same connection is already whole."""
        assert connection.request is not None
        path = seat.path = connection.request.head.path
        begin = (time.monotonic(), time.thread_time()) if path in self._slow else None
        step = Step.CLOSED
        try:
            step = self._exchange.answer(connection, self._handle(connection))
            if step is not Step.READY:
                self._wait_for(connection, step)
        except BaseException as error:
            self._ledger.fault("a request met an exception in the server", error)
            self._exchange.close(connection)
        if begin is not None:
            self._slow.judge(path, time.monotonic() - begin[0], time.thread_time() - begin[1])
        return step is Step.READY

    # -- the watch

    def _watch(self) -> None:
        """Pass the lead on when the leader does not get on; close what is over its time."""
        next_sweep_s = 0.0
        turns, idle_looks = -1, 0
        progress = Progress()
        while not self._stopped:
            try:
                if time.monotonic() >= next_sweep_s:
                    next_sweep_s = time.monotonic() + SWEEP_S
                    self._sweep()
                if self._watch_sleeps:
                    idle_looks = 0
                    self._watch_wanted.acquire(timeout=SWEEP_S)
                else:
                    time.sleep(PATIENCE_S)
                unmoved = turns == self._turns
                turns = self._turns
                if unmoved and self._leader_in_request:
                    if progress.is_slow(time.monotonic(), self._computed_s()):
                        self._pass_lead(turns)
                    continue
                progress.begin(time.monotonic(), self._computed_s())
                if not self._watch_sleeps:
                    idle_looks = idle_looks + 1 if unmoved else 0
                    # In this order: see the top of the module.
                    self._watch_sleeps = idle_looks > 1
                    if self._leader_in_request:
                        self._watch_sleeps = False
            except Exception as error:
                self._ledger.fault("the watch met an exception", error)

    def _computed_s(self) -> float:
        """Processor time of the leader's thread."""
        try:
            return time.clock_gettime(self._leader.clock)
        except OSError:  # it has just ended, with everything
            return 0.0

    def _pass_lead(self, turns: int) -> None:
        with self._gate:
            if self._leader_in_request and self._turns == turns:
                self._slow.mark(self._leader.path)
                self._call_next()

    def _call_next(self) -> None:
        """Pass the lead to a thread that stands by. Under the gate; there is one, since there are more than workers."""
        self._leader = self._standing_by.pop()
        self._leader_in_request = False
        self._leader.called.release()

    def _sweep(self) -> None:
        now_s = self._clock.monotonic_s()
        for connection in self._table.expired(now_s):
            if not connection.owner.acquire(blocking=False):
                continue
            if connection.deadline_s <= now_s and not connection.closed:
                self._wait_for(connection, self._exchange.expire(connection))
            else:  # it moved on just now
                self._let_go(connection)
        self._ledger.transferred(*self._table.take_traffic())
        self._acceptor.resume()

    # -- any of the threads

    def _wait_for(self, connection: Connection, step: Step) -> None:
        """Let the poll watch the connection for what it waits for, and let go of it."""
        if step is Step.CLOSED:
            return
        if self._stopped:
            self._exchange.close(connection)
            return
        mask = WRITABLE if step is Step.WRITE else READABLE
        if connection.mask != mask:
            connection.mask = mask
            with contextlib.suppress(FileNotFoundError):  # the leader has taken it off the poll; see _let_go
                self._epoll.modify(connection.channel.fd, mask)
        self._let_go(connection)

    def _let_go(self, connection: Connection) -> None:
        connection.owner.release()
        while connection.unpolled and connection.owner.acquire(blocking=False):
            if connection.unpolled:
                connection.unpolled = False
                self._epoll.register(connection.channel.fd, connection.mask)
            connection.owner.release()
