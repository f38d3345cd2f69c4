"""The fields of API objects that are read, as the API writes them; the others are never decoded. Absent and null read alike."""

from __future__ import annotations

from typing import Any

import msgspec

from controllers.runtime.decoding import Projected


class Owner(msgspec.Struct):
    uid: str | None = None
    kind: str | None = None
    name: str | None = None


class Meta(msgspec.Struct, rename="camel"):
    name: str | None = None
    namespace: str | None = None
    uid: str | None = None
    resource_version: str | None = None
    generation: int | None = None
    creation_timestamp: str | None = None
    deletion_timestamp: str | None = None
    finalizers: list[str] | None = None
    owner_references: list[Owner] | None = None
    labels: dict[str, str | None] | None = None


class Snapshotting(msgspec.Struct, rename="camel"):
    class_name: str | None = None


class InstanceSpec(msgspec.Struct, rename="camel"):
    volumes: dict[str, Any] | None = None
    deletion_policy: str | None = None
    deletion_timeout: str | None = None
    snapshot: Snapshotting | None = None


class Recorded(msgspec.Struct, rename="camel"):
    claim_name: str = ""
    claim_uid: str = msgspec.field(default="", name="claimUID")
    volume_name: str = ""
    volume_uid: str = msgspec.field(default="", name="volumeUID")
    workload_uid: str = msgspec.field(default="", name="workloadUID")


class Waiting(msgspec.Struct, rename="camel"):
    reason: str = ""
    since: str = ""
    names: list[str] | None = None


class Condition(msgspec.Struct, rename="camel"):
    type: str = ""
    status: str = ""
    reason: str = ""
    message: str = ""
    last_transition_time: str = ""
    observed_generation: int = 0


class InstanceStatus(msgspec.Struct, rename="camel"):
    observed_generation: int | None = None
    deletion_policy: str | None = None
    volumes: list[Recorded] | None = None
    shared_claims: list[str] | None = msgspec.field(default=None, name="sharedClaimUIDs")
    waiting_for: Waiting | None = None
    conditions: list[Condition] | None = None


class Instance(Projected):
    metadata: Meta = msgspec.field(default_factory=Meta)
    spec: Any = None  # an `InstanceSpec`, if it can be read as one: an instance whose spec cannot has to be seen, too


class FullInstance(Instance):
    status: InstanceStatus | None = None


class Named(msgspec.Struct):
    name: str | None = None


class Template(msgspec.Struct):
    metadata: Named = msgspec.field(default_factory=Named)


class ClaimSpec(msgspec.Struct, rename="camel"):
    volume_name: str | None = None


class Claim(Projected):
    metadata: Meta = msgspec.field(default_factory=Meta)
    spec: ClaimSpec | None = None


class ClaimVolume(msgspec.Struct, rename="camel"):
    claim_name: str | None = None


class PodVolume(msgspec.Struct, rename="camel"):
    name: str | None = None
    persistent_volume_claim: ClaimVolume | None = None
    ephemeral: dict[str, Any] | None = None


class PodSpec(msgspec.Struct, rename="camel"):
    node_name: str | None = None
    volumes: list[PodVolume] | None = None


class PodTemplate(msgspec.Struct):
    spec: PodSpec | None = None


class JobSpec(msgspec.Struct):
    template: PodTemplate | None = None


class JobTemplate(msgspec.Struct):
    spec: JobSpec | None = None


class WorkloadSpec(msgspec.Struct, rename="camel"):
    volume_claim_templates: list[Template] | None = None
    template: PodTemplate | None = None
    job_template: JobTemplate | None = None  # of a CronJob


class Workload(Projected):
    metadata: Meta = msgspec.field(default_factory=Meta)
    spec: WorkloadSpec | None = None


class Phase(msgspec.Struct):
    phase: str | None = None
    message: str | None = None


class Pod(Projected):
    metadata: Meta = msgspec.field(default_factory=Meta)
    spec: PodSpec | None = None
    status: Phase | None = None


class ClaimRef(msgspec.Struct):
    namespace: str | None = None
    name: str | None = None
    uid: str | None = None


class VolumeSpec(msgspec.Struct, rename="camel"):
    persistent_volume_reclaim_policy: str | None = None
    claim_ref: ClaimRef | None = None


class HeldVolume(Projected):
    metadata: Meta = msgspec.field(default_factory=Meta)
    spec: VolumeSpec | None = None


class Volume(HeldVolume):
    status: Phase | None = None


class Source(msgspec.Struct, rename="camel"):
    persistent_volume_claim_name: str | None = None


class SnapshotSpec(msgspec.Struct, rename="camel"):
    source: Source | None = None
    volume_snapshot_class_name: str | None = None


class Error(msgspec.Struct):
    message: str | None = None


class SnapshotStatus(msgspec.Struct, rename="camel"):
    ready_to_use: bool | None = None
    error: Error | None = None
    bound_volume_snapshot_content_name: str | None = None


class Snapshot(Projected):
    metadata: Meta = msgspec.field(default_factory=Meta)
    spec: SnapshotSpec | None = None
    status: SnapshotStatus | None = None
