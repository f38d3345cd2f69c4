"""The chunked transfer coding, decoded as it arrives.

Sans-IO. Strict: sizes are one to eight hex digits, every line ends in CR LF, extensions and trailers are bounded and
dropped, and the number of chunks is bounded (a body of single bytes would cost seconds to take apart).

Errors: Refused 400 for bad syntax, 413 for a body over the limit.
Source: RFC 9112 7.1.
"""

from __future__ import annotations

import re

from webhook.serving.limits import ServerLimits
from webhook.serving.refusal import Refused

LINE_BYTES = 256  # of a chunk size with its extensions; no client of ours sends extensions
TRAILER_BYTES = 8 * 1024
_SIZE_LINE = re.compile(rb"([0-9A-Fa-f]{1,8})[ \t]*(?:;[\t\x20-\x7e\x80-\xff]*)?")
_TRAILER_LINE = re.compile(rb"[!#$%&'*+\-.^_`|~0-9A-Za-z]+:[\t\x20-\x7e\x80-\xff]*")


class ChunkDecoder:
    """One chunked body. Call `feed` with the receive buffer until it says True; what follows the body stays there."""

    __slots__ = ("_body", "_chunks", "_in_trailers", "_limits", "_missing", "_trailer_bytes")

    def __init__(self, limits: ServerLimits) -> None:
        self._limits = limits
        self._body = bytearray()
        self._chunks = 0
        self._missing = -1  # bytes of the current chunk and its CR LF still to come; -1 between chunks
        self._in_trailers = False
        self._trailer_bytes = 0

    @property
    def decoded_bytes(self) -> int:
        """Bytes of the body so far."""
        return len(self._body)

    def body(self) -> bytes:
        """The decoded body."""
        return bytes(self._body)

    def feed(self, buffer: bytearray) -> bool:
        """Take what can be taken from the front of *buffer*; True when the body is whole. Raises Refused."""
        taken = 0
        try:
            while True:
                step = self._trailer(buffer, taken) if self._in_trailers else self._chunk(buffer, taken)
                if step == 0:
                    return False
                taken += abs(step)
                if step < 0:
                    return True
        finally:
            del buffer[:taken]

    def _chunk(self, buffer: bytearray, at: int) -> int:
        """Bytes taken at *at*; 0 when more must arrive."""
        if self._missing < 0:
            line = _line(buffer, at, LINE_BYTES)
            if line is None:
                return 0
            match = _SIZE_LINE.fullmatch(line)
            if match is None:
                raise Refused(400, "chunk", "a chunk size is malformed")
            size = int(match[1], 16)
            if size == 0:
                self._in_trailers = True
                return len(line) + 2
            self._chunks += 1
            if self._chunks > self._limits.chunk_count:
                raise Refused(400, "chunk-count", f"more than {self._limits.chunk_count} chunks")
            if len(self._body) + size > self._limits.body_bytes:
                raise Refused(413, "body-bytes", f"the body is larger than {self._limits.body_bytes} bytes")
            self._missing = size + 2
            return len(line) + 2
        if self._missing > 2:
            piece = buffer[at : at + self._missing - 2]
            self._body += piece
            self._missing -= len(piece)
            return len(piece)
        end = buffer[at : at + 2]
        if end == b"\r\n":
            self._missing = -1
            return 2
        if not b"\r\n".startswith(end):
            raise Refused(400, "chunk", "a chunk is longer than its size")
        return 0

    def _trailer(self, buffer: bytearray, at: int) -> int:
        """Bytes taken at *at*, negative when they end the body; 0 when more must arrive."""
        line = _line(buffer, at, TRAILER_BYTES)
        if line is None:
            return 0
        if not line:
            return -2
        self._trailer_bytes += len(line) + 2
        if self._trailer_bytes > TRAILER_BYTES:
            raise Refused(431, "trailer-bytes", f"more than {TRAILER_BYTES} bytes of trailers")
        if _TRAILER_LINE.fullmatch(line) is None:
            raise Refused(400, "trailer", "a trailer is malformed")
        return len(line) + 2


def _line(buffer: bytearray, at: int, limit: int) -> bytearray | None:
    """The line at *at* without its CR LF; None when its end has not arrived. Raises Refused when it is too long."""
    end = buffer.find(b"\r\n", at, at + limit + 2)
    if end >= 0:
        return buffer[at:end]
    if len(buffer) - at > limit + 1 or buffer.find(b"\n", at) >= 0:
        raise Refused(400, "chunk", "a line of the chunked coding is malformed or too long")
    return None
