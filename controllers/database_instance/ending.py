"""The plan for a deleted instance: what depends on it goes in order, each waited for, then our finalizer.

    Delete     workloads → claims → volumes
    Snapshot   workloads → a snapshot of each claim, ready and kept → claims → volumes
    Retain     volumes and claims are made to stay, nothing is waited for

*Remembered first.* The status names every volume before anything goes: a claim that is gone says nothing of its volume, and a
StatefulSet that is gone nothing of its claims.

*Workloads in the foreground*: they stay until their pods are gone. Pods of others are waited for, not deleted. Their claims are
deleted nevertheless: behind pvc-protection they stay until the last pod is gone, and no new pod can start with them.

*Orphan propagation* says that dependents stay. The garbage collector then takes off their owner references; only after that is
looked what still is the instance's: what its spec names or selects.

*A namespace that is being deleted* takes every claim, and nothing can be created in it: no snapshot. The volumes are kept.
What was not snapshotted is never deleted by us.
Pure. Source: kubernetes.io/docs: Garbage Collection (foreground, orphan), Storage Object in Use Protection, Volume Snapshots.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import attrs

from controllers.database_instance.belonging import Belongings, owned_pods, owned_workloads
from controllers.database_instance.keeping import RETAIN, detaching, keeping, record
from controllers.database_instance.telling import ending_status
from controllers.database_instance.values import (
    PAST_WORKLOADS,
    CreateSnapshot,
    DeleteClaim,
    DeletePod,
    DeleteWorkload,
    DropFinalizer,
    Instance,
    Plan,
    Pod,
    Recorded,
    RetainContent,
    SetReclaim,
    Snapshot,
    Step,
    Surroundings,
    Volume,
    Wait,
    Waiting,
    Workload,
    WriteStatus,
)
from webhook.objects.databases import FINALIZER, ClaimFacts, DeletionPolicy

DELETE: Final = "Delete"
ORPHAN: Final = "orphan"  # the garbage collector's finalizer (metav1.FinalizerOrphanDependents)
SOON_S: Final = 0.5
NAMES_KEPT: Final = 20  # in the status
# Pods, volumes and snapshots are asked for, not watched: often at first, later four times in the time waited so far.
LEAST_S, MOST_S = 1.0, 15.0
_NO_SNAPSHOT: Final = "the namespace is being deleted, so that no snapshot can be created: the volumes are kept"
_NAME_ROOM: Final = 150  # of a snapshot's name for its claim's; two uids and two dashes fit behind it


@attrs.frozen
class Ending:
    """Everything that a deletion is decided from. See `plan.plan`."""

    instance: Instance
    found: Belongings
    policy: DeletionPolicy
    timeout_s: float | None
    workloads: Sequence[Workload]
    pods: Sequence[Pod]
    claims: Sequence[ClaimFacts]
    volumes: Sequence[Volume]
    snapshots: Sequence[Snapshot] | None
    around: Surroundings
    now_s: float

    @property
    def keeps(self) -> bool:
        """Whether the volumes stay."""
        return self.policy is DeletionPolicy.RETAIN or (self.policy is DeletionPolicy.SNAPSHOT and self.around.terminating)

    def recorded(self) -> tuple[Recorded, ...]:
        """The volumes of the claims of now, and those that are remembered of claims that are gone."""
        present = {claim.uid for claim in self.claims}
        gone = [one for one in self.instance.status.volumes if one.claim_uid not in present and one.volume]
        return (*record(self.instance, self.found, self.volumes), *gone)


@attrs.frozen
class Phase:
    """What is due now."""

    wait: Wait
    names: tuple[str, ...] = ()
    steps: tuple[Step, ...] = ()
    note: str = ""


def ending(end: Ending) -> Plan:
    """The plan. Nothing when our finalizer is gone: then the rest is others'."""
    facts = end.instance.facts
    if FINALIZER not in facts.finalizers:
        return Plan(claims=end.found.own)
    recorded = end.recorded()
    phase = _phase(end, recorded)
    waiting = _waiting(end, phase)
    left_s = None
    if end.timeout_s is not None and facts.deleting_s is not None:
        left_s = end.timeout_s - (end.now_s - facts.deleting_s)
    overdue = left_s is not None and left_s <= 0
    unsnapshotted = end.keeps and end.policy is DeletionPolicy.SNAPSHOT
    note = _NO_SNAPSHOT if unsnapshotted else phase.note
    status = ending_status(end.instance, end.found, recorded, end.policy, waiting, note, overdue, end.now_s)
    steps: list[Step] = [] if status == end.instance.status else [WriteStatus(status)]
    steps += phase.steps
    if phase.wait is Wait.NOTHING:
        return Plan((*steps, DropFinalizer()), SOON_S, claims=end.found.own, overdue=overdue)
    look_s = SOON_S if phase.steps else min(max(LEAST_S, (end.now_s - waiting.since_s) / 4), MOST_S)
    if left_s is not None and left_s > 0:
        look_s = min(look_s, max(left_s, SOON_S))
    return Plan(tuple(steps), look_s, waiting, overdue, end.found.own)


def snapshot_name(instance_uid: str, claim: str, claim_uid: str) -> str:
    """The name of the snapshot that is taken of a claim when the instance is deleted: no other instance or claim has it."""
    return f"{claim[:_NAME_ROOM].rstrip('-.')}-{instance_uid}-{claim_uid}"


def _phase(end: Ending, recorded: Sequence[Recorded]) -> Phase:
    facts = end.instance.facts
    if facts.fault:
        return Phase(Wait.INVALID_SPEC, (facts.fault,))
    if ORPHAN in facts.finalizers:
        return Phase(Wait.GARBAGE_COLLECTOR, (ORPHAN,))
    if end.keeps:
        uids = {facts.uid, *(one.uid for one in owned_workloads(facts, end.workloads))}
        kept = (*_keeping_remembered(end, recorded), *detaching(end.found, uids))
        return Phase(Wait.NOTHING, steps=kept)
    if phase := _workloads(end):
        return phase
    if end.policy is DeletionPolicy.SNAPSHOT and (phase := _snapshots(end)):
        return phase
    return _storage(end, recorded)


def _keeping_remembered(end: Ending, recorded: Sequence[Recorded]) -> list[Step]:
    """Volumes stay, also of claims that the deletion of the namespace has taken already."""
    steps = keeping(end.found, end.volumes)
    own = {claim.uid for claim in end.found.own}
    remembered = {one.claim_uid for one in recorded} - own
    for volume in end.volumes:
        if volume.claim_uid in remembered and volume.reclaim != RETAIN and volume.deleting_s is None:
            steps.append(SetReclaim(volume.name, volume.uid, volume.claim_uid, RETAIN))
    return steps


def _workloads(end: Ending) -> Phase | None:
    before = end.instance.status.waiting
    if before is not None and before.reason in PAST_WORKLOADS:
        return None
    facts = end.instance.facts
    workloads = owned_workloads(facts, end.workloads)
    pods = owned_pods(facts, workloads, end.pods)
    if not workloads and not pods:
        return None
    steps: list[Step] = [DeleteWorkload(one.collection, one.name, one.uid) for one in workloads if one.deleting_s is None]
    own = {workload.uid for workload in workloads}
    for pod in pods:
        if pod.deleting_s is None and not any(owner.uid in own for owner in pod.owners):
            steps.append(DeletePod(pod.name, pod.uid))
    names = [f"{one.kind} {one.name}" for one in workloads] + [_pod_words(pod) for pod in pods]
    return Phase(Wait.WORKLOADS, tuple(names), tuple(steps))


def _snapshots(end: Ending) -> Phase | None:
    """What is missing until every claim that holds data has a snapshot."""
    uid = end.instance.facts.uid
    wanted = [claim for claim in end.found.own if claim.volume]
    if not wanted:
        return None
    if end.snapshots is None:
        return Phase(Wait.SNAPSHOT_UNAVAILABLE, ("the cluster does not serve snapshot.storage.k8s.io/v1 VolumeSnapshots",))
    by_name = {one.name: one for one in end.snapshots}
    steps: list[Step] = []
    names: list[str] = []
    for claim in wanted:
        name = snapshot_name(uid, claim.name, claim.uid)
        snapshot = by_name.get(name)
        if snapshot is None:
            steps.append(CreateSnapshot(name, claim.name, claim.uid, end.instance.facts.snapshot_class))
        elif snapshot.content and not snapshot.content_retained:
            steps.append(RetainContent(snapshot.content, snapshot.uid))
        elif _is_done(snapshot, uid):
            continue
        names.append(f"snapshot of {claim.name}" + (f" (error: {snapshot.error})" if snapshot and snapshot.error else ""))
    return Phase(Wait.SNAPSHOTS, tuple(names), tuple(steps)) if names else None


def _is_done(snapshot: Snapshot, instance_uid: str) -> bool:
    ready = snapshot.ready and bool(snapshot.content) and snapshot.content_retained
    return ready and snapshot.instance_uid == instance_uid and not snapshot.deleting


def _storage(end: Ending, recorded: Sequence[Recorded]) -> Phase:
    going = [one for one in recorded if _may_go(end, one)]
    uids = {one.claim_uid: one for one in going}
    volumes = [one for one in end.volumes if one.claim_uid in uids and _is_that(one, uids[one.claim_uid])]
    steps: list[Step] = [
        SetReclaim(one.name, one.uid, one.claim_uid, DELETE)
        for one in volumes
        if one.reclaim != DELETE and one.deleting_s is None
    ]
    claims = [one for one in end.found.own if one.uid in uids]
    steps += [DeleteClaim(one.name, one.uid) for one in claims if one.deleting_s is None]
    if claims:
        names = {one.name for one in claims}
        users = [pod for pod in end.pods if pod.claims & names]
        if users:
            return Phase(Wait.PODS, tuple(_pod_words(pod) for pod in users), tuple(steps))
        return Phase(Wait.CLAIMS, tuple(_claim_words(one) for one in claims), tuple(steps))
    if volumes:
        return Phase(Wait.VOLUMES, tuple(_volume_words(one) for one in volumes), tuple(steps))
    kept = [one.volume for one in recorded if one.claim_uid not in uids]
    return Phase(Wait.NOTHING, note=f"without a snapshot, so kept: {', '.join(kept)}" if kept else "")


def _may_go(end: Ending, one: Recorded) -> bool:
    """Whether the volume *one* may be deleted: under Snapshot only one that has a snapshot, or never held anything."""
    if end.policy is not DeletionPolicy.SNAPSHOT or not one.volume:
        return True
    name = snapshot_name(end.instance.facts.uid, one.claim, one.claim_uid)
    return any(snapshot.name == name and _is_done(snapshot, end.instance.facts.uid) for snapshot in end.snapshots or ())


def _is_that(volume: Volume, one: Recorded) -> bool:
    return volume.name == one.volume and one.volume_uid in ("", volume.uid)


def _waiting(end: Ending, phase: Phase) -> Waiting:
    before = end.instance.status.waiting
    since_s = before.since_s if before is not None and before.reason is phase.wait else float(int(end.now_s))
    names, more = phase.names[:NAMES_KEPT], len(phase.names) - NAMES_KEPT
    return Waiting(phase.wait, since_s, (*names, f"and {more} more") if more > 0 else names)


def _pod_words(pod: Pod) -> str:
    where = f" on node {pod.node}" if pod.node else ""
    state = "terminating" if pod.deleting_s is not None else "finished, and holds its claims until it is deleted"
    return f"pod {pod.name}{where}" + (f" ({state})" if pod.deleting_s is not None or pod.finished else "")


def _claim_words(claim: ClaimFacts) -> str:
    held = [one for one in claim.finalizers if claim.deleting_s is not None]
    return f"claim {claim.name}" + (f" (finalizers {', '.join(held)})" if held else "")


def _volume_words(volume: Volume) -> str:
    said = ", ".join(one for one in (volume.phase, volume.message, *volume.finalizers) if one)
    return f"volume {volume.name}" + (f" ({said})" if said else "")
