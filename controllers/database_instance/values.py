"""What a plan is made of: facts of one instance and what surrounds it, and the steps that may come out. Frozen; any thread.

Times are seconds since the epoch; `deleting_s` is None of what is not being deleted.
"""

from __future__ import annotations

from enum import StrEnum

import attrs

from webhook.objects.databases import ClaimFacts, InstanceFacts, Owner


@attrs.frozen
class Recorded:
    """A volume as the instance's status remembers it: what has to be gone, whatever happens to the claim first."""

    claim: str
    claim_uid: str
    volume: str = ""
    volume_uid: str = ""
    workload_uid: str = ""  # of the StatefulSet that the claim was made for


@attrs.frozen
class Condition:
    """A condition of the status."""

    type: str
    status: bool
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
    WORKLOADS = "WaitsForWorkloads"
    PODS = "WaitsForPods"  # somebody else's, which use the claims
    SNAPSHOT_UNAVAILABLE = "SnapshotUnavailable"
    SNAPSHOTS = "WaitsForSnapshots"
    CLAIMS = "WaitsForClaims"
    VOLUMES = "WaitsForVolumes"
    NOTHING = "Done"


# From here on claims are going: no workload is looked for any more, since the claims would not serve one.
PAST_WORKLOADS = frozenset({Wait.PODS, Wait.CLAIMS, Wait.VOLUMES})


@attrs.frozen
class Status:
    """The status of an instance."""

    generation: int = 0  # observedGeneration
    volumes: tuple[Recorded, ...] = ()
    waiting: Waiting | None = None
    conditions: tuple[Condition, ...] = ()

    def condition(self, kind: str) -> Condition | None:
        """The condition of type *kind*."""
        return next((one for one in self.conditions if one.type == kind), None)


@attrs.frozen
class Instance:
    """A DatabaseInstance as it was read."""

    facts: InstanceFacts
    version: str = ""  # metadata.resourceVersion
    status: Status = Status()


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


@attrs.frozen
class Volume:
    """A PersistentVolume."""

    name: str
    uid: str
    reclaim: str
    claim_uid: str = ""
    phase: str = ""
    message: str = ""
    deleting_s: float | None = None
    finalizers: tuple[str, ...] = ()


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


@attrs.frozen
class Surroundings:
    """What else a plan looks at."""

    instances: tuple[InstanceFacts, ...] = ()  # those of the namespace
    terminating: bool = False  # the namespace is being deleted: nothing can be created in it any more


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


@attrs.frozen
class SetReclaim:
    """Set the reclaim policy of the volume that is bound to the claim *claim_uid*."""

    volume: str
    uid: str
    claim_uid: str
    policy: str


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
    claim_uid: str
    snapshot_class: str


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
    | RetainContent
    | DeleteClaim
    | DropFinalizer
)


@attrs.frozen
class Plan:
    """What to do about one instance, in this order. Steps may be taken again, and left off anywhere: the next plan goes on."""

    steps: tuple[Step, ...] = ()
    look_again_s: float | None = None  # None = only an event can change this plan
    waiting: Waiting | None = None
    overdue: bool = False  # deletionTimeout has passed
    claims: tuple[ClaimFacts, ...] = ()  # the instance's own
