"""What the garbage collector is spared: all that stays, once it is there.

Nearly everything here is freed as soon as nobody refers to it. The collector only looks for cycles, and for that it walks what
lives: with 5,000 pods in the cache that was a third of the processor time of a review with 1,000 addresses, and everybody else
waits meanwhile. So it is called less often, and what is there when the caches have their first lists is set aside.

Main thread. Source: gc.freeze and gc.set_threshold of the standard library; docs/profiling.md has the figures.
"""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Final

from webhook.clock import Clock, Deadline

# New objects before the youngest are looked at: a review of 1,000 addresses makes 4,000, and leaves none (a test holds that).
THRESHOLD: Final = (10_000, 10, 10)
# A cache that has no first list by then may never have one, as when its CRD is missing.
SETTLED_AFTER_S: Final = 60.0


class Heap:
    """What the collector passes over as long as the process serves."""

    def __init__(self, synced: Callable[[], bool], clock: Clock) -> None:
        """synced: whether every cache has its first list."""
        self._synced = synced
        self._clock = clock
        self._before = gc.get_threshold()
        self._started_s = 0.0
        self._is_settled = False

    def start(self) -> None:
        """Look less often from now on."""
        self._before = gc.get_threshold()
        self._started_s = self._clock.monotonic_s()
        gc.set_threshold(*THRESHOLD)

    def look(self) -> None:
        """Set aside what is there, once: when the caches have synced, or a minute after the start."""
        if self._is_settled:
            return
        if self._synced() or self._clock.monotonic_s() - self._started_s >= SETTLED_AFTER_S:
            self._is_settled = True
            gc.collect()  # or what is garbage by now would be set aside with the rest
            gc.freeze()

    def stop(self, deadline: Deadline) -> None:
        """Put everything back, for whoever goes on in this interpreter."""
        gc.unfreeze()
        gc.set_threshold(*self._before)
