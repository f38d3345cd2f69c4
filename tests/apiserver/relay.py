"""A relay between Gatehouse and the API server that can hold back what has been under way for long: watches.

Bytes pass through unread, so TLS stays between the two ends. While `holding`, watches that existed before deliver nothing and
lose nothing; everything else passes. So a cache lags behind the cluster for exactly as long as a test wants. While
`darkened`, no connection that existed before delivers anything, as after a balancer or a NAT has forgotten them.
"""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable, Iterator
from types import TracebackType

import attrs

from tests.cluster import Cluster
from tests.cluster.components import APISERVER_PORT
from tests.cluster.network import ADDRESS

_CHUNK_BYTES = 64 * 1024


@attrs.define(eq=False)
class _Line:
    """One connection: what holds back its answers."""

    may_deliver: threading.Event = attrs.field(factory=threading.Event)
    is_dark: bool = False


class Relay:
    """Listens inside the cluster's namespace; its threads run inside the block."""

    def __init__(self, cluster: Cluster) -> None:
        self._namespace = cluster.namespace
        self._listener = self._namespace.listen()
        self._lock = threading.Lock()  # guards _sockets and _lines; no IO under it
        self._sockets: list[socket.socket] = []
        self._lines: list[_Line] = []
        self._threads: list[threading.Thread] = []

    @property
    def url(self) -> str:
        """Where it listens, as an API server's URL."""
        return f"https://127.0.0.1:{self._listener.getsockname()[1]}"

    @contextlib.contextmanager
    def holding(self) -> Iterator[None]:
        """Inside the block nothing comes out of the watches that exist now."""
        with self._held(dark=False):
            yield

    @contextlib.contextmanager
    def darkened(self) -> Iterator[None]:
        """Inside the block nothing comes out of the connections that exist now, also those that are kept for a next request."""
        with self._held(dark=True):
            yield

    def __enter__(self) -> Relay:
        self._start(self._accept)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        with self._lock:
            everything = [self._listener, *self._sockets]
        for end in everything:
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)  # wakes the thread that reads it
        for thread in self._threads:
            thread.join(timeout=10.0)
        for end in everything:
            end.close()

    @contextlib.contextmanager
    def _held(self, *, dark: bool) -> Iterator[None]:
        with self._lock:
            held = list(self._lines)
        for line in held:
            line.is_dark = dark
            line.may_deliver.clear()
        try:
            yield
        finally:
            for line in held:
                line.may_deliver.set()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
                server = self._namespace.connect(ADDRESS, APISERVER_PORT, 10.0)
            except OSError:
                return
            server.settimeout(None)
            line = _Line()
            line.may_deliver.set()
            with self._lock:
                self._sockets += [client, server]
                self._lines.append(line)
            self._start(self._pump, client, server, lambda asked=line: self._asked(asked))
            self._start(self._pump, server, client, lambda held=line: held.may_deliver.wait(60.0))

    @staticmethod
    def _asked(line: _Line) -> None:
        if not line.is_dark:
            line.may_deliver.set()  # nobody sends anything on a watch: this one was idle

    @staticmethod
    def _pump(source: socket.socket, target: socket.socket, before_each: Callable[[], object]) -> None:
        with contextlib.suppress(OSError):
            while content := source.recv(_CHUNK_BYTES):
                before_each()
                target.sendall(content)
        with contextlib.suppress(OSError):
            target.shutdown(socket.SHUT_WR)

    def _start(self, work: object, *arguments: object) -> None:
        assert callable(work)
        thread = threading.Thread(target=work, args=arguments, name="test/relay", daemon=True)
        self._threads.append(thread)
        thread.start()
