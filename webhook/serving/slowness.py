"""Which requests take too long to run on the leader, and which paths have lately had such.

A path is marked when one of its requests has held up the lead, and is cleared by QUICK_IN_A_ROW that would not have.

A request that waits for something (the API server) is slow after PATIENCE_S. One that computes is given COMPUTING_S: under one
interpreter lock two that compute take as long as one after the other, and a third of their processor time more for taking
turns (docs/profiling.md). Processor time tells the two apart, as far as that goes on a machine that others use: a request waits
that has computed nothing for PATIENCE_S, or less than a SHARE of its time. So who computes and then waits holds the lead up for
one look of the watch more, or two; the longest, COMPUTING_S / SHARE = 80 ms, has who computes a little between any two looks.

Thread rule: any thread, `Progress` the watch's alone; a lost update between two costs one misplaced request. Errors: none.
"""

from __future__ import annotations

PATIENCE_S = 0.003  # well above a usual request, well below what a caller would notice
COMPUTING_S = 0.010  # of processor time: Endpoints with 2,000 addresses
SHARE = 0.125  # of the time, which a request gets that computes, also beside seven others
QUICK_IN_A_ROW = 16
PATHS = 256  # only what an application takes long over gets here; bounded all the same


def is_slow(took_s: float, computed_s: float) -> bool:
    """Whether a request that took so long, and computed so much of it, is to leave the lead to others."""
    return computed_s >= COMPUTING_S or (took_s >= PATIENCE_S and computed_s < took_s * SHARE)


class Progress:
    """How long the leader has been in one request, as the watch sees it. Used by the watch alone."""

    def __init__(self) -> None:
        self._began = (0.0, 0.0)
        self._computing = (0.0, 0.0)  # the last look that found that it had computed since the one before

    def begin(self, now_s: float, computed_s: float) -> None:
        """The leader has got on. computed_s: what its thread has computed, ever."""
        self._began = self._computing = (now_s, computed_s)

    def is_slow(self, now_s: float, computed_s: float) -> bool:
        """Whether it has been in the same request for too long. Each question is a look, with which later ones compare."""
        if computed_s > self._computing[1]:
            self._computing = (now_s, computed_s)
        elif now_s - self._computing[0] >= PATIENCE_S:
            return True  # who waits for the interpreter's lock asks for it again and again: that is processor time, too
        return is_slow(now_s - self._began[0], computed_s - self._began[1])


class SlowPaths:
    """Marks on paths. Asking costs one look into a dict that is usually empty."""

    def __init__(self) -> None:
        self._left: dict[str, int] = {}  # path -> quick requests still wanted

    def __contains__(self, path: str) -> bool:
        return path in self._left

    def mark(self, path: str) -> None:
        """A request on *path* has held up the lead."""
        if path in self._left or len(self._left) < PATHS:
            self._left[path] = QUICK_IN_A_ROW

    def judge(self, path: str, took_s: float, computed_s: float) -> None:
        """A request on the marked *path* took so long, of which its thread computed so much."""
        left = self._left.get(path, 0) - 1
        if is_slow(took_s, computed_s):
            self.mark(path)
        elif left > 0:
            self._left[path] = left
        else:
            self._left.pop(path, None)
