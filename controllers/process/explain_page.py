"""The page /explain of this process: its gate, its caches, and what the leader remembers. Any thread."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from controllers.explaining.late import LatePage
from controllers.process.facts import ClusterFacts, WatchedFacts
from controllers.process.leading import Leading
from webhook.admission.gate import Gate
from webhook.clock import Clock

if TYPE_CHECKING:
    from controllers.explaining.page import ExplainPage


def explain_page(gate: Gate, facts: ClusterFacts, clock: Clock, leading: Callable[[], Leading | None]) -> LatePage:
    """The page, which is made once somebody asks. leading: what this process leads; None where nobody can."""

    def make() -> ExplainPage:
        from controllers.explaining.mounting import page_of

        addresses = facts.addresses if isinstance(facts, WatchedFacts) else None
        return page_of(gate, facts.cluster, clock, facts.has_synced, addresses, lambda: _waits(leading()))

    return LatePage(make)


def _waits(leading: Leading | None) -> dict[str, tuple[str, str]]:
    """What deletions of databases wait for: the leader's memory; nothing where nobody leads."""
    return dict(leading.deletions.told()) if leading is not None and leading.deletions is not None else {}
