"""How much room each namespace's entries take, and which ConfigMaps found none. No threads: the owner's lock guards it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import attrs

NAMESPACE_SIZE: Final = 4 * 2**20  # about the bytes that a namespace's entries take; a large entry has 20 KiB


@attrs.define
class _Account:
    total: int = 0
    sizes: dict[str, int] = attrs.Factory(dict)  # by ConfigMap
    left_out: dict[str, int] = attrs.Factory(dict)  # what they would have needed


class Accounts:
    """One for each namespace that has anything."""

    def __init__(self) -> None:
        self._by_namespace: dict[str, _Account] = {}

    def room(self, key: str) -> int:
        """What the ConfigMap "namespace/name" may have beside the others of its namespace."""
        account = self._by_namespace.get(_namespace(key), _NOTHING)
        return NAMESPACE_SIZE - account.total + account.sizes.get(key, 0)

    def book(self, key: str, size: int, needed: int | None = None) -> None:
        """The ConfigMap has *size* now. *needed*: it is left out, and this is what it needs."""
        namespace = _namespace(key)
        account = self._by_namespace.setdefault(namespace, _Account())
        account.total += size - account.sizes.pop(key, 0)
        account.left_out.pop(key, None)
        if size:
            account.sizes[key] = size
        if needed is not None:
            account.left_out[key] = needed
        if not account.sizes and not account.left_out:
            del self._by_namespace[namespace]

    def fits_now(self, key: str) -> bool:
        """Whether the ConfigMap was left out, and there is room for it now."""
        needed = self._by_namespace.get(_namespace(key), _NOTHING).left_out.get(key)
        return needed is not None and needed <= self.room(key)

    def waiting(self, namespace: str) -> Sequence[str]:
        """The ConfigMaps that were left out and may fit now."""
        account = self._by_namespace.get(namespace, _NOTHING)
        free = NAMESPACE_SIZE - account.total
        return [key for key, needed in account.left_out.items() if needed <= free + account.sizes.get(key, 0)]


_NOTHING: Final = _Account()  # never changed


def _namespace(key: str) -> str:
    return key.partition("/")[0]
