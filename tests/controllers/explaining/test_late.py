"""The page /explain of a process is made once, when somebody asks for it."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import attrs

from controllers.explaining.late import LatePage

WITHIN_S = 30.0


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
    begun, second_asks = threading.Event(), threading.Event()
    made: list[str] = []

    def make() -> Named:
        made.append("page")
        begun.set()
        assert second_asks.wait(WITHIN_S)
        return Named(f"page {len(made)}")

    late = LatePage(make)

    def ask_second() -> tuple[str, bytes]:
        second_asks.set()
        return late.respond({})

    with ThreadPoolExecutor(2) as callers:
        first = callers.submit(late.respond, {})
        assert begun.wait(WITHIN_S)
        second = callers.submit(ask_second)
        answers = [one.result(WITHIN_S) for one in (first, second)]

    assert (answers, made) == ([("200 OK", b"page 1")] * 2, ["page"])
