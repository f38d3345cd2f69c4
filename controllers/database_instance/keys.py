"""What makes an instance come up: from a change in a cache to keys.

The functions that are made here run on the reflectors' threads: they only look into memory. An instance that is woken in vain
costs a few reads, one that is not woken may lose a volume: in doubt all those of the namespace are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final

from controllers.database_instance.caches import DatabaseCaches
from controllers.database_instance.memory import Memory
from controllers.database_instance.resources import BY_NAMESPACE
from controllers.database_instance.values import Volume, Workload
from controllers.runtime.reconcile import Key
from controllers.runtime.store import Change, Update
from webhook.objects.databases import KIND, ClaimFacts, InstanceFacts, says

# Which instance owns a workload of these kinds is known live only. StatefulSets are watched.
UNWATCHED_OWNERS: Final = frozenset({"Deployment", "ReplicaSet", "DaemonSet", "Job", "CronJob", "ReplicationController"})


def instance_keys(caches: DatabaseCaches) -> Callable[[Change[InstanceFacts]], Iterable[Key]]:
    """The instance, and those that have a say about a claim of its own; not for a change of its status."""

    def keys(change: Change[InstanceFacts]) -> Iterable[Key]:
        states = [change.item.facts]
        if isinstance(change, Update):
            if change.old.facts == change.item.facts:
                return ()
            states.append(change.old.facts)
        return {change.item.key, *_sharing(caches, states)}

    return keys


def claim_keys(caches: DatabaseCaches) -> Callable[[Change[ClaimFacts]], Iterable[Key]]:
    """The instances that have, or had, a say about the claim."""

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
        if any(owner.kind in UNWATCHED_OWNERS for state in states for owner in state.owners):
            return [one.key for one in instances if one.volumes.owned or claim.name in one.volumes.names]
        workloads = caches.stateful_sets.store.by_index(BY_NAMESPACE, claim.namespace)
        return {one.key for one, say in says(instances, workloads) if any(say.about(state) for state in states)}

    return keys


def stateful_set_keys(change: Change[Workload]) -> Iterable[Key]:
    """The instances that own the set, or owned it, when more has changed than its replicas."""
    workload = change.item.facts
    states = [workload]
    if isinstance(change, Update):
        if change.old.facts == workload:
            return ()
        states.append(change.old.facts)
    return {f"{one.namespace}/{owner.name}" for one in states for owner in one.owners if owner.kind == KIND}


def volume_keys(memory: Memory) -> Callable[[Change[Volume]], Iterable[Key]]:
    """The instances whose claims name the volume, or whose status remembers it."""

    def keys(change: Change[Volume]) -> Iterable[Key]:
        if isinstance(change, Update) and change.old.facts == change.item.facts:
            return ()
        return memory.followers(change.item.facts.name)

    return keys


def _sharing(caches: DatabaseCaches, states: Sequence[InstanceFacts]) -> set[Key]:
    """The other instances that have a say about a claim that one of *states*, the same instance, has one about."""
    first = states[0]
    others = [one for one in caches.instances_in(first.namespace) if one.uid != first.uid]
    if not others:
        return set()
    workloads = caches.stateful_sets.store.by_index(BY_NAMESPACE, first.namespace)
    claims = caches.claims_in(first.namespace)
    saying = says((*states, *others), workloads)
    mine = [say for _, say in saying[: len(states)]]
    concerned = [claim for claim in claims if any(say.about(claim) for say in mine)]
    return {one.key for one, say in saying[len(states) :] if any(say.about(claim) for claim in concerned)}
