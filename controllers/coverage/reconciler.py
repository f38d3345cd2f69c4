"""One pass over the pods of one owner: count them, tell the owner what is bare, and evict one where that was opted into.

Everything but the Event and the eviction is memory: a pass that finds nothing new asks the API server nothing.
Threads: any worker; an owner is in one worker's hands at a time.
Errors:  ApiError, LeaseLost: the owner comes again after a backoff.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Protocol

import attrs

from controllers.coverage.evictor import Evictor, KnownPods
from controllers.coverage.owners import Kinship
from controllers.coverage.plan import survey
from controllers.coverage.reports import Reports
from controllers.coverage.tally import Tally
from controllers.runtime.reconcile import Context, Done, Key, Outcome, RequeueAfter
from webhook.clock import Clock
from webhook.cluster import NamespaceFacts
from webhook.sidecars.entries.catalog import Catalog
from webhook.sidecars.selection import Policy

LEAST_S: Final = 0.1  # of a wait: times of pods are in whole seconds
MOST_S: Final = 3600.0  # the wall clock may be set, and a suspended machine's timers stand still


class KnownNamespaces(Protocol):
    """The namespaces as the cache has them."""

    def get(self, key: str, /) -> NamespaceFacts | None: ...


@attrs.frozen
class Known:
    """What is in memory of the cluster."""

    pods: KnownPods
    namespaces: KnownNamespaces
    catalog: Callable[[], Catalog]
    kinship: Kinship


class Coverage:
    """A pass over the pods of one owner. A key is that of an owner, see `owners`."""

    def __init__(
        self,
        known: Known,
        policy: Policy,
        grace_s: float,
        tally: Tally,
        reports: Reports,
        evictor: Evictor | None,
        clock: Clock,
    ) -> None:
        """evictor: None = nothing is ever evicted."""
        self._known = known
        self._policy = policy
        self._grace_s = grace_s
        self._tally = tally
        self._reports = reports
        self._evictor = evictor
        self._clock = clock

    def __call__(self, key: Key, context: Context, /) -> Outcome:
        """See `reconcile.Reconcile`."""
        context.request_timeout_s()  # without leave nothing is counted or told either
        known = self._known
        pods = [pod for name in known.kinship.pods_of(key) if (pod := known.pods.get(name)) is not None]
        namespace = known.namespaces.get(key.partition("/")[0])
        found = survey(pods, namespace, known.catalog(), self._policy, self._clock.wall_s(), self._grace_s)
        self._tally.put(key, found)
        waits_s = [found.young_s]
        if found.bare:
            waits_s.append(self._reports.make(key, found, context))
            if self._evictor is not None:
                waits_s.append(self._evictor.make(key, pods, found, context))
        elif self._evictor is not None:
            self._evictor.rest(key, pods, found)
        soonest_s = min((wait_s for wait_s in waits_s if wait_s is not None), default=None)
        return Done() if soonest_s is None else RequeueAfter(min(max(soonest_s, LEAST_S), MOST_S))

    def forget(self) -> None:
        """Forget the counts: this replica does not lead any more. What was told stays told."""
        self._known.kinship.clear()
        self._tally.end()
