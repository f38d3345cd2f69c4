"""Values that have been through the API server, lists whose elements have a key, and stubs that are filled in. Pure.

Source: kubernetes pkg/apis/core/v1/defaults.go; merge keys as in the OpenAPI's x-kubernetes-patch-merge-key.
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import Any

from webhook.objects import meta, quantity
from webhook.objects.faults import Path, dotted
from webhook.objects.meta import Json
from webhook.sidecars.injection.planned import ListEdit

# Fields that hold amounts: the API server rewrites them ("1024Mi" comes back as "1Gi").
_AMOUNTS = frozenset(("sizeLimit", "divisor", "cpu", "memory", "storage", "ephemeral-storage"))


def covers(have: Any, want: Any, key: str = "") -> bool:
    """Whether *have* is *want*, or what a second call sees of it: empty values dropped, defaults added, amounts rewritten."""
    if have == want or want is None:
        return True
    if type(want) is dict:
        if not want:
            return not have or type(have) is dict
        return type(have) is dict and all(covers(have.get(name), value, name) for name, value in want.items())
    if not want:
        return not have
    if type(want) is list:
        return type(have) is list and _covers_list(have, want)
    return key in _AMOUNTS and _same_amount(have, want)


def _covers_list(have: list[Any], want: list[Any]) -> bool:
    """Lists of objects may have got more (the mount of the ServiceAccount's token), others are what they are."""
    if type(want[0]) is not dict:
        return have == want
    others = iter(have)  # used up by each search as far as it found: the wanted ones have to be there in their order
    return all(any(covers(other, item) for other in others) for item in want)


def _same_amount(have: Any, want: Any) -> bool:
    try:
        return have is not None and quantity.read(have) == quantity.read(want)
    except ValueError:
        return False


def folder(path: str) -> str:
    """*path* as the kubelet mounts it: cleaned, and from the root if it is relative (Go: filepath.Clean, MakeAbsolutePath)."""
    if path[:1] == "/" and "//" not in path and "/." not in path:  # the usual case
        return path.rstrip("/") or "/"
    return "/" + posixpath.normpath(f"/{path}").lstrip("/")


class KeyedList:
    """A list of the pod whose elements have a key, and what is to become of it. Look-ups take O(1)."""

    __slots__ = ("_added", "_at", "_claimed", "_items", "_replaced", "is_same", "path")

    def __init__(self, parent: Json, path: Path, key: str, is_same: Callable[[Json, Json], bool] = covers) -> None:
        """path: of the list; *parent* is what holds it. Of two elements with one key the last counts, as for the kubelet.

        is_same: whether an element that is there is the one that is wanted.
        """
        self.path = path
        self.is_same = is_same
        # What an entry has brought, in this call or, as it is the same, in an earlier one: later entries cannot override it, or
        # two of them would take turns at each call.
        self._claimed: set[str] = set()
        field = path[-1]
        assert type(field) is str
        items = parent.get(field)
        if items is None:
            items = []
        # Most lists are as they should be; only a fault needs the text of its path.
        elif type(items) is not list or not set(map(type, items)) <= {dict}:
            items = meta.objects(parent, field, dotted(path[:-1]))
        self._items: list[Json] = items
        self._added: list[Json] = []
        self._replaced: dict[int, Json] = {}
        try:
            self._at: dict[str, int] = dict(zip(map(itemgetter(key), items), range(len(items)), strict=True))
        except (KeyError, TypeError):  # an element without a key, or with one that cannot be a text
            self._at = {meta.text(item, key, f"{dotted(path)}[{index}]"): index for index, item in enumerate(items)}
        if key in ("mountPath", "devicePath"):  # "/data/" and "//data" are one place
            self._at |= {folder(at): index for at, index in self._at.items() if at and type(at) is str}

    @property
    def items(self) -> Sequence[Json]:
        """The elements of the pod."""
        return self._items

    @property
    def added(self) -> Sequence[Json]:
        """The elements to come."""
        return self._added

    def get(self, key: str) -> Json | None:
        """The element, the pod's or one to come."""
        at = self._at.get(key)
        if at is None:
            return None
        own = len(self._items)
        return self._added[at - own] if at >= own else self._replaced.get(at) or self._items[at]

    def field(self, key: str) -> str:
        """Where the element stands: "spec.containers[1].env[3]"."""
        return f"{dotted(self.path)}[{self._at[key]}]"

    def claim(self, key: str) -> None:
        """Keep later entries from taking the element's place."""
        self._claimed.add(key)

    def is_claimed(self, key: str) -> bool:
        """Whether an entry has brought the element, or relies on it."""
        return key in self._claimed

    def put(self, key: str, item: Json) -> None:
        """Add the element, or put it in the place of the one with its key; and claim it."""
        self.claim(key)
        own = len(self._items)
        at = self._at.setdefault(key, own + len(self._added))
        if at < own:
            self._replaced[at] = item
        elif at == own + len(self._added):
            self._added.append(item)
        else:
            self._added[at - own] = item

    def edit(self, ahead: Callable[[KeyedList], tuple[int, int]] | None = None) -> ListEdit | None:
        """What is to be done; None when nothing is.

        ahead: for (how many of the added elements, before which of the pod's own) they go instead of to the end.
        """
        if not self._added and not self._replaced:
            return None
        count, at = ahead(self) if ahead and self._added and self._items else (0, 0)
        replaced = tuple(self._replaced.items())
        return ListEdit(self.path, len(self._items), replaced, tuple(self._added[count:]), tuple(self._added[:count]), at)
