"""Under Snapshot: what is missing until every claim that holds data has a snapshot, ready to use and kept.

A claim is snapshotted when no pod uses it any more, not even a finished one: what is written later is in no snapshot.
The name of a snapshot has the uids of the instance and of the claim in it, so that nothing else has it; its label may be lost.
Pure. Source: snapshot.storage.k8s.io/v1; kubernetes.io/docs: Volume Snapshots.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from controllers.database_instance.keeping import volumes_of
from controllers.database_instance.values import (
    CreateSnapshot,
    Phase,
    Pod,
    RetainContent,
    Snapshot,
    Step,
    Volume,
    Wait,
)
from webhook.objects.databases import ClaimFacts, InstanceFacts

_NAME_ROOM: Final = 150  # of a snapshot's name for its claim's; two uids and two dashes fit behind it


def snapshot_name(instance_uid: str, claim: str, claim_uid: str) -> str:
    """The name of the snapshot that is taken of a claim when the instance is deleted: no other instance or claim has it."""
    return f"{claim[:_NAME_ROOM].rstrip('-.')}-{instance_uid}-{claim_uid}"


def is_snapshotted(instance_uid: str, claim: str, claim_uid: str, snapshots: Sequence[Snapshot] | None) -> bool:
    """Whether the claim has its snapshot among *snapshots*, and nothing is missing of it."""
    name = snapshot_name(instance_uid, claim, claim_uid)
    return any(one.name == name and not _missing(one, instance_uid, claim) for one in snapshots or ())


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
    missing = [claim for claim in wanted if not is_snapshotted(facts.uid, claim.name, claim.uid, snapshots)]
    if not missing:
        return None
    if snapshots is None:
        return Phase(Wait.SNAPSHOT_UNAVAILABLE, ("the cluster does not serve snapshot.storage.k8s.io/v1 VolumeSnapshots",))
    by_name = {one.name: one for one in snapshots}
    steps: list[Step] = []
    names: list[str] = []
    users: dict[str, Pod] = {}
    for claim in missing:
        name = snapshot_name(facts.uid, claim.name, claim.uid)
        snapshot = by_name.get(name)
        using = [pod for pod in pods if claim.name in pod.claims]
        if snapshot is None and using:
            users |= {pod.uid: pod for pod in using}
            continue
        if snapshot is None:
            steps.append(CreateSnapshot(name, claim.name, facts.snapshot_class))
        elif snapshot.content and not snapshot.content_gone and not snapshot.content_retained:
            steps.append(RetainContent(snapshot.content, snapshot.uid))
        why = "being created" if snapshot is None else _missing(snapshot, facts.uid, claim.name)
        names.append(f"snapshot of {claim.name} ({why})")
    if users:
        return Phase(Wait.PODS, (*(pod.words for pod in users.values()), *names), tuple(steps))
    return Phase(Wait.SNAPSHOTS, tuple(names), tuple(steps))


def _missing(snapshot: Snapshot, instance_uid: str, claim: str) -> str:
    """What is still missing of *snapshot*; "" when nothing is."""
    if snapshot.instance_uid not in ("", instance_uid) or snapshot.claim != claim:
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
