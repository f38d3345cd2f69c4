"""How volumes are kept, and remembered. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from controllers.database_instance.belonging import Belongings
from controllers.database_instance.values import DetachClaim, Instance, Recorded, SetReclaim, Step, Volume

RETAIN: Final = "Retain"  # reclaim policy of a PersistentVolume, deletion policy of a VolumeSnapshotContent


def keeping(found: Belongings, volumes: Sequence[Volume]) -> list[Step]:
    """The volumes of the claims outlive them, from now on."""
    bound = {volume.claim_uid: volume for volume in volumes if volume.claim_uid}
    steps: list[Step] = []
    for claim in found.own:
        volume = bound.get(claim.uid)
        if volume is not None and volume.reclaim != RETAIN and volume.deleting_s is None:
            steps.append(SetReclaim(volume.name, volume.uid, claim.uid, RETAIN))
    return steps


def detaching(found: Belongings, uids: set[str]) -> list[Step]:
    """No claim is a dependent of one of *uids* any more."""
    steps: list[Step] = []
    for claim in found.own:
        owners = frozenset(owner.uid for owner in claim.owners if owner.uid in uids)
        if owners and claim.deleting_s is None:
            steps.append(DetachClaim(claim.name, claim.uid, owners))
    return steps


def record(instance: Instance, found: Belongings, volumes: Sequence[Volume]) -> tuple[Recorded, ...]:
    """The instance's volumes by its claims of now."""
    known = {one.claim_uid: one for one in instance.status.volumes}
    by_name = {volume.name: volume for volume in volumes}
    recorded = []
    for claim in sorted(found.own, key=lambda one: one.name):
        before = known.get(claim.uid)
        volume = by_name.get(claim.volume)
        uid = volume.uid if volume is not None else ""
        if not uid and before is not None and before.volume == claim.volume:
            uid = before.volume_uid
        workload_uid = found.via.get(claim.uid, before.workload_uid if before is not None else "")
        recorded.append(Recorded(claim.name, claim.uid, claim.volume, uid, workload_uid))
    return tuple(recorded)
