"""What is watched, and how bytes become facts: the values and Protocols that the runtime's parts share.

Nothing here knows a Kubernetes kind, a socket or a thread. F stands for the facts of one object (`NodeFacts`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from typing import Generic, Protocol, TypeVar

import attrs

from webhook.objects.meta import Json as Json

F = TypeVar("F")

Params = Mapping[str, str]
Body = bytes | bytearray  # read_body's buffer is decoded as it is, not copied
Index = Callable[[F], Iterable[str]]


@attrs.frozen
class Item(Generic[F]):
    """One object as the store keeps it. *key* is "namespace/name", or "name" of a cluster-scoped object."""

    key: str
    uid: str
    version: str  # metadata.resourceVersion of this object
    facts: F


@attrs.frozen
class Broken:
    """An object that could not be decoded. *key* is "" when not even its name could be read."""

    key: str
    reason: str


@attrs.frozen
class Page(Generic[F]):
    """One page of a list."""

    items: tuple[Item[F], ...]
    version: str  # of the whole list
    token: str  # for the next page, "" on the last one
    broken: tuple[Broken, ...] = ()


@attrs.frozen
class Added(Generic[F]):
    """A watch event: the object exists. Also what MODIFIED becomes: the store tells the two apart by itself."""

    item: Item[F]


@attrs.frozen
class Removed(Generic[F]):
    """A watch event: the object is gone. *item* is its last state."""

    item: Item[F]


@attrs.frozen
class Bookmark:
    """A watch event: everything up to *version* has been sent."""

    version: str
    initial_events_end: bool = False  # of a WatchList: everything that existed at the start has been sent


@attrs.frozen
class Skipped:
    """A watch event of which nothing can be used. *kind* is a word for the metric, *reason* a sentence for the log."""

    kind: str
    reason: str
    key: str = ""


Event = Added[F] | Removed[F] | Bookmark | Skipped


class Projection(Protocol[F]):
    """How the bytes of one resource become facts. Pure; any thread."""

    def page(self, body: Body) -> Page[F]:
        """The page in *body*; objects that cannot be decoded are in `broken`.

        Raises UndecodableAnswer when the body is not a list of this kind (a Table, cut JSON).
        """

    def read(self, pieces: Iterable[Body]) -> Page[F]:
        """As `page`, of a body that is still arriving: a list of all pods is hundreds of MB, of which few are ever held."""

    def event(self, line: bytes) -> Event[F]:
        """The event in one *line* of a watch. Raises the ApiError that an ERROR event stands for."""

    def item(self, body: Body) -> Item[F]:
        """The single object in *body*. Raises UndecodableObject, or UndecodableAnswer when it is no JSON."""

    def convert(self, obj: Json) -> Item[F]:
        """The object of a file or of an answer that was already parsed. Raises UndecodableObject."""


@attrs.frozen
class Resource(Generic[F]):
    """One collection to list and watch."""

    name: str  # plural, lower case: "nodes"; names the thread and the metric label
    path: str  # of the collection: "/api/v1/nodes"
    projection: Projection[F]
    params: Params = attrs.field(factory=dict)  # labelSelector, fieldSelector
    indexes: Mapping[str, Index[F]] = attrs.field(factory=dict)


class Cancellation(Protocol):
    """A way to end, from any thread, the request that another thread is blocked in."""

    def cancel(self) -> None:
        """End the request in flight, and refuse every later one. Never blocks; safe to repeat."""

    @property
    def cancelled(self) -> bool:
        """Whether `cancel` was called."""


class WatchLines(Protocol):
    """An open watch. One thread reads and closes it; another ends its read by the Cancellation that it was opened with."""

    def __iter__(self) -> Iterator[bytes]:
        """The stream's lines without their ends. Raises ApiError when it breaks; a clean end just ends."""

    def close(self) -> None:
        """Give the connection up; what is read afterwards has ended. Safe to repeat."""


class ListWatch(Protocol):
    """What a reflector needs of an API server (`rest.RestClient`, and servers made for tests)."""

    def cancellation(self) -> Cancellation:
        """A new cancellation for one thread's requests."""

    def list_page(self, path: str, params: Params, *, cancellation: Cancellation | None = None) -> Body:
        """The body of one page. Raises ApiError."""

    def listing(
        self, path: str, params: Params, *, cancellation: Cancellation | None = None
    ) -> AbstractContextManager[Iterable[Body]]:
        """The body of one page in the pieces in which it arrives. Raises ApiError, from each piece too."""

    def watch(
        self, path: str, params: Params, read_timeout_s: float, *, cancellation: Cancellation | None = None
    ) -> WatchLines:
        """A watch whose head has been answered with 200. Raises ApiError; silence for *read_timeout_s* is TimedOut."""
