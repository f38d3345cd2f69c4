"""The led controller `edge-health`: caches -> keys -> `reconciler.EdgeHealth`.

A key is the name of a node. A node is looked at when what is known of it changes, and when a pod on it changes in a way that
a plan could mind: on a silent node a pod that is Ready or was marked, on a Ready node one that was marked. Heartbeats and the
rollouts of a healthy cluster make no keys. Keys have priorities (`plan.Urgency`): a whole site may want something at once.
Threads: `Controller`'s workers; the key functions run on the reflectors' threads and only look into memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from controllers.edge_health.news import News
from controllers.edge_health.plan import Duties, is_published, was_marked
from controllers.edge_health.reconciler import EdgeHealth
from controllers.edge_health.writes import Api, Writes
from controllers.runtime.controller import Controller, Policy, informer_source, memory_source
from controllers.runtime.errors import OnDeath
from controllers.runtime.events import Announcer
from controllers.runtime.freshness import OwnWrites
from controllers.runtime.informer import Informer
from controllers.runtime.limiters import limiter_up_to
from controllers.runtime.lister import PodLister
from controllers.runtime.reconcile import Key, Leadership
from controllers.runtime.store import Change, Deletion, Store, Update
from webhook.clock import Clock
from webhook.cluster import NodeFacts, PodFacts, Status
from webhook.objects.votes import VotePolicy
from webhook.telemetry import Telemetry

NAME = "edge-health"
# A whole site may come at once, and one node's writes wait for the API server most of their time.
POLICY = Policy(workers=4, timeout_s=30.0)
# Well below the 300 s that pods tolerate an unreachable node: a taint must get several more tries in that time.
LONGEST_BACKOFF_S = 20.0


def edge_health(
    api: Api,
    nodes: Informer[NodeFacts],
    pods: Informer[PodFacts],
    votes: VotePolicy,
    announcer: Announcer,
    telemetry: Telemetry,
    clock: Clock,
    on_death: OnDeath,
    *,
    leadership: Leadership,
    duties: Duties = Duties(),
) -> Controller:
    """The controller, not started. To be started while *leadership* is ours, and stopped before it is given up.

    api: a client of its own, so that a burst of led writes never holds back the live reads of admission.
    nodes, pods: as `projection.nodes_resource(votes)` and `pods_resource()` keep them.
    """
    own_writes = OwnWrites({"nodes": lambda: nodes.store.version, "pods": lambda: pods.store.version}, clock, telemetry)
    writes = Writes(api, votes, duties, own_writes, telemetry, clock)
    news = News(announcer, clock)
    reconcile = EdgeHealth(writes, nodes.store, pods.store, PodLister(pods), votes, duties, news, telemetry, clock)
    return Controller(
        NAME,
        reconcile,
        [
            memory_source(reconcile.forget),
            informer_source(nodes, node_keys, reconcile.urgency),
            informer_source(pods, pod_keys(nodes.store), reconcile.urgency),
        ],
        telemetry,
        clock,
        on_death,
        leadership=leadership,
        waits_for=(nodes.synced_event, pods.synced_event),
        own_writes=own_writes,
        policy=POLICY,
        limiter=lambda: limiter_up_to(LONGEST_BACKOFF_S, clock),
    )


def node_keys(change: Change[NodeFacts]) -> Iterable[Key]:
    """The node, unless only a field that we do not keep has changed."""
    return () if _changes_nothing(change) else (change.item.key,)


def pod_keys(nodes: Store[NodeFacts]) -> Callable[[Change[PodFacts]], Iterable[Key]]:
    """The pod's node, if a plan of that node could mind the change. A node that *nodes* lacks makes a key when it comes."""

    def keys(change: Change[PodFacts]) -> Iterable[Key]:
        pod = change.item.facts
        if isinstance(change, Deletion) or _changes_nothing(change):
            return ()
        node = nodes.get(pod.node) if pod.node else None
        ready = node.ready if node is not None else None
        minds = (ready in (Status.TRUE, Status.UNKNOWN) and was_marked(pod)) or (ready is Status.UNKNOWN and is_published(pod))
        return (pod.node,) if minds else ()

    return keys


def _changes_nothing(change: Change[NodeFacts] | Change[PodFacts]) -> bool:
    return isinstance(change, Update) and change.old.facts == change.item.facts
