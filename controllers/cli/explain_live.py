"""A live cluster for `gatehouse explain`: the object and the facts that its rules read, asked of the API server once.

With the rights of whoever runs the command, and never a write. What may not be read is left out and said; the configuration is
that of the installation (ConfigMap kube-system/gatehouse) unless --config names another. A fact is as old as the command.
Errors: Failed (no answer, no permission for the object itself), UsageError. One thread.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final
from urllib.parse import quote

import attrs
import msgspec

from controllers.cli.explain_targets import SERVICE_LABEL, Wanted, in_file
from controllers.cli.ip_reading import NOT_INSTALLED, PAGE, Reading
from controllers.cli.usage import OWN_RIGHTS, Failed, UsageError
from controllers.config.document import DEFAULT_HOME, Configuration, ConfigurationError, parse
from controllers.config.environment import overrides_in
from controllers.explaining.explainer import Explainer, Explanation, Query
from controllers.local.addresses import LocalAddresses
from controllers.local.files import File, Placed, facts_of
from controllers.local.snapshot import Snapshot, cluster_of, combine
from controllers.pod_ip.paths import POOLS_PATH, RESERVATIONS_PATH
from controllers.runtime.errors import ApiError, Forbidden, NotFound, UndecodableObject
from controllers.runtime.rest import RestClient
from webhook.admission.defaults import tunes
from webhook.admission.gate import Gate
from webhook.admission.review import User
from webhook.admission.settings import Settings
from webhook.clock import Clock
from webhook.errors import MalformedObject
from webhook.names import ALLOCATED_IP, ARTICLE_CONFIG_MAP, CONFIG_MAP, CONFIG_MAP_KEY, SIDECARS_LABEL
from webhook.objects import databases, meta
from webhook.objects.meta import Json
from webhook.objects.workloads import WORKLOADS
from webhook.sidecars.entries.catalog import Catalog
from webhook.telemetry import Telemetry

_ADDRESSES: Final = "gatehouse.dev/v1alpha1"


@attrs.frozen
class Listing:
    """A collection that rules read."""

    path: str
    version: str
    kind: str
    params: Mapping[str, str] = attrs.field(factory=dict)


@attrs.frozen
class _Still:
    """A snapshot that stays as it is."""

    snapshot: Snapshot


class LiveSource:
    """Objects and facts from an API server."""

    def __init__(self, client: RestClient, config: Configuration | None, clock: Clock, wanted: Wanted) -> None:
        """config: None = the installation's own."""
        self._client = client
        self._clock = clock
        self._wanted = wanted
        self._notes: list[str] = []
        found = config if config is not None else self._installed()
        self.settings = attrs.evolve(found.settings(), client_subjects=None, verify_patches=True, watch_rules=True)
        self._read: dict[str, list[Placed]] = {}  # by path and parameters: several objects share their collections

    def notes(self) -> Sequence[str]:
        return self._notes

    def queries(self, target: str, user: User) -> Sequence[Query]:
        wanted = self._wanted
        if wanted.kind == "address":
            return [Query("address", target)]
        if not wanted.is_name(target):
            return in_file(target, wanted, user)
        namespace, name = wanted.key(target)
        found = [wanted.query(obj, "", user) for obj in self._objects(namespace, name)]
        if not found:
            raise UsageError(f"{target}: {wanted.description} of that name in the cluster ({self._client.host})")
        return found

    def explain(self, query: Query) -> Explanation:
        if query.kind == "address":
            try:
                reading = Reading(self._client)
                gate = self._gate(_Still(Snapshot()))
                return Explainer(gate, cluster_of(_Still(Snapshot())), self._clock, seen=reading.address).explain(query)
            except NotFound as error:
                raise Failed(NOT_INSTALLED) from error
            except (ApiError, UndecodableObject) as error:
                raise _no_answer(error, self._client.host) from error
        still = _Still(self._snapshot(query))
        return Explainer(self._gate(still), self._cluster(still), self._clock).explain(query)

    # -- inside

    def _gate(self, still: _Still) -> Gate:
        return Gate(self.settings, self._cluster(still), Telemetry(), self._clock)

    def _cluster(self, still: _Still) -> Any:
        return attrs.evolve(cluster_of(still), addresses=LocalAddresses(still))

    def _installed(self) -> Configuration:
        path = f"/api/v1/namespaces/{DEFAULT_HOME}/configmaps/{CONFIG_MAP}"
        overrides = overrides_in(os.environ)
        try:
            data = meta.texts(self._client.get(path), "data", "")
            return parse(data[CONFIG_MAP_KEY], f"{DEFAULT_HOME}/{CONFIG_MAP}", overrides)
        except (NotFound, Forbidden, KeyError) as error:
            why = "may not be read" if isinstance(error, Forbidden) else "is not there"
            defaults = "every default of the configuration counts (--config FILE gives another)"
            self._notes.append(f"ConfigMap {DEFAULT_HOME}/{CONFIG_MAP} {why}: {defaults}")
            return parse(b"", "", overrides)
        except ConfigurationError as error:
            raise UsageError(str(error)) from error
        except (ApiError, MalformedObject) as error:
            raise _no_answer(error, self._client.host) from error

    def _objects(self, namespace: str, name: str) -> Iterator[Json]:
        """What is called so."""
        for path, version, kind in _places(self._wanted, namespace, name):
            try:
                obj = self._client.get(path)
            except NotFound:
                continue
            except ApiError as error:
                raise _no_answer(error, self._client.host) from error
            if obj.get("kind") == kind:
                yield {**obj, "apiVersion": version}
        if self._wanted.kind == "endpoint":
            slices = f"/apis/discovery.k8s.io/v1/namespaces/{quote(namespace, safe='')}/endpointslices"
            listing = Listing(slices, "discovery.k8s.io/v1", "EndpointSlice", {"labelSelector": f"{SERVICE_LABEL}={name}"})
            # A slice may be called like its Service: that one has been found by its name already.
            yield from (one for one in self._items(listing) if _name(one) != name)

    def _snapshot(self, query: Query) -> Snapshot:
        placed: list[Placed] = []
        for listing in _listings(query, self.settings):
            key = f"{listing.path}?{sorted(listing.params.items())}"
            if key not in self._read:
                self._read[key] = [
                    Placed(listing.path, facts)
                    for obj in self._items(listing)
                    for facts in _facts(obj, self.settings, self._notes)
                ]
            placed += self._read[key]
        unique = {(type(one.facts), getattr(one.facts, "uid", "") or id(one)): one for one in placed}
        return combine([File((0, 0, 0), tuple(unique.values()))], Catalog())

    def _items(self, listing: Listing) -> Iterator[Json]:
        """Every object of *listing*; none of a kind that is not installed, or that may not be read, which is said."""
        token = ""
        while True:
            paging = {"limit": str(PAGE), **({"continue": token} if token else {})}
            try:
                page = msgspec.json.decode(
                    self._client.list_page(listing.path, {**listing.params, **paging}), type=dict[str, Any]
                )
            except NotFound:
                return
            except Forbidden as error:
                self._notes.append(f"decided without the {listing.kind}s: {error}")
                return
            except (ApiError, msgspec.DecodeError, RecursionError) as error:
                raise _no_answer(error, self._client.host) from error
            for item in page.get("items") or ():
                yield {**item, "apiVersion": listing.version, "kind": listing.kind}
            token = (page.get("metadata") or {}).get("continue") or ""
            if not token:
                return


def _name(obj: Json) -> str:
    return meta.text(meta.metadata(obj), "name", "metadata")


def _facts(obj: Json, settings: Settings, notes: list[str]) -> list[Any]:
    try:
        return list(facts_of(obj, settings.votes))
    except UndecodableObject as error:
        notes.append(f"decided without {error}")
        return []


def _no_answer(error: Exception, host: str) -> Failed:
    return Failed(f"{host}: {error}{f'; {OWN_RIGHTS}' if isinstance(error, Forbidden) else ''}")


def _places(wanted: Wanted, namespace: str, name: str) -> Iterator[tuple[str, str, str]]:
    """Path, version and kind of what may be called so."""
    inside, safe = f"namespaces/{quote(namespace, safe='')}", quote(name, safe="")
    match wanted.kind:
        case "node":
            yield f"/api/v1/nodes/{safe}", "v1", "Node"
        case "pod":
            yield f"/api/v1/{inside}/pods/{safe}", "v1", "Pod"
        case "workload":
            for one in WORKLOADS:
                if one.kind != "Pod" and wanted.word in ("workload", one.kind.lower()):
                    version = one.versions[0]
                    yield f"{_group(version)}/{inside}/{one.resource}/{safe}", version, one.kind
        case "endpoint":
            yield f"/api/v1/{inside}/endpoints/{safe}", "v1", "Endpoints"
            yield f"/apis/discovery.k8s.io/v1/{inside}/endpointslices/{safe}", "discovery.k8s.io/v1", "EndpointSlice"
        case "databaseinstance":
            version = databases.API_VERSION
            yield f"{_group(version)}/{inside}/{databases.PLURAL}/{safe}", version, databases.KIND
        case _:
            raise UsageError(
                f"{name}: objects of any kind come in files: kubectl get KIND {name} -o yaml | gatehouse explain object -"
            )


def _group(version: str) -> str:
    return f"/apis/{version}" if "/" in version else f"/api/{version}"


def _listings(query: Query, settings: Settings) -> Iterator[Listing]:
    """What the rules read that look at objects of this kind."""
    core = f"/api/v1/namespaces/{quote(query.namespace, safe='')}"
    if query.namespace:
        yield Listing("/api/v1/namespaces", "v1", "Namespace", {"fieldSelector": f"metadata.name={query.namespace}"})
    match query.kind:
        case "node":
            yield Listing("/api/v1/nodes", "v1", "Node", {"fieldSelector": f"metadata.name={query.name}"})
            yield Listing("/api/v1/pods", "v1", "Pod", {"fieldSelector": f"spec.nodeName={query.name}"})
        case "endpoint":
            yield Listing("/api/v1/nodes", "v1", "Node")
            yield Listing(f"{core}/pods", "v1", "Pod")
        case "databaseinstance":
            group = f"{_group(databases.API_VERSION)}/namespaces/{quote(query.namespace, safe='')}"
            yield Listing(f"{group}/{databases.PLURAL}", databases.API_VERSION, databases.KIND)
            yield Listing(f"{core}/persistentvolumeclaims", "v1", "PersistentVolumeClaim")
            apps = f"/apis/apps/v1/namespaces/{quote(query.namespace, safe='')}"
            yield Listing(f"{apps}/statefulsets", "apps/v1", "StatefulSet")
        case _:
            yield from _of_pods(query, core, settings)


def _of_pods(query: Query, core: str, settings: Settings) -> Iterator[Listing]:
    yield Listing("/api/v1/nodes", "v1", "Node")
    if tunes(settings) or not query.namespace:
        yield Listing("/api/v1/pods", "v1", "Pod")
    else:
        yield Listing(f"{core}/pods", "v1", "Pod")
    if query.namespace:
        for path in dict.fromkeys((core, f"/api/v1/namespaces/{quote(settings.sidecars.home, safe='')}")):
            yield Listing(f"{path}/configmaps", "v1", "ConfigMap", {"labelSelector": f"{SIDECARS_LABEL}=true"})
            yield Listing(f"{path}/configmaps", "v1", "ConfigMap", {"fieldSelector": f"metadata.name={ARTICLE_CONFIG_MAP}"})
        yield Listing(f"{core}/limitranges", "v1", "LimitRange")
        yield Listing(f"{core}/resourcequotas", "v1", "ResourceQuota")
    if settings.addresses is not None:
        yield Listing(POOLS_PATH, _ADDRESSES, "AddressPool")
        yield Listing(RESERVATIONS_PATH, _ADDRESSES, "AddressReservation")
        yield Listing("/api/v1/pods", "v1", "Pod", {"labelSelector": ALLOCATED_IP})
