"""The controllers that only the leader runs, made from the configuration and wired to the caches. Opens nothing.

Each is imported where it is made: what is off costs neither start nor memory.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import attrs

from controllers.config.document import Configuration
from controllers.process.facts import WatchedFacts
from controllers.runtime.controller import Controller
from controllers.runtime.errors import OnDeath
from controllers.runtime.events import Announcer
from controllers.runtime.reconcile import Leadership
from controllers.runtime.rest import RestClient
from webhook.clock import Clock
from webhook.sidecars.selection import Policy
from webhook.telemetry import Telemetry

if TYPE_CHECKING:
    from controllers.certificates.reconciler import Certificate
    from controllers.coverage.tally import Tally
    from controllers.database_instance.caches import DatabaseCaches
    from controllers.database_instance.deletions import Deletions
    from controllers.pod_ip.caches import AddressCaches


@attrs.frozen
class Surroundings:
    """What every led controller is given."""

    config: Configuration
    policy: Policy  # of sidecars
    facts: WatchedFacts
    api: RestClient  # of led writes
    address_api: RestClient  # of those of fixed addresses: a thousand that come free at once hold nobody else back
    announcer: Announcer  # speaks only while we lead
    tally: Tally | None  # of coverage; None = nobody asks for it
    telemetry: Telemetry
    clock: Clock
    on_death: OnDeath
    leadership: Leadership
    deletions: Deletions | None  # of databases; None = nobody follows them


def led_controllers(given: Surroundings) -> Iterator[Controller]:
    """Those that the configuration asks for."""
    config = given.config
    if config.controllers.edge_health.enabled:
        yield _edge_health(given)
    if config.features.injects():
        yield _sidecar_entries(given)
    if given.tally is not None:
        yield _coverage(given, given.tally)
    if given.facts.addresses is not None and config.controllers.pod_ip.enabled:
        yield _pod_ip(given, given.facts.addresses)
    certificate = given.facts.certificate.looked_after() if given.facts.certificate is not None else None
    if certificate is not None and config.controllers.certificates.enabled:
        yield _certificates(given, certificate)
    if given.facts.databases is not None and given.deletions is not None:
        yield _database_instance(given, given.facts.databases, given.deletions)


def _edge_health(given: Surroundings) -> Controller:
    from controllers.edge_health.controller import edge_health
    from controllers.edge_health.plan import Duties

    features = given.config.features
    return edge_health(
        given.api,
        given.facts.node_informer,
        given.facts.pod_informer,
        given.config.votes.policy(),
        given.announcer,
        given.telemetry,
        given.clock,
        given.on_death,
        leadership=given.leadership,
        duties=Duties(taints=features.node_taint.enabled, pods=features.pod_status.enabled),
    )


def _sidecar_entries(given: Surroundings) -> Controller:
    from controllers.sidecars.controller import sidecar_entries

    sidecars = given.facts.sidecars
    return sidecar_entries(
        sidecars.catalog,
        given.announcer,
        given.telemetry,
        given.clock,
        given.on_death,
        leadership=given.leadership,
        waits_for=[cache.synced_event for cache in sidecars.config_maps],
    )


def _coverage(given: Surroundings, tally: Tally) -> Controller:
    from controllers.coverage.controller import coverage
    from controllers.coverage.evictions import Limits as EvictionLimits

    sidecars, section = given.facts.sidecars, given.config.controllers.coverage
    return coverage(
        given.api,
        given.facts.pod_informer,
        sidecars.namespaces,
        sidecars.catalog,
        given.policy,
        given.announcer,
        given.telemetry,
        given.clock,
        given.on_death,
        leadership=given.leadership,
        tally=tally,
        waits_for=[cache.synced_event for cache in sidecars.config_maps],
        evictions=EvictionLimits() if section.evict else None,
        grace_s=section.grace_s,
    )


def _pod_ip(given: Surroundings, caches: AddressCaches) -> Controller:
    from controllers.pod_ip.controller import Sources, pod_ip
    from webhook.features.pod_ip import GiveAddresses

    return pod_ip(
        given.address_api,
        Sources(caches.pods, caches.reservations, caches.pools_informer, caches.stateful_sets),
        GiveAddresses(caches.policy, given.facts.cluster),
        caches.policy,
        caches.identity,
        given.announcer,
        given.telemetry,
        given.clock,
        given.on_death,
        leadership=given.leadership,
        network=caches.network,
        waits_for=(given.facts.sidecars.namespaces.synced_event,),
    )


def _certificates(given: Surroundings, certificate: Certificate) -> Controller:
    from controllers.certificates.controller import certificates

    return certificates(
        given.api,
        certificate,
        given.announcer,
        given.telemetry,
        given.clock,
        given.on_death,
        leadership=given.leadership,
    )


def _database_instance(given: Surroundings, caches: DatabaseCaches, deletions: Deletions) -> Controller:
    from controllers.database_instance.controller import database_instance

    return database_instance(
        given.api,
        caches,
        given.announcer,
        given.telemetry,
        given.clock,
        given.on_death,
        leadership=given.leadership,
        deletions=deletions,
        defaults=given.config.controllers.database_instance.defaults(),
    )
