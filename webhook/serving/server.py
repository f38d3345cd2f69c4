"""The admission server: any PEP 3333 application, mounted on cheroot, behind our own reading of the wire.

cheroot binds the socket, drives a request through the application (`HTTPConnection.communicate`) and holds it to
PEP 3333 (`Gateway`). What it would do to the wire is replaced: bytes come in and go out through `reactor`, so cheroot
gets whole requests from memory and gives whole answers to memory. Private ways that are overridden here are pinned by
a test that holds their signatures; cheroot is pinned to the patch.

Errors: `start` raises OSError (address), CertificateError (pair). An exception of the application is answered with
500, logged and counted.
Thread rule: the methods of AdmissionServer by its owner; the application is called by the worker threads.
Source: PEP 3333, RFC 3875 (environ).
"""

from __future__ import annotations

import io
import logging
import re
import socket
import sys
import threading
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import cheroot.server
import cheroot.wsgi

from webhook.clock import Clock, Deadline, SystemClock
from webhook.serving import host
from webhook.serving.answers import Answer
from webhook.serving.chains import Leaf
from webhook.serving.connections import Connection
from webhook.serving.environ import ACCEPTED, CLIENT, CLOSE
from webhook.serving.ledger import Ledger
from webhook.serving.limits import ServerLimits
from webhook.serving.reactor import Reactor
from webhook.serving.tls import Certificates, CertificateSource, client_name
from webhook.telemetry import Telemetry

if TYPE_CHECKING:
    from types import TracebackType

    from _typeshed.wsgi import StartResponse, WSGIEnvironment

    Application = Callable[[WSGIEnvironment, StartResponse], Iterable[bytes]]
    ExcInfo = tuple[type[BaseException], BaseException, TracebackType] | tuple[None, None, None]

BACKLOG = 1024
CERTIFICATE_POLL_S = 2.0
# Beside connections: the log, the caches' watches, the probes.
SPARE_FILES = 256
_FORBIDDEN_IN_HEADER = re.compile("[\r\n\0]")


class AdmissionServer:
    """Serves *app* over TLS until stopped; with *certificates* None in the clear, for tests."""

    def __init__(
        self,
        app: Application,
        *,
        bind: tuple[str, int],
        certificates: CertificateSource | None,
        telemetry: Telemetry,
        limits: ServerLimits | None = None,
        clock: Clock | None = None,
        threads: int = 16,
    ) -> None:
        """bind: host and port. "" as the host is every interface, of both families where the machine has both."""
        self._limits = limits or ServerLimits()
        self._clock = clock or SystemClock()
        self._ledger = Ledger(telemetry, self._clock)
        self._certificates = None if certificates is None else Certificates(certificates, telemetry, self._clock)
        self._workers = threads
        self._mount = _Mount(bind, app, self._ledger, secure=certificates is not None)
        self._reactor: Reactor | None = None
        self._stopping = threading.Event()
        self._refresher = threading.Thread(target=self._refresh_certificates, name="server/certificates", daemon=True)

    @property
    def address(self) -> tuple[str, int]:
        """Host and port that are bound; the real port where 0 was asked for."""
        name, port = self._mount.bind_addr[:2]
        return name, port

    def start(self) -> None:
        """Bind and start the threads. Raises OSError or CertificateError, and then nothing is left behind."""
        if self._certificates is not None:
            self._certificates.load()
        host.prepare(self._limits.connections + SPARE_FILES)
        self._mount.request_queue_size = BACKLOG
        self._mount.prepare()
        certificates = self._certificates
        self._reactor = Reactor(
            self._mount.socket,
            self._mount.handle,
            context=lambda: None if certificates is None else certificates.context,
            subject=client_name,
            limits=self._limits,
            ledger=self._ledger,
            clock=self._clock,
            workers=self._workers,
        )
        self._reactor.start()
        if certificates is not None:
            self._refresher.start()

    def begin_drain(self) -> None:
        """From now on every answer carries `Connection: close`; idle connections stay usable until their next one."""
        if self._reactor is not None:
            self._reactor.begin_drain()

    def stop(self, deadline_s: float) -> bool:
        """Close the listener, finish what has begun within *deadline_s* seconds, then cut the rest.

        True when every thread has ended; False when a handler hangs: its thread is a daemon, and its connection is
        cut, so that nothing of it reaches the wire.
        """
        self._stopping.set()
        reactor, self._reactor = self._reactor, None
        if reactor is None:
            return True
        ended = reactor.stop(Deadline.after(deadline_s, self._clock))
        self._mount.forget()
        if self._refresher.ident is not None:
            self._refresher.join(1.0)
        return ended and not self._refresher.is_alive()

    def alive(self) -> bool:
        """Whether all threads run."""
        if self._reactor is None:
            return False
        return self._reactor.alive() and (self._certificates is None or self._refresher.is_alive())

    @property
    def leaf(self) -> Leaf | None:
        """What the served certificate says; None without TLS."""
        return None if self._certificates is None else self._certificates.leaf

    def refresh_certificates(self) -> bool:
        """Look at the certificate source now instead of at the next poll; True when a new pair is served."""
        return self._certificates is not None and self._certificates.refresh()

    def _refresh_certificates(self) -> None:
        while not self._clock.wait(self._stopping, CERTIFICATE_POLL_S):
            self.refresh_certificates()


class _Mount(cheroot.wsgi.Server):
    """cheroot's server, of which binding and the way into the application are used."""

    def __init__(self, bind: tuple[str, int], app: Application, ledger: Ledger, *, secure: bool) -> None:
        name, port = bind
        # cheroot takes no empty host; from "::" it takes both families.
        every = "::" if socket.has_dualstack_ipv6() else "0.0.0.0"
        super().__init__((name or every, port), app, numthreads=1, server_name="gatehouse")
        self.gateway = _Gateway
        self.requests = _NoThreads()
        self.ledger = ledger
        self._secure = secure
        self.environ: dict[str, Any] = {}

    def prepare(self) -> None:
        """Bind and listen; no thread is started."""
        super().prepare()
        vars(self)["_connections"].close()  # cheroot's own selector; its type stub knows nothing of it
        self.environ = {
            "SCRIPT_NAME": "",
            "SERVER_NAME": self.server_name,
            "SERVER_PORT": str(self.bind_addr[1]),
            "SERVER_SOFTWARE": "gatehouse",
            "wsgi.version": (1, 0),
            "wsgi.url_scheme": "https" if self._secure else "http",
            "wsgi.errors": sys.stderr,
            "wsgi.multithread": True,
            "wsgi.multiprocess": False,
            "wsgi.run_once": False,
            "wsgi.input_terminated": True,
        }
        if self._secure:
            self.environ["HTTPS"] = "on"

    @staticmethod
    def bind_socket(socket_: socket.socket, bind_addr: tuple[str, int]) -> socket.socket:
        """The socket, bound; closed when it cannot be, which cheroot leaves to chance."""
        try:
            socket_.bind(bind_addr)
        except OSError:
            socket_.close()
            raise
        return socket_

    def forget(self) -> None:
        """Leave the statistics table that cheroot hangs on the logging module, or the server would never be freed."""
        vars(logging).get("statistics", {}).pop(f"Cheroot HTTPServer {id(self)}", None)

    def handle(self, connection: Connection) -> Answer:
        """The application's answer to the connection's whole request. Never raises."""
        mounted = connection.mounted
        if mounted is None:
            mounted = connection.mounted = _MountedConnection(self, connection)
        assert isinstance(mounted, _MountedConnection)
        return mounted.take_answer()

    def error_log(self, msg: str = "", level: int = 20, traceback: bool = False) -> None:
        """Where cheroot reports an exception of the application."""
        self.ledger.fault("the application failed", sys.exc_info()[1] if traceback else None)


class _NoThreads:
    """Stands in for cheroot's thread pool; the reactor's threads do the work."""

    def start(self) -> None:
        """Nothing to start."""


class _MountedConnection(cheroot.server.HTTPConnection):
    """cheroot's view of a connection: one whole request at a time, from memory to memory."""

    def __init__(self, server: _Mount, connection: Connection) -> None:
        # cheroot's own constructor would wrap the socket in files; there is none here.
        self.server = server
        self.connection = connection
        self.answer = _FAILED

    def take_answer(self) -> Answer:
        """Run the request through the application."""
        self.answer = _FAILED
        try:
            self.communicate()  # type: ignore[no-untyped-call]
        except (SystemExit, KeyboardInterrupt) as error:
            # cheroot lets these through to stop its server; an application has no say in that.
            self.server.ledger.fault("the application tried to exit", error)
        answer, self.answer = self.answer, _FAILED  # an idle connection keeps no answer alive
        return answer


class _MountedRequest(cheroot.server.HTTPRequest):
    """A request that the framer has already parsed."""

    def parse_request(self) -> None:
        """Take the parsed request over."""
        self.request = self.conn.connection.request
        self.body: list[bytes] = []
        self.ends = False  # the application asked to end the connection
        self.started_request = self.ready = True

    def respond(self) -> None:
        """Collect the application's whole answer."""
        gateway = self.server.gateway(self)
        gateway.respond()
        if not gateway.started_response:
            raise RuntimeError("the application did not call start_response")
        self.conn.answer = Answer(self.status, self.outheaders, b"".join(self.body), self.ends)

    def ensure_headers_sent(self) -> None:
        """Nothing is sent before the answer is whole, so that a late exception can still become a clean 500."""

    def write(self, chunk: bytes) -> None:
        """Collect *chunk*."""
        self.body.append(chunk)

    def end_connection(self) -> None:
        """Make this answer the connection's last. Here and not in the gateway, whose environ would hold itself alive."""
        self.ends = True

    def simple_response(self, status: str, msg: str = "") -> None:
        """Take what cheroot answers after an exception."""
        self.conn.answer = Answer(str(status), [("Content-Type", "text/plain; charset=utf-8")], msg.encode("utf-8"))


_MountedConnection.RequestHandlerClass = _MountedRequest
_FAILED = Answer("500 Internal Server Error", [("Content-Type", "text/plain; charset=utf-8")], b"")


class _Gateway(cheroot.wsgi.Gateway_10):
    """PEP 3333 between a parsed request and the application."""

    def get_environ(self) -> dict[str, Any]:  # type: ignore[override]
        """The environ: what never changes, then the request."""
        mounted = self.req.conn
        connection: Connection = mounted.connection
        request = self.req.request
        head = request.head
        environ: dict[str, Any] = mounted.server.environ | head.variables
        environ["REQUEST_METHOD"] = head.method
        environ["PATH_INFO"] = head.path
        environ["QUERY_STRING"] = head.query
        environ["SERVER_PROTOCOL"] = head.version
        environ["REMOTE_ADDR"], environ["REMOTE_PORT"] = connection.peer[0], str(connection.peer[1])
        environ["wsgi.input"] = io.BytesIO(request.body)
        environ[ACCEPTED] = connection.accepted_s
        environ[CLIENT] = connection.client
        environ[CLOSE] = self.req.end_connection
        return environ

    def start_response(
        self, status: str, headers: Sequence[tuple[str, str]], exc_info: ExcInfo | None = None
    ) -> Callable[[bytes], None]:
        """PEP 3333's start_response. Nothing has ever been sent yet, so exc_info may always replace the answer."""
        if self.started_response and not exc_info:
            raise RuntimeError("start_response was called a second time without exc_info")
        self.started_response = True
        request = self.req
        request.body.clear()
        for name, value in headers:
            if type(name) is not str or type(value) is not str:
                raise TypeError(f"header {name!r} is not text")
            if _FORBIDDEN_IN_HEADER.search(value) or _FORBIDDEN_IN_HEADER.search(name):
                raise ValueError(f"header {name!r} holds a line end")
            if name.lower() == "connection" and "close" in value.lower():
                request.ends = True
        if type(status) is not str or not status[:3].isdecimal():
            raise ValueError(f"status {status!r} is not text that starts with a code")
        request.status, request.outheaders = status, headers
        return self.write

    def write(self, chunk: bytes) -> None:
        """PEP 3333's write."""
        if not self.started_response:
            raise RuntimeError("write was called before start_response")
        self.req.write(chunk)
