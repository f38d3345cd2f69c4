"""Answers of the scripted API server: what a test says instead of what a well-behaved server would.

An answer is any function of an Exchange. These cover the faults of real servers and networks.
Runs on the connection's thread.
"""

from __future__ import annotations

import json
import select
import socket
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from http.server import BaseHTTPRequestHandler

import attrs

from controllers.testing.objects import Refusal
from webhook.objects.meta import Json

TICK_S = 0.05  # how often a silent connection looks whether its client has left


@attrs.frozen
class Request:
    """One request as it came."""

    verb: str  # list, watch, get, create, update, patch, delete
    method: str
    path: str
    params: Mapping[str, str]
    headers: Mapping[str, str]  # names in lower case
    body: bytes


class Exchange:
    """One request and the means to answer it."""

    def __init__(self, handler: BaseHTTPRequestHandler, request: Request, stopping: threading.Event) -> None:
        self.request = request
        self.stopping = stopping  # set when the server stops
        self._handler = handler

    def respond(self, code: int, body: bytes, headers: Mapping[str, str] | None = None) -> None:
        """A whole answer."""
        self._handler.send_response(code)
        fields = {"Content-Type": "application/json", "Content-Length": str(len(body)), **(headers or {})}
        for name, value in fields.items():
            self._handler.send_header(name, value)
        self._handler.end_headers()
        self._handler.wfile.write(body)
        self._handler.wfile.flush()

    def begin(self) -> None:
        """The head of a stream."""
        self._handler.send_response(200)
        self._handler.send_header("Content-Type", "application/json")
        self._handler.send_header("Transfer-Encoding", "chunked")
        self._handler.end_headers()
        self._handler.wfile.flush()

    def line(self, *lines: bytes) -> None:
        """Some lines of a stream, one chunk each."""
        for line in lines:
            self._handler.wfile.write(b"%x\r\n%s\n\r\n" % (len(line) + 1, line))
        self._handler.wfile.flush()

    def chunk(self, part: bytes) -> None:
        """Some bytes of a stream, in one chunk."""
        self._handler.wfile.write(b"%x\r\n%s\r\n" % (len(part), part))
        self._handler.wfile.flush()

    def end(self) -> None:
        """The clean end of a stream."""
        self._handler.wfile.write(b"0\r\n\r\n")
        self._handler.wfile.flush()

    def cut(self) -> None:
        """End the connection without another byte."""
        self._handler.close_connection = True
        with suppress(OSError):
            self._handler.connection.shutdown(socket.SHUT_RDWR)

    def hang(self) -> None:
        """Say nothing until the client leaves or the server stops."""
        self._handler.close_connection = True
        while not self.stopping.wait(TICK_S) and not self.left():
            pass

    def left(self) -> bool:
        """Whether the client has closed its side."""
        try:
            # Below TLS, where there is some: only the end of the stream matters.
            readable, _, _ = select.select([self._handler.connection], [], [], 0)
            return bool(readable) and not socket.socket.recv(self._handler.connection, 1, socket.MSG_PEEK)
        except (OSError, ValueError):
            return True


Answer = Callable[[Exchange], None]


def status(code: int, reason: str = "", message: str = "", *, retry_after_s: int | None = None) -> Answer:
    """A refusal with a Status."""
    body = json.dumps(Refusal(code, reason, message or reason or str(code)).status()).encode()
    headers = {} if retry_after_s is None else {"Retry-After": str(retry_after_s)}
    return lambda exchange: exchange.respond(code, body, headers)


def body(content: bytes, code: int = 200) -> Answer:
    """These very bytes."""
    return lambda exchange: exchange.respond(code, content)


def hang(exchange: Exchange) -> None:
    """Take the request and never answer."""
    exchange.hang()


def cut(exchange: Exchange) -> None:
    """Take the request and end the connection."""
    exchange.cut()


def drip(content: bytes, pause_s: float) -> Answer:
    """A good head, then one byte every *pause_s* real seconds."""

    def answer(exchange: Exchange) -> None:
        exchange.begin()
        for byte in content:
            exchange.chunk(bytes([byte]))
            if exchange.stopping.wait(pause_s):
                return
        exchange.end()

    return answer


def stream(*events: Json | bytes, then: str = "end") -> Answer:
    """A watch that sends *events* and then does "end", "hang" or "cut"."""

    def answer(exchange: Exchange) -> None:
        exchange.begin()
        for event in events:
            exchange.line(event if isinstance(event, bytes) else json.dumps(event).encode())
        {"end": exchange.end, "hang": exchange.hang, "cut": exchange.cut}[then]()

    return answer
