"""The page /explain, made when somebody first asks for it; most processes never load what it imports. Any thread."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, Final, Protocol

import attrs

BODY_BYTES: Final = 1024 * 1024  # of a query: as an object of the API server may have (etcd --max-request-bytes is 1.5 MiB)


class Page(Protocol):
    """What answers: `page.ExplainPage`."""

    def respond(self, environ: dict[str, Any]) -> tuple[str, bytes]:
        """Status line and JSON of the answer to a request."""


@attrs.define(eq=False)
class LatePage:
    """One page for all who ask; whoever asks first has it made, and others wait for that: two would explain two at a time."""

    make: Callable[[], Page]
    _page: Page | None = attrs.field(init=False, default=None)
    _lock: threading.Lock = attrs.field(init=False, factory=threading.Lock)  # guards _page; held while it is made

    def respond(self, environ: dict[str, Any]) -> tuple[str, bytes]:
        """Status line and JSON of the answer to a request."""
        with self._lock:
            if self._page is None:
                self._page = self.make()
        return self._page.respond(environ)
