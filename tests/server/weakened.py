"""The process with protections switched off, each by name: what a test of a protection must be able to notice.

    python -m tests.server.weakened NAME[,NAME...] serve --local DIR ...

Everything beside the named is the real process.
"""

from __future__ import annotations

import select
import socket
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import controllers.process.assembly
import webhook.serving.server
from controllers.cli.main import main
from webhook.admission.interceptors import Admit
from webhook.admission.service import BoundService
from webhook.clock import Deadline
from webhook.errors import Overloaded, Unavailable
from webhook.serving import chains, host, tls
from webhook.serving.acceptor import Acceptor
from webhook.serving.channel import Channel, ChannelClosed
from webhook.serving.exchange import Exchange, Step
from webhook.serving.reactor import Reactor

PATIENCE_S = 10.0  # cheroot's
LEAVES_WITHIN_S = 3.0


def _readable(fd: int, until_s: float) -> bool:
    poll = select.poll()
    poll.register(fd, select.POLLIN)
    return bool(poll.poll(max(0.0, until_s - time.monotonic()) * 1000))


def waits_for_handshakes() -> None:
    """The thread that accepts stays with a new client until its handshake is over, as in cheroot."""
    step, admit = Channel.handshake, Acceptor._open

    def handshake(self: Channel) -> bool:
        end_s = time.monotonic() + PATIENCE_S
        while not step(self):
            if not _readable(self.fd, end_s):
                raise ChannelClosed("timeout")
        return True

    def open_(self: Acceptor, sock: socket.socket, peer: tuple[str, int]) -> None:
        _readable(sock.fileno(), time.monotonic() + PATIENCE_S)
        admit(self, sock, peer)

    Channel.handshake = handshake  # type: ignore[method-assign]
    Acceptor._open = open_  # type: ignore[method-assign]


def waits_for_requests() -> None:
    """A thread stays with a client until its request is whole."""
    step = Exchange._read

    def read(self: Exchange, connection: Any, *, filled: bool) -> Step:
        end_s = time.monotonic() + PATIENCE_S
        done = step(self, connection, filled=filled)
        while done is Step.READ and _readable(connection.channel.fd, end_s):
            done = step(self, connection, filled=False)
        return done

    Exchange._read = read  # type: ignore[method-assign]


def leaks_sessions() -> None:
    """Each connection asks OpenSSL for its session, of which the interpreter never frees a copy."""
    name = webhook.serving.server.client_name

    def client_name(state: Any) -> str:
        vars(sys.modules[__name__]).setdefault("_kept", []).append(bytes(1200) if state.session is None else state.session)
        return name(state)

    webhook.serving.server.client_name = client_name


def serves_any_certificate() -> None:
    """Certificates are not looked at before they are served."""
    assert tls.served_leaf is chains.served_leaf
    tls.served_leaf = lambda context, certificate: chains.Leaf(0.0, time.time() + 3600.0, frozenset())


def takes_long_turns() -> None:
    """Threads that compute keep the interpreter for as long as Python lets them by default."""
    host.SWITCH_S = 1.0


def never_drains() -> None:
    """A process that leaves goes on deciding."""
    Admit.drain = lambda self: None  # type: ignore[method-assign]


def closes_without_a_word() -> None:
    """Connections of a process that leaves end without being told before."""
    Reactor.begin_drain = lambda self: None  # type: ignore[method-assign]


def asks_for_no_retry() -> None:
    """Refusals do not name Retry-After."""
    Overloaded.retry_after_s = Unavailable.retry_after_s = None


def waits_for_handlers() -> None:
    """A stop waits for requests for as long as they take."""
    stop = Reactor.stop
    Reactor.stop = lambda self, deadline: stop(self, Deadline.after(3600.0, self._clock))  # type: ignore[method-assign]


def speaks_in_the_clear() -> None:
    """A connection that is cut is told so past TLS, as cheroot's forced stop does."""
    Channel.abort = lambda self: self.send_clear(b"HTTP/1.1 500 Internal Server Error\r\n\r\n")  # type: ignore[method-assign]


# -- no protections, but what they protect from, and what saves a test time


def hangs() -> None:
    """Reviews whose uid begins with "hang" are never answered."""
    answer = BoundService.answer

    def hang(self: BoundService, request: Any, context: Any) -> Any:
        if request.uid.startswith("hang"):
            threading.Event().wait()
        return answer(self, request, context)

    BoundService.answer = hang  # type: ignore[method-assign]


def works_hard() -> None:
    """Each review takes 10 ms of the processor."""
    answer = BoundService.answer

    def work(self: BoundService, request: Any, context: Any) -> Any:
        end_s = time.thread_time() + 0.010
        while time.thread_time() < end_s:
            pass
        return answer(self, request, context)

    BoundService.answer = work  # type: ignore[method-assign]


def waits_long() -> None:
    """Each review waits 50 ms for somebody else."""
    answer = BoundService.answer

    def wait(self: BoundService, request: Any, context: Any) -> Any:
        time.sleep(0.050)
        return answer(self, request, context)

    BoundService.answer = wait  # type: ignore[method-assign]


def leaves_early() -> None:
    """The deadline for leaving is short enough for a test."""
    controllers.process.assembly.LEAVE_WITHIN_S = LEAVES_WITHIN_S


def looks_often() -> None:
    """Certificate files are read fifty times a second."""
    webhook.serving.server.CERTIFICATE_POLL_S = 0.02


WEAKENINGS: dict[str, Callable[[], None]] = {
    function.__name__.replace("_", "-"): function
    for function in (
        waits_for_handshakes,
        waits_for_requests,
        leaks_sessions,
        serves_any_certificate,
        takes_long_turns,
        never_drains,
        closes_without_a_word,
        asks_for_no_retry,
        waits_for_handlers,
        speaks_in_the_clear,
        hangs,
        works_hard,
        waits_long,
        leaves_early,
        looks_often,
    )
}

if __name__ == "__main__":
    for chosen in sys.argv[1].split(","):
        WEAKENINGS[chosen]()
    sys.exit(main(sys.argv[2:]))
