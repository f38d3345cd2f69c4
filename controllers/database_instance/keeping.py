"""How volumes are kept, and remembered. Pure.

A claim may name its volume before it is bound: such a volume is reserved for the claim (its claimRef has no uid yet), and its
binding changes nothing of the claim. So what counts is the volume as it was read.
Source: kubernetes.io/docs: Persistent Volumes (reserving, reclaiming).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from controllers.database_instance.belonging import Belongings
from controllers.database_instance.values import DetachClaim, Instance, Reclaim, Recorded, SetReclaim, Step, Volume
from webhook.objects.databases import ClaimFacts


def is_bound(volume: Volume, claim: ClaimFacts) -> bool:
    """Whether *volume* is that of *claim*: bound to it, or reserved for it."""
    return volume.name == claim.volume and _is_for(volume, claim.uid, f"{claim.namespace}/{claim.name}")


def is_remembered(volume: Volume, one: Recorded, namespace: str) -> bool:
    """Whether *volume* is the one that *one*, a claim of *namespace*, remembers, and nobody else's by now.

    A status can be written by others, who may name what is not theirs: a volume of another namespace is never meant.
    """
    same = volume.name == one.volume and one.volume_uid in ("", volume.uid)
    return same and bool(one.claim_uid) and volume.claim_uid == one.claim_uid and volume.claim_key == f"{namespace}/{one.claim}"


def is_there(one: Recorded, namespace: str, volumes: Sequence[Volume]) -> bool:
    """Whether the volume of *one*, a claim of *namespace*, exists, bound to it or reserved for it."""
    key = f"{namespace}/{one.claim}"
    return any(volume.name == one.volume and _is_for(volume, one.claim_uid, key) for volume in volumes)


def volumes_of(claims: Sequence[ClaimFacts], volumes: Sequence[Volume]) -> dict[str, Volume]:
    """The volume of each of *claims* that has one, by the uid of the claim."""
    by_name = {volume.name: volume for volume in volumes}
    found = {claim.uid: by_name.get(claim.volume) for claim in claims}
    return {claim.uid: one for claim in claims if (one := found[claim.uid]) is not None and is_bound(one, claim)}


def unkept(claims: Sequence[ClaimFacts], volumes: Sequence[Volume]) -> dict[str, str]:
    """Of each claim whose volume was not seen to outlive it: its name -> why. Unbound claims have nothing to lose."""
    bound, there = volumes_of(claims, volumes), {volume.name for volume in volumes}
    found = {}
    for claim in claims:
        volume = bound.get(claim.uid)
        if volume is not None and volume.reclaim != Reclaim.RETAIN:
            found[claim.name] = f"volume {volume.name} has reclaim policy {volume.reclaim}"
        elif volume is None and claim.volume:
            found[claim.name] = f"volume {claim.volume} is {'not its own' if claim.volume in there else 'not there'}"
    return found


def keeping(
    claims: Sequence[ClaimFacts], recorded: Sequence[Recorded], volumes: Sequence[Volume], namespace: str
) -> list[SetReclaim]:
    """The volumes of *claims*, and those that *recorded* remembers of claims that are gone, outlive them from now on.

    Also a volume that is being deleted: it stays until its claim is gone, and its reclaim policy counts then (KEP-2644).
    """
    bound = volumes_of(claims, volumes)
    steps = []
    for claim in claims:
        volume = bound.get(claim.uid)
        if volume is not None and volume.reclaim != Reclaim.RETAIN:
            reserved = "" if volume.claim_uid else volume.claim_key
            steps.append(SetReclaim(volume.name, volume.uid, claim.uid, Reclaim.RETAIN, reserved))
    present = {claim.uid for claim in claims}
    for one in recorded:
        found = [volume for volume in volumes if one.claim_uid not in present and is_remembered(volume, one, namespace)]
        loose = [volume for volume in found if volume.reclaim != Reclaim.RETAIN]
        steps += [SetReclaim(volume.name, volume.uid, one.claim_uid, Reclaim.RETAIN) for volume in loose]
    return steps


def detaching(claims: Sequence[ClaimFacts], uids: set[str], *, label: bool = True) -> list[Step]:
    """No claim of *claims* is a dependent of one of *uids* any more. label: it bears the instance's uid instead."""
    steps: list[Step] = []
    for claim in claims:
        owners = frozenset(owner.uid for owner in claim.owners if owner.uid in uids)
        if owners and claim.deleting_s is None:
            steps.append(DetachClaim(claim.name, claim.uid, owners, label))
    return steps


def record(instance: Instance, found: Belongings, volumes: Sequence[Volume]) -> tuple[Recorded, ...]:
    """The instance's volumes by its claims of now."""
    known = {one.claim_uid: one for one in instance.status.volumes}
    by_name: Mapping[str, Volume] = {volume.name: volume for volume in volumes}
    recorded = []
    for claim in sorted(found.own, key=lambda one: one.name):
        before = known.get(claim.uid)
        volume = by_name.get(claim.volume)
        uid = volume.uid if volume is not None and is_bound(volume, claim) else ""
        if not uid and before is not None and before.volume == claim.volume:
            uid = before.volume_uid
        recorded.append(Recorded(claim.name, claim.uid, claim.volume, uid, found.via.get(claim.uid, "")))
    return tuple(recorded)


def bereft(instance: Instance, claims: Sequence[ClaimFacts], volumes: Sequence[Volume]) -> tuple[Recorded, ...]:
    """What is remembered of claims that are gone (*claims*: all of the namespace), as long as the volume is there."""
    present = {claim.uid for claim in claims}
    gone = [one for one in instance.status.volumes if one.claim_uid not in present]
    namespace = instance.facts.namespace
    return tuple(one for one in gone if any(is_remembered(volume, one, namespace) for volume in volumes))


def _is_for(volume: Volume, claim_uid: str, claim_key: str) -> bool:
    return volume.claim_uid == claim_uid if volume.claim_uid else volume.claim_key == claim_key
