"""The watch caches of the DatabaseInstance controller, and of the rule that guards its objects: they exist when it is on.

Without the CRD the first list is answered with 404: the reflector says so in the log and asks again, at most every 30 s, and
the controller waits. Threads: a reflector each; started and stopped by `facts`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from controllers.database_instance.memory import Orphanings
from controllers.database_instance.resources import (
    BY_NAMESPACE,
    claims_resource,
    instances_resource,
    stateful_sets_resource,
    volumes_resource,
)
from controllers.runtime.errors import OnDeath
from controllers.runtime.informer import Informer
from controllers.runtime.resource import F, ListWatch, Resource
from webhook.clock import Clock
from webhook.objects.databases import ClaimFacts, ClaimMaker, InstanceFacts
from webhook.telemetry import Telemetry


class DatabaseCaches:
    """Four informers. Implements `webhook.cluster.Databases`."""

    def __init__(self, client: ListWatch, telemetry: Telemetry, clock: Clock, on_death: OnDeath) -> None:
        def informer(resource: Resource[F]) -> Informer[F]:
            return Informer(resource, client, telemetry, clock, on_death)

        self.instances = informer(instances_resource())
        self.orphanings = Orphanings()
        self.instances.add_handler(self.orphanings.see)  # from the start, whoever leads then
        self.claims = informer(claims_resource())
        self.stateful_sets = informer(stateful_sets_resource())
        # Only wakes: who sets a volume back to Delete is noticed at once, for the price of some hundred bytes a volume.
        self.volumes = informer(volumes_resource())

    def informers(self) -> Sequence[Informer[Any]]:
        """All of them."""
        return (self.instances, self.claims, self.stateful_sets, self.volumes)

    # -- for rules

    def synced(self) -> bool:
        """Whether the next three can be relied on."""
        return all(informer.has_synced() for informer in (self.instances, self.claims, self.stateful_sets))

    def instances_in(self, namespace: str) -> Sequence[InstanceFacts]:
        """The instances of *namespace*, in no order."""
        return self.instances.store.by_index(BY_NAMESPACE, namespace)

    def claims_in(self, namespace: str) -> Sequence[ClaimFacts]:
        """The claims of *namespace*, in no order."""
        return self.claims.store.by_index(BY_NAMESPACE, namespace)

    def makers_in(self, namespace: str) -> Sequence[ClaimMaker]:
        """The StatefulSets of *namespace*, in no order."""
        return self.stateful_sets.store.by_index(BY_NAMESPACE, namespace)
