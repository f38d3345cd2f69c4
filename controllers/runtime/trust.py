"""Which of the kept connections to an API server are used again: those that have answered since a silence was noticed.

A connection goes dark without a sign when a balancer loses the instance behind it, or a NAT or firewall its table: requests
leave, and nothing comes back. What swallows the packets of one connection swallows those of all that are as old, so trust is
withdrawn from all at once; each is replaced when its turn comes. Those in use at that moment earn it again by their answer.

Threads: any.
Source:  kubernetes/kubernetes#87615: client-go finds them by HTTP/2's pings since then; HTTP/1.1 has none.
"""

from __future__ import annotations

import threading
from math import inf
from typing import Final

from webhook.clock import Clock
from webhook.logs import get_log

log = get_log("connections")

# An API server that is merely slow must not get a handshake from each idle connection for each answer that it owes: at most
# 32 (the pool) in this time. Who meets a second silence sooner loses one request more (see `again`).
WITHDRAWN_EVERY_S: Final = 10.0
# Whoever is in a greater hurry says nothing about the connection. A live read (`live.TIMEOUT_S`) that has its whole time does;
# a little less, since some of it has passed when the request has left.
SILENCE_S: Final = 0.25


class Trust:
    """In the idle connections of one pool."""

    def __init__(self, host: str, clock: Clock) -> None:
        """host: for the log."""
        self._host = host
        self._clock = clock
        self._lock = threading.Lock()  # guards both below; no IO under it
        self._era = 0
        self._withdrawn_s = -inf

    @property
    def era(self) -> int:
        """Grows with each withdrawal: a connection is trusted while it is what it was at its last answer."""
        return self._era

    def withdraw(self) -> None:
        """Use no connection again that is idle now."""
        with self._lock:
            self._withdraw()

    def doubt(self, silent_s: float) -> None:
        """A connection that had answered before is given up after *silent_s* without a byte.

        `withdraw`, unless that is no time for an answer, or was done a moment ago.
        """
        if silent_s < SILENCE_S:
            return
        with self._lock:
            if self._clock.monotonic_s() - self._withdrawn_s < WITHDRAWN_EVERY_S:
                return
            self._withdraw()
        log.warning("a kept connection gave no answer in time: those that are idle are replaced", host=self._host)

    def _withdraw(self) -> None:
        self._era += 1
        self._withdrawn_s = self._clock.monotonic_s()
