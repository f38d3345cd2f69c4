from __future__ import annotations

from controllers.columns import aligned


def test_columns_are_as_wide_as_their_widest_cell_and_lines_end_without_spaces() -> None:
    assert list(aligned([("A", "B"), ("longer", ""), ("x", "y")])) == ["A       B", "longer", "x       y"]


def test_no_rows_are_no_lines() -> None:
    assert list(aligned([])) == []
