"""The fixtures and the table of figures of tests/server, and the time that long forms take."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cluster.sigterm import end_cleanly_on_sigterm
from tests.server.conftest import figures, pytest_terminal_summary
from tests.suites import give_time, ignored_unless_asked_for

__all__ = ["end_cleanly_on_sigterm", "figures", "pytest_terminal_summary"]

HERE = Path(__file__).parent
TEST_LIMIT_S = 3600


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave them out unless they are asked for by name, so that nobody runs them by accident."""
    return ignored_unless_asked_for(HERE, config)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let them take an hour."""
    give_time(HERE, items, TEST_LIMIT_S)
