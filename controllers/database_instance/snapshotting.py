"""Under Snapshot: what is missing until every claim that holds data has a snapshot, ready to use and kept.

A claim is snapshotted when no pod uses it any more, not even a finished one: what is written later is in no snapshot. When
a pod comes afterwards, the snapshot is labelled, since the pod may be gone at the next look, and another one is taken when
nobody uses the claim any more. The last one counts.
The name of a snapshot has the uids of the instance and of the claim in it, so that nothing else has it; its label may be lost.
Pure. Source: snapshot.storage.k8s.io/v1; kubernetes.io/docs: Volume Snapshots;
kubernetes/pkg/controller/volume/pvcprotection (a pod without a node uses nothing).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Final

from controllers.database_instance.keeping import volumes_of
from controllers.database_instance.values import (
    CreateSnapshot,
    MarkSnapshot,
    Phase,
    Pod,
    RetainContent,
    Snapshot,
    Step,
    Volume,
    Wait,
)
from webhook.objects.databases import ClaimFacts, InstanceFacts

_NAME_ROOM: Final = 150  # of a snapshot's name for its claim's; two uids and two dashes fit behind it, and a number
MOST_TAKEN: Final = 10  # of one claim: who starts pods again and again shall not fill the storage with snapshots


def snapshot_name(instance_uid: str, claim: str, claim_uid: str, number: int = 1) -> str:
    """The name of the snapshot that is taken of a claim when the instance is deleted: no other instance or claim has it.

    number: from 1; above it there are those that were taken again.
    """
    name = f"{claim[:_NAME_ROOM].rstrip('-.')}-{instance_uid}-{claim_uid}"
    return name if number == 1 else f"{name}-{number}"


def is_snapshotted(instance_uid: str, claim: str, claim_uid: str, snapshots: Sequence[Snapshot] | None) -> bool:
    """Whether the claim has its snapshot among *snapshots*, nothing is missing of it, and no pod was seen with it since."""
    _, last = _last(instance_uid, claim, claim_uid, snapshots or ())
    return last is not None and not last.used_since and not _missing(last, instance_uid, claim)


def in_use(claims: Sequence[ClaimFacts], pods: Sequence[Pod]) -> dict[str, list[Pod]]:
    """The pods that may use, each by the uid of the claim; claims that none uses are not in it. O(claims + pods)."""
    by_name: dict[str, list[Pod]] = {}
    for pod in pods:
        for name in pod.claims if pod.holds(pod.claims) else ():
            by_name.setdefault(name, []).append(pod)
    return {claim.uid: by_name[claim.name] for claim in claims if claim.name in by_name}


def outdated(
    instance_uid: str, own: Sequence[ClaimFacts], used: Collection[str], snapshots: Sequence[Snapshot] | None
) -> list[Step]:
    """The snapshots of *own* that are to be marked, since a pod uses their claim now. used: uids of claims, see `in_use`."""
    steps: list[Step] = []
    for claim in own:
        _, last = _last(instance_uid, claim.name, claim.uid, snapshots or ()) if claim.uid in used else (0, None)
        if last is not None and not last.used_since and _is_of(last, instance_uid, claim.name):
            steps.append(MarkSnapshot(last.name, last.uid, claim.name))
    return steps


def snapshots_due(
    facts: InstanceFacts,
    own: Sequence[ClaimFacts],
    volumes: Sequence[Volume],
    pods: Sequence[Pod],
    snapshots: Sequence[Snapshot] | None,
) -> Phase | None:
    """What is due for the claims *own*; None when nothing is missing.

    snapshots: of the namespace; None when the cluster has no VolumeSnapshots.
    """
    bound = volumes_of(own, volumes)  # a claim without a volume holds no data
    wanted = [claim for claim in own if claim.uid in bound]
    used = in_use(wanted, pods)
    missing = [
        claim for claim in wanted if claim.uid in used or not is_snapshotted(facts.uid, claim.name, claim.uid, snapshots)
    ]
    if not missing:
        return None
    if snapshots is None:
        return Phase(Wait.SNAPSHOT_UNAVAILABLE, ("the cluster does not serve snapshot.storage.k8s.io/v1 VolumeSnapshots",))
    steps: list[Step] = []
    names: list[str] = []
    users: dict[str, Pod] = {}
    for claim in missing:
        number, last = _last(facts.uid, claim.name, claim.uid, snapshots)
        if claim.uid in used:
            users |= {pod.uid: pod for pod in used[claim.uid]}
            if last is not None:
                names.append(f"snapshot of {claim.name} (used since it was taken: it is taken again)")
            continue
        if last is not None and last.used_since and number < MOST_TAKEN:
            last = None
        if last is None:
            name = snapshot_name(facts.uid, claim.name, claim.uid, number + 1)
            steps.append(CreateSnapshot(name, claim.name, facts.snapshot_class))
        elif last.content and not last.content_gone and not last.content_retained:
            steps.append(RetainContent(last.content, last.uid))
        names.append(f"snapshot of {claim.name} ({_why(last, facts, claim.name)})")
    if users:
        return Phase(Wait.PODS, (*(pod.words for pod in users.values()), *names), tuple(steps))
    return Phase(Wait.SNAPSHOTS, tuple(names), tuple(steps))


def _last(instance_uid: str, claim: str, claim_uid: str, snapshots: Sequence[Snapshot]) -> tuple[int, Snapshot | None]:
    """The number of the snapshot that was taken last of a claim, and itself; 0 when there is none."""
    by_name = {one.name: one for one in snapshots}
    for number in range(MOST_TAKEN, 0, -1):
        found = by_name.get(snapshot_name(instance_uid, claim, claim_uid, number))
        if found is not None:
            return number, found
    return 0, None


def _is_of(snapshot: Snapshot, instance_uid: str, claim: str) -> bool:
    return snapshot.instance_uid in ("", instance_uid) and snapshot.claim == claim


def _why(snapshot: Snapshot | None, facts: InstanceFacts, claim: str) -> str:
    """What the snapshot of *claim* waits for."""
    if snapshot is None:
        return "being created"
    if snapshot.used_since:
        return f"used again after each of {MOST_TAKEN}: end what starts the pods, then delete {snapshot.name}"
    why = _missing(snapshot, facts.uid, claim)
    wanted, taken = facts.snapshot_class, snapshot.snapshot_class
    if snapshot.ready or snapshot.deleting or not wanted or wanted == taken or not _is_of(snapshot, facts.uid, claim):
        return why
    return f"{why}; it has class {taken or 'of the default'}: delete it, and it is taken again with {wanted}"


def _missing(snapshot: Snapshot, instance_uid: str, claim: str) -> str:
    """What is still missing of *snapshot*; "" when nothing is."""
    if not _is_of(snapshot, instance_uid, claim):
        return "what has its name belongs to something else"
    if snapshot.deleting:
        return "somebody deletes it; it is taken again when it is gone"
    if snapshot.error and not snapshot.ready:
        return f"error: {snapshot.error}"
    if not snapshot.content:
        return "no content is bound to it yet: is a snapshot controller at work?"
    if snapshot.content_gone:
        return f"its content {snapshot.content} is gone: delete the snapshot, and it is taken again"
    if not snapshot.ready:
        return "not ready to use yet"
    return "" if snapshot.content_retained else "its content is being kept"
