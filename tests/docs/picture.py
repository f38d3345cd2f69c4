"""docs/pictures/first-minute.svg: a terminal with what the first commands of the README print, taken from a real run.

Made of text alone, so that it is sharp everywhere, can be searched, and differs between two runs only when the program does.
Light and dark as the reader's system is.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from html import escape
from typing import Final

from tests.docs.pages import ROOT

EDGE: Final = "--local examples/edge-health --config examples/edge-health/gatehouse.yaml"
SIDECARS: Final = "--local examples/sidecars --config examples/sidecars/gatehouse.yaml"
COMMANDS: Final = (
    f"gatehouse review {EDGE} examples/edge-health/reviews/1-node-taint.yaml",
    f"gatehouse explain pod {SIDECARS} examples/sidecars/deployment.yaml",
)
MOST_LINES: Final = 21  # of one command; the rest is said to be there
COLUMNS: Final = 112
_FONT_PX: Final = 13
_LINE_PX: Final = 18
_CHARACTER_PX: Final = 7.83
_MARGIN_PX: Final = 18
_BAR_PX: Final = 30
_STYLE: Final = """\
  .back { fill: #f6f8fa; stroke: #d0d7de } .plain { fill: #24292f } .prompt { fill: #0969da; font-weight: bold }
  .add { fill: #116329 } .remove { fill: #a40e26 } .head { font-weight: bold; fill: #24292f } .faint { fill: #57606a }
  @media (prefers-color-scheme: dark) {
    .back { fill: #0d1117; stroke: #30363d } .plain, .head { fill: #e6edf3 } .prompt { fill: #58a6ff }
    .add { fill: #56d364 } .remove { fill: #ff7b72 } .faint { fill: #8b949e }
  }"""


def run(command: str) -> str:
    """What the gatehouse *command* prints, standard output and error as on a terminal."""
    _, *arguments = command.split()
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "NO_COLOR": "1"}
    done = subprocess.run(
        [sys.executable, "-m", "controllers", *arguments],
        cwd=ROOT,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=60,
        check=True,
    )
    return done.stdout


def lines() -> list[tuple[str, str]]:
    """(class, text) of each line of the picture, at most COLUMNS characters wide."""
    found: list[tuple[str, str]] = []
    for command in COMMANDS:
        shown = command.replace(f" {EDGE}", " --local … --config …").replace(f" {SIDECARS}", " --local … --config …")
        found.append(("prompt", f"$ {shown}"))
        said = [line for text in run(command).splitlines() for line in _wrapped(text)]
        found += [(_kind(line), line) for line in said[:MOST_LINES]]
        if len(said) > MOST_LINES:
            found.append(("faint", f"… {len(said) - MOST_LINES} more lines"))
        found.append(("plain", ""))
    return found[:-1]


def _wrapped(text: str) -> Iterator[str]:
    while len(text) > COLUMNS:
        cut = text.rfind(" ", 0, COLUMNS)
        cut = cut if cut > COLUMNS // 2 else COLUMNS
        yield text[:cut]
        text = "    " + text[cut:].lstrip()
    yield text


def _kind(line: str) -> str:
    if line.startswith(("---", "+++", "@@")):
        return "faint"
    if re.match(r"\s*-\s", line) or line.startswith("-"):
        return "remove" if line.startswith("-") else "plain"
    if re.match(r"\s*[+~>] ", line):
        return "add"
    return "head" if re.match(r"[a-z][\w ]+$|Injected|allowed|refused", line) else "plain"


def drawn() -> str:
    """The picture."""
    rows = lines()
    width = round(COLUMNS * _CHARACTER_PX) + 2 * _MARGIN_PX
    height = _BAR_PX + len(rows) * _LINE_PX + _MARGIN_PX
    dots = "".join(
        f'<circle cx="{20 + 18 * index}" cy="16" r="5.5" fill="{colour}"/>'
        for index, colour in enumerate(("#ff5f57", "#febc2e", "#28c840"))
    )
    texts = "\n".join(
        f'  <text class="{kind}" x="{_MARGIN_PX}" y="{_BAR_PX + index * _LINE_PX}" xml:space="preserve">{escape(text)}</text>'
        for index, (kind, text) in enumerate(rows, 1)
    )
    title = "gatehouse review corrects a Node, gatehouse explain says what a Deployment gets, without a cluster"
    return f"""\
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img"
  font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace" font-size="{_FONT_PX}">
<title>{title}</title>
<style>
{_STYLE}
</style>
  <rect class="back" x="0.5" y="0.5" width="{width - 1}" height="{height - 1}" rx="8"/>
  {dots}
{texts}
</svg>
"""
