"""SIGTERM ends a run of tests with a cluster as Ctrl-C does: a fixture for a conftest to import."""

from __future__ import annotations

import signal
from collections.abc import Iterator

import pytest


@pytest.fixture(scope="session", autouse=True)
def end_cleanly_on_sigterm() -> Iterator[None]:
    """A SIGTERM ends the run as Ctrl-C does, so that every cluster is taken down."""
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    yield
    signal.signal(signal.SIGTERM, before)
