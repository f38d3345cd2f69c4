"""What the server counts and says about its connections: metrics for all of it, log lines for the first of each kind.

Per request nothing here is called: gauges read the server when they are scraped, bytes are summed by the sweep.

Thread rule: any thread.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from enum import StrEnum
from typing import Final

from webhook.clock import Clock
from webhook.logs import get_log
from webhook.telemetry import Telemetry

LOG_INTERVAL_S = 10.0  # a flood of refusals must not become a flood of lines

HANDSHAKES: Final = "gatehouse_server_handshakes"  # the counter, as it is declared: its samples end in _total


class Handshake(StrEnum):
    """How a TLS handshake ends: the label `result` of HANDSHAKES, a closed set."""

    OK = "ok"
    EOF = "eof"
    RESET = "reset"
    TIMEOUT = "timeout"
    PLAIN_HTTP = "plain-http"
    NOT_TLS = "not-tls"
    TLS_VERSION = "tls-version"
    CERTIFICATE = "certificate"  # one side does not take the other's: ours that is not trusted, or a caller's
    ALERT = "alert"  # of any other kind: a scanner gets there with an offer that TLS does not know


PROBES: Final = (Handshake.EOF, Handshake.RESET)  # kubelets and load balancers look in like this all day


class Ledger:
    """The server's counters, and its log of refusals: one line a reason at once, then one each LOG_INTERVAL_S."""

    def __init__(self, telemetry: Telemetry, clock: Clock) -> None:
        self._clock = clock
        self._log = get_log("server")
        self._lock = threading.Lock()  # guards _logged
        self._logged: dict[str, tuple[float, int]] = {}  # reason -> when last logged, how often left out since
        self._handshakes = telemetry.counter(
            HANDSHAKES, "TLS handshakes by result: ok, timeout, or why they failed", ["result"]
        )
        self._handshakes_ok = self._handshakes.labels(Handshake.OK)
        self._refused = telemetry.counter(
            "gatehouse_server_refused", "Requests and connections that the server itself turned away", ["reason"]
        )
        self._closed = telemetry.counter(
            "gatehouse_server_connections_closed", "Connections ended by the server, by reason", ["reason"]
        )
        self._accepted = telemetry.counter("gatehouse_server_connections_accepted", "Connections accepted")
        self._faults = telemetry.counter(
            "gatehouse_server_faults", "Exceptions that reached the server, ours or the application's"
        )
        bytes_total = telemetry.counter("gatehouse_server_bytes", "Bytes on the wire", ["direction"])
        self._bytes_in = bytes_total.labels("in")
        self._bytes_out = bytes_total.labels("out")
        self._open = telemetry.gauge("gatehouse_server_connections", "Open connections")
        self._unproven = telemetry.gauge(
            "gatehouse_server_connections_unproven", "Open connections that have not completed a request"
        )
        self._in_flight = telemetry.gauge("gatehouse_server_requests_in_flight", "Requests that a thread is working on")
        self._queued = telemetry.gauge("gatehouse_server_requests_queued", "Whole requests that wait for a thread")
        self._buffered = telemetry.gauge("gatehouse_server_buffered_bytes", "Bytes of incomplete requests and unsent answers")

    def watch(
        self,
        *,
        connections: Callable[[], float],
        unproven: Callable[[], float],
        in_flight: Callable[[], float],
        queued: Callable[[], float],
        buffered_bytes: Callable[[], float],
    ) -> None:
        """Let the gauges read these functions at each scrape."""
        self._open.set_function(connections)
        self._unproven.set_function(unproven)
        self._in_flight.set_function(in_flight)
        self._queued.set_function(queued)
        self._buffered.set_function(buffered_bytes)

    def accepted(self) -> None:
        """A connection came in."""
        self._accepted.inc()

    def shook_hands(self) -> None:
        """A handshake succeeded."""
        self._handshakes_ok.inc()

    def handshake_failed(self, result: str, peer: str) -> None:
        """A handshake did not succeed; *result* is a closed set."""
        self._handshakes.labels(result).inc()
        if result in PROBES:
            return
        self._say("handshake failed", result, peer)

    def refused(self, reason: str, peer: str) -> None:
        """A request or connection was turned away; *reason* is a closed set."""
        self._refused.labels(reason).inc()
        self._say("refused", reason, peer)

    def closed(self, reason: str) -> None:
        """The server ended a connection that had done nothing wrong."""
        self._closed.labels(reason).inc()

    def transferred(self, bytes_in: int, bytes_out: int) -> None:
        """So many bytes have passed since the last call."""
        if bytes_in:
            self._bytes_in.inc(bytes_in)
        if bytes_out:
            self._bytes_out.inc(bytes_out)

    def fault(self, message: str, error: BaseException | None) -> None:
        """Something is broken on our side."""
        self._faults.inc()
        self._log.error(message, exc_info=error)

    def _say(self, message: str, reason: str, peer: str) -> None:
        now = self._clock.monotonic_s()
        key = f"{message}/{reason}"
        with self._lock:
            last, left_out = self._logged.get(key, (-LOG_INTERVAL_S, 0))
            if now - last < LOG_INTERVAL_S:
                self._logged[key] = (last, left_out + 1)
                return
            self._logged[key] = (now, 0)
        if left_out:
            self._log.info(message, reason=reason, peer=peer, also=left_out)
        else:
            self._log.info(message, reason=reason, peer=peer)
