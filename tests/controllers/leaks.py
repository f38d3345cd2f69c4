"""Threads that outlive the test that started them: a fixture for a conftest to import."""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterator

import pytest


@pytest.fixture(autouse=True)
def no_leaked_threads() -> Iterator[None]:
    """Nothing outlives a test."""
    before = set(threading.enumerate())

    yield

    assert left_over(before) == []


def left_over(before: Collection[threading.Thread], leaves_within_s: float = 0.0) -> list[str]:
    """The names of threads that were not there *before*; each is given some seconds to leave."""
    leaked = [thread for thread in threading.enumerate() if thread not in before]
    for thread in leaked:
        thread.join(leaves_within_s)
    return [thread.name for thread in leaked if thread.is_alive()]
