"""How long the long tests look on, and how many examples they try.

In full with LONG=1, as `make soak` runs them; else as few as still show what is looked for.
"""

from __future__ import annotations

import os

IN_FULL = os.environ.get("LONG") == "1"


def long(full: float, otherwise: float) -> float:
    """Seconds to look on."""
    return full if IN_FULL else otherwise


def many(full: int, otherwise: int) -> int:
    """Examples to try."""
    return full if IN_FULL else otherwise
