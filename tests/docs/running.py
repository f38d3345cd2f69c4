"""Runs the blocks of a page as a reader would: in a copy of the repository, one after the other, with `gatehouse` at hand.

A block of YAML whose first line is a comment with a file's name is that file. Every command of a block has to succeed; one with
"exit code 1" in its comment has to end with that. A block `text` right behind a block of commands is what they print; a line
`…` stands for any lines.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

import attrs

from tests.docs.pages import ROOT, Block

# What a command may be that needs neither a cluster nor a running process nor minutes.
OFFLINE: Final = frozenset({"cat", "cd", "cp", "diff", "export", "grep", "head", "jq", "mkdir", "openssl", "python", "true"})
ANSWERING: Final = frozenset({"serve", "status", "ip"})  # commands of gatehouse that are not offline
TIME_LIMIT_S: Final = 60
_COPIED: Final = ("examples", "docs", "Makefile", "setup.cfg", "pyproject.toml", "constraints.txt", "README.md")
_LINKED: Final = ("webhook", "controllers", "manifests")
_EXPECTED: Final = re.compile(r"#.*exit code (\d+)")
_HEREDOC: Final = re.compile(r"<<-?'?(\w+)'?")


@attrs.frozen
class Command:
    """One command of a block, with its continuation lines."""

    text: str
    code: int  # with which it has to end

    @property
    def programs(self) -> list[list[str]]:
        """The words of each program of it; redirections and comments left out."""
        first = re.sub(r"(?<!\S)#.*", "", self.text.split("\n<<", 1)[0]).replace("\\\n", " ")
        parts = re.split(r"\|\|?|&&|;|&(?!\d)", re.sub(r"'[^']*'|\"[^\"]*\"", "Q", _HEREDOC.split(first)[0]))
        return [words for part in parts if (words := part.split())]


def commands(block: Block) -> list[Command]:
    """The commands of *block*; of a transcript (`$ command`, then what it printed) the commands alone."""
    lines = block.text.splitlines()
    if block.info != "sh":
        lines = [line.removeprefix("$ ") for line in lines if line.startswith("$ ")]
    found: list[Command] = []
    rest = iter(lines)
    for line in rest:
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        text = line
        while text.endswith("\\"):
            text += "\n" + next(rest)
        if heredoc := _HEREDOC.search(text):
            for more in rest:
                text += "\n" + more
                if more.strip() == heredoc.group(1):
                    break
        expected = _EXPECTED.search(text)
        found.append(Command(text, int(expected.group(1)) if expected else 0))
    return found


def is_offline(block: Block) -> bool:
    """Whether everything in *block* can be run here and now."""
    return all(_is_offline(words) for command in commands(block) for words in command.programs)


def _is_offline(words: list[str]) -> bool:
    name = words[0].rpartition("/")[2]
    if name == "gatehouse":
        return len(words) > 1 and words[1] not in ANSWERING and "kubectl" not in words
    if name == "make":
        return words[1:] in (["run", "ONCE=1"], ["run"], ["help"])
    return name in OFFLINE


class Desk:
    """A copy of the repository in which a page's blocks are run."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(exist_ok=True)
        for name in _COPIED:
            source = ROOT / name
            if source.is_dir():
                shutil.copytree(source, folder / name)
            else:
                shutil.copy2(source, folder / name)
        for name in _LINKED:
            (folder / name).symlink_to(ROOT / name)
        programs = folder / ".venv" / "bin"
        programs.mkdir(parents=True)
        _script(programs / "python", f'exec {sys.executable} "$@"')
        _script(programs / "gatehouse", f'exec {sys.executable} -m controllers "$@"')
        (folder / ".venv" / ".ready").touch()  # newer than what it is made of
        self._environment = {
            **{name: value for name, value in os.environ.items() if name in ("HOME", "LANG", "LC_ALL", "TMPDIR")},
            "PATH": f"{programs}:{os.environ['PATH']}",
            "PYTHONPATH": str(ROOT),
            "NO_COLOR": "1",
        }

    def write(self, block: Block) -> None:
        """Make the file that *block* says it is."""
        file = self.folder / block.file
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(block.text)

    def run(self, block: Block, programs: Path | None = None) -> str:
        """What *block* prints; *programs*: a folder that is looked in first. Raises AssertionError for a wrong exit code."""
        script = ["trap 'kill $(jobs -p) 2>/dev/null' EXIT"]  # what it leaves in the background ends with it
        for command in commands(block):
            script += [command.text, f'code=$?; [ "$code" = {command.code} ] || {{ echo "ended with $code" >&2; exit 99; }}']
        environment = dict(self._environment)
        if programs is not None:
            environment["PATH"] = f"{programs}:{environment['PATH']}"
        done = subprocess.run(
            ["bash", "-c", "\n".join(script)],
            cwd=self.folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=TIME_LIMIT_S,
            check=False,
        )
        assert done.returncode == 0, f"{block}:\n{block.text}\n{done.stdout}"
        return done.stdout


def is_printed(shown: str, printed: str) -> bool:
    """Whether *printed* is what *shown* says, in which a line `…` or `...` stands for any lines."""
    pattern = "".join(".*" if line.strip() in ("…", "...") else re.escape(line) + r"\n" for line in shown.strip().splitlines())
    return re.search(r"(?:^|(?<=\n))" + pattern, printed.rstrip() + "\n", re.S) is not None


def _script(path: Path, line: str) -> None:
    path.write_text(f"#!/bin/sh\n{line}\n")
    path.chmod(0o755)
