"""A relay between Gatehouse and the API server that can hold back what has been under way for long: watches.

Bytes pass through unread, so TLS stays between the two ends. While `holding`, connections that existed before deliver
nothing and lose nothing; new ones pass. So a cache lags behind the cluster for exactly as long as a test wants.
"""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Iterator
from types import TracebackType

from tests.cluster import Cluster
from tests.cluster.components import APISERVER_PORT
from tests.cluster.network import ADDRESS

_CHUNK_BYTES = 64 * 1024


class Relay:
    """Listens inside the cluster's namespace; its threads run inside the block."""

    def __init__(self, cluster: Cluster) -> None:
        self._namespace = cluster.namespace
        self._listener = self._namespace.listen()
        self._lock = threading.Lock()  # guards _sockets and _gates; no IO under it
        self._sockets: list[socket.socket] = []
        self._gates: list[threading.Event] = []  # one a connection, set while it may deliver
        self._threads: list[threading.Thread] = []

    @property
    def url(self) -> str:
        """Where it listens, as an API server's URL."""
        return f"https://127.0.0.1:{self._listener.getsockname()[1]}"

    @contextlib.contextmanager
    def holding(self) -> Iterator[None]:
        """Inside the block nothing comes out of the connections that exist now."""
        with self._lock:
            held = list(self._gates)
        for gate in held:
            gate.clear()
        try:
            yield
        finally:
            for gate in held:
                gate.set()

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

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
                server = self._namespace.connect(ADDRESS, APISERVER_PORT, 10.0)
            except OSError:
                return
            server.settimeout(None)
            gate = threading.Event()
            gate.set()
            with self._lock:
                self._sockets += [client, server]
                self._gates.append(gate)
            self._start(self._pump, client, server, None)
            self._start(self._pump, server, client, gate)

    @staticmethod
    def _pump(source: socket.socket, target: socket.socket, gate: threading.Event | None) -> None:
        with contextlib.suppress(OSError):
            while content := source.recv(_CHUNK_BYTES):
                if gate is not None:
                    gate.wait(60.0)
                target.sendall(content)
        with contextlib.suppress(OSError):
            target.shutdown(socket.SHUT_WR)

    def _start(self, work: object, *arguments: object) -> None:
        assert callable(work)
        thread = threading.Thread(target=work, args=arguments, name="test/relay", daemon=True)
        self._threads.append(thread)
        thread.start()
