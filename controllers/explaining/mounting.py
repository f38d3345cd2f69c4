"""The page /explain over what a process has, its gate and its caches. `late` makes it when somebody first asks. Any thread."""

from __future__ import annotations

import math
from collections.abc import Callable

import attrs

from controllers.explaining.explainer import Explainer
from controllers.explaining.objects import Memory
from controllers.explaining.page import ExplainPage
from controllers.pod_ip.caches import AddressCaches
from controllers.pod_ip.known import Known
from controllers.pod_ip.seen import Seen
from webhook.addresses.address import Address
from webhook.admission.gate import Gate
from webhook.clock import Clock
from webhook.cluster import Cluster


def page_of(
    gate: Gate,
    cluster: Cluster,
    clock: Clock,
    synced: Callable[[str], bool],
    addresses: AddressCaches | None,
    memory: Callable[[], Memory],
) -> ExplainPage:
    """The page over what a process knows. addresses: None where nobody follows them."""
    seen = None if addresses is None else _Watched(addresses, clock).seen
    return ExplainPage(Explainer(gate, cluster, clock, synced, seen, memory))


@attrs.frozen
class _Watched:
    """Addresses as the caches have them."""

    caches: AddressCaches
    clock: Clock

    def seen(self, address: Address) -> Seen:
        """Everything that this replica knows of *address*."""
        caches = self.caches
        known = Known(
            caches.pods.store,
            caches.reservations.store,
            caches.pools_informer.store,
            caches.stateful_sets.store,
            self.clock,
        )
        # How long it has been watched is the leader's to know: what is told is what comes when that is long enough.
        situation = attrs.evolve(known.situation(address), known_s=math.inf, claim_known_s=math.inf)
        pools = sorted((pool for pool in caches.pools() if address in pool.addresses), key=lambda pool: pool.name)
        return Seen(situation, tuple(pools))
