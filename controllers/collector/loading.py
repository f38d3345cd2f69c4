"""Loading modules without the garbage collector, which would look through all of them again and again for nothing.

What modules leave behind stays, nearly all of it; the collector's rounds were an eighth of the processor time of a start
(docs/profiling.md). Main thread, before others run.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def undisturbed() -> Iterator[None]:
    """Import inside. The collector is as before afterwards."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
