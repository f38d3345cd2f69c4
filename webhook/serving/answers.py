"""An answer and its bytes on the wire.

An answer is collected whole before it leaves, so its length is always known: one head, one body, one write, never
chunked. Pure but for the cached Date.

Source: RFC 9112 (framing), RFC 9110 (Date, Retry-After).
"""

from __future__ import annotations

import email.utils
from collections.abc import Sequence
from http import HTTPStatus

import msgspec

from webhook.clock import Clock
from webhook.serving.refusal import Refused

CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
# What only the server may say: how the message is framed and whether the connection goes on.
_OURS = frozenset({"content-length", "transfer-encoding", "connection", "keep-alive", "date"})
_BODILESS = ("1", "204", "304")
PLAIN_HTTP = (
    b"HTTP/1.0 400 Bad Request\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n"
    b"This port speaks HTTPS only.\n"
)


class Answer(msgspec.Struct, frozen=True):
    """Status line text (`200 OK`), headers, whole body; *close* when the application asked to end the connection."""

    status: str
    headers: Sequence[tuple[str, str]]
    body: bytes
    close: bool = False


class AnswerWriter:
    """Turns answers into bytes. Any thread."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        # The second and its text; replaced as one value, so a race costs one formatting only.
        self._date: tuple[int | None, str] = (None, "")

    def encode(self, answer: Answer, *, close: bool, head_only: bool = False) -> bytes:
        """The bytes of *answer*; *close* adds `Connection: close`."""
        status = answer.status
        lines = [f"HTTP/1.1 {status}\r\nDate: {self._date_text()}\r\n"]
        length = str(len(answer.body))
        for name, value in answer.headers:
            lower = name.lower()
            if lower not in _OURS:
                lines.append(f"{name}: {value}\r\n")
            elif head_only and lower == "content-length":
                length = value  # of the body that a GET would have had
        bodiless = status.startswith(_BODILESS)
        if not bodiless:
            lines.append(f"Content-Length: {length}\r\n")
        lines.append("Connection: close\r\n\r\n" if close else "\r\n")
        head = "".join(lines).encode("latin-1")
        return head if head_only or bodiless else head + answer.body

    def _date_text(self) -> str:
        second = int(self._clock.wall_s())
        cached, text = self._date
        if cached != second:
            text = email.utils.formatdate(second, usegmt=True)
            self._date = (second, text)
        return text


def refusal(refused: Refused) -> Answer:
    """The answer to a request that the server turns away."""
    headers = [("Content-Type", "text/plain; charset=utf-8")]
    if refused.status == 503:
        # kube-apiserver retries inside the same admission call only if Retry-After is there.
        headers.append(("Retry-After", "1"))
    phrase = HTTPStatus(refused.status).phrase
    return Answer(f"{refused.status} {phrase}", headers, f"{refused.detail}\n".encode(), close=True)
