"""A client that says exactly what it is told, byte for byte, and reads answers strictly."""

from __future__ import annotations

import socket
import ssl
import time
import warnings
from collections.abc import Iterable
from types import TracebackType

import attrs

PATIENCE_S = 10.0  # a bound, never an expectation


@attrs.frozen
class Reply:
    """One answer as it came."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def closes(self) -> bool:
        """Whether the server said that this is the last answer."""
        return self.headers.get("connection") == "close"


def tls_1_1() -> ssl.SSLContext:
    """A client that speaks nothing newer, and trusts anybody."""
    old = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    old.check_hostname, old.verify_mode = False, ssl.CERT_NONE
    old.set_ciphers("ALL:@SECLEVEL=0")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        old.minimum_version = old.maximum_version = ssl.TLSVersion.TLSv1_1
    return old


class Client:
    """One connection. Without a context it speaks in the clear."""

    def __init__(self, address: tuple[str, int], context: ssl.SSLContext | None = None) -> None:
        self.raw = socket.create_connection(address[:2], timeout=PATIENCE_S)
        self.raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # as Go does
        self.socket: socket.socket = self.raw
        self._buffer = b""
        if context is not None:
            try:
                self.socket = context.wrap_socket(self.raw, server_hostname="localhost")
            except OSError:
                self.raw.close()
                raise

    def __enter__(self) -> Client:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Close without a goodbye."""
        self.socket.close()

    def send(self, data: bytes) -> None:
        """Send *data*."""
        self.socket.sendall(data)

    def head(self) -> str:
        """The next head, without the empty line that ends it. Raises EOFError."""
        while b"\r\n\r\n" not in self._buffer:
            self._buffer += self._receive()
        head, _, self._buffer = self._buffer.partition(b"\r\n\r\n")
        return head.decode("latin-1")

    def reply(self) -> Reply:
        """The next answer. Raises EOFError when the server has closed instead."""
        lines = self.head().split("\r\n")
        headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines[1:])}
        length = int(headers.get("content-length", "0"))
        while len(self._buffer) < length:
            self._buffer += self._receive()
        body, self._buffer = self._buffer[:length], self._buffer[length:]
        return Reply(int(lines[0].split(" ")[1]), headers, body)

    def post(self, body: bytes = b"", path: str = "/", headers: Iterable[str] = ()) -> Reply:
        """A POST as Go's client writes it, and its answer."""
        self.send(post(body, path, headers))
        return self.reply()

    def ended(self) -> bool:
        """Whether the server closes, cleanly or not, within the bound, without a further byte."""
        try:
            return not self._buffer and self.socket.recv(1) == b""
        except TimeoutError:
            return False
        except OSError:
            return True

    def _receive(self) -> bytes:
        data = self.socket.recv(65536)
        if not data:
            raise EOFError
        return data


def post(body: bytes = b"", path: str = "/", headers: Iterable[str] = ()) -> bytes:
    """A POST as Go's client writes it."""
    lines = [f"POST {path} HTTP/1.1", "Host: localhost", "User-Agent: test", f"Content-Length: {len(body)}", *headers]
    return "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + body


def wait_until(condition: object, bound_s: float = PATIENCE_S) -> None:
    """Return when *condition* (a function) says so. Raises TimeoutError past the bound."""
    assert callable(condition)
    end = time.monotonic() + bound_s
    while not condition():
        if time.monotonic() > end:
            raise TimeoutError("the condition did not come true")
        time.sleep(0.005)
