"""What admission rules ask of the cluster, answered from the caches, and the one live read they may do.

Threads: any. Look-ups are O(1) and never IO. `NodeLister.confirm` blocks its caller for at most 300 ms.
Errors:  none; what cannot be known is None.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from urllib.parse import quote

import attrs

from controllers.runtime.errors import ApiError, NotFound, TimedOut, UndecodableObject
from controllers.runtime.informer import Informer
from controllers.runtime.projection import BY_NODE, nodes_resource
from controllers.runtime.resource import Getter
from webhook.clock import Clock, Deadline
from webhook.cluster import NodeFacts, PodFacts
from webhook.logs import get_log
from webhook.objects.votes import VotePolicy
from webhook.telemetry import Telemetry

log = get_log("lister")

CONFIRM_TIMEOUT_S = 0.3
CONFIRM_KEPT_S = 1.0
CONFIRM_KEPT_NODES = 1024


class PodLister:
    """Implements `webhook.cluster.Pods`."""

    def __init__(self, informer: Informer[PodFacts]) -> None:
        self._store = informer.store

    def get(self, key: str) -> PodFacts | None:
        return self._store.get(key)

    def on_node(self, node: str) -> Sequence[PodFacts]:
        return self._store.by_index(BY_NODE, node)


class NodeLister:
    """Implements `webhook.cluster.Nodes`."""

    def __init__(
        self, informer: Informer[NodeFacts], client: Getter, policy: VotePolicy, clock: Clock, telemetry: Telemetry
    ) -> None:
        self._store = informer.store
        self._live = LiveNodes(client, policy, clock, telemetry)

    def get(self, name: str) -> NodeFacts | None:
        return self._store.get(name)

    def confirm(self, name: str, deadline: Deadline) -> NodeFacts | None:
        return self._live.read(name, deadline)


@attrs.define(eq=False)
class _Flight:
    """One read in progress, or its answer."""

    landed: threading.Event = attrs.field(factory=threading.Event)
    facts: NodeFacts | None = None
    kept_until_s: float = float("inf")  # of an answer; a read in progress is kept until it lands


class LiveNodes:
    """Nodes read from the API server: one read per node at a time, its answer kept for a second.

    A failure that used the whole 300 ms, or came at once, is kept as well: while the API server is away, admission pays
    for one attempt per node and second instead of one per review.
    """

    def __init__(self, client: Getter, policy: VotePolicy, clock: Clock, telemetry: Telemetry) -> None:
        resource = nodes_resource(policy)
        self._path, self._projection = resource.path, resource.projection
        self._client = client
        self._clock = clock
        self._lock = threading.Lock()  # guards _flights; no IO under it
        self._flights: OrderedDict[str, _Flight] = OrderedDict()
        self._results = telemetry.counter(
            "gatehouse_node_confirmations",
            "Live reads that rules asked for: found, not-found, timeout, failed; kept = answered from the last second.",
            ("result",),
        )

    def read(self, name: str, deadline: Deadline) -> NodeFacts | None:
        """The node now; None when it does not exist or there was no answer in time."""
        allowed_s = min(CONFIRM_TIMEOUT_S, deadline.remaining_s())
        if not name or allowed_s <= 0:
            return None
        flight, mine = self._board(name)
        if mine:
            # A thread of its own: what the request may do before and after its timeout (a credential plugin, a name server, a
            # slow refusal) must not keep a review beyond its deadline.
            threading.Thread(target=self._fly, args=(name, flight, allowed_s), name=f"confirm/{name}", daemon=True).start()
        elif flight.landed.is_set():
            self._results.labels("kept").inc()
            return flight.facts
        if not self._clock.wait(flight.landed, allowed_s):
            self._results.labels("timeout").inc()
            return None
        return flight.facts

    def _board(self, name: str) -> tuple[_Flight, bool]:
        """The read of *name* in progress or still fresh, and whether the caller has to do it."""
        with self._lock:
            flight = self._flights.get(name)
            if flight is not None and self._clock.monotonic_s() < flight.kept_until_s:
                return flight, False
            flight = self._flights[name] = _Flight()
            self._flights.move_to_end(name)
            if len(self._flights) > CONFIRM_KEPT_NODES:
                self._flights.popitem(last=False)  # its readers hold it; at worst a second read begins
            return flight, True

    def _fly(self, name: str, flight: _Flight, allowed_s: float) -> None:
        result, keep = "failed", True
        try:
            body = self._client.get_bytes(f"{self._path}/{quote(name, safe='')}", timeout_s=allowed_s)
            flight.facts = self._projection.item(body).facts
            result = "found"
        except NotFound:
            result = "not-found"
        except TimedOut:
            result, keep = "timeout", allowed_s >= CONFIRM_TIMEOUT_S  # a hurried caller's failure is nobody else's
        except (ApiError, UndecodableObject) as error:
            log.warning("node not confirmed", node=name, error=error)
        finally:
            now_s = self._clock.monotonic_s()
            flight.kept_until_s = now_s + CONFIRM_KEPT_S if keep else now_s
            flight.landed.set()
            self._results.labels(result).inc()
