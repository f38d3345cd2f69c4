"""API objects become facts: of the caches (DatabaseInstances, claims, StatefulSets) and of live reads.

Pure; any thread. Raises UndecodableObject naming the object and the field.
Source: manifests/base/10-crd-databaseinstances.yaml; core/v1, apps/v1 (Kubernetes API reference); snapshot.storage.k8s.io/v1.
"""

from __future__ import annotations

from sys import intern
from typing import Any, Final, TypeVar

import msgspec

from controllers.database_instance import shapes
from controllers.database_instance.values import (
    USED_SINCE,
    Condition,
    Instance,
    Pod,
    Recorded,
    Snapshot,
    Status,
    Truth,
    Volume,
    Wait,
    Waiting,
    Workload,
)
from controllers.runtime.decoding import StructProjection
from controllers.runtime.errors import UndecodableObject
from controllers.runtime.resource import Item, Json, Resource
from webhook.objects.databases import (
    API_VERSION,
    KIND,
    PLURAL,
    UID_LABEL,
    ClaimFacts,
    DeletionPolicy,
    InstanceFacts,
    Owner,
    VolumesSpec,
)
from webhook.objects.durations import parse_duration_s
from webhook.objects.meta import parse_time_s

S = TypeVar("S")

BY_NAMESPACE: Final = "namespace"
STATEFUL_SETS: Final = "apps/v1/statefulsets"
INSTANCES_PATH: Final = f"/apis/{API_VERSION}/{PLURAL}"


def instances_resource() -> Resource[InstanceFacts]:
    """All DatabaseInstances, without their status: our own writes of it wake nobody."""
    return Resource(PLURAL, INSTANCES_PATH, _INSTANCES, indexes={BY_NAMESPACE: lambda one: (one.namespace,)})


def claims_resource() -> Resource[ClaimFacts]:
    """All PersistentVolumeClaims."""
    path = "/api/v1/persistentvolumeclaims"
    return Resource("persistentvolumeclaims", path, _CLAIMS, indexes={BY_NAMESPACE: lambda one: (one.namespace,)})


def stateful_sets_resource() -> Resource[Workload]:
    """All StatefulSets: their claims bear no owner reference, only names that follow from theirs."""
    path = f"/apis/{STATEFUL_SETS}"
    return Resource("statefulsets", path, _STATEFUL_SETS, indexes={BY_NAMESPACE: lambda one: (one.namespace,)})


def volumes_resource() -> Resource[Volume]:
    """All PersistentVolumes, as far as they can be lost or kept; their phases are not followed."""
    return Resource("persistentvolumes", "/api/v1/persistentvolumes", _VOLUMES)


def instance_of(obj: Json) -> Instance:
    """A DatabaseInstance as it was read."""
    seen = _convert(obj, shapes.FullInstance, KIND)
    try:
        facts = _instance_item(seen).facts
    except ValueError as error:  # what the schema of the CRD should have refused
        raise UndecodableObject(f'{KIND} "{seen.metadata.name}"', str(error)) from error
    return Instance(facts, seen.metadata.resource_version or "", _status_of(seen.status or shapes.InstanceStatus()))


def instance_facts_from_object(obj: Json) -> InstanceFacts:
    """The facts of a DatabaseInstance that was read from a file. What the schema would refuse is refused here."""
    found = instance_of(obj)
    if fault := _spec_of(obj.get("spec"))[-1]:
        raise UndecodableObject(f'{KIND} "{found.facts.name}"', fault)
    return found.facts


def claim_of(obj: Json) -> ClaimFacts:
    """A PersistentVolumeClaim."""
    return _CLAIMS.convert(obj).facts


def workload_of(obj: Json, collection: str, kind: str) -> Workload:
    """A workload of *collection* ("apps/v1/statefulsets"); items of a list do not name their kind."""
    return _workload(_convert(obj, shapes.Workload, kind), collection, kind)


def stateful_set_of(obj: Json) -> Workload:
    """A StatefulSet."""
    return _STATEFUL_SETS.convert(obj).facts


def pod_of(obj: Json) -> Pod:
    """A Pod."""
    seen = _convert(obj, shapes.Pod, "Pod")
    meta, spec = seen.metadata, seen.spec or shapes.PodSpec()
    phase = seen.status.phase if seen.status else None
    return Pod(
        meta.name or "",
        meta.uid or "",
        spec.node_name or "",
        _owners(meta),
        frozenset(_claim_name(one, meta.name or "") for one in spec.volumes or ()) - {""},
        _time(meta.deletion_timestamp),
        phase in ("Succeeded", "Failed"),
    )


def volume_of(obj: Json) -> Volume:
    """A PersistentVolume."""
    seen = _convert(obj, shapes.Volume, "PersistentVolume")
    meta, spec, status = seen.metadata, seen.spec or shapes.VolumeSpec(), seen.status or shapes.Phase()
    bound = spec.claim_ref or shapes.ClaimRef()
    return Volume(
        meta.name or "",
        meta.uid or "",
        spec.persistent_volume_reclaim_policy or "",
        bound.uid or "",
        status.phase or "",
        status.message or "",
        _time(meta.deletion_timestamp),
        tuple(meta.finalizers or ()),
        f"{bound.namespace or ''}/{bound.name}" if bound.name else "",
    )


def snapshot_of(obj: Json, *, content_retained: bool = False, content_gone: bool = False) -> Snapshot:
    """A VolumeSnapshot, and what is known of its content: whether it is kept without the snapshot, whether it is gone."""
    seen = _convert(obj, shapes.Snapshot, "VolumeSnapshot")
    meta, status = seen.metadata, seen.status or shapes.SnapshotStatus()
    source = (seen.spec and seen.spec.source) or shapes.Source()
    return Snapshot(
        meta.name or "",
        meta.uid or "",
        source.persistent_volume_claim_name or "",
        bool(status.ready_to_use),
        (status.error and status.error.message) or "",
        status.bound_volume_snapshot_content_name or "",
        content_retained,
        ((meta.labels or {}).get(UID_LABEL)) or "",
        bool(meta.deletion_timestamp),
        content_gone,
        USED_SINCE in (meta.labels or {}),
        (seen.spec and seen.spec.volume_snapshot_class_name) or "",
    )


def is_deleting(obj: Json) -> bool:
    """Whether *obj* is being deleted."""
    return bool((obj.get("metadata") or {}).get("deletionTimestamp"))


def _convert(obj: Json, struct: type[S], kind: str) -> S:
    try:
        return msgspec.convert(obj, type=struct)
    except msgspec.ValidationError as error:
        metadata = obj.get("metadata")
        name = metadata.get("name") if isinstance(metadata, dict) else ""
        raise UndecodableObject(f'{kind} "{name}"', str(error)) from error


def _instance_item(seen: shapes.Instance) -> Item[InstanceFacts]:
    meta = seen.metadata
    if not meta.name:
        raise ValueError("metadata.name is missing")
    spec, policy, timeout_s, fault = _spec_of(seen.spec)
    volumes = VolumesSpec.of(spec.volumes)
    namespace = intern(meta.namespace or "default")
    facts = InstanceFacts(
        namespace,
        meta.name,
        meta.uid or "",
        volumes,
        policy,
        meta.generation or 0,
        tuple(meta.finalizers or ()),
        _time(meta.creation_timestamp) or 0.0,
        _time(meta.deletion_timestamp),
        timeout_s,
        (spec.snapshot and spec.snapshot.class_name) or "",
        fault or volumes.fault,
    )
    return Item(facts.key, facts.uid, meta.resource_version or "", facts)


def _spec_of(value: Any) -> tuple[shapes.InstanceSpec, DeletionPolicy | None, float | None, str]:
    """The spec, its policy, its timeout in seconds, and what is wrong with it, which the schema should have refused.

    What cannot be read counts as absent, but for the policy: then volumes are kept.
    """
    faults: list[str] = []
    try:
        spec = msgspec.convert({} if value is None else value, type=shapes.InstanceSpec)
    except msgspec.ValidationError as error:
        faults.append(f"spec: {error}")
        spec = _readable(value)
    policy = None
    if spec.deletion_policy:
        policy = next((one for one in DeletionPolicy if one == spec.deletion_policy), DeletionPolicy.RETAIN)
        if policy != spec.deletion_policy:
            faults.append(f"spec.deletionPolicy: must be {', '.join(DeletionPolicy)}, not {spec.deletion_policy!r}")
    timeout_s = None
    try:
        timeout_s = parse_duration_s(spec.deletion_timeout) if spec.deletion_timeout else None
    except ValueError as error:
        faults.append(f"spec.deletionTimeout: {error}")
    return spec, policy, timeout_s, "; ".join(faults)


def _readable(value: object) -> shapes.InstanceSpec:
    """What can be read of a spec that cannot be read as a whole; without a policy that can be read, volumes are kept."""
    said = value if isinstance(value, dict) else {}
    volumes, policy = said.get("volumes"), said.get("deletionPolicy")
    kept = DeletionPolicy.RETAIN.value
    return shapes.InstanceSpec(
        volumes if isinstance(volumes, dict) else None,
        policy if isinstance(policy, str) or (policy is None and isinstance(value, dict)) else kept,
    )


def _status_of(seen: shapes.InstanceStatus) -> Status:
    waiting = None
    if seen.waiting_for is not None and seen.waiting_for.reason in set(Wait):
        since_s = _time(seen.waiting_for.since) or 0.0
        waiting = Waiting(Wait(seen.waiting_for.reason), since_s, tuple(seen.waiting_for.names or ()))
    conditions = tuple(
        Condition(
            one.type,
            _truth(one.status),
            one.reason,
            one.message,
            _time(one.last_transition_time) or 0.0,
            one.observed_generation,
        )
        for one in seen.conditions or ()
    )
    volumes = tuple(
        Recorded(one.claim_name, one.claim_uid, one.volume_name, one.volume_uid, one.workload_uid) for one in seen.volumes or ()
    )
    shared = tuple(seen.shared_claims or ())
    return Status(seen.observed_generation or 0, volumes, waiting, conditions, seen.deletion_policy or "", shared)


def _workload(seen: shapes.Workload, collection: str, kind: str) -> Workload:
    meta = seen.metadata
    templates = tuple(intern(one.metadata.name or "") for one in (seen.spec and seen.spec.volume_claim_templates) or ())
    return Workload(
        collection,
        kind,
        meta.name or "",
        meta.uid or "",
        _owners(meta),
        _time(meta.deletion_timestamp),
        templates,
        intern(meta.namespace or "default"),
        _mounts(seen.spec or shapes.WorkloadSpec()),
    )


def _mounts(spec: shapes.WorkloadSpec) -> frozenset[str]:
    job = spec.job_template.spec if spec.job_template else None
    template = spec.template or (job.template if job else None)
    volumes = (template.spec.volumes if template and template.spec else None) or ()
    named = (one.persistent_volume_claim.claim_name for one in volumes if one.persistent_volume_claim is not None)
    return frozenset(intern(name) for name in named if name)


def _stateful_set_item(seen: shapes.Workload) -> Item[Workload]:
    facts = _workload(seen, STATEFUL_SETS, "StatefulSet")
    if not facts.name:
        raise ValueError("metadata.name is missing")
    return Item(f"{facts.namespace}/{facts.name}", facts.uid, seen.metadata.resource_version or "", facts)


def _claim_item(seen: shapes.Claim) -> Item[ClaimFacts]:
    meta, spec = seen.metadata, seen.spec or shapes.ClaimSpec()
    if not meta.name:
        raise ValueError("metadata.name is missing")
    facts = ClaimFacts(
        intern(meta.namespace or "default"),
        meta.name,
        meta.uid or "",
        {intern(key): intern(value or "") for key, value in (meta.labels or {}).items()},
        _owners(meta),
        spec.volume_name or "",
        _time(meta.deletion_timestamp),
        tuple(intern(one) for one in meta.finalizers or ()),
        _time(meta.creation_timestamp) or 0.0,
    )
    return Item(f"{facts.namespace}/{facts.name}", facts.uid, meta.resource_version or "", facts)


def _claim_name(volume: shapes.PodVolume, pod: str) -> str:
    if volume.persistent_volume_claim is not None:
        return volume.persistent_volume_claim.claim_name or ""
    return f"{pod}-{volume.name}" if volume.ephemeral is not None else ""  # core/v1 EphemeralVolumeSource


def _owners(meta: shapes.Meta) -> tuple[Owner, ...]:
    return tuple(Owner(one.uid or "", one.kind or "", one.name or "") for one in meta.owner_references or ())


def _truth(text: str) -> Truth:
    return "True" if text == "True" else "False" if text == "False" else "Unknown"


def _time(text: str | None) -> float | None:
    return parse_time_s(text) if text else None


def _volume_item(seen: shapes.HeldVolume) -> Item[Volume]:
    meta, spec = seen.metadata, seen.spec or shapes.VolumeSpec()
    if not meta.name:
        raise ValueError("metadata.name is missing")
    bound = (spec.claim_ref and spec.claim_ref.uid) or ""
    facts = Volume(
        meta.name,
        meta.uid or "",
        intern(spec.persistent_volume_reclaim_policy or ""),
        bound,
        deleting_s=_time(meta.deletion_timestamp),
    )
    return Item(facts.name, facts.uid, meta.resource_version or "", facts)


_INSTANCES: Final = StructProjection(API_VERSION, KIND, shapes.Instance, _instance_item)
_CLAIMS: Final = StructProjection("v1", "PersistentVolumeClaim", shapes.Claim, _claim_item)
_VOLUMES: Final = StructProjection("v1", "PersistentVolume", shapes.HeldVolume, _volume_item)
_STATEFUL_SETS: Final = StructProjection("apps/v1", "StatefulSet", shapes.Workload, _stateful_set_item)
