"""What the suites that take long have in common: they run only when they are asked for, and their tests get more time."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest


def ignored_unless_asked_for(folder: Path, config: pytest.Config) -> bool | None:
    """For `pytest_ignore_collect` of *folder*: None when the command line names it, or something in it."""
    asked = any(Path(argument.partition("::")[0]).resolve().is_relative_to(folder) for argument in config.args)
    return None if asked else True


def give_time(folder: Path, items: Iterable[pytest.Item], limit_s: float) -> None:
    """Let each test of *folder*, with its fixtures, take *limit_s*."""
    for item in items:
        if item.path.is_relative_to(folder):
            item.add_marker(pytest.mark.timeout(limit_s))
