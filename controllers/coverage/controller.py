"""The led controller `coverage`: caches -> owners of pods -> `reconciler.Coverage`.

An owner comes up when one of its pods appears, goes, or changes in a way that counts; when its namespace's labels or
annotations change; when an entry that its namespace can see does. Heartbeats and restarts of containers make no keys.
Threads: `Controller`'s workers; the key functions run on the reflectors' threads and only look into memory.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from typing import Protocol

from controllers.coverage.evictions import Limits
from controllers.coverage.evictor import Evictor
from controllers.coverage.news import News
from controllers.coverage.owners import Kinship, owner_key
from controllers.coverage.plan import GRACE_S
from controllers.coverage.reconciler import Coverage, Known
from controllers.coverage.reports import Reports
from controllers.coverage.tally import Tally
from controllers.runtime.api import Creates, Reads
from controllers.runtime.controller import AddKey, Controller, Detach, informer_source, memory_source
from controllers.runtime.controller import Policy as Pace
from controllers.runtime.errors import OnDeath
from controllers.runtime.events import Announcer
from controllers.runtime.informer import Informer
from controllers.runtime.reconcile import Key, Leadership
from controllers.runtime.store import Addition, Change, Deletion, Update
from controllers.runtime.workqueue import LIVE
from webhook.clock import Clock
from webhook.cluster import NamespaceFacts, PodFacts, Status
from webhook.names import INJECT_ENTRIES
from webhook.objects.pods import FINISHED
from webhook.sidecars.entries.catalog import Catalog
from webhook.sidecars.selection import Policy
from webhook.telemetry import Telemetry

NAME = "coverage"
PACE = Pace(workers=2, timeout_s=30.0)


class Api(Reads, Creates, Protocol):
    """What is needed of `rest.RestClient`."""


class CatalogSource(Protocol):
    """The entries in force, and who wants to hear that they have changed."""

    def catalog(self) -> Catalog:
        """As `webhook.cluster.Sidecars.catalog`."""

    def subscribe(self, listener: Callable[[], None]) -> Callable[[], None]:
        """Call *listener* after each change of the catalog, on any thread; the answer ends that."""


def coverage(
    api: Api,
    pods: Informer[PodFacts],
    namespaces: Informer[NamespaceFacts],
    entries: CatalogSource,
    policy: Policy,
    announcer: Announcer,
    telemetry: Telemetry,
    clock: Clock,
    on_death: OnDeath,
    *,
    leadership: Leadership,
    tally: Tally,
    waits_for: Sequence[threading.Event] = (),
    evictions: Limits | None = None,
    grace_s: float = GRACE_S,
) -> Controller:
    """The controller, not started. To be started while *leadership* is ours, and stopped before it is given up.

    api:       a client of its own, so that a burst of led work never holds back the live reads of admission.
    tally:     the counts; its `status` is a section of the status page.
    waits_for: what else has to have synced: the caches behind *entries*; without them every entry would be missing at first.
    evictions: None = bare pods are told of and left alone.
    """
    kinship, news, evictor = Kinship(), News(announcer), None
    reports = Reports(api, news, telemetry, clock)
    if evictions is not None:
        evictor = Evictor(api, evictions, pods.store, reports.owner, news, telemetry, clock)
    known = Known(pods.store, namespaces.store, entries.catalog, kinship)
    reconcile = Coverage(known, policy, grace_s, tally, reports, evictor, clock)
    return Controller(
        NAME,
        reconcile,
        [
            informer_source(namespaces, namespace_keys(kinship)),
            catalog_source(entries, policy.home, kinship),
            informer_source(pods, pod_keys(kinship)),
            memory_source(reconcile.forget, tally.begin),  # the last: it ends when nothing fills it any more
        ],
        telemetry,
        clock,
        on_death,
        leadership=leadership,
        waits_for=(pods.synced_event, namespaces.synced_event, *waits_for),
        policy=PACE,
    )


def pod_keys(kinship: Kinship) -> Callable[[Change[PodFacts]], Iterable[Key]]:
    """The pod's owner, if the change counts; of a pod that has changed hands, both owners. Keeps *kinship* up to date."""

    def keys(change: Change[PodFacts]) -> Iterable[Key]:
        match change:
            case Addition(item):
                kinship.add(item.key, item.facts)
                return (owner_key(item.facts),)
            case Deletion(item):
                kinship.remove(item.key, item.facts)
                return (owner_key(item.facts),)
            case Update(old, item):
                if _gist(old.facts) == _gist(item.facts):
                    return ()
                kinship.remove(old.key, old.facts)
                kinship.add(item.key, item.facts)
                return {owner_key(old.facts), owner_key(item.facts)}

    return keys


def namespace_keys(kinship: Kinship) -> Callable[[Change[NamespaceFacts]], Iterable[Key]]:
    """Every owner in the namespace. Those of a first list come by their pods anyway."""

    def keys(change: Change[NamespaceFacts]) -> Iterable[Key]:
        if isinstance(change, Addition) and change.initial:
            return ()
        if isinstance(change, Update) and _says(change.old.facts) == _says(change.item.facts):
            return ()
        return kinship.owners((change.item.facts.name,))

    return keys


def catalog_source(entries: CatalogSource, home: str, kinship: Kinship) -> Callable[[AddKey], Detach]:
    """The owners that can see what has changed: those of a ConfigMap's namespace, everybody for one of *home*."""

    def attach(add: AddKey) -> Detach:
        lock = threading.Lock()  # guards seen
        seen = entries.catalog()

        def look() -> None:
            nonlocal seen
            with lock:
                before, seen = seen, entries.catalog()
                touched = _touched(before, seen)
            for key in kinship.owners(None if home in touched else touched):
                add(key, LIVE)

        return entries.subscribe(look)

    return attach


def _touched(before: Catalog, after: Catalog) -> set[str]:
    """The namespaces whose ConfigMaps' entries differ."""
    old, new = before.sources, after.sources
    return {source.partition("/")[0] for source in old.keys() | new.keys() if old.get(source) != new.get(source)}


def _gist(pod: PodFacts) -> object:
    """What of *pod* can change a pass."""
    fate = (pod.deleting, pod.phase in FINISHED, pod.ready is Status.TRUE)
    return (pod.uid, pod.owner, pod.owner_uid, pod.wish, pod.obstacle, pod.injected, pod.revisions, pod.left_out, fate)


def _says(namespace: NamespaceFacts) -> object:
    """What of *namespace* can change a pass; others keep their books in its annotations."""
    return (namespace.uid, namespace.labels, namespace.annotations.get(INJECT_ENTRIES), namespace.deleting)
