"""Where containers go among those that are there. Used by one call of `plan`, in one thread."""

from __future__ import annotations

from webhook.sidecars.entries.entry import Placement, Spot


class Line:
    """The order of one list of containers while others join it.

    Who comes later stands behind those that asked for the same place before, so that the order of the entries is kept.
    """

    def __init__(self, names: list[str]) -> None:
        self._names = names
        self._joined: dict[Placement, set[str]] = {}

    def join(self, name: str, place: Placement) -> tuple[int, bool]:
        """Where *name* is to be inserted now, and whether the place could be had: without its anchor it goes to the end."""
        before = self._joined.setdefault(place, set())
        index, found = self._index(place, before)
        self._names.insert(index, name)
        before.add(name)
        return index, found

    def recall(self, name: str, place: Placement) -> None:
        """Note that *name* has joined at *place* in an earlier call."""
        self._joined.setdefault(place, set()).add(name)

    def _index(self, place: Placement, before: set[str]) -> tuple[int, bool]:
        match place.spot:
            case Spot.FIRST:
                return self._behind(0, before), True
            case Spot.LAST:
                return len(self._names), True
        if place.anchor not in self._names:
            return len(self._names), False
        anchor = self._names.index(place.anchor)
        return (anchor, True) if place.spot is Spot.BEFORE else (self._behind(anchor + 1, before), True)

    def _behind(self, index: int, names: set[str]) -> int:
        while index < len(self._names) and self._names[index] in names:
            index += 1
        return index
