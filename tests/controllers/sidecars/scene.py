"""A catalog that is fed by two caches, which a test moves by hand, and small ConfigMaps."""

from __future__ import annotations

from typing import Any

from controllers.runtime.informer import Informer
from controllers.runtime.projection_cluster import (
    ConfigMapFacts,
    labelled_config_maps_resource,
    named_config_maps_resource,
)
from controllers.runtime.resource import Added, Item, Removed
from controllers.runtime.rest import RestClient
from controllers.sidecars.catalog import SidecarCatalog
from tests.controllers.runtime.builders import informer
from webhook.names import SIDECARS_LABEL
from webhook.telemetry import Telemetry

SOUND = "containers: [{name: proxy, image: proxy:1}]"
NEWER = "containers: [{name: proxy, image: proxy:2}]"
FAULTY = "containers: [{name: proxy, image: 5}]"
WORSE = "containers: {}"


def config_map(
    name: str = "mesh", *, version: int = 1, uid: str = "u1", labelled: bool = True, space: str = "shop", **data: str
) -> ConfigMapFacts:
    """A ConfigMap with the entries *data*."""
    return ConfigMapFacts(space, name, uid, str(version), {SIDECARS_LABEL: "true"} if labelled else {}, data)


class Scene:
    """The catalog, and what the two caches are told."""

    def __init__(self, client: RestClient, telemetry: Telemetry | None = None) -> None:
        self.telemetry = telemetry or Telemetry()
        self.labelled: Informer[Any] = informer(client, resource=labelled_config_maps_resource())
        self.named: Informer[Any] = informer(client, resource=named_config_maps_resource())
        self.sidecars = SidecarCatalog(self.telemetry)
        self.sidecars.follow(self.labelled)
        self.sidecars.follow(self.named)

    def put(self, facts: ConfigMapFacts, cache: Informer[Any] | None = None) -> None:
        """A cache (the labelled one) hears of a version."""
        (cache or self.labelled).apply(Added(Item(facts.key, facts.uid, facts.version, facts)))

    def drop(self, facts: ConfigMapFacts, cache: Informer[Any] | None = None) -> None:
        """A cache hears that it is gone."""
        (cache or self.labelled).apply(Removed(Item(facts.key, facts.uid, facts.version, facts)))

    def image(self, entry: str = "proxy", space: str = "shop") -> str | None:
        """The image of the entry's first container; None when no entry is in force."""
        state = self.sidecars.catalog().find(entry, space, "home")
        return None if state is None or state.entry is None else str(state.entry.containers[0]["image"])

    def faults(self, entry: str = "proxy", space: str = "shop") -> int:
        """How many faults the newest version of the entry has."""
        state = self.sidecars.catalog().find(entry, space, "home")
        return len(state.faults) if state else 0

    def counts(self) -> dict[str, int]:
        """The gauge."""
        rows = [row for row in self.telemetry.expose().decode().splitlines() if row.startswith("gatehouse_sidecar_entries{")]
        return {row.split('"')[1]: int(float(row.split()[-1])) for row in rows}
