"""The recorded view that the rules of one service edit.

Each edit changes the object and writes the RFC 6902 operation that does the same, so that the patch applies to what was sent by
construction. Only add, replace and remove are written: `test` could fail, and `move` and `copy` count against the API
server's copy budget (3 MiB). The value of an operation is encoded at once, so that a later edit inside it becomes an
operation of its own and is not applied twice.

    draft.set(("metadata", "labels", "app"), "shop")     parents that are absent or null are created first
    draft.remove(("spec", "taints", 3))                  remove list elements last index first
    draft.append(("spec", "volumes"), {...})

A value is copied into the object, so that what many requests share (a configured container) can never be edited through it;
`own=True` says that the caller gives the value away (it is new, or part of this object), which spares the copy.

Rules read `draft.object` and never change it themselves. One thread at a time. Errors: a path that does not exist is a fault
of the rule and raises LookupError or TypeError, before anything is changed.
Source: RFC 6901 (escaping), RFC 6902 section 4; the API server refuses the whole request when a patch does not apply, whatever
the failurePolicy (kubernetes/kubernetes#129459).
"""

from __future__ import annotations

from typing import Any

import msgspec

from webhook.objects.meta import Json

Path = tuple[str | int, ...]


class Operation(msgspec.Struct, frozen=True, omit_defaults=True):
    """One RFC 6902 operation; *value* is JSON text."""

    op: str
    path: str
    value: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET


class Draft:
    """An object under review and the operations that lead from what was sent to what it is now."""

    __slots__ = ("object", "operations")

    def __init__(self, obj: Json) -> None:
        """*obj* is edited in place: the request's own dict, which nobody else reads after this."""
        self.object = obj
        self.operations: list[Operation] = []

    def set(self, path: Path, value: Any, *, own: bool = False) -> None:
        """Make *value* the member at *path* (its last part is a name), creating absent or null parents."""
        parent = self._parent(path)
        key = path[-1]
        if type(parent) is not dict or type(key) is not str:
            raise TypeError(f"{pointer(path)}: not a member of an object")
        parent[key] = self._record("replace" if key in parent else "add", path, value, own)

    def replace(self, path: Path, value: Any, *, own: bool = False) -> None:
        """Put *value* in the place of what is at *path*, a member or a list element, which must exist."""
        parent = self._existing(path)
        parent[path[-1]] = self._record("replace", path, value, own)

    def insert(self, path: Path, value: Any, *, own: bool = False) -> None:
        """Insert *value* before the list element at *path*; its index may be the list's length."""
        items = self._list(path[:-1])
        index = path[-1]
        if type(index) is not int or not 0 <= index <= len(items):
            raise LookupError(f"{pointer(path)}: not an index of a list of {len(items)}")
        items.insert(index, self._record("add", path, value, own))

    def append(self, path: Path, value: Any, *, own: bool = False) -> None:
        """Add *value* at the end of the list at *path*, creating it (and its parents) when absent or null."""
        items = self._list(path, create=True)
        items.append(self._record("add", (*path, "-"), value, own))

    def remove(self, path: Path) -> None:
        """Remove the member or list element at *path*, which must exist."""
        parent = self._existing(path)
        self.operations.append(Operation("remove", pointer(path)))
        del parent[path[-1]]

    # -- inside

    def _record(self, op: str, path: Path, value: Any, own: bool) -> Any:
        text = msgspec.json.encode(value)
        self.operations.append(Operation(op, pointer(path), msgspec.Raw(text)))
        return value if own or not isinstance(value, (dict, list)) else msgspec.json.decode(text)

    def _at(self, path: Path) -> Any:
        node: Any = self.object
        for depth, key in enumerate(path):
            if not _holds(node, key):
                raise LookupError(f"{pointer(path[: depth + 1])}: does not exist")
            node = node[key]
        return node

    def _existing(self, path: Path) -> Any:
        if not path:
            raise LookupError("the whole object cannot be replaced or removed")
        parent = self._at(path[:-1])
        if not _holds(parent, path[-1]):
            raise LookupError(f"{pointer(path)}: does not exist")
        return parent

    def _list(self, path: Path, *, create: bool = False) -> list[Any]:
        if create:
            parent = self._parent(path)
            key = path[-1]
            if type(parent) is dict and parent.get(str(key)) is None:
                self.set(path, [], own=True)
        items = self._at(path)
        if type(items) is not list:
            raise TypeError(f"{pointer(path)}: not a list")
        return items

    def _parent(self, path: Path) -> Any:
        """What contains *path*; absent or null members on the way become empty objects."""
        node: Any = self.object
        for depth, key in enumerate(path[:-1]):
            if type(node) is dict and node.get(str(key)) is None and type(key) is str:
                node[key] = self._record("replace" if key in node else "add", path[: depth + 1], {}, True)
            if not _holds(node, key):
                raise LookupError(f"{pointer(path[: depth + 1])}: does not exist")
            node = node[key]
        return node


def _holds(node: Any, key: str | int) -> bool:
    if type(key) is str:
        return type(node) is dict and key in node
    return type(node) is list and type(key) is int and 0 <= key < len(node)


def pointer(path: Path) -> str:
    """*path* as a JSON pointer (RFC 6901): `~` and `/` escaped, "" for the whole document."""
    return "".join([f"/{_escaped(part)}" if type(part) is str else f"/{part}" for part in path])


def _escaped(name: str) -> str:
    return name.replace("~", "~0").replace("/", "~1") if "~" in name or "/" in name else name
