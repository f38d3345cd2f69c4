"""JSON text, one value or several after each other, read as strictly as the Go API machinery writes it.

Pure. Duplicate keys, NaN, numbers out of range, half surrogate pairs and more than MAX_DEPTH levels are refused.
Errors: DocumentError where the text may still be YAML, its child BadJson where it can only be meant as JSON.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from webhook.objects.scalars import json_number
from webhook.objects.sources import MAX_DEPTH, TOO_DEEP, Document, DocumentError, Mark

_BLANK = " \t\r\n"


class BadJson(DocumentError):
    """JSON but for one thing, such as NaN; as YAML it would mean something that nobody wrote."""


def looks_like_json(text: str) -> bool:
    """Whether *text* may be JSON (or YAML in flow style)."""
    return text.lstrip(_BLANK)[:1] in ("{", "[")


def read_json(text: str, file: str) -> Iterator[Document]:
    """The objects and lists of *text*, each with its own text. Raises DocumentError at the first fault."""
    notes = _Notes()
    decoder = json.JSONDecoder(
        object_pairs_hook=_unique, parse_float=notes.real, parse_int=notes.whole, parse_constant=notes.constant
    )
    end = _skip_blank(text, 0)
    line = 1
    counted = 0  # characters whose line breaks are in `line`
    while end < len(text):
        start = end
        line, counted = line + text.count("\n", counted, start), start
        mark = Mark(line, start - text.rfind("\n", 0, start))
        if text[start] not in "{[":
            what = "not JSON: after an object or list only another one may come"
            raise DocumentError(file, mark.line, mark.column, what)
        try:
            value, end = decoder.raw_decode(text, start)
            own_text = text[start:end]
        except json.JSONDecodeError as error:
            raise DocumentError(file, error.lineno, error.colno, f"not JSON: {error.msg.lower()}") from None
        except RecursionError:
            raise DocumentError(file, mark.line, mark.column, TOO_DEEP) from None
        except _Duplicate as error:
            raise DocumentError(file, mark.line, mark.column, str(error)) from None
        fault = notes.fault or _fault(value, own_text)
        if fault:
            raise BadJson(file, mark.line, mark.column, fault)
        yield Document(value, file, mark, own_text, (start, end))
        end = _skip_blank(text, end)


class _Duplicate(ValueError):
    """Raised inside the decoder, which does not say where: YAML's reader finds the place."""


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) != len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise _Duplicate(f"key {json.dumps(key)} is set twice")
            seen.add(key)
    return result


class _Notes:
    """Reads numbers; what JSON cannot hold is noted and not raised, for the text may not be JSON at all (`[NaN, a]`)."""

    def __init__(self) -> None:
        self.fault = ""

    def real(self, word: str) -> int | float:
        try:
            return json_number(float(word))
        except ValueError:
            self.fault = self.fault or f"the number {word[:32]} is out of range"
            return 0

    def whole(self, word: str) -> int | float:
        # Python refuses to count more than 4300 digits; what no 64 bits hold is a float to the API machinery anyway.
        return int(word) if len(word) <= 20 else self.real(word)

    def constant(self, word: str) -> None:
        self.fault = self.fault or f"{word} is not JSON"


def _fault(value: Any, text: str) -> str:
    if text.count("{") + text.count("[") > MAX_DEPTH and _is_too_deep(value):
        return TOO_DEEP
    if "\\u" in text:
        try:
            json.dumps(value, ensure_ascii=False).encode()
        except UnicodeEncodeError:
            return "a string holds half of a surrogate pair"
    return ""


def _is_too_deep(value: Any) -> bool:
    level = [value]  # the objects and lists of one level
    for _ in range(MAX_DEPTH):
        level = [
            inner
            for outer in level
            for inner in (outer.values() if isinstance(outer, dict) else outer)
            if isinstance(inner, dict | list)
        ]
    return bool(level)


def _skip_blank(text: str, index: int) -> int:
    while index < len(text) and text[index] in _BLANK:
        index += 1
    return index
