"""The led controller `database-instance`: caches -> keys -> `reconciler.DatabaseInstances`.

A key is that of an instance. It comes up when its spec or its deletion changes, or that of another instance that shares a claim
with it, and when a claim, a volume or a StatefulSet of its own appears, goes, or changes in a way that counts. What else a
deletion waits for is asked for meanwhile.
Threads: `Controller`'s workers; the key functions run on the reflectors' threads and only look into memory.
"""

from __future__ import annotations

from controllers.database_instance.caches import DatabaseCaches
from controllers.database_instance.deletions import Deletions
from controllers.database_instance.keys import claim_keys, instance_keys, stateful_set_keys, volume_keys
from controllers.database_instance.memory import Memory
from controllers.database_instance.news import News
from controllers.database_instance.plan import Defaults
from controllers.database_instance.reconciler import DatabaseInstances
from controllers.database_instance.writes import Api
from controllers.runtime.controller import Controller, Policy, informer_source, memory_source
from controllers.runtime.errors import OnDeath
from controllers.runtime.events import Announcer
from controllers.runtime.limiters import limiter_up_to
from controllers.runtime.reconcile import Leadership
from webhook.clock import Clock
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
    deletions: what becomes of them is remembered there.
    """
    memory = Memory()
    reconcile = DatabaseInstances(api, caches, defaults, deletions, News(announcer), clock, memory)
    return Controller(
        NAME,
        deletions.watching(reconcile, reconcile.cached),
        [
            memory_source(reconcile.forget),
            informer_source(caches.instances, instance_keys(caches)),
            informer_source(caches.claims, claim_keys(caches)),
            informer_source(caches.stateful_sets, stateful_set_keys),
            informer_source(caches.volumes, volume_keys(memory)),
        ],
        telemetry,
        clock,
        on_death,
        leadership=leadership,
        # Not for the volumes: they only wake, and a right that lacks for them must not hold up the rest.
        waits_for=[one.synced_event for one in (caches.instances, caches.claims, caches.stateful_sets)],
        policy=POLICY,
        limiter=lambda: limiter_up_to(LONGEST_BACKOFF_S, clock),
    )
