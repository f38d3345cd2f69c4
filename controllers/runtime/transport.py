"""Requests that another thread can end: what urllib3's pools lack for a watch that must stop at once.

A pool manager is made cancellable: each connection announces its socket just before it waits for an answer, so that a
`Cancel` can shut it down while the reading thread is blocked. And it is used again only while it is trusted: see `trust`.
What the pools do (proxies, TLS, keep-alive) stays.

Threads: a Cancel belongs to one requesting thread; `cancel` may be called by any.
Errors: urllib3's and the socket's become ApiErrors here (`translated`), once.
"""

from __future__ import annotations

import http.client
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from math import inf
from typing import Any

import urllib3
from urllib3.exceptions import ConnectTimeoutError, HTTPError, NewConnectionError, ProtocolError, ReadTimeoutError

from controllers.runtime.connecting import to_any_address
from controllers.runtime.errors import ApiError, Cancelled, TimedOut, Unreachable
from controllers.runtime.trust import Trust

_CHUNK_BYTES = 256 * 1024
_TIMEOUT_STEP_S = 0.05  # a read may be that much late
LINE_LIMIT_BYTES = 16 * 2**20  # one watch event; etcd refuses objects beyond 1.5 MiB, apiserver requests beyond 3 MiB


class Cancel:
    """Ends the request in flight of one thread. Implements `resource.Cancellation`."""

    def __init__(self) -> None:
        self.fired = threading.Event()  # what the requesting thread waits on while it waits for its turn
        self._lock = threading.Lock()  # guards _socket and fired together; shutdown never blocks
        self._socket: Any = None

    # -- called by anyone

    def cancel(self) -> None:
        with self._lock:
            self.fired.set()
            _shut(self._socket)

    @property
    def cancelled(self) -> bool:
        return self.fired.is_set()

    # -- called by the requesting thread

    def attach(self, sock: Any) -> None:
        """The socket that the thread is about to wait on."""
        with self._lock:
            self._socket = sock
            if self.fired.is_set():
                _shut(sock)

    def detach(self, *, shut: bool = False) -> None:
        """The thread no longer waits on its socket; with *shut* the connection is ended too."""
        with self._lock:
            if shut:
                _shut(self._socket)
            self._socket = None


def _shut(sock: Any) -> None:
    # SSLSocket.shutdown would drop the TLS state under the reading thread, whose next bytes were then read in clear.
    while sock is not None and not isinstance(sock, socket.socket):
        sock = getattr(sock, "socket", None)  # urllib3's SSLTransport (TLS to a proxy) wraps the real one
    if sock is not None:
        with suppress(OSError):  # already closed by either side
            socket.socket.shutdown(sock, socket.SHUT_RDWR)


class _Current(threading.local):
    cancel: Cancel | None = None
    may_send: Callable[[], object] | None = None
    anew: bool = False
    remaining_s: Callable[[], float] | None = None


_CURRENT = _Current()


def make_cancellable(manager: urllib3.PoolManager, trust: Trust) -> None:
    """Let the connections of *manager* announce their sockets to the requesting thread's Cancel, and be kept on *trust*."""
    pools = manager.pool_classes_by_scheme.items()
    manager.pool_classes_by_scheme = {scheme: _announcing_pool(pool, trust) for scheme, pool in pools}


def _announcing_pool(pool: Any, trust: Trust) -> Any:
    def connect(connection: Any) -> None:
        connection.era = None  # of the last answer; none came yet
        base.connect(connection)

    def new_connection(connection: Any) -> Any:
        return to_any_address(connection, base._new_conn)

    def is_connected(connection: Any) -> bool:
        # What the pool asks of an idle connection that it is about to use; it closes and reconnects one that is not.
        trusted = connection.era == trust.era and not _CURRENT.anew
        return trusted and bool(base.is_connected.fget(connection))

    def getresponse(connection: Any) -> Any:
        if _CURRENT.cancel is not None:
            _CURRENT.cancel.attach(connection.sock)
        try:
            response = base.getresponse(connection)
        except TimeoutError:
            # One that was opened a moment ago says that the server is slow, and nothing of those that are older.
            if connection.era is not None:
                trust.doubt(connection.timeout)  # of each read of the socket, the last of which brought nothing
            raise
        if _is_cut(response):
            response.close()
            raise http.client.RemoteDisconnected("the connection ended within the head of the answer")
        connection.era = trust.era
        return response

    def send(connection: Any, data: Any) -> None:
        if connection.sock is None:
            connection.connect()  # else http.client would, in the middle of sending: what follows is asked when it is done
        if _CURRENT.may_send is not None:
            _CURRENT.may_send()
        if _CURRENT.remaining_s is not None and _CURRENT.remaining_s() <= 0:
            raise TimeoutError  # connecting took it all: who asked has been told so, or will be
        if connection.sock.gettimeout() != connection.timeout:
            connection.sock.settimeout(connection.timeout)  # `read_pieces` left what was left of the last answer's time
        try:
            base.send(connection, data)
        except TimeoutError:
            if connection.era is not None:
                trust.doubt(connection.timeout)
            raise

    base = pool.ConnectionCls
    changed = {"connect": connect, "_new_conn": new_connection, "getresponse": getresponse, "send": send}
    connection = type(base.__name__, (base,), {"era": None, "is_connected": property(is_connected), **changed})
    return type(pool.__name__, (pool,), {"ConnectionCls": connection})


def _is_cut(response: Any) -> bool:
    """Whether nothing says where the body ends: http.client takes the end of the connection for the end of the head."""
    headers = response.headers
    is_framed = headers.get("Content-Length", "").strip().isdigit() or "Transfer-Encoding" in headers
    return response.version == 11 and response.status not in (204, 304) and not is_framed


@contextmanager
def announced_to(cancel: Cancel | None, remaining_s: Callable[[], float] | None = None) -> Iterator[None]:
    """Requests of this thread inside the block can be ended by *cancel*; nothing is sent when *remaining_s* () is nothing."""
    if cancel is not None and cancel.cancelled:
        raise Cancelled("the client is stopping")
    _CURRENT.cancel, _CURRENT.remaining_s = cancel, remaining_s
    try:
        yield
    finally:
        _CURRENT.cancel = _CURRENT.remaining_s = None


@contextmanager
def sent_only_if(may_send: Callable[[], object]) -> Iterator[None]:
    """Requests of this thread inside the block call *may_send* right before each piece leaves; what it raises ends the request.

    What was asked earlier may be out of date by then: a process can be stopped between any two instructions.
    """
    _CURRENT.may_send = may_send
    try:
        yield
    finally:
        _CURRENT.may_send = None


@contextmanager
def on_new_connections() -> Iterator[None]:
    """Requests of this thread inside the block use no connection that was kept."""
    _CURRENT.anew = True
    try:
        yield
    finally:
        _CURRENT.anew = False


# ValueError: http.client on a file that another thread has closed, or on chunk sizes that are no numbers.
FOREIGN = (HTTPError, http.client.HTTPException, OSError, ValueError)


def translate(error: Exception, request: str, cancel: Cancel | None) -> ApiError:
    """The ApiError that a FOREIGN *error* stands for; *request* is "GET /api/v1/nodes"."""
    if cancel is not None and cancel.cancelled:
        return Cancelled("the client is stopping")
    # What happens while a request is sent, urllib3 wraps; and it files a refused connection under timeouts too.
    cause = error.args[-1] if isinstance(error, ProtocolError) and error.args else error
    if isinstance(cause, ReadTimeoutError | ConnectTimeoutError | TimeoutError) and not isinstance(cause, NewConnectionError):
        return TimedOut(f"{request}: no answer in time")
    return Unreachable(f"{request}: {type(error).__name__}: {error}")


@contextmanager
def translated(request: str, cancel: Cancel | None) -> Iterator[None]:
    """Turn FOREIGN errors inside the block into ApiErrors."""
    try:
        yield
    except FOREIGN as error:
        raise translate(error, request, cancel) from error


class LineStream:
    """The lines of a streamed answer. Implements `resource.WatchLines`. One thread's; others end its reads by the Cancel."""

    def __init__(
        self, response: urllib3.BaseHTTPResponse, request: str, cancel: Cancel, *, on_silence: Callable[[], object]
    ) -> None:
        """on_silence: called when nothing came in time, before the error is raised."""
        self._response = response
        self._request = request
        self._cancel = cancel
        self._on_silence = on_silence
        self._closed = False

    def __iter__(self) -> Iterator[bytes]:
        rest = b""
        while chunk := self._read():
            lines = (rest + chunk).split(b"\n") if b"\n" in chunk else [rest + chunk]
            rest = lines.pop()
            if len(rest) > LINE_LIMIT_BYTES:
                raise Unreachable(f"{self._request}: a line exceeds {LINE_LIMIT_BYTES} bytes")
            for line in lines:
                if line.strip():
                    yield line
        # What is left after a clean end has no newline, so it is a cut event: the next watch will bring it again.

    def _read(self) -> bytes:
        if self._closed:
            return b""
        try:
            return self._response.read1(_CHUNK_BYTES)
        except FOREIGN as error:
            fault = translate(error, self._request, self._cancel)
            if isinstance(fault, TimedOut):
                self._on_silence()
            raise fault from error

    def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        self._cancel.detach(shut=True)
        self._response.close()


def read_body(
    response: urllib3.BaseHTTPResponse,
    limit_bytes: int,
    remaining_s: Callable[[], float],
    on_silence: Callable[[float], object],
) -> bytearray:
    """The whole body: see `read_pieces`."""
    body = bytearray()
    for piece in read_pieces(response, limit_bytes, remaining_s, on_silence):
        body += piece
    return body


def read_pieces(
    response: urllib3.BaseHTTPResponse,
    limit_bytes: int,
    remaining_s: Callable[[], float],
    on_silence: Callable[[float], object],
) -> Iterator[bytes]:
    """The body as it arrives. *remaining_s* () -> seconds left; each read of a piece gets what is left when it begins.

    on_silence: told for how many seconds the socket brought nothing, when it is that which ends the reading: a body that flows
    and is too long for its time is no silence.
    A drip of the body cannot prolong it; one of a chunk's length or of trailers can, which http.client gathers within one read,
    and grants the same time for each of their bytes. The socket is left with the last of these times: see `_announcing_pool`.
    Raises TimeoutError when nothing is left, OSError beyond *limit_bytes*.
    """
    # A streamed list is ten thousand TLS records of 4 KiB; urllib3's checks of each were a quarter of reading it. http.client
    # notices by itself when a chunked answer is cut; urllib3 still sees the end, and takes the connection back.
    read1 = getattr(response, "_fp", response).read1 if response.chunked else response.read1
    sock = getattr(getattr(response, "connection", None), "sock", None)
    read_bytes, set_s = 0, inf
    while True:
        left_s = remaining_s()
        if left_s <= 0:
            raise TimeoutError
        if sock is not None and left_s < set_s - _TIMEOUT_STEP_S:
            sock.settimeout(left_s)
            set_s = left_s
        try:
            chunk = read1(_CHUNK_BYTES) or response.read1(_CHUNK_BYTES)
        except (TimeoutError, ReadTimeoutError):
            if sock is not None:
                on_silence(set_s)
            raise
        if not chunk:
            return
        read_bytes += len(chunk)
        if read_bytes > limit_bytes:
            raise OSError(f"the answer exceeds {limit_bytes} bytes")
        yield chunk
