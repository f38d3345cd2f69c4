"""What an address was before it became free: when it was given back, and whose it was. Not locked: part of a book.

Bounded: of more than MOST addresses the ones that were given back first are forgotten, and count as unknown.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from typing import Final

from webhook.addresses.address import Address

MOST: Final = 65_536  # addresses remembered: every one of a /16


class Releases:
    """The last release of each address, as seen by this process."""

    def __init__(self) -> None:
        self._last: OrderedDict[Address, tuple[float, str]] = OrderedDict()
        self._of: dict[str, OrderedDict[Address, None]] = {}

    def note(self, address: Address, now_s: float, owner_uid: str) -> None:
        """*address* was given back now (monotonic seconds) by the pods of *owner_uid* ("": nobody's)."""
        self.forget(address)
        self._last[address] = (now_s, owner_uid)
        if owner_uid:
            self._of.setdefault(owner_uid, OrderedDict())[address] = None
        if len(self._last) > MOST:
            self.forget(next(iter(self._last)))

    def forget(self, address: Address) -> None:
        """Somebody has *address* again."""
        _, owner_uid = self._last.pop(address, (0.0, ""))
        theirs = self._of.get(owner_uid)
        if theirs is not None:
            theirs.pop(address, None)
            if not theirs:
                del self._of[owner_uid]

    def when_s(self, address: Address) -> float:
        """Monotonic seconds; -inf when nobody knows."""
        found = self._last.get(address)
        return float("-inf") if found is None else found[0]

    def of(self, owner_uid: str) -> Iterator[Address]:
        """What *owner_uid* had last, the first given back first."""
        return iter(self._of.get(owner_uid, ()))
