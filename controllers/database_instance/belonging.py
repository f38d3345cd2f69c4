"""Which claims, workloads and pods are an instance's. By uid where there is one: a name may have been somebody else's before.

Pure. Source: kubernetes/pkg/controller/statefulset getPersistentVolumeClaimName (`<template>-<set>-<ordinal>`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import attrs

from controllers.database_instance.values import Instance, Pod, Recorded, Surroundings, Workload
from webhook.objects.databases import ClaimFacts, InstanceFacts, Owner, says_is_its_own


@attrs.frozen
class Belongings:
    """The claims of an instance."""

    own: tuple[ClaimFacts, ...]
    shared: tuple[ClaimFacts, ...]  # another living instance says that they are its own, too
    via: dict[str, str]  # uid of a claim -> uid of the StatefulSet that it was made for


def owned_workloads(instance: InstanceFacts, workloads: Iterable[Workload]) -> tuple[Workload, ...]:
    """Those that the instance owns, by uid. Foreign controllers keep what is theirs."""
    return tuple(one for one in workloads if is_dependent(one.owners, {instance.uid}))


def owned_pods(instance: InstanceFacts, workloads: Iterable[Workload], pods: Iterable[Pod]) -> tuple[Pod, ...]:
    """Those that the instance, or a workload of it, owns."""
    uids = {instance.uid, *(one.uid for one in workloads)}
    return tuple(one for one in pods if is_dependent(one.owners, uids))


def is_dependent(owners: Sequence[Owner], uids: set[str]) -> bool:
    """Whether what has *owners* belongs to one of *uids*: by its controller, or by any owner when it has no controller."""
    controllers = [owner for owner in owners if owner.controller]
    return any(owner.uid in uids for owner in controllers or owners)


def belongings(
    instance: Instance, workloads: Sequence[Workload], claims: Sequence[ClaimFacts], around: Surroundings
) -> Belongings:
    """The instance's claims among *claims*, all those of its namespace. *workloads*: all, owned or not."""
    facts = instance.facts
    owned = owned_workloads(facts, workloads)
    own: list[ClaimFacts] = []
    shared: list[ClaimFacts] = []
    via: dict[str, str] = {}
    for claim in claims:
        workload_uid = _workload_of(claim, owned, instance, workloads) if facts.volumes.owned else ""
        if not workload_uid and (not says_is_its_own(facts.volumes, facts.uid, claim) or _came_later(claim, instance)):
            continue
        if _is_somebody_elses(claim, facts, around.instances):
            shared.append(claim)
            continue
        own.append(claim)
        if workload_uid:
            via[claim.uid] = workload_uid
    return Belongings(tuple(own), tuple(shared), via)


def made_for(claim: ClaimFacts, workload: Workload) -> bool:
    """Whether *claim* has the name of one that the StatefulSet *workload* makes."""
    for template in workload.templates:
        ordinal = claim.name.removeprefix(f"{template}-{workload.name}-")
        if ordinal != claim.name and ordinal.isdecimal():
            return True
    return False


def _came_later(claim: ClaimFacts, instance: Instance) -> bool:
    """Whether *claim* was created after the instance's deletion had begun, by somebody who wants to use its name again."""
    deleting_s, uid = instance.facts.deleting_s, instance.facts.uid
    if deleting_s is None or claim.created_s <= deleting_s or claim.instance_uid == uid or claim.is_owned_by(uid):
        return False
    return _recorded(claim, instance.status.volumes) is None


def _workload_of(claim: ClaimFacts, owned: Sequence[Workload], instance: Instance, workloads: Sequence[Workload]) -> str:
    """The uid of the owned workload that *claim* was made for; "" when there is none."""
    if claim.instance_uid not in ("", instance.facts.uid):
        return ""
    for workload in owned:
        if claim.is_owned_by(workload.uid) or made_for(claim, workload):
            return workload.uid
    recorded = _recorded(claim, instance.status.volumes)
    if recorded is None or not recorded.workload_uid:
        return ""
    # A set that lives on without its owner reference was orphaned, with all that is its own.
    orphaned = any(one.uid == recorded.workload_uid and one.deleting_s is None for one in workloads)
    return "" if orphaned else recorded.workload_uid


def _recorded(claim: ClaimFacts, volumes: Iterable[Recorded]) -> Recorded | None:
    return next((one for one in volumes if one.claim_uid == claim.uid), None)


def _is_somebody_elses(claim: ClaimFacts, instance: InstanceFacts, instances: Sequence[InstanceFacts]) -> bool:
    """Whether another instance has a claim to *claim*: by the label alone, or by saying so while it is not being deleted.

    Of two that are both being deleted the older one takes it.
    """
    for other in instances:
        if other.uid == instance.uid:
            continue
        if claim.instance_uid == other.uid:
            return True
        if claim.instance_uid == instance.uid or not says_is_its_own(other.volumes, other.uid, claim):
            continue
        if other.deleting_s is None or (other.created_s, other.uid) < (instance.created_s, instance.uid):
            return True
    return False
