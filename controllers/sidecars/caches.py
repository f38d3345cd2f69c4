"""The watch caches that injection needs: namespaces, ConfigMaps that hold sidecars, LimitRanges and ResourceQuotas.

Two caches of ConfigMaps, one by label and one by name: the other ConfigMaps of the cluster are never listed. All objects here
are few and small beside nodes and pods. Threads: a reflector each; started and stopped by `facts`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from controllers.runtime.errors import OnDeath
from controllers.runtime.informer import Informer
from controllers.runtime.projection_cluster import (
    labelled_config_maps_resource,
    limit_ranges_resource,
    named_config_maps_resource,
    namespaces_resource,
    resource_quotas_resource,
)
from controllers.runtime.resource import F, ListWatch, Resource
from controllers.sidecars.catalog import SidecarCatalog
from webhook.admission.service import LIMIT_RANGES_CACHE, NAMESPACES_CACHE, QUOTAS_CACHE, SIDECARS_CACHE
from webhook.clock import Clock
from webhook.telemetry import Telemetry


class SidecarCaches:
    """Five informers, and the catalog that two of them fill."""

    def __init__(self, client: ListWatch, telemetry: Telemetry, clock: Clock, on_death: OnDeath) -> None:
        def informer(resource: Resource[F]) -> Informer[F]:
            return Informer(resource, client, telemetry, clock, on_death)

        self.namespaces = informer(namespaces_resource())
        self.limit_ranges = informer(limit_ranges_resource())
        self.quotas = informer(resource_quotas_resource())
        self.config_maps = (informer(labelled_config_maps_resource()), informer(named_config_maps_resource()))
        self.catalog = SidecarCatalog(telemetry)
        for cache in self.config_maps:
            self.catalog.follow(cache)

    def by_cache(self) -> Mapping[str, tuple[Informer[Any], ...]]:
        """The informers that make up each cache of `webhook.admission.service`."""
        return {
            NAMESPACES_CACHE: (self.namespaces,),
            SIDECARS_CACHE: self.config_maps,
            LIMIT_RANGES_CACHE: (self.limit_ranges,),
            QUOTAS_CACHE: (self.quotas,),
        }
