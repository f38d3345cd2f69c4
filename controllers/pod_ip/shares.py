"""Which replicas reserve addresses now, and so which share of them is ours. Not locked: part of a book.

A replica counts while a reservation of its is younger than ALIVE_S. One that does not count any more, or not yet, costs
collisions only: two replicas try the same address, and one of them is refused.
"""

from __future__ import annotations

from typing import Final

from webhook.addresses.address import Address
from webhook.addresses.choosing import salt_of, standing

ALIVE_S: Final = 600.0
_LOOK_S: Final = 30.0  # how often those that fell silent are looked for
_REACH: Final = 4  # for each further replica


class Shares:
    """The replicas, ours among them. *epoch* changes whenever they do."""

    def __init__(self, identity: str) -> None:
        self.epoch = 0
        self._own = salt_of(identity)
        self._identity = identity
        self._seen: dict[str, float] = {}  # wall-clock seconds of the youngest reservation, of the others
        self._others: tuple[int, ...] = ()
        self._looked_s = float("-inf")

    def saw(self, holder: str, created_s: float, wall_s: float) -> None:
        """*holder* made a reservation at *created_s*, of the wall clock as *wall_s*."""
        if not holder or holder == self._identity or wall_s - created_s >= ALIVE_S:
            return
        known = self._seen.get(holder)
        if known is None or created_s > known:
            self._seen[holder] = created_s
        if known is None:
            self._count()

    def look(self, wall_s: float) -> None:
        """Forget the replicas that fell silent. Cheap: call it often."""
        if 0 <= wall_s - self._looked_s < _LOOK_S:
            return
        self._looked_s = wall_s
        silent = [holder for holder, created_s in self._seen.items() if wall_s - created_s >= ALIVE_S]
        for holder in silent:
            del self._seen[holder]
        if silent:
            self._count()

    def standing(self, address: Address) -> tuple[bool, int]:
        """Whether *address* is in our share, and its place in the share that it is in: the highest first."""
        return standing(address, self._own, self._others)

    @property
    def reach(self) -> int:
        """Among how many addresses at the end of others' shares to choose: with one other replica nobody else comes there."""
        return 1 + _REACH * max(0, len(self._others) - 1)

    def _count(self) -> None:
        self._others = tuple(salt_of(holder) for holder in sorted(self._seen))
        self.epoch += 1
