"""Answers that stand for a time, the least recently used going first. Pure: the time comes in.

Not for several threads at once: whoever holds one guards it.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Generic, TypeVar

V = TypeVar("V")


class Kept(Generic[V]):
    """At most *capacity* values by key, each until a moment of its own."""

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._values: OrderedDict[bytes, tuple[V, float]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._values)

    def get(self, key: bytes, now_s: float) -> V | None:
        """The value of *key*, unless its time is over."""
        found = self._values.get(key)
        if found is None:
            return None
        value, until_s = found
        if now_s >= until_s:
            del self._values[key]
            return None
        self._values.move_to_end(key)
        return value

    def put(self, key: bytes, value: V, until_s: float) -> None:
        """Keep *value*."""
        self._values[key] = (value, until_s)
        self._values.move_to_end(key)
        if len(self._values) > self._capacity:
            self._values.popitem(last=False)
