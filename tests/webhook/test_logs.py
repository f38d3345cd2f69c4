"""Logs: nobody waits for whoever reads them, and nobody steers a terminal through them."""

from __future__ import annotations

import io
import json
import logging
import logging.handlers
import os
import threading
from collections.abc import Iterator
from contextlib import suppress

import pytest

from webhook.logs import QUEUE_LINES, ROOT, Throttle, configure_logging, get_log


@pytest.fixture(autouse=True)
def _logging_as_it_was() -> Iterator[None]:
    root = logging.getLogger(ROOT)
    before = (root.handlers[:], root.propagate, root.level)
    root.handlers[:] = []
    yield
    for handler in root.handlers:
        handler.close()
    root.handlers[:], root.propagate, root.level = before


def written(*, json_lines: bool = False, **facts: object) -> str:
    stream = io.StringIO()
    configure_logging(json_lines=json_lines, stream=stream)
    get_log("test").info("something happened", **facts)
    logging.getLogger(ROOT).handlers[0].close()
    return stream.getvalue()


def test_a_line_is_a_message_and_facts() -> None:
    assert written(node="edge-1", note="two words").endswith('INFO test something happened node=edge-1 note="two words"\n')


def test_a_json_line_holds_the_same() -> None:
    line = json.loads(written(json_lines=True, node="edge-1"))

    assert (line["level"], line["logger"], line["msg"], line["node"]) == ("info", "test", "something happened", "edge-1")


@pytest.mark.parametrize("json_lines", [False, True])
def test_control_characters_are_escaped(json_lines: bool) -> None:
    line = written(json_lines=json_lines, path="/\x1b[31mred\x9b2J\n")

    assert line.count("\n") == 1
    assert all(character.isprintable() for character in line.rstrip("\n"))


def test_a_reader_that_stalls_costs_lines_and_never_time() -> None:
    reader, writer = os.pipe()
    stream = os.fdopen(writer, "w")
    configure_logging(stream=stream)
    log = get_log("test")

    def flood() -> None:
        for number in range(QUEUE_LINES + 2000):
            log.info("a line that is long enough to fill a pipe soon", number=number)

    thread = threading.Thread(target=flood)
    thread.start()
    thread.join(30)

    assert not thread.is_alive(), "a caller waits for the reader of the log"
    text = b""
    while b"lines_dropped_before=" not in text:  # now somebody reads
        text += os.read(reader, 65536)
        log.info("later")
    os.close(reader)
    for handler in logging.getLogger(ROOT).handlers:
        handler.close()
    with suppress(BrokenPipeError):  # of what its buffer still held, which may be nothing
        stream.close()


class _Stalled(io.StringIO):
    """A stream whose writer waits until it is let go."""

    def __init__(self) -> None:
        super().__init__()
        self.lets_go = threading.Event()

    def write(self, text: str) -> int:
        self.lets_go.wait(30)
        return super().write(text)


def test_only_the_handler_that_dropped_lines_tells_of_it() -> None:
    stream, seen = _Stalled(), logging.handlers.BufferingHandler(2 * QUEUE_LINES)
    configure_logging(stream=stream)
    (ours,) = logging.getLogger(ROOT).handlers
    logging.getLogger(ROOT).addHandler(seen)
    log = get_log("test")

    for number in range(QUEUE_LINES + 10):
        log.info("one of many", number=number)
    stream.lets_go.set()
    while "lines_dropped_before=" not in stream.getvalue():
        log.info("later")
    ours.close()

    assert not any("lines_dropped_before" in record.facts for record in seen.buffer)  # type: ignore[attr-defined]


def test_of_many_alike_lines_some_are_written_and_the_rest_are_counted() -> None:
    throttle = Throttle(3)

    first = [throttle.admits("x", 0.0)[0] for _ in range(5)]

    assert first == [True, True, True, False, False]
    assert throttle.admits("y", 0.0) == (True, 0)
    assert throttle.admits("x", 10.0) == (True, 2)


def test_kinds_that_name_ever_new_objects_are_not_remembered_without_end() -> None:
    throttle = Throttle(1)

    for number in range(3 * Throttle.KINDS):
        throttle.admits(f"node-{number}", 0.0)

    assert len(throttle._seen) <= Throttle.KINDS
    assert throttle.admits(f"node-{3 * Throttle.KINDS - 1}", 0.0) == (False, 0)
