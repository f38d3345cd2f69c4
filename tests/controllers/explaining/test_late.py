"""The page /explain of a process is made once, when somebody asks for it."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import attrs

from controllers.explaining.late import LatePage

TOGETHER_S = 0.5  # in which a second one that makes a page would be there


@attrs.frozen
class Named:
    """A page that answers with its name."""

    name: str

    def respond(self, environ: dict[str, Any]) -> tuple[str, bytes]:
        return "200 OK", self.name.encode()


def test_nothing_is_made_before_somebody_asks_and_then_once() -> None:
    made: list[str] = []

    def make() -> Named:
        made.append("page")
        return Named(f"page {len(made)}")

    late = LatePage(make)
    assert made == []

    assert [late.respond({}), late.respond({})] == [("200 OK", b"page 1")] * 2


def test_of_two_who_ask_at_once_the_second_waits_for_the_page_of_the_first() -> None:
    both = threading.Barrier(2)
    made: list[str] = []

    def make() -> Named:
        made.append("page")
        try:
            both.wait(TOGETHER_S)
        except threading.BrokenBarrierError:
            return Named("made alone")
        return Named("made by two at once")

    late = LatePage(make)
    with ThreadPoolExecutor(2) as callers:
        answers = [one.result(timeout=30.0) for one in (callers.submit(late.respond, {}), callers.submit(late.respond, {}))]

    assert (answers, made) == ([("200 OK", b"made alone")] * 2, ["page"])
