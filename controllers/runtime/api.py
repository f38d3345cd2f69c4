"""What is needed of an API server, a verb at a time (`rest.RestClient` does all of it): a caller names those that it uses.

    class Api(Reads, PatchesMerge, Protocol):
        "What this controller asks of the API server."

Threads: any. Errors: every method blocks, at most for *timeout_s*, and raises ApiError; TimedOut when that is over.
What a list or a watch needs is `resource.ListWatch`.
"""

from __future__ import annotations

from typing import Protocol

from controllers.runtime.errors import NotFound
from controllers.runtime.resource import Json, Params


class Reads(Protocol):
    """GET."""

    def get(self, path: str, params: Params | None = None, *, timeout_s: float | None = None) -> Json:
        """The object or list at *path*."""


def read_or_none(api: Reads, path: str, timeout_s: float | None = None) -> Json | None:
    """The object at *path*; None when it is not there."""
    try:
        return api.get(path, timeout_s=timeout_s)
    except NotFound:
        return None


class ReadsBytes(Protocol):
    """GET, for those who decode it themselves."""

    def get_bytes(
        self, path: str, params: Params | None = None, *, timeout_s: float | None = None, accept: str = "application/json"
    ) -> bytes:
        """The body of a GET, in the form that *accept* names."""


class Creates(Protocol):
    """POST."""

    def create(self, path: str, body: Json, *, timeout_s: float | None = None) -> Json:
        """The object as created in the collection at *path*. Raises AlreadyExists."""


class Updates(Protocol):
    """PUT."""

    def update(self, path: str, body: Json, *, timeout_s: float | None = None) -> Json:
        """The object at *path* as replaced by *body*, whose resourceVersion guards it. Raises Conflict."""


class PatchesJson(Protocol):
    """PATCH, as RFC 6902."""

    def patch_json(self, path: str, operations: list[Json], *, timeout_s: float | None = None) -> Json:
        """The object at *path* after the RFC 6902 *operations*. A failed `test` raises Invalid."""


class PatchesMerge(Protocol):
    """PATCH, as RFC 7386."""

    def patch_merge(self, path: str, patch: Json, *, timeout_s: float | None = None) -> Json:
        """The object at *path* after the RFC 7386 *patch*; with metadata.resourceVersion in it, guarded by Conflict."""


class PatchesStrategic(Protocol):
    """PATCH, as Kubernetes merges lists."""

    def patch_strategic(self, path: str, patch: Json, *, timeout_s: float | None = None) -> Json:
        """The object at *path* after the strategic merge *patch*; its metadata.uid and resourceVersion guard it (Conflict)."""


class Deletes(Protocol):
    """DELETE."""

    def delete(
        self, path: str, *, uid: str = "", version: str = "", propagation: str = "", timeout_s: float | None = None
    ) -> Json:
        """The Status or the object that is now being deleted. *uid* and *version* are preconditions (Conflict)."""
