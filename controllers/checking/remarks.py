"""Where something stands that is said about a file, also inside a text that an object of the file carries. Pure; any thread."""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from webhook.objects.faults import dotted
from webhook.objects.sources import Document


@attrs.frozen(order=True)
class Remark:
    """One thing to say about a file."""

    file: str
    line: int
    column: int
    path: str  # in the object, and after a colon in the entry: "data.proxy: containers[0].image"
    message: str
    is_warning: bool = False

    def __str__(self) -> str:
        kind = "warning: " if self.is_warning else ""
        where = f"{self.file}:{self.line}:{self.column}: {kind}"
        return f"{where}{self.path}: {self.message}" if self.path else f"{where}{self.message}"


@attrs.frozen
class Text:
    """The text at data.KEY of a ConfigMap in a file."""

    document: Document
    lines: Sequence[str]  # of the file
    key: str

    @property
    def content(self) -> str:
        """The text."""
        data = self.document.value.get("data") or {}
        return str(data.get(self.key, ""))

    def remark(self, line: int, column: int, path: str, message: str, *, is_warning: bool = False) -> Remark:
        """What is said about a place in the text: at its line of the file, else at the key, with the line of the text."""
        key = self.document.position(("data", self.key))
        found = place(self.lines, key, self.content, line, column)
        inside = dotted(("data", self.key)) + (f": {path}" if path else "")
        if found == key and "\n" in self.content.rstrip("\n"):
            message = f"{message} (line {line} of the text)"
        return Remark(self.document.file, *found, inside, message, is_warning)


def place(lines: Sequence[str], key: tuple[int, int], text: str, line: int, column: int) -> tuple[int, int]:
    """Line and column in a file of a place in *text*, which is the value of the key that stands at *key*.

    Exact where the text's lines stand in the file as they are: the block scalar below the key (`|`, `|-`, `|2`, or `>` where
    nothing is folded). Of any other style, as of JSON, it is the key's own place.
    """
    inner = text.rstrip("\n").split("\n")
    for first in (key[0], key[0] + 1):  # the block begins below the key, or below a `|` on a line of its own
        indents = set()
        for found, wanted in zip(lines[first : first + len(inner)], inner, strict=False):
            if wanted.strip():
                indents.add(len(found) - len(wanted) if found.lstrip(" ") == wanted.lstrip(" ") else -1)
        if len(indents) == 1 and (indent := indents.pop()) >= 0 and first + len(inner) <= len(lines):
            return first + min(line, len(inner)), column + indent
    return key
