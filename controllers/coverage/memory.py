"""What is remembered of each owner, in bounded space. Any thread; the lock guards the values, memory only."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import Final, Generic, TypeVar

from controllers.runtime.reconcile import Key

KEPT: Final = 16384  # owners

V = TypeVar("V")


class Memory(Generic[V]):
    """The last value of each key; the ones that were put longest ago are forgotten."""

    def __init__(self) -> None:
        self._lock = threading.Lock()  # guards _values
        self._values: OrderedDict[Key, V] = OrderedDict()

    def get(self, key: Key) -> V | None:
        """The value of *key*; None when there is none."""
        with self._lock:
            return self._values.get(key)

    def drop(self, key: Key) -> None:
        """Forget what *key* has."""
        with self._lock:
            self._values.pop(key, None)

    def put(self, key: Key, value: V) -> None:
        """From now on *key* has *value*."""
        with self._lock:
            self._values[key] = value
            self._values.move_to_end(key)
            if len(self._values) > KEPT:
                self._values.popitem(last=False)
