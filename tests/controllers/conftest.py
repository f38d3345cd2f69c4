"""The table of figures at the end of a run, as tests/server has it."""

from __future__ import annotations

from tests.server.conftest import figures, pytest_terminal_summary

__all__ = ["figures", "pytest_terminal_summary"]
