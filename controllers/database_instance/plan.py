"""What has to be done about one DatabaseInstance: facts in, ordered idempotent steps out.

    no finalizer of ours yet    it is added, first and alone; nothing else before it has been seen
    lives, Delete               only the status says which claims and volumes are its own, also of claims that are gone; what
                                it shares with another instance is parted from it, or its volume kept
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

from controllers.database_instance.belonging import belongings, mounted_only, owned_workloads
from controllers.database_instance.ending import Ending, ending
from controllers.database_instance.keeping import bereft, detaching, keeping, record, unkept
from controllers.database_instance.status import PROTECTED, Findings, living_status
from controllers.database_instance.values import AddFinalizer, Plan, Situation, Status, Step, WriteStatus
from webhook.objects.databases import FINALIZER, ClaimFacts, DeletionPolicy, says

# Volumes are watched, and so is their binding; this is for what the watch does not tell.
LEAST_S, MOST_S = 1.0, 60.0


@attrs.frozen
class Defaults:
    """What the installation says where an instance says nothing."""

    policy: DeletionPolicy = DeletionPolicy.DELETE
    timeout_s: float | None = None


def plan(situation: Situation, now_s: float, defaults: Defaults = Defaults()) -> Plan:
    """What to do about the instance of *situation*. now_s: seconds since the epoch. Pure, O(all that was read)."""
    instance, facts = situation.instance, situation.instance.facts
    policy = facts.policy or defaults.policy
    found = belongings(situation, defaults.policy)
    if facts.deleting_s is not None:
        timeout_s = facts.timeout_s if facts.timeout_s is not None else defaults.timeout_s
        return ending(Ending(situation, found, policy, timeout_s, now_s))
    if FINALIZER not in facts.finalizers:
        return Plan((AddFinalizer(),))
    volumes = situation.volumes
    gone = bereft(instance, situation.claims, volumes)
    steps: list[Step] = []
    loose: dict[str, str] = {}
    uids = {facts.uid, *(one.uid for one in owned_workloads(facts, situation.workloads))}
    if policy is not DeletionPolicy.DELETE:
        loose = unkept(found.known, volumes)
        steps += keeping(found.known, gone, volumes, facts.namespace)
        steps += detaching((*found.own, *found.co_owned), uids)
    else:
        # A foreground deletion would take them at once, although another instance lives.
        tied = [claim for claim in found.shared if any(owner.uid in uids for owner in claim.owners)]
        steps += keeping(tied, (), volumes, facts.namespace)
    steps += detaching(_named_elsewhere(situation, found.shared), uids)
    recorded = (*record(instance, found, volumes), *gone)
    status = living_status(instance, Findings(found, recorded, policy, loose, mounted_only(situation)), now_s)
    if status != instance.status:
        steps.append(WriteStatus(status))
    return Plan(tuple(steps), _look_again_s(status, now_s))


def _named_elsewhere(situation: Situation, shared: Sequence[ClaimFacts]) -> list[ClaimFacts]:
    """Those of *shared* that keep their other instances when they bear the uid of ours: all of these name them."""
    facts, around = situation.instance.facts, situation.around
    others = [say for one, say in says(around.instances, situation.workloads) if one.uid != facts.uid]
    return [claim for claim in shared if all(claim.name in say.volumes.names for say in others if say.about(claim))]


def _look_again_s(status: Status, now_s: float) -> float | None:
    """None of what is protected: events tell of its changes."""
    protected = status.condition(PROTECTED)
    if protected is None or protected.status != "False":
        return None
    return min(max(LEAST_S, (now_s - protected.since_s) / 4), MOST_S)
