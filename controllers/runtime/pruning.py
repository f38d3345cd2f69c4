"""JSON text without what is nested too deeply, for a decoder that recurses and gives up on the whole of it.

An API server takes objects of 10,000 levels (Go's bound) where a custom resource keeps unknown fields; msgspec stops at the
interpreter's 1,000, in fields that it only passes over too. One such object must not cost its list.

Pure; any thread. Errors: none; what is no JSON gives something that is none either.
Source: RFC 8259; golang/go encoding/json (maxNestingDepth).
"""

from __future__ import annotations

import re
from typing import Final

import msgspec

LEVELS: Final = 500  # that are kept: Kubernetes objects nest some 20, CRD schemas some 60
TOO_DEEP: Final = "nested too deeply"
# No server writes this blank between two tokens, and no string has it: there these characters are escaped.
_CUT: Final = b"null\t\r\t"
_TOKENS: Final = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*(?:"|\\?\Z)|[\[\]{}]', re.DOTALL)  # a string never ends twice: O(length)
_OPENING: Final = b"[{"
_CLOSING: Final = b"]}"


def pruned(text: bytes | bytearray | memoryview | msgspec.Raw) -> bytes:
    """*text* with null for each object and list that has LEVELS others around it. O(length)."""
    text = bytes(text)
    kept, kept_to, depth = bytearray(), 0, 0
    for token in _TOKENS.finditer(text):
        byte = text[token.start()]
        if byte in _OPENING:
            if depth == LEVELS:
                kept += text[kept_to : token.start()] + _CUT
            depth += 1
        elif byte in _CLOSING:
            depth -= 1
            if depth == LEVELS:
                kept_to = token.end()
    return bytes(kept) if depth > LEVELS else bytes(kept + text[kept_to:])


def is_pruned(text: bytes | bytearray | memoryview | msgspec.Raw) -> bool:
    """Whether `pruned` has cut anything out of *text*."""
    return _CUT in bytes(text)
