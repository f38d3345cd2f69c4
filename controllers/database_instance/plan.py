"""What has to be done about one DatabaseInstance: facts in, ordered idempotent steps out.

    no finalizer of ours yet    it is added, first and alone; nothing else before it has been seen
    lives, Delete               only the status says which claims and volumes are its own
    lives, Retain or Snapshot   volumes get reclaim policy Retain, then owner references on claims give way to the uid label:
                                the garbage collector would take such claims at once in a foreground deletion, and with them
                                the volumes; deleting the namespace takes every claim, and only the volumes can be kept
    deleted                     see `ending`

Never adds a finalizer while deleting, never touches another one.
Pure. Source: kubernetes.io/docs: Finalizers; Garbage Collection; KEP-2644 (reclaim policy is honoured whoever deletes first).
"""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from controllers.database_instance.belonging import belongings, owned_workloads
from controllers.database_instance.ending import Ending, ending
from controllers.database_instance.keeping import detaching, keeping, record
from controllers.database_instance.telling import living_status
from controllers.database_instance.values import (
    AddFinalizer,
    Instance,
    Plan,
    Pod,
    Snapshot,
    Step,
    Surroundings,
    Volume,
    Workload,
    WriteStatus,
)
from webhook.objects.databases import FINALIZER, ClaimFacts, DeletionPolicy


@attrs.frozen
class Defaults:
    """What the installation says where an instance says nothing."""

    policy: DeletionPolicy = DeletionPolicy.DELETE
    timeout_s: float | None = None


def plan(
    instance: Instance,
    workloads: Sequence[Workload],
    pods: Sequence[Pod],
    claims: Sequence[ClaimFacts],
    volumes: Sequence[Volume],
    snapshots: Sequence[Snapshot] | None,
    now_s: float,
    *,
    around: Surroundings = Surroundings(),
    defaults: Defaults = Defaults(),
) -> Plan:
    """What to do about *instance*.

    workloads, pods, claims: of its namespace; what is not its own is told apart here. pods: only needed of a deleted instance.
    volumes:   those that its claims are bound to and that its status remembers; the ones that are missing do not exist.
    snapshots: of its namespace; None when the cluster has no VolumeSnapshots.
    now_s:     seconds since the epoch. Pure, O(all of these).
    """
    facts = instance.facts
    policy = facts.policy or defaults.policy
    found = belongings(instance, workloads, claims, around)
    if facts.deleting_s is not None:
        timeout_s = facts.timeout_s if facts.timeout_s is not None else defaults.timeout_s
        end = Ending(instance, found, policy, timeout_s, workloads, pods, claims, volumes, snapshots, around, now_s)
        return ending(end)
    if FINALIZER not in facts.finalizers:
        return Plan((AddFinalizer(),), claims=found.own)
    steps: list[Step] = []
    if policy is not DeletionPolicy.DELETE:
        steps += keeping(found, volumes)
        steps += detaching(found, {facts.uid, *(one.uid for one in owned_workloads(facts, workloads))})
    status = living_status(instance, found, record(instance, found, volumes), policy, now_s)
    if status != instance.status:
        steps.append(WriteStatus(status))
    return Plan(tuple(steps), claims=found.own)
