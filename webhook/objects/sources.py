"""What was read from a text and where it stood: documents, marks, and the error of a text that cannot be read.

Pure and frozen. Lines and columns count from 1; columns count characters.
"""

from __future__ import annotations

import codecs
from typing import Any, Final

import attrs

from webhook.objects.faults import Path

MAX_DEPTH: Final = 256  # Kubernetes objects nest some 20 levels, CRD schemas some 60; Python recurses to 1000
TOO_DEEP: Final = f"nested deeper than {MAX_DEPTH} levels"


class DocumentError(ValueError):
    """Text that the Go API machinery would not take; a retry is useless. Its text is "file:line:column: message"."""

    def __init__(self, file: str, line: int, column: int, message: str) -> None:
        super().__init__(f"{file}:{line}:{column}: {message}")
        self.file = file
        self.line = line
        self.column = column
        self.message = message


class TooLarge(DocumentError):
    """A text that stands for more than its reader wants to have."""


@attrs.frozen
class Mark:
    """Where a value stands, and where the values in it do. In a mapping that is where the key stands."""

    line: int
    column: int
    inside: dict[str, Mark] | list[Mark] | None = None


@attrs.frozen
class Document:
    """One document of a file. `value` is JSON: dict, list, str, int, float or bool."""

    value: Any
    file: str
    mark: Mark = attrs.field(repr=False, eq=False)
    json_text: str = ""  # the document's own text when it was JSON, "" when it was YAML
    # Where its value stands in what `decode_text` gives, from its first character to behind its last; no comments around it.
    span: tuple[int, int] = attrs.field(default=(0, 0), repr=False, eq=False)

    @property
    def line(self) -> int:
        """The line of its first value."""
        return self.mark.line

    def position(self, path: Path) -> tuple[int, int]:
        """Line and column of the value at *path*, of its nearest ancestor when there is none.

        Without `read_documents(positions=True)` this is where the document starts.
        """
        mark = self.mark
        for step in path:
            found = _inside(mark, step)
            if found is None:
                break
            mark = found
        return mark.line, mark.column


def _inside(mark: Mark, step: str | int) -> Mark | None:
    if isinstance(mark.inside, dict) and isinstance(step, str):
        return mark.inside.get(step)
    if isinstance(mark.inside, list) and isinstance(step, int) and step < len(mark.inside):
        return mark.inside[step]
    return None


def decode_text(source: bytes | str, file: str) -> str:
    """The characters of *source*: UTF-8, or UTF-16 with a byte order mark (what PowerShell writes).

    Raises DocumentError at the first byte that is neither.
    """
    if isinstance(source, str):
        return source.removeprefix("\ufeff")
    encoding = "utf-16" if source.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) else "utf-8"
    try:
        return source.decode(encoding).removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        before = source[: error.start].decode(encoding, errors="ignore")
        raise DocumentError(file, *line_column(before, len(before)), f"not {encoding.upper()}: {error.reason}") from None


def line_column(text: str, index: int) -> tuple[int, int]:
    """Line and column of the character at *index*."""
    return text.count("\n", 0, index) + 1, index - text.rfind("\n", 0, index)
