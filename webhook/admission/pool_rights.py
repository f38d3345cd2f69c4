"""What a namespace may have: the addresses of an AddressPool belong to the namespaces that it selects, whoever names them.

Any thread. IO only where the cache would refuse: then the namespace is read live, once (`Namespaces.confirm`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import attrs

from webhook.addresses.facts import PoolFacts
from webhook.addresses.ranges import AddressSet
from webhook.clock import Deadline
from webhook.cluster import Cluster, NamespaceFacts
from webhook.errors import Unavailable


@attrs.frozen
class Barred:
    """Addresses that a namespace may not use."""

    pool: PoolFacts  # that keeps them for others
    addresses: AddressSet

    def told(self, namespace: str) -> str:
        """What is said of them."""
        are = "is" if self.addresses.size() == 1 else "are"
        return f'{self.addresses.brief} {are} of AddressPool "{self.pool.name}", which namespace "{namespace}" may not use'


def barred(addresses: AddressSet, namespace: str, cluster: Cluster, deadline: Deadline) -> tuple[Barred, ...]:
    """What of *addresses* pods of *namespace* may not have, by pool. Raises Unavailable when nobody knows the namespace."""
    kept = (pool for pool in cluster.addresses.pools() if pool.namespaces is not None)  # the others are for everybody
    held = [Barred(pool, found) for pool in kept if (found := pool.addresses.common(addresses))]
    if not held:
        return ()
    refused = _refused(held, namespace_facts(namespace, cluster, deadline).labels)
    if refused:
        # Its label may be newer than the cache.
        live = cluster.namespaces.confirm(namespace, deadline)
        refused = _refused(held, live.labels) if live is not None else refused
    return refused


def namespace_facts(namespace: str, cluster: Cluster, deadline: Deadline) -> NamespaceFacts:
    """The namespace as the cache has it, else live. Raises Unavailable when nobody knows it."""
    known = cluster.namespaces.get(namespace) or cluster.namespaces.confirm(namespace, deadline)
    if known is None:
        raise Unavailable(f'nobody knows the namespace "{namespace}" yet')
    return known


def _refused(held: Sequence[Barred], labels: Mapping[str, str]) -> tuple[Barred, ...]:
    refused = (one for one in held if one.pool.namespaces is not None and not one.pool.namespaces.matches(labels))
    return tuple(sorted(refused, key=lambda one: one.pool.name))
