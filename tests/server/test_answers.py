"""An answer is one head and one body, framed by the server alone."""

from __future__ import annotations

import pytest

from controllers.testing import FakeClock
from webhook.serving.answers import Answer, AnswerWriter, refusal
from webhook.serving.refusal import Refused


class Wall(FakeClock):
    """A clock whose time of day the test sets."""

    now_s = 0.0

    def wall_s(self) -> float:
        return self.now_s


def encode(answer: Answer, *, close: bool = False, head_only: bool = False) -> tuple[list[str], bytes]:
    """Status line and headers, and the body."""
    head, _, body = AnswerWriter(Wall()).encode(answer, close=close, head_only=head_only).partition(b"\r\n\r\n")
    return head.decode("latin-1").split("\r\n"), body


DATE = "Date: Thu, 01 Jan 1970 00:00:00 GMT"


def test_an_answer_has_date_headers_and_length_in_this_order() -> None:
    answer = Answer("200 OK", [("Content-Type", "application/json"), ("X-A", "ä")], b"{}")

    assert encode(answer) == (
        ["HTTP/1.1 200 OK", DATE, "Content-Type: application/json", "X-A: ä", "Content-Length: 2"],
        b"{}",
    )


@pytest.mark.parametrize("name", ["Content-Length", "TRANSFER-ENCODING", "connection", "Keep-Alive", "Date"])
def test_what_only_the_server_may_say_is_not_taken_from_an_application(name: str) -> None:
    head, body = encode(Answer("200 OK", [(name, "wrong")], b"abc"))

    assert (head, body) == (["HTTP/1.1 200 OK", DATE, "Content-Length: 3"], b"abc")


def test_a_connection_that_ends_is_announced() -> None:
    assert encode(Answer("200 OK", [], b""), close=True)[0][-1] == "Connection: close"


@pytest.mark.parametrize("status", ["204 No Content", "304 Not Modified", "100 Continue"])
def test_answers_that_have_no_body_have_no_length(status: str) -> None:
    assert encode(Answer(status, [], b"left out")) == ([f"HTTP/1.1 {status}", DATE], b"")


@pytest.mark.parametrize(("headers", "length"), [([], "0"), ([("Content-Length", "99")], "99")])
def test_the_head_alone_has_the_length_that_the_body_would_have(headers: list[tuple[str, str]], length: str) -> None:
    head, body = encode(Answer("200 OK", headers, b""), head_only=True)

    assert (head[-1], body) == (f"Content-Length: {length}", b"")


def test_the_date_follows_the_clock() -> None:
    clock = Wall()
    writer, answer = AnswerWriter(clock), Answer("200 OK", [], b"")
    dates = []
    for now_s in (0.0, 0.9, 1.0, 951782400.5, 0.0):  # also back
        clock.now_s = now_s
        dates.append(writer.encode(answer, close=False).split(b"\r\n")[1].decode().rpartition(" GMT")[0][-8:])

    assert dates == ["00:00:00", "00:00:00", "00:00:01", "00:00:00", "00:00:00"]


@pytest.mark.parametrize(
    ("status", "line", "retry"),
    [
        (400, "400 Bad Request", False),
        (413, "413 Request Entity Too Large", False),
        (431, "431 Request Header Fields Too Large", False),
        (503, "503 Service Unavailable", True),
    ],
)
def test_a_refusal_says_why_and_ends_the_connection(status: int, line: str, retry: bool) -> None:
    found = refusal(Refused(status, "reason", "what is wrong"))

    assert (found.status, found.body, found.close) == (line, b"what is wrong\n", True)
    assert (("Retry-After", "1") in found.headers) is retry
