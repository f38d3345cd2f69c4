"""Threads that outlive the test that started them: a fixture for a conftest to import."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

LEAVES_WITHIN_S = 5.0  # a live read that nobody waits for any more ends by its own timeout


@pytest.fixture(autouse=True)
def no_leaked_threads() -> Iterator[None]:
    """Nothing outlives a test for long."""
    before = set(threading.enumerate())

    yield

    leaked = [thread for thread in threading.enumerate() if thread not in before]
    for thread in leaked:
        thread.join(LEAVES_WITHIN_S)
    assert [thread.name for thread in leaked if thread.is_alive()] == []
