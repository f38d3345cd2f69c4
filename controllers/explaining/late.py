"""The page /explain of a process, imported and made when it is first asked for: most processes never are. Any thread."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

import attrs

BODY_BYTES: Final = 1024 * 1024  # of a query: as an object of the API server may have (etcd --max-request-bytes is 1.5 MiB)

if TYPE_CHECKING:
    from controllers.explaining.page import ExplainPage
    from controllers.process.facts import ClusterFacts
    from controllers.process.leading import Leading
    from webhook.admission.gate import Gate
    from webhook.clock import Clock


@attrs.define(eq=False)
class LatePage:
    """One page for all who ask; whoever asks first has it made, and others wait for that."""

    gate: Gate
    facts: ClusterFacts
    clock: Clock
    leading: Callable[[], Leading | None]
    _page: ExplainPage | None = None
    _lock: threading.Lock = attrs.field(init=False, factory=threading.Lock)  # guards _page

    def respond(self, environ: dict[str, Any]) -> tuple[str, bytes]:
        """Status line and JSON of the answer to a request."""
        with self._lock:
            if self._page is None:
                self._page = self._made()
        return self._page.respond(environ)

    def _made(self) -> ExplainPage:
        from controllers.explaining.mounting import page_of
        from controllers.process.facts import WatchedFacts

        addresses = self.facts.addresses if isinstance(self.facts, WatchedFacts) else None
        return page_of(self.gate, self.facts.cluster, self.clock, self.facts.has_synced, addresses, self._deletions)

    def _deletions(self) -> dict[str, tuple[str, str]]:
        """What deletions of databases wait for: the leader's memory; nothing where nobody leads."""
        leading = self.leading()
        return dict(leading.deletions.told()) if leading is not None and leading.deletions is not None else {}
