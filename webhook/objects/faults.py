"""Telling what is wrong with a value that somebody wrote: where in it, and what was found there, in the words of a message.

    raise Faults((("spec", "limits", 0, "max"), f"must be an object, not {json_type(found)}"))

Pure.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any, Final

QUOTED: Final = 128  # characters of a text in a message
Path = tuple[str | int, ...]
Found = Iterator[tuple[Path, str]]  # where in a value, and what is wrong: a clause that goes behind the path and a colon


def dotted(path: Path) -> str:
    """*path* as people write it: ("a", 0, "b/c") -> `a[0].b/c`."""
    text = ""
    for step in path:
        text += f"[{step}]" if isinstance(step, int) else f".{step}" if text else step
    return text


class Faults(ValueError):
    """A value that cannot be taken as it is; a retry is useless. `faults` has (path inside the value, what is wrong) pairs."""

    def __init__(self, *faults: tuple[Path, str]) -> None:
        self.faults = faults
        super().__init__("; ".join(f"{dotted(path)}: {message}" if path else message for path, message in faults))


def json_type(value: object) -> str:
    """The JSON name of *value*'s type: what error messages call it."""
    match value:
        case None:
            return "null"
        case bool():
            return "a boolean"
        case int() | float():
            return "a number"
        case str():
            return "a string"
        case list():
            return "a list"
    return "an object"


def shown(value: Any) -> str:
    """*value* as JSON; only its type when that is long."""
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= 40 else json_type(value)


def quoted(text: str) -> str:
    """*text* in quotes, cut where it is long."""
    return json.dumps(text if len(text) <= QUOTED else text[: QUOTED - 3] + "...", ensure_ascii=False)


def listed(names: Sequence[str], most: int) -> str:
    """The first *most* of *names*, and how many there are besides: "a, b and 3 more"."""
    more = len(names) - most
    return ", ".join(names[:most]) + (f" and {more} more" if more > 0 else "")
