"""Rewrite the tables of docs/sidecars.md: `python -m tests.webhook.sidecars.truth_table` (`make docs`)."""

from __future__ import annotations

from pathlib import Path

from tests.webhook.sidecars.truth import markdown

PAGE = Path(__file__).parents[3] / "docs" / "sidecars.md"
BEGIN = "<!-- truth table: written by `make docs` -->\n"
END = "<!-- end of the truth table -->\n"


def renewed(page: str) -> str:
    """*page* with the tables as they are now."""
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    assert after, "docs/sidecars.md lacks the two markers"
    return f"{before}{BEGIN}\n{markdown()}\n{END}{after}"


if __name__ == "__main__":
    PAGE.write_text(renewed(PAGE.read_text()))
