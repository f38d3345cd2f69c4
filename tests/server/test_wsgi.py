"""The gate as a plain WSGI application: how much of a body is read, and what the server is told. The cases: test_golden."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

import attrs
import pytest

from webhook.admission.gate import Gate
from webhook.admission.registry import SERVICES
from webhook.admission.settings import Settings
from webhook.clock import SystemClock
from webhook.serving.environ import CLOSE
from webhook.serving.wsgi import application
from webhook.telemetry import Telemetry
from webhook.testing import facts

LIMIT_BYTES = 64


class Dripping(io.BytesIO):
    """A body of which each read gives a few bytes at the most."""

    def read(self, size: int | None = -1, /) -> bytes:
        assert size is not None
        assert size >= 0, "a read without bound waits for the end of the connection"
        return super().read(min(size, 3))


@attrs.frozen
class Answer:
    status: str
    headers: dict[str, str]
    body: bytes
    left: bytes  # of what was sent


@pytest.fixture
def ask() -> Callable[..., Answer]:
    gate = Gate(Settings(body_limit_bytes=LIMIT_BYTES), facts.cluster(), Telemetry(), SystemClock(), services=SERVICES)
    app = application(gate, SystemClock())

    def call(body: bytes = b"", method: str = "POST", path: str = "/endpoint", **environ: Any) -> Answer:
        stream, said = Dripping(body), list[Any]()
        head = {"REQUEST_METHOD": method, "PATH_INFO": path, "CONTENT_TYPE": "application/json", "wsgi.input": stream}
        answer = b"".join(app(head | environ, lambda status, headers: said.extend((status, dict(headers)))))  # type: ignore[arg-type]
        return Answer(said[0], said[1], answer, stream.getvalue()[stream.tell() :])

    return call


@pytest.mark.parametrize(
    ("length", "status", "left"),
    [
        ("4", "400", 6),  # four bytes that are no review
        ("10", "400", 0),
        ("99", "400", 0),  # the client has sent less than it said
        ("0", "400", 10),
        ("", "400", 10),
        ("-4", "400", 10),
        ("four", "400", 10),
        ("4.0", "400", 10),
        ("²", "400", 10),
    ],
)
def test_as_much_is_read_as_the_head_says(length: str, status: str, left: int, ask: Callable[..., Answer]) -> None:
    answer = ask(b"0123456789", CONTENT_LENGTH=length)

    assert (answer.status[:3], len(answer.left)) == (status, left)


@pytest.mark.parametrize("head", [{"CONTENT_LENGTH": "1000"}, {"HTTP_TRANSFER_ENCODING": "chunked"}])
def test_of_a_body_beyond_the_limit_one_byte_more_is_read_and_it_is_refused(
    head: dict[str, str], ask: Callable[..., Answer]
) -> None:
    answer = ask(b"a" * 1000, **head)

    assert (answer.status[:3], len(answer.left)) == ("413", 1000 - LIMIT_BYTES - 1)


def test_a_chunked_body_is_read_to_its_end(ask: Callable[..., Answer]) -> None:
    answer = ask(b"no review", HTTP_TRANSFER_ENCODING="chunked")

    assert (answer.status[:3], answer.left) == ("400", b"")


def test_an_answer_to_head_has_the_length_of_the_body_that_is_left_out(ask: Callable[..., Answer]) -> None:
    get, head = ask(method="GET", path="/nothing"), ask(method="HEAD", path="/nothing")

    assert (get.status, get.headers["Content-Length"]) == (head.status, head.headers["Content-Length"])
    assert (len(get.body), head.body) == (int(get.headers["Content-Length"]), b"")


@pytest.mark.parametrize(("size", "closes"), [(LIMIT_BYTES + 1, True), (1, False)])
def test_the_server_is_told_when_a_connection_is_to_end(size: int, closes: bool, ask: Callable[..., Answer]) -> None:
    told: list[bool] = []

    ask(b"a" * size, CONTENT_LENGTH=str(size), **{CLOSE: lambda: told.append(True)})

    assert told == [True] * closes
