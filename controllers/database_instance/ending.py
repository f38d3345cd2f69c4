"""The plan for a deleted instance: what depends on it goes in order, each waited for, then our finalizer.

    Delete     workloads → claims → volumes
    Snapshot   volumes kept → workloads → pods of others → a snapshot of each claim, ready and kept → claims → volumes
    Retain     volumes kept → claims are made to stay

*Remembered first.* The status names every volume before anything goes: a claim that is gone says nothing of its volume, and a
StatefulSet that is gone nothing of its claims.

*Kept first.* What has to stay, or has no snapshot yet, is seen with reclaim policy Retain before the next step, whenever the
policy was edited: a claim may be going already.

*What others have a say about is left alone*, also by the garbage collector: it takes what has no owner left, so that owner
references to the instance and its workloads come off such claims before anything goes.

*Workloads in the foreground*: they stay until their pods are gone. One that was made again, and holds claims, goes again.
Pods of others are waited for, not deleted. Under Delete their claims are deleted nevertheless: behind pvc-protection they stay
until the last pod is gone, and no new pod can start with them. Under Snapshot claims stay untouched until no pod uses them any
more, for what is written later is in no snapshot, and volumes stay until their claims are gone: until then a pod that was
quicker than the deletion can be seen.

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

from controllers.database_instance.belonging import Belongings, mounted_only, owned_pods, owned_workloads
from controllers.database_instance.keeping import detaching, is_remembered, is_there, keeping, record, unkept
from controllers.database_instance.snapshotting import in_use, is_snapshotted, outdated, snapshots_due
from controllers.database_instance.status import Findings, done_status, ending_status
from controllers.database_instance.values import (
    ORPHAN,
    DeleteClaim,
    DeletePod,
    DeleteWorkload,
    DetachClaim,
    DropFinalizer,
    Instance,
    Phase,
    Plan,
    Pod,
    Reclaim,
    Recorded,
    SetReclaim,
    Situation,
    Step,
    Volume,
    Wait,
    Waiting,
    Workload,
    WriteStatus,
)
from webhook.objects.databases import FINALIZER, ClaimFacts, DeletionPolicy, is_wholly_owned, says

NAMES_KEPT: Final = 20  # in the status
# What is not watched is asked for: often at first, later four times in the time waited so far.
LEAST_S, MOST_S = 1.0, 15.0
_NO_SNAPSHOT: Final = "the namespace is being deleted, so that no snapshot can be created: the volumes are kept"


@attrs.frozen
class Ending:
    """Everything that a deletion is decided from. See `plan.plan`."""

    situation: Situation
    found: Belongings
    policy: DeletionPolicy
    timeout_s: float | None
    now_s: float

    @property
    def instance(self) -> Instance:
        """Whose deletion it is."""
        return self.situation.instance

    @property
    def keeps(self) -> bool:
        """Whether the volumes stay."""
        return self.policy is DeletionPolicy.RETAIN or (
            self.policy is DeletionPolicy.SNAPSHOT and self.situation.around.terminating
        )

    def recorded(self) -> tuple[Recorded, ...]:
        """The volumes of the claims of now, and those that are remembered of claims that are gone."""
        present = {claim.uid for claim in self.situation.claims}
        gone = [one for one in self.instance.status.volumes if one.claim_uid not in present and one.volume]
        if self.situation.orphaned:  # then nobody may have taken them but who they belong to
            gone = [one for one in gone if one.claim in self.instance.facts.volumes.names]
        return (*record(self.instance, self.found, self.situation.volumes), *gone)


def ending(end: Ending) -> Plan:
    """The plan. Nothing but a last word when our finalizer is gone: then the rest is others'."""
    facts = end.instance.facts
    if FINALIZER not in facts.finalizers:
        before = end.instance.status.waiting
        last = before is not None and before.reason is Wait.NOTHING
        return Plan((WriteStatus(done_status(end.instance, end.now_s)),) if last else ())
    recorded = end.recorded()
    phase = _phase(end, recorded)
    deeds = [*_parting(end), *_outdated(end), *phase.steps]
    if phase.wait is Wait.NOTHING:
        phase = attrs.evolve(phase, names=_detached_words(deeds))
    waiting = _waiting(end, phase)
    left_s = None
    if end.timeout_s is not None and facts.deleting_s is not None:
        left_s = end.timeout_s - (end.now_s - facts.deleting_s)
    overdue = left_s is not None and left_s <= 0
    unsnapshotted = end.keeps and end.policy is DeletionPolicy.SNAPSHOT
    note = _NO_SNAPSHOT if unsnapshotted else phase.note
    status = ending_status(
        end.instance,
        _findings(end, recorded),
        waiting,
        note,
        orphaned=end.situation.orphaned,
        overdue=overdue,
        now_s=end.now_s,
    )
    steps: list[Step] = [] if status == end.instance.status else [WriteStatus(status)]
    steps += deeds
    if phase.wait is Wait.NOTHING:
        steps.append(DropFinalizer())
    look_s = min(max(LEAST_S, (end.now_s - waiting.since_s) / 4), MOST_S)
    if left_s is not None and left_s > 0:
        look_s = min(look_s, max(left_s, LEAST_S))
    return Plan(tuple(steps), look_s, waiting)


def _findings(end: Ending, recorded: tuple[Recorded, ...]) -> Findings:
    free = _free(end, recorded)
    loose = [] if end.policy is DeletionPolicy.DELETE else [one for one in end.found.known if one.uid not in free]
    mounted = mounted_only(end.situation)
    return Findings(end.found, recorded, end.policy, unkept(loose, end.situation.volumes), mounted)


def _phase(end: Ending, recorded: Sequence[Recorded]) -> Phase:
    facts = end.instance.facts
    kept = _unkept_steps(end, recorded)
    if facts.fault:
        return Phase(Wait.INVALID_SPEC, (facts.fault,), tuple(kept))
    if ORPHAN in facts.finalizers:
        return Phase(Wait.GARBAGE_COLLECTOR, (ORPHAN,), tuple(kept))
    if kept:
        policies = {volume.uid: volume.reclaim for volume in end.situation.volumes}
        names = [f"volume {step.volume} (reclaim policy {policies.get(step.uid, 'unknown')})" for step in kept]
        return Phase(Wait.KEEPING, tuple(names), tuple(kept))
    if end.keeps:
        return Phase(Wait.NOTHING, steps=tuple(_detaching((*end.found.own, *end.found.co_owned), end)))
    if phase := _workloads(end):
        return phase
    if end.policy is DeletionPolicy.SNAPSHOT:
        phase = snapshots_due(facts, end.found.own, end.situation.volumes, end.situation.pods, end.situation.snapshots)
        if phase is not None:
            return phase
    return _storage(end, recorded)


def _unkept_steps(end: Ending, recorded: Sequence[Recorded]) -> list[SetReclaim]:
    """What keeps the volumes that have to stay, also of claims that are gone already."""
    if end.policy is DeletionPolicy.DELETE:
        return []
    free = _free(end, recorded)
    kept = keeping(end.found.known, recorded, end.situation.volumes, end.instance.facts.namespace)
    return [step for step in kept if step.claim_uid not in free]


def _free(end: Ending, recorded: Sequence[Recorded]) -> set[str]:
    """The claims, by uid, whose volumes need not stay: under Snapshot none that is still there."""
    there = {claim.uid for claim in end.situation.claims} if end.policy is DeletionPolicy.SNAPSHOT else set()
    return set() if end.keeps else _going(end, recorded).keys() - there


def _own_uids(end: Ending) -> set[str]:
    facts = end.instance.facts
    return {facts.uid, *(one.uid for one in owned_workloads(facts, end.situation.workloads))}


def _detaching(claims: Sequence[ClaimFacts], end: Ending) -> list[Step]:
    return detaching(claims, _own_uids(end))


def _parting(end: Ending) -> list[Step]:
    """What keeps the garbage collector from claims that stay, when the instance and its workloads go.

    What is shared is not remembered, and after the first pass not looked at any more: so all that is not taken counts.
    """
    if end.situation.orphaned:
        return []  # it takes off the owner references by itself
    facts, found, uids = end.instance.facts, end.found, _own_uids(end)
    held = [claim for claim in found.co_owned if is_wholly_owned(claim.owners, uids)]
    looked_at = {claim.uid for claim in (*found.own, *found.co_owned)}
    left = [claim for claim in end.situation.claims if claim.uid not in looked_at]
    if not facts.volumes.owned:  # then owner references are the user's own affair, but for what others say
        others = [say for one, say in says(end.situation.around.instances, end.situation.workloads) if one.uid != facts.uid]
        left = [claim for claim in left if any(say.about(claim) for say in others)]
    return [*detaching(left, uids, label=False), *detaching(held, uids)]


def _outdated(end: Ending) -> list[Step]:
    if end.policy is not DeletionPolicy.SNAPSHOT:
        return []
    own = end.found.own
    return outdated(end.instance.facts.uid, own, in_use(own, end.situation.pods), end.situation.snapshots)


def _detached_words(steps: Sequence[Step]) -> tuple[str, ...]:
    return tuple(f"owner references of claim {step.name}" for step in steps if isinstance(step, DetachClaim))


def _workloads(end: Ending) -> Phase | None:
    if end.situation.orphaned:
        return None
    facts = end.instance.facts
    workloads = owned_workloads(facts, end.situation.workloads)
    pods = owned_pods(facts, workloads, end.situation.pods)
    if not workloads and not pods:
        return None
    if end.instance.is_past_workloads(end.policy) and not _hold(end, workloads, pods):
        return None
    # A set that is to take its claims with it (persistentVolumeClaimRetentionPolicy) must not, before they have a snapshot.
    kept = (*end.found.own, *end.found.co_owned) if end.policy is DeletionPolicy.SNAPSHOT else ()
    steps = _detaching(kept, end)
    steps += [DeleteWorkload(one.collection, one.name, one.uid) for one in workloads if one.deleting_s is None]
    own = {workload.uid for workload in workloads}
    for pod in pods:
        if pod.deleting_s is None and not any(owner.uid in own for owner in pod.owners):
            steps.append(DeletePod(pod.name, pod.uid))
    names = [f"{one.kind} {one.name}" for one in workloads] + [pod.words for pod in pods]
    return Phase(Wait.WORKLOADS, tuple(names), tuple(steps))


def _hold(end: Ending, workloads: Sequence[Workload], pods: Sequence[Pod]) -> bool:
    """Whether *workloads* or *pods*, which were made again, have to do with the instance's claims: those wait for them."""
    names = {claim.name for claim in end.found.own}
    made = {one.uid for one in workloads} & set(end.found.via.values())
    return bool(made) or any(one.mounts & names for one in workloads) or any(pod.holds(names) for pod in pods)


def _storage(end: Ending, recorded: Sequence[Recorded]) -> Phase:
    going, free = _going(end, recorded), _free(end, recorded)
    namespace = end.instance.facts.namespace
    remembered = ((one, going.get(one.claim_uid)) for one in end.situation.volumes)
    volumes = [one for one, of in remembered if of is not None and is_remembered(one, of, namespace)]
    steps: list[Step] = [
        SetReclaim(one.name, one.uid, one.claim_uid, Reclaim.DELETE)
        for one in volumes
        if one.reclaim != Reclaim.DELETE and one.claim_uid in free
    ]
    claims = [one for one in end.found.own if one.uid in going]
    steps += [DeleteClaim(one.name, one.uid) for one in claims if one.deleting_s is None]
    if claims:
        names = {one.name for one in claims}
        users = [pod for pod in end.situation.pods if pod.holds(names)]
        if users:
            return Phase(Wait.PODS, tuple(_user_words(end, pod) for pod in users), tuple(steps))
        return Phase(Wait.CLAIMS, tuple(_claim_words(one) for one in claims), tuple(steps))
    if volumes:
        return Phase(Wait.VOLUMES, tuple(_volume_words(one) for one in volumes), tuple(steps))
    kept = [one.volume for one in recorded if one.claim_uid not in going]
    return Phase(Wait.NOTHING, note=f"without a snapshot, so kept: {', '.join(kept)}" if kept else "")


def _going(end: Ending, recorded: Sequence[Recorded]) -> dict[str, Recorded]:
    """Those of *recorded* whose volumes may be deleted, by the uid of the claim.

    Under Snapshot only those that have a snapshot, and whose claim no pod has used since, or whose volume does not exist.
    """
    if end.policy is not DeletionPolicy.SNAPSHOT:
        return {one.claim_uid: one for one in recorded}
    facts, situation = end.instance.facts, end.situation
    used = in_use(situation.claims, situation.pods)
    return {
        one.claim_uid: one
        for one in recorded
        if not is_there(one, facts.namespace, situation.volumes)
        or (one.claim_uid not in used and is_snapshotted(facts.uid, one.claim, one.claim_uid, situation.snapshots))
    }


def _waiting(end: Ending, phase: Phase) -> Waiting:
    before = end.instance.status.waiting
    since_s = before.since_s if before is not None and before.reason is phase.wait else float(int(end.now_s))
    names, more = phase.names[:NAMES_KEPT], len(phase.names) - NAMES_KEPT
    return Waiting(phase.wait, since_s, (*names, f"and {more} more") if more > 0 else names)


def _user_words(end: Ending, pod: Pod) -> str:
    """A pod of others, and what makes it: that may belong to something that the instance owns, and that waits for its end."""
    sets = {one.uid: one for one in end.situation.workloads if one.kind == "StatefulSet"}
    makers = list(pod.owners[:1])
    if makers and (made := sets.get(makers[0].uid)) is not None:
        makers += made.owners[:1]
    return pod.words + "".join(f", of {one.kind} {one.name}" for one in makers)


def _claim_words(claim: ClaimFacts) -> str:
    held = [one for one in claim.finalizers if claim.deleting_s is not None]
    return f"claim {claim.name}" + (f" (finalizers {', '.join(held)})" if held else "")


def _volume_words(volume: Volume) -> str:
    said = ", ".join(one for one in (volume.phase, volume.message, *volume.finalizers) if one)
    return f"volume {volume.name}" + (f" ({said})" if said else "")
