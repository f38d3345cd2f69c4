"""A lease for tests of controllers that do not elect anybody."""

from __future__ import annotations

from controllers.runtime.errors import LeaseLost


class Lease:
    """Leadership for the next *requests* requests."""

    def __init__(self) -> None:
        self.requests = 1_000_000

    def check(self) -> float:
        self.requests -= 1
        if self.requests < 0:
            raise LeaseLost("the lease may not be ours any more")
        return 10.0
