"""The gate as one PEP 3333 application; any WSGI server can mount it (clean under wsgiref.validate).

Without the keys that our own server adds to the environ (see `environ`) the deadline counts from here, nobody is
authenticated, and connections stay. Called by the worker threads, many at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from webhook.admission.call import Call
from webhook.admission.gate import Gate
from webhook.clock import Clock
from webhook.serving.environ import ACCEPTED, CLIENT, CLOSE

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIEnvironment


def application(gate: Gate, clock: Clock) -> Callable[[WSGIEnvironment, StartResponse], Iterable[bytes]]:
    """The WSGI application that answers with *gate*."""
    limit_bytes = gate.settings.body_limit_bytes

    def admit(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        accepted_s = environ.get(ACCEPTED)
        call = Call(
            method=environ["REQUEST_METHOD"],
            path=environ.get("PATH_INFO", ""),
            query=environ.get("QUERY_STRING", ""),
            content_type=environ.get("CONTENT_TYPE", ""),
            body=_body(environ, limit_bytes),
            accepted_s=clock.monotonic_s() if accepted_s is None else accepted_s,
            client=environ.get(CLIENT, ""),
        )
        reply = gate.answer(call)
        if reply.close and CLOSE in environ:
            environ[CLOSE]()
        body = b"" if call.method == "HEAD" else reply.body
        start_response(reply.line, [*reply.headers, ("Content-Length", str(len(reply.body)))])
        return (body,)

    return admit


def _body(environ: WSGIEnvironment, limit_bytes: int) -> bytes:
    """The request's body, at most one byte more than the limit (which says that it is too large)."""
    length = environ.get("CONTENT_LENGTH") or ""
    chunked = "HTTP_TRANSFER_ENCODING" in environ
    if not length and not chunked:
        return b""
    if chunked:
        wanted = limit_bytes + 1
    else:
        wanted = min(int(length), limit_bytes + 1) if length.isdecimal() else 0
    stream, parts = environ["wsgi.input"], []
    while wanted > 0:
        part = stream.read(wanted)
        if not part:
            break
        parts.append(part)
        wanted -= len(part)
    return parts[0] if len(parts) == 1 else b"".join(parts)
