"""What a plan is made of: facts of one instance and what surrounds it, and the steps that may come out. Frozen; any thread.

Times are seconds since the epoch; `deleting_s` is None of what is not being deleted.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from enum import StrEnum
from typing import Final, Literal

import attrs

from webhook.objects.databases import ClaimFacts, DeletionPolicy, InstanceFacts, Owner

ORPHAN: Final = "orphan"  # the garbage collector's finalizers (metav1.FinalizerOrphanDependents, FinalizerDeleteDependents)
FOREGROUND: Final = "foregroundDeletion"
USED_SINCE: Final = "gatehouse.dev/used-since"  # label of a VolumeSnapshot: a pod has used its claim afterwards

Truth = Literal["True", "False", "Unknown"]


class Reclaim(StrEnum):
    """What becomes of a volume without its claim, or of a snapshot's content without its VolumeSnapshot."""

    DELETE = "Delete"
    RETAIN = "Retain"


@attrs.frozen
class Recorded:
    """A volume as the instance's status remembers it: what has to be gone, whatever happens to the claim first."""

    claim: str
    claim_uid: str
    volume: str = ""
    volume_uid: str = ""
    workload_uid: str = ""  # of the instance's workload that the claim was made for


@attrs.frozen
class Condition:
    """A condition of the status."""

    type: str
    status: Truth
    reason: str
    message: str
    since_s: float
    generation: int = 0


@attrs.frozen
class Waiting:
    """What a deletion waits for, and since when."""

    reason: Wait
    since_s: float
    names: tuple[str, ...] = ()


class Wait(StrEnum):
    """The phases of a deletion, and what can hold one up."""

    INVALID_SPEC = "InvalidSpec"
    GARBAGE_COLLECTOR = "WaitsForGarbageCollector"  # it orphans the dependents first
    KEEPING = "WaitsForReclaimPolicy"  # volumes that have to stay, and would go with their claims
    WORKLOADS = "WaitsForWorkloads"
    PODS = "WaitsForPods"  # somebody else's, which use the claims
    SNAPSHOT_UNAVAILABLE = "SnapshotUnavailable"
    SNAPSHOTS = "WaitsForSnapshots"
    CLAIMS = "WaitsForClaims"
    VOLUMES = "WaitsForVolumes"
    FAILING = "Failing"  # nothing could be decided yet
    NOTHING = "LettingGo"  # only for our finalizer, which is dropped next
    DONE = "Done"  # our finalizer is gone


@attrs.frozen
class Status:
    """The status of an instance."""

    generation: int = 0  # observedGeneration
    volumes: tuple[Recorded, ...] = ()
    waiting: Waiting | None = None
    conditions: tuple[Condition, ...] = ()
    policy: str = ""  # in force: the spec's, or the installation's default
    shared: tuple[str, ...] = ()  # uids of claims that an instance with a more careful policy has, or had, a say about

    def condition(self, kind: str) -> Condition | None:
        """The condition of type *kind*."""
        return next((one for one in self.conditions if one.type == kind), None)


@attrs.frozen
class Instance:
    """A DatabaseInstance as it was read."""

    facts: InstanceFacts
    version: str = ""  # metadata.resourceVersion
    status: Status = Status()

    def is_past_workloads(self, policy: DeletionPolicy) -> bool:
        """Whether its claims are going: no workload is deleted any more, since the claims would not serve one.

        Under Snapshot pods are waited for before that.
        """
        waiting = self.status.waiting
        if self.facts.deleting_s is None or waiting is None:
            return False
        early = waiting.reason is Wait.PODS and policy is not DeletionPolicy.SNAPSHOT
        return early or waiting.reason in (Wait.CLAIMS, Wait.VOLUMES)


@attrs.frozen
class Workload:
    """A workload. *collection* is its path below the namespace: "apps/v1/statefulsets"."""

    collection: str
    kind: str
    name: str
    uid: str
    owners: tuple[Owner, ...] = ()
    deleting_s: float | None = None
    templates: tuple[str, ...] = ()  # of a StatefulSet: the names of its volumeClaimTemplates
    namespace: str = ""
    mounts: frozenset[str] = frozenset()  # the claims that its pods' template names


@attrs.frozen
class Pod:
    """A pod, and the claims that it uses."""

    name: str
    uid: str
    node: str = ""
    owners: tuple[Owner, ...] = ()
    claims: frozenset[str] = frozenset()
    deleting_s: float | None = None
    finished: bool = False  # Succeeded or Failed: it holds its claims nevertheless, until it is deleted

    def holds(self, claims: Collection[str]) -> bool:
        """Whether it may use one of *claims* (names). Without a node it has used nothing, and protects none of them."""
        return bool(self.node) and not self.claims.isdisjoint(claims)

    @property
    def words(self) -> str:
        """As it is named in a status."""
        where = f" on node {self.node}" if self.node else ""
        state = "terminating" if self.deleting_s is not None else "finished, and holds its claims until it is deleted"
        return f"pod {self.name}{where}" + (f" ({state})" if self.deleting_s is not None or self.finished else "")


@attrs.frozen
class Volume:
    """A PersistentVolume."""

    name: str
    uid: str
    reclaim: str  # `Reclaim`, or what else the API server lets be ("Recycle")
    claim_uid: str = ""  # of the claim that it is bound to
    phase: str = ""
    message: str = ""
    deleting_s: float | None = None
    finalizers: tuple[str, ...] = ()
    claim_key: str = ""  # "namespace/name" of the claim that it is bound to, or reserved for


@attrs.frozen
class Snapshot:
    """A VolumeSnapshot, and its content."""

    name: str
    uid: str
    claim: str  # its source
    ready: bool = False
    error: str = ""
    content: str = ""  # the bound VolumeSnapshotContent, "" while there is none
    content_retained: bool = False
    instance_uid: str = ""  # by its label
    deleting: bool = False
    content_gone: bool = False  # somebody has deleted it
    used_since: bool = False  # a pod has used its claim afterwards: what it wrote is missing
    snapshot_class: str = ""


@attrs.frozen
class Surroundings:
    """What else a plan looks at."""

    instances: tuple[InstanceFacts, ...] = ()  # those of the namespace
    terminating: bool = False  # the namespace is being deleted: nothing can be created in it any more
    orphaned: bool = False  # the instance's deletion was to orphan its dependents


@attrs.frozen
class Situation:
    """One instance and everything that is decided about it from, as it was read.

    workloads, pods, claims: of its namespace, owned or not. Of an instance that lives StatefulSets, and what owns claims, are
    enough; the others and pods are only told of.
    volumes:   those that its claims name and that its status remembers; the ones that are missing do not exist. Under Delete,
    while it lives, only those whose uid is not remembered yet, and those whose claim is gone.
    snapshots: of its namespace; None when the cluster has no VolumeSnapshots.
    """

    instance: Instance
    workloads: Sequence[Workload] = ()
    pods: Sequence[Pod] = ()
    claims: Sequence[ClaimFacts] = ()
    volumes: Sequence[Volume] = ()
    snapshots: Sequence[Snapshot] | None = ()
    around: Surroundings = Surroundings()

    @property
    def orphaned(self) -> bool:
        """Whether the dependents of a deleted instance stay (`--cascade=orphan`): then only what its spec says is its own."""
        facts = self.instance.facts
        return facts.deleting_s is not None and (ORPHAN in facts.finalizers or self.around.orphaned)


# -- steps


@attrs.frozen
class AddFinalizer:
    """Add our finalizer, and nothing else."""


@attrs.frozen
class WriteStatus:
    """Make the status say *status*."""

    status: Status


@attrs.frozen
class DetachClaim:
    """Replace the owner references to *owners* by the uid label, so that no garbage collector takes the claim."""

    name: str
    uid: str
    owners: frozenset[str]
    label: bool = True  # False = they only go: the label would make the claim ours alone


@attrs.frozen
class SetReclaim:
    """Set the reclaim policy of the volume that is bound to the claim *claim_uid*, or still reserved for *claim_key*."""

    volume: str
    uid: str
    claim_uid: str
    policy: Reclaim
    claim_key: str = ""  # "" = only if it is bound

    @property
    def keeps(self) -> bool:
        """Whether the volume outlives its claim by this."""
        return self.policy is Reclaim.RETAIN


@attrs.frozen
class DeleteWorkload:
    """Delete a workload in the foreground: it stays until its pods are gone, and names them meanwhile."""

    collection: str
    name: str
    uid: str


@attrs.frozen
class DeletePod:
    """Delete a pod that the instance itself owns, with its grace period."""

    name: str
    uid: str


@attrs.frozen
class CreateSnapshot:
    """Create the VolumeSnapshot *name* of a claim."""

    name: str
    claim: str
    snapshot_class: str


@attrs.frozen
class MarkSnapshot:
    """Label a VolumeSnapshot: its claim was used afterwards, so that it does not count any more."""

    name: str
    uid: str
    claim: str


@attrs.frozen
class RetainContent:
    """Keep a VolumeSnapshotContent when its VolumeSnapshot, or the namespace, is deleted."""

    content: str
    snapshot_uid: str


@attrs.frozen
class DeleteClaim:
    """Delete a claim."""

    name: str
    uid: str


@attrs.frozen
class DropFinalizer:
    """Drop our finalizer, and nothing else."""


Step = (
    AddFinalizer
    | WriteStatus
    | DetachClaim
    | SetReclaim
    | DeleteWorkload
    | DeletePod
    | CreateSnapshot
    | MarkSnapshot
    | RetainContent
    | DeleteClaim
    | DropFinalizer
)


@attrs.frozen
class Phase:
    """What is due of a deletion now."""

    wait: Wait
    names: tuple[str, ...] = ()  # what is waited for
    steps: tuple[Step, ...] = ()
    note: str = ""  # why volumes are kept that should have been snapshotted


@attrs.frozen
class Plan:
    """What to do about one instance, in this order. Steps may be repeated, and left off anywhere: the next plan goes on."""

    steps: tuple[Step, ...] = ()
    look_again_s: float | None = None  # None = only an event can change this plan
    waiting: Waiting | None = None

    @property
    def deletes(self) -> bool:
        """Whether claims or volumes of the instance go by it."""
        return any(isinstance(step, DeleteClaim) or (isinstance(step, SetReclaim) and not step.keeps) for step in self.steps)
