"""The pages, and what is in them: fenced blocks, links, headings. Pure but for reading files; any thread.

Anchors are made as GitHub makes them (github/markup: the heading in lower case, without punctuation, spaces as hyphens).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Final

import attrs

ROOT: Final = Path(__file__).parents[2]
PAGES: Final = tuple(
    sorted(
        [
            ROOT / "README.md",
            *(ROOT / "docs").rglob("*.md"),
            *(page for page in (ROOT / "examples").rglob("*.md") if not any(part.startswith(".") for part in page.parts)),
        ],
        key=lambda page: (page.parent != ROOT, page),
    )
)
_FENCE: Final = re.compile(r"^(?P<indent> *)```(?P<info>[\w-]*)$(?P<text>.*?)^(?P=indent)```$", re.M | re.S)
_LINK: Final = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")
_SOURCE: Final = re.compile(r'(?:src|href|srcset)="([^"]+)"')
_HEADING: Final = re.compile(r"^#{1,6} +(.+?) *#*$", re.M)
_NAME: Final = re.compile(r"# ([\w-][\w./-]*\.ya?ml)\b")


@attrs.frozen
class Block:
    """One fenced block."""

    page: str  # relative to the repository
    line: int  # of its first line
    info: str  # "sh", "yaml", …; "" = none
    text: str
    behind: str  # the `info` of the block right before it, if only blank lines are between them; else ""

    @property
    def file(self) -> str:
        """The file that it says it is, in a comment of its first line; "" = none."""
        found = _NAME.match(self.text)
        return found.group(1) if found else ""

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"


def name_of(page: Path) -> str:
    """How lists and messages call *page*."""
    return page.relative_to(ROOT).as_posix()


@cache
def blocks(page: Path) -> tuple[Block, ...]:
    """The fenced blocks of *page*, in their order."""
    source = page.read_text()
    found: list[Block] = []
    end = 0
    for match in _FENCE.finditer(source):
        width = len(match["indent"])
        lines = match["text"].strip("\n").split("\n")
        text = "\n".join(line[width:] if line[:width].isspace() else line for line in lines) + "\n"
        behind = found[-1].info if found and not source[end : match.start()].strip() else ""
        found.append(Block(name_of(page), source.count("\n", 0, match.start()) + 2, match["info"], text, behind))
        end = match.end()
    return tuple(found)


def all_blocks(*infos: str) -> list[Block]:
    """The blocks of every page whose `info` is one of *infos*."""
    return [block for page in PAGES for block in blocks(page) if block.info in infos]


def prose(page: Path) -> str:
    """*page* without its blocks and without code in its lines."""
    return re.sub(r"`[^`\n]*`", "", _FENCE.sub("", page.read_text()))


def links(page: Path) -> Iterator[str]:
    """Where the links and pictures of *page* lead, as they are written."""
    text = prose(page)
    yield from _LINK.findall(text)
    yield from _SOURCE.findall(text)


@cache
def anchors(page: Path) -> frozenset[str]:
    """The anchors of the headings of *page*, and those that it sets by hand."""
    source = _FENCE.sub("", page.read_text())
    found: list[str] = []
    for heading in _HEADING.findall(source):
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
        slug = re.sub(r"[^\w\- ]", "", plain.lower()).replace(" ", "-")
        found.append(slug if slug not in found else f"{slug}-{found.count(slug)}")
    return frozenset(found) | frozenset(re.findall(r'<a (?:id|name)="([^"]+)"', source))
