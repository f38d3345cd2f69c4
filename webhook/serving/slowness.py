"""Which paths have lately been slow, so that their requests no longer run on the leader.

A path is marked when one of its requests has held up the lead, and is cleared by QUICK_IN_A_ROW that would not have.

Thread rule: any thread; a lost update between two costs one misplaced request.
"""

from __future__ import annotations

QUICK_IN_A_ROW = 16
PATHS = 256  # only what an application takes long over gets here; bounded all the same


class SlowPaths:
    """Marks on paths. Asking costs one look into a dict that is usually empty."""

    def __init__(self, patience_s: float) -> None:
        self._patience_s = patience_s
        self._left: dict[str, int] = {}  # path -> quick requests still wanted

    def __contains__(self, path: str) -> bool:
        return path in self._left

    def mark(self, path: str) -> None:
        """A request on *path* has held up the lead."""
        if path in self._left or len(self._left) < PATHS:
            self._left[path] = QUICK_IN_A_ROW

    def judge(self, path: str, took_s: float) -> None:
        """A request on the marked *path* took so long."""
        left = self._left.get(path, 0) - 1
        if took_s >= self._patience_s:
            self.mark(path)
        elif left > 0:
            self._left[path] = left
        else:
            self._left.pop(path, None)
