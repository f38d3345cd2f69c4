"""Markdown tables and headings of the generated pages. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

NOTE = "<!-- Written by `make docs` from {source}; changes here are lost. -->\n"


def page(title: str, source: str, introduction: str, parts: Iterable[str]) -> str:
    """A whole generated page; ends with one line break."""
    return "\n".join([NOTE.format(source=source), f"# {title}\n", introduction.strip() + "\n", *parts]).rstrip() + "\n"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table; `|` in a cell is made harmless."""
    lines = [_row(head), _row(["---"] * len(head)), *map(_row, rows)]
    return "\n".join(lines) + "\n"


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(re.sub(r"\s*\n\s*", " ", cell).replace("|", "\\|") for cell in cells) + " |"


def code(text: object) -> str:
    """*text* as code; "" stays "" (an empty cell)."""
    return f"`{text}`" if str(text) else ""


def sentence(text: str) -> str:
    """*text* with a capital letter, but for code and names that begin it."""
    return text[:1].upper() + text[1:] if text[:2].islower() else text
