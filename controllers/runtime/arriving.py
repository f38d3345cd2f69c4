"""A list decoded while it arrives: half a megabyte of its text is held at a time, and the server writes on while we decode.

A server writes {"kind", "metadata", "items": [ITEM, ITEM, …]}, or the keys of a custom kind by the alphabet, which puts the
metadata last. The text is cut between two items where a new one seems to begin, at `},{"metadata":`: these bytes cannot stand
inside a string, whose quotes are escaped. They can stand deeper inside an item (a StatefulSet's volumeClaimTemplates); what was
cut off there is no JSON, which the decoder says, and the cut waits for more text. What has another form is gathered, and
decoded whole.

Pure; any thread; a Cutter belongs to one list.
Source: measured, docs/profiling.md; KEP-5116 (the server writes a list item by item as well, since Kubernetes 1.33).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

PIECE_BYTES: Final = 2**19  # decoded at once: some fifty nodes or a hundred pods
_HEAD_BYTES: Final = 2**16  # before the items; real ones have 200, and a page token
_ITEMS: Final = b'"items":['
_KEY_BYTES: Final = 64  # of the first key of an item


class Cutter:
    """Cuts the text of one list between its items."""

    def __init__(self, pieces: Iterable[bytes | bytearray]) -> None:
        """pieces: the list's text as it arrives."""
        self._pieces = iter(pieces)
        self._head = b""  # what stands before the items
        self._text = bytearray()  # all of it, until the head has been found; then "[" and what is not decoded yet

    def cut(self, decode: Callable[[memoryview], bool]) -> None:
        """Give *decode* lists of whole items, until the text ends. It returns False for what is no JSON, and keeps no view.

        Whatever the pieces or *decode* raise passes through.
        """
        if not self._find_items():
            return
        separator, wanted = b"", PIECE_BYTES
        for piece in self._pieces:
            self._text += piece
            if len(self._text) < wanted:
                continue
            separator = separator or self._separator()
            comma = self._text.rfind(separator, 1) + 1 if separator else 0
            if comma and self._decoded(decode, comma):
                del self._text[1 : comma + 1]
                wanted = PIECE_BYTES
            else:
                wanted = 2 * len(self._text)

    def rest(self) -> bytearray:
        """The list without the items that were decoded. Call it last. Whatever the pieces raise passes through."""
        for piece in self._pieces:
            self._text += piece
        self._text[0:0] = self._head
        return self._text

    def _find_items(self) -> bool:
        for piece in self._pieces:
            self._text += piece
            found = self._text.find(_ITEMS, 0, _HEAD_BYTES)
            if found >= 0:
                begin = found + len(_ITEMS) - 1
                self._head = bytes(self._text[:begin])
                del self._text[:begin]
                return True
            if len(self._text) > _HEAD_BYTES:
                break
        return False

    def _separator(self) -> bytes:
        """The end of one item and the first key of the next, which is that of the first one."""
        end = self._text.find(b":", 1, _KEY_BYTES)
        return b"}," + bytes(self._text[1 : end + 1]) if self._text[1:3] == b'{"' and end > 0 else b""

    def _decoded(self, decode: Callable[[memoryview], bool], comma: int) -> bool:
        self._text[comma] = ord("]")  # nothing is copied
        with memoryview(self._text) as text, text[: comma + 1] as items:
            done = decode(items)
        if not done:
            self._text[comma] = ord(",")
        return done
