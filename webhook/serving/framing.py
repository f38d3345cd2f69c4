"""HTTP/1.x requests out of a stream of bytes: head, framing, body.

Sans-IO and pure: `Framer.receive` takes bytes in any pieces and returns a whole request once there is one; the same
bytes give the same requests however they are cut. What two parsers could read differently is refused, not repaired:
repeated or malformed Content-Length, one beside chunked, bare CR or LF, folded headers, blanks before a colon, control
characters, HTTP/1.1 without Host. Header names with an underscore are dropped, since CGI variables cannot tell them
from a dash.

Errors: Refused, with the answer's status and a metric label; the connection cannot go on after it.
Thread rule: one thread at a time.
Source: RFC 9112 (syntax, framing), RFC 9110 (fields, Expect), RFC 3875 4.1 (names of variables).
"""

from __future__ import annotations

import re
from urllib.parse import unquote_to_bytes

import msgspec

from webhook.serving.chunked import ChunkDecoder
from webhook.serving.limits import ServerLimits
from webhook.serving.refusal import Refused

HEAD_END = b"\r\n\r\n"
# What may stand in a head, apart from CR LF at the end of a line: tab, visible ASCII and obs-text.
_TEXT = bytes([0x09, *range(0x20, 0x7F), *range(0x80, 0x100)])
_HOPELESS = re.compile(rb"(?<!\r)\n|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
_TOKEN = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
_TARGET = re.compile(r"/[!-\"$-~]*")  # origin form: visible ASCII without a fragment
_HOST = re.compile(r"[A-Za-z0-9.\-_~%!$&'()*+,;=:\[\]]*")
# Two of these would leave it to each reader which one counts.
_SINGLE = frozenset(
    {"HTTP_HOST", "CONTENT_LENGTH", "CONTENT_TYPE", "HTTP_TRANSFER_ENCODING", "HTTP_AUTHORIZATION", "HTTP_EXPECT"}
)
_WELL_KNOWN = (
    "Host", "User-Agent", "Content-Length", "Content-Type", "Accept", "Accept-Encoding", "Connection", "Traceparent",
    "Tracestate", "Authorization", "Transfer-Encoding", "Expect", "X-Forwarded-For", "X-Forwarded-Proto",
)  # fmt: skip


def variable_name(header: str) -> str:
    """The CGI variable of a header (`HTTP_USER_AGENT`); empty for a name that is dropped. Raises Refused."""
    if not _TOKEN.fullmatch(header):
        raise Refused(400, "header-name", "a header name is not a token")
    if "_" in header:
        return ""
    name = header.upper().replace("-", "_")
    return name if name in ("CONTENT_TYPE", "CONTENT_LENGTH") else "HTTP_" + name


_VARIABLES = {name: variable_name(name) for known in _WELL_KNOWN for name in (known, known.lower())}


class Head(msgspec.Struct, frozen=True):
    """The request line and the headers.

    variables:   headers by CGI name, without the hop-by-hop Transfer-Encoding
    body_bytes:  length of the body, None when it is chunked
    """

    method: str
    target: str
    path: str
    query: str
    version: str
    variables: dict[str, str]
    body_bytes: int | None
    close: bool
    expects_continue: bool


class Request(msgspec.Struct, frozen=True):
    """One whole request; *body* is decoded."""

    head: Head
    body: bytes


def parse_head(raw: bytes, limits: ServerLimits) -> Head:
    """The head whose bytes are *raw*, without the empty line that ends it. Raises Refused."""
    lines = raw.decode("latin-1").split("\r\n")
    # Each split took one CR LF pair; anything beyond these pairs is a bare CR, a bare LF or a control character.
    if len(raw.translate(None, _TEXT)) != 2 * (len(lines) - 1):
        raise Refused(400, "control-character", "the head holds a control character or a bare line end")
    if len(lines) - 1 > limits.header_count:
        raise Refused(431, "header-count", f"more than {limits.header_count} headers")
    method, target, version = _request_line(lines[0], limits)
    variables: dict[str, str] = {}
    for line in lines[1:]:
        name, colon, value = line.partition(":")
        key = _VARIABLES.get(name)
        if key is None:
            key = variable_name(name)
        if not colon:
            raise Refused(400, "header-line", "a header line has no colon")
        value = value.strip(" \t")
        if key in variables:
            if key in _SINGLE:
                raise Refused(400, "repeated-header", "a header that must be single is repeated")
            value = f"{variables[key]}, {value}"
        variables[key] = value
    variables.pop("", None)
    return _framed(method, target, version, variables, limits)


def _request_line(line: str, limits: ServerLimits) -> tuple[str, str, str]:
    parts = line.split(" ")
    if len(parts) != 3:
        raise Refused(400, "request-line", "the request line is not method, target and version")
    method, target, version = parts
    if version not in ("HTTP/1.1", "HTTP/1.0"):
        if re.fullmatch(r"HTTP/[0-9]\.[0-9]", version):
            raise Refused(505, "version", "only HTTP/1.1 and HTTP/1.0 are spoken here")
        raise Refused(400, "request-line", "the protocol version is malformed")
    if not _TOKEN.fullmatch(method):
        raise Refused(400, "request-line", "the method is not a token")
    if len(target) > limits.target_bytes:
        raise Refused(414, "target-bytes", f"the target is longer than {limits.target_bytes} bytes")
    if not _TARGET.fullmatch(target):
        raise Refused(400, "target", "the target is not a path with an optional query")
    return method, target, version


def _framed(method: str, target: str, version: str, variables: dict[str, str], limits: ServerLimits) -> Head:
    path, _, query = target.partition("?")
    if "%" in path:
        path = unquote_to_bytes(path).decode("latin-1")
        if "\0" in path:
            raise Refused(400, "target", "the path holds a NUL")
    current = version == "HTTP/1.1"
    host = variables.get("HTTP_HOST")
    if host is None:
        if current:
            raise Refused(400, "no-host", "HTTP/1.1 needs a Host header")
    elif not _HOST.fullmatch(host):
        raise Refused(400, "host", "the Host header is not a host")
    connection = variables.get("HTTP_CONNECTION")
    close = not current or (connection is not None and "close" in _tokens(connection))
    expectation = variables.get("HTTP_EXPECT")
    if expectation is not None and expectation.lower() != "100-continue":
        raise Refused(417, "expectation", "only 100-continue can be expected")
    return Head(
        method,
        target,
        path,
        query,
        version,
        variables,
        _body_bytes(current, variables, limits),
        close,
        expectation is not None and current,
    )


def _body_bytes(current: bool, variables: dict[str, str], limits: ServerLimits) -> int | None:
    coding = variables.pop("HTTP_TRANSFER_ENCODING", None)
    length = variables.get("CONTENT_LENGTH")
    if coding is not None:
        if length is not None:
            raise Refused(400, "length-and-chunked", "Content-Length beside Transfer-Encoding")
        if not current:
            raise Refused(400, "chunked-1.0", "HTTP/1.0 has no Transfer-Encoding")
        if coding.lower() != "chunked":
            raise Refused(501, "transfer-coding", "the only transfer coding known here is chunked")
        return None
    if length is None:
        return 0
    if not (length.isascii() and length.isdigit()):
        raise Refused(400, "content-length", "Content-Length is not a number")
    if len(length) > 18 or int(length) > limits.body_bytes:
        raise Refused(413, "body-bytes", f"the body is larger than {limits.body_bytes} bytes")
    return int(length)


def _tokens(value: str) -> set[str]:
    return {token.strip(" \t").lower() for token in value.split(",")}


class Framer:
    """The requests of one connection, in order. Keeps what follows the first whole request for `next`."""

    __slots__ = ("_buffer", "_chunks", "_head", "_limits", "_scanned", "_started")

    def __init__(self, limits: ServerLimits) -> None:
        self._limits = limits
        self._buffer = bytearray()
        self._scanned = 0  # bytes of _buffer known to hold no end of the head
        self._started = False  # the one empty line that may precede a request is gone
        self._head: Head | None = None  # set while the body is incomplete
        self._chunks: ChunkDecoder | None = None

    @property
    def head(self) -> Head | None:
        """The head of the request whose body is still incomplete."""
        return self._head

    @property
    def buffered_bytes(self) -> int:
        """Bytes held for requests that are not whole yet."""
        return len(self._buffer) + (self._chunks.decoded_bytes if self._chunks else 0)

    @property
    def pending(self) -> bool:
        """Whether anything of a further request has arrived."""
        return bool(self._buffer) or self._head is not None

    def receive(self, data: bytes) -> Request | None:
        """Take *data*; the next whole request, or None when more is needed. Raises Refused."""
        if not self._buffer and self._head is None and not data.startswith(b"\r"):
            # The usual case: one request, whole, in one piece, never copied into the buffer.
            end = data.find(HEAD_END)
            if 0 < end <= self._limits.head_bytes:
                head = parse_head(data[:end], self._limits)
                if head.body_bytes == len(data) - end - 4:
                    self._started = False
                    return Request(head, data[end + 4 :])
                self._begin_body(head)
                data = data[end + 4 :]
        self._buffer += data
        return self.next()

    def next(self) -> Request | None:
        """The next whole request out of what was received before. Raises Refused."""
        if self._head is None:
            head = self._next_head()
            if head is None:
                return None
            self._begin_body(head)
            return self._next_body(head)
        return self._next_body(self._head)

    def _begin_body(self, head: Head) -> None:
        self._head = head
        self._chunks = ChunkDecoder(self._limits) if head.body_bytes is None else None

    def _next_head(self) -> Head | None:
        buffer = self._buffer
        if not self._started:
            if buffer == b"\r":
                return None
            if buffer.startswith(b"\r\n"):  # RFC 9112 2.2: ignore an empty line before the request line
                del buffer[:2]
            self._started = True
        end = buffer.find(HEAD_END, max(0, self._scanned - 3))
        if end > self._limits.head_bytes or (end < 0 and len(buffer) > self._limits.head_bytes + 3):
            raise self._oversized()
        if end < 0:
            self._reject_early()
            self._scanned = len(buffer)
            return None
        head = parse_head(bytes(buffer[:end]), self._limits)
        del buffer[: end + 4]
        self._scanned = 0
        return head

    def _next_body(self, head: Head) -> Request | None:
        if self._chunks is not None:
            if not self._chunks.feed(self._buffer):
                return None
            body = self._chunks.body()
            head.variables["CONTENT_LENGTH"] = str(len(body))
        else:
            length = head.body_bytes or 0
            if len(self._buffer) < length:
                return None
            body = bytes(memoryview(self._buffer)[:length])
            del self._buffer[:length]
        self._head = self._chunks = None
        self._started = False
        return Request(head, body)

    def _reject_early(self) -> None:
        """Refuse now what no further byte can mend, instead of waiting for an end that never comes."""
        if _HOPELESS.search(self._buffer, self._scanned):
            raise Refused(400, "control-character", "the head holds a control character or a bare line end")

    def _oversized(self) -> Refused:
        if self._buffer.find(b"\r\n", 0, self._limits.target_bytes + 64) < 0:
            return Refused(414, "target-bytes", f"the target is longer than {self._limits.target_bytes} bytes")
        return Refused(431, "head-bytes", f"the head is larger than {self._limits.head_bytes} bytes")
