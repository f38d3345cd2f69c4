"""The led controller `database-instance`: caches -> keys -> `reconciler.DatabaseInstances`.

A key is that of an instance. It comes up when its spec or its deletion changes, and when a claim or a StatefulSet of its own
appears, goes, or changes in a way that counts. What else a deletion waits for is asked for meanwhile.
Threads: `Controller`'s workers; the key functions run on the reflectors' threads and only look into memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from controllers.database_instance.belonging import made_for
from controllers.database_instance.caches import DatabaseCaches
from controllers.database_instance.deletions import Deletions
from controllers.database_instance.doing import Api
from controllers.database_instance.news import News
from controllers.database_instance.objects import BY_NAMESPACE
from controllers.database_instance.plan import Defaults
from controllers.database_instance.reconciler import DatabaseInstances
from controllers.database_instance.values import Workload
from controllers.runtime.controller import AddKey, Controller, Detach, OnDeath, Policy, Source, informer_source
from controllers.runtime.events import Announcer
from controllers.runtime.limiters import ExponentialPerKey, Limiter, LongestOf, Overall
from controllers.runtime.reconcile import Key, Leadership
from controllers.runtime.store import Change, Update
from webhook.clock import Clock
from webhook.objects.databases import KIND, ClaimFacts, InstanceFacts, Owner, says_is_its_own
from webhook.telemetry import Telemetry

NAME = "database-instance"
# Many may go at once, and each one's requests wait for the API server most of their time.
POLICY = Policy(workers=4, timeout_s=60.0)
LONGEST_BACKOFF_S = 30.0


def database_instance(
    api: Api,
    caches: DatabaseCaches,
    announcer: Announcer,
    telemetry: Telemetry,
    clock: Clock,
    on_death: OnDeath,
    *,
    leadership: Leadership,
    deletions: Deletions,
    defaults: Defaults = Defaults(),
) -> Controller:
    """The controller, not started. To be started while *leadership* is ours, and stopped before it is given up.

    api: a client of its own, so that a burst of led work never holds back the live reads of admission.
    """
    reconcile = DatabaseInstances(api, caches.instances_in, defaults, deletions, News(announcer), clock)
    return Controller(
        NAME,
        reconcile,
        [
            _memory_of(reconcile),
            informer_source(caches.instances, instance_keys),
            informer_source(caches.claims, claim_keys(caches)),
            informer_source(caches.stateful_sets, stateful_set_keys),
        ],
        telemetry,
        clock,
        on_death,
        leadership=leadership,
        waits_for=[one.synced_event for one in (caches.instances, caches.claims, caches.stateful_sets)],
        policy=POLICY,
        limiter=lambda: _limiter(clock),
    )


def instance_keys(change: Change[InstanceFacts]) -> Iterable[Key]:
    """The instance; not for a change of its status."""
    return () if isinstance(change, Update) and change.old.facts == change.item.facts else (change.item.key,)


def claim_keys(caches: DatabaseCaches) -> Callable[[Change[ClaimFacts]], Iterable[Key]]:
    """The instances that say, or said, that the claim is their own."""

    def keys(change: Change[ClaimFacts]) -> Iterable[Key]:
        claim = change.item.facts
        states = [claim]
        if isinstance(change, Update):
            if change.old.facts == claim:
                return ()
            states.append(change.old.facts)
        instances = caches.instances_in(claim.namespace)
        if not instances:
            return ()
        found = {one.key for one in instances for state in states if says_is_its_own(one.volumes, one.uid, state)}
        for workload in caches.stateful_sets.store.by_index(BY_NAMESPACE, claim.namespace):
            owner = _instance_owner(workload.owners)
            if owner is not None and (claim.is_owned_by(workload.uid) or made_for(claim, workload)):
                found.add(f"{claim.namespace}/{owner.name}")
        return found

    return keys


def stateful_set_keys(change: Change[Workload]) -> Iterable[Key]:
    """The instance that owns the set, when more has changed than its replicas."""
    workload = change.item.facts
    if isinstance(change, Update) and change.old.facts == workload:
        return ()
    owner = _instance_owner(workload.owners)
    return () if owner is None else (f"{workload.namespace}/{owner.name}",)


def _instance_owner(owners: Iterable[Owner]) -> Owner | None:
    return next((one for one in owners if one.kind == KIND), None)


def _memory_of(reconcile: DatabaseInstances) -> Source:
    """No source of keys: what is remembered ends when the controller stops, for then another replica may lead."""

    def attach(add: AddKey) -> Detach:
        return reconcile.forget

    return attach


def _limiter(clock: Clock) -> Limiter[Key]:
    return LongestOf(ExponentialPerKey[Key](most_s=LONGEST_BACKOFF_S), Overall(clock, longest_s=LONGEST_BACKOFF_S))
