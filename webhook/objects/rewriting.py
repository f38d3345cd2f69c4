"""A file of documents with some of them changed: every other character stays as it was written.

Kept: documents that did not change, comments between documents, `---`, `...`, directives, line ends (LF, CR LF), a byte order
mark, UTF-16. Lost in a document that changed: its comments, anchors and style; it is written as `write_yaml` does, JSON as JSON
with its indentation. Pure.
"""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from webhook.objects.documents import read_documents, write_yaml
from webhook.objects.json_documents import looks_like_json
from webhook.objects.sources import Document, decode_text

# Byte order marks and the encoding of what follows.
_MARKS: Final = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_BLANK: Final = " \t"
_INDENT: Final = re.compile(r"[{\[]\r?\n([ \t]+)\S")
_PAIR: Final = re.compile(r"\\u[dD][89a-bA-B]")  # half of a surrogate pair: JSON only
_UNREADABLE: Final = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")  # as it stands, in a quoted string of YAML

LEFT_OUT: Final = object()  # in place of a document's new value: it has none, and goes


def rewrite(source: bytes, documents: Sequence[Document], values: Mapping[int, Any]) -> bytes:
    """*source* with the documents at these indices replaced by *values* (JSON, or LEFT_OUT).

    documents: what `read_documents` found in *source*.
    Without *values* the very bytes of *source* come back. O(length).
    """
    if not values:
        return source
    text = decode_text(source, "")
    line_end = "\r\n" if "\r\n" in text[: text.find("\n") + 1] else "\n"
    pieces: list[str] = []
    done, before = 0, ""  # before: the text of the last document, if it was written anew
    for index, document in enumerate(documents):
        start, end = document.span
        gap = _gap(text[done:start], before)
        done, before = end, ""
        if index not in values:
            pieces += [gap, text[start:end]]
        elif values[index] is not LEFT_OUT and _is_json(document, text[start:end]):
            written = _json(values[index], text[start:end], is_yaml=not document.json_text)
            pieces += [gap, written.replace("\n", line_end)]
        else:
            before = write_yaml(values[index]) if values[index] is not LEFT_OUT else ""
            pieces += [_opening(gap, line_end), before.replace("\n", line_end)]
    pieces.append(_gap(text[done:], before))
    return _encoded(source, "".join(pieces))


def join(parts: Sequence[bytes]) -> bytes:
    """Files one after the other as one file of documents, in UTF-8; a single one comes back as it is. Empty ones are left out.

    Raises DocumentError when one of several cannot be read.
    """
    filled = [part for part in parts if part]
    if len(filled) < 2:
        return b"".join(filled)
    texts = [decode_text(part, "") for part in filled]
    if all(map(looks_like_json, texts)):
        return "\n".join(texts).encode()  # a stream of JSON values needs no marks between them
    pieces: list[str] = []
    for text in map(_as_documents, texts):
        if pieces and not pieces[-1].endswith(("\n", "\r")):
            pieces.append("\n")
        pieces += [_separator(text) if pieces else "", text]
    return "".join(pieces).encode()


def _as_documents(text: str) -> str:
    """*text*, with marks between its values when it is a stream of JSON."""
    if not looks_like_json(text):
        return text
    documents = read_documents(text, "")
    if not all(document.json_text for document in documents) or (len(documents) == 1 and not _PAIR.search(text)):
        return text
    return "\n---\n".join(_json(document.value, document.json_text, is_yaml=True) for document in documents)


def _separator(text: str) -> str:
    """What ends the documents before *text*: nothing where it does so itself."""
    first = next((line for line in text.splitlines() if line.strip() and not line.startswith("#")), "")
    if first.startswith("%"):
        return "...\n"  # a directive must not follow `---`
    return "" if first[:4].rstrip() == "---" else "---\n"


def _opening(gap: str, line_end: str) -> str:
    """What stands before a document that is written anew, so that it may start in column 1."""
    line = max(gap.rfind("\n"), gap.rfind("\r")) + 1
    if not gap[line:].strip(_BLANK):
        return gap[:line]
    return gap.rstrip(_BLANK) + line_end  # `--- {a: 1}`, `--- !!map`


def _gap(gap: str, before: str) -> str:
    """What stands behind a document that is written anew as *before*: comments and marks, none of which may become part of it.

    A comment that is indented would continue a block of text, and so would blank lines behind one that keeps them.
    """
    if not before:
        return gap
    lines = gap.splitlines(keepends=True)
    if lines and not lines[0].strip():
        lines = lines[1:]  # the rest of its last line
    while before.endswith("\n\n") and lines and not lines[0].strip():
        lines = lines[1:]
    return "".join(line.lstrip(_BLANK) if line.lstrip(_BLANK).startswith("#") else line for line in lines)


def _is_json(document: Document, text: str) -> bool:
    if document.json_text:
        return True
    if not text.startswith("{"):
        return False
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _json(value: Any, like: str, *, is_yaml: bool) -> str:
    """*value* as JSON in the manner of *like*: its indentation, or one line; is_yaml: that a reader of YAML can read, too."""
    found = _INDENT.match(like)
    spaced = found is not None or '": ' in like
    text = json.dumps(
        value,
        ensure_ascii=like.isascii() and not is_yaml,
        indent=found[1] if found else None,
        separators=(",", ": ") if found else (", ", ": ") if spaced else (",", ":"),
    )
    return _UNREADABLE.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def _encoded(source: bytes, text: str) -> bytes:
    mark, encoding = next(((mark, encoding) for mark, encoding in _MARKS if source.startswith(mark)), (b"", "utf-8"))
    return mark + text.encode(encoding)
