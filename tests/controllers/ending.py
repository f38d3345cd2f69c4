"""What holds at the end of a test of something with threads: for a conftest to import."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def no_leaked_threads() -> Iterator[None]:
    """Nothing outlives a test."""
    before = set(threading.enumerate())

    yield

    assert [thread.name for thread in threading.enumerate() if thread not in before] == []
