"""The fixtures and the table of figures of tests/server, and the time that long forms take."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cluster.ending import end_cleanly_on_sigterm
from tests.server.conftest import figures, pytest_terminal_summary

__all__ = ["end_cleanly_on_sigterm", "figures", "pytest_terminal_summary"]

HERE = Path(__file__).parent
TEST_LIMIT_S = 3600


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave them out unless they are asked for by name, so that nobody runs them by accident."""
    asked = any(Path(argument.partition("::")[0]).resolve().is_relative_to(HERE) for argument in config.args)
    return None if asked else True


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let them take an hour."""
    for item in items:
        if item.path.is_relative_to(HERE):
            item.add_marker(pytest.mark.timeout(TEST_LIMIT_S))
