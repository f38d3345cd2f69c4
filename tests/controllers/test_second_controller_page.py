"""What the README says of a controller of one's own is what the example does."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "second-controller" / "buckets.py"
LINES = 60


def test_the_plan_in_the_readme_is_the_one_of_the_example() -> None:
    text = (ROOT / "README.md").read_text()

    _, _, rest = text.partition("## Add a controller of your own\n")
    _, _, block = rest.partition("```python\n")
    shown, _, _ = block.partition("```")

    assert "def plan(" in shown
    assert shown in EXAMPLE.read_text()


def test_the_whole_file_has_less_than_sixty_lines_blank_ones_included() -> None:
    assert len(EXAMPLE.read_text().splitlines()) < LINES
