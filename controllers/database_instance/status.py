"""What the status of an instance says. Transition times change with a condition's status only (API conventions).

Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import attrs

from controllers.database_instance.belonging import Belongings
from controllers.database_instance.values import Condition, Instance, Recorded, Status, Truth, Wait, Waiting
from controllers.wording import count
from webhook.objects.databases import DeletionPolicy
from webhook.objects.faults import listed
from webhook.objects.meta import Json, format_time

PROTECTED: Final = "Protected"
SHARED: Final = "ClaimsShared"
NOT_OWNED: Final = "ClaimsNotOwned"
INVALID: Final = "SpecInvalid"
DELETING: Final = "Deleting"
ORPHANED: Final = "DependentsOrphaned"
TIMED_OUT: Final = "DeletionTimedOut"
UNSNAPSHOTTED: Final = "SnapshotSkipped"
FAILING: Final = "Failing"
NAMES_TOLD: Final = 10

_FATE = {
    DeletionPolicy.DELETE: "are deleted",
    DeletionPolicy.RETAIN: "are kept",
    DeletionPolicy.SNAPSHOT: "are snapshotted, then deleted",
}
_WAITS = {
    Wait.INVALID_SPEC: "nothing is deleted while the spec cannot be read",
    Wait.GARBAGE_COLLECTOR: "the garbage collector orphans the dependents first",
    Wait.KEEPING: "nothing goes before its volumes have reclaim policy Retain",
    Wait.WORKLOADS: "its workloads and their pods go first",
    Wait.PODS: "pods that are not its own use its claims",
    Wait.SNAPSHOT_UNAVAILABLE: "no snapshot can be taken",
    Wait.SNAPSHOTS: "its volumes are being snapshotted",
    Wait.CLAIMS: "its claims are being deleted",
    Wait.VOLUMES: "its volumes are being deleted",
    Wait.FAILING: "what belongs to it cannot be read",
}
_ORPHANED: Final = (
    "its dependents stay, as --cascade=orphan says, or may have said when nobody watched: only claims that the spec names or "
    "selects follow the policy"
)
_Told = tuple[str, Truth, str, str]  # type, status, reason, message


@attrs.frozen
class Findings:
    """What was found of an instance's volumes."""

    found: Belongings
    recorded: tuple[Recorded, ...]
    policy: DeletionPolicy
    unkept: Mapping[str, str]  # under Retain and Snapshot: claims whose volumes may go with them -> why
    mounted: tuple[str, ...] = ()  # claims that its workloads use, and that are not its own


def living_status(instance: Instance, findings: Findings, now_s: float) -> Status:
    """Of an instance that is not being deleted."""
    told = [_protected(findings), *_faults(instance, findings)]
    conditions = _conditions(instance, told, now_s)
    shared = findings.found.remembered_shared
    return Status(instance.facts.generation, findings.recorded, None, conditions, findings.policy.value, shared)


def ending_status(
    instance: Instance, findings: Findings, waiting: Waiting, note: str, *, orphaned: bool, overdue: bool, now_s: float
) -> Status:
    """Of an instance that is being deleted. note: why volumes are kept that should have been snapshotted, "" = none are."""
    told = [_protected(findings), *_faults(instance, findings)]
    if orphaned:
        told.append((ORPHANED, "True", "CascadeOrphan", _ORPHANED))
    if note:
        told.append((UNSNAPSHOTTED, "True", "VolumesKept", note))
    told.append((DELETING, "True", waiting.reason.value, words(waiting)))
    if overdue:
        told.append((TIMED_OUT, "True", waiting.reason.value, f"longer than spec.deletionTimeout; {words(waiting)}"))
    conditions = _conditions(instance, told, now_s)
    shared = findings.found.remembered_shared
    return Status(instance.facts.generation, findings.recorded, waiting, conditions, findings.policy.value, shared)


def done_status(instance: Instance, now_s: float) -> Status:
    """Of an instance that has lost our finalizer, and that others hold."""
    waiting = Waiting(Wait.DONE, float(int(now_s)))
    told: list[_Told] = [(DELETING, "True", waiting.reason.value, words(waiting))]
    kept = tuple(one for one in instance.status.conditions if one.type not in (DELETING, FAILING))
    conditions = (*kept, *_conditions(instance, told, now_s)[:1])
    return attrs.evolve(instance.status, waiting=waiting, conditions=conditions)


def failing_status(instance: Instance, status: Status, failures: Iterable[tuple[str, str]], now_s: float) -> Status:
    """*status*, which also says what has failed: pairs of a reason and a sentence; none = nothing fails any more."""
    others = tuple(one for one in status.conditions if one.type != FAILING)
    reasons, messages = zip(*failures, strict=True) if (failures := list(failures)) else ((), ())
    if not messages:
        return attrs.evolve(status, conditions=others)
    more = f"; and {len(messages) - NAMES_TOLD} more" if len(messages) > NAMES_TOLD else ""
    message = "; ".join(messages[:NAMES_TOLD]) + more
    since_s = _since_s(instance, FAILING, "True", now_s)
    failing = Condition(FAILING, "True", reasons[0], message, since_s, instance.facts.generation)
    waiting = status.waiting
    if waiting is None and instance.facts.deleting_s is not None:
        waiting = Waiting(Wait.FAILING, float(int(now_s)), (message,))
    return attrs.evolve(status, waiting=waiting, conditions=(*others, failing))


def status_body(status: Status) -> Json:
    """As the API has it; `resources.instance_of` reads it back. What is absent is null, so that a merge removes it."""
    volumes = [
        {
            "claimName": one.claim,
            "claimUID": one.claim_uid,
            "volumeName": one.volume,
            "volumeUID": one.volume_uid,
            "workloadUID": one.workload_uid,
        }
        for one in status.volumes
    ]
    conditions = [
        {
            "type": one.type,
            "status": one.status,
            "reason": one.reason,
            "message": one.message,
            "lastTransitionTime": format_time(one.since_s),
            "observedGeneration": one.generation,
        }
        for one in status.conditions
    ]
    waiting: Any = None
    if status.waiting is not None:
        names = list(status.waiting.names)
        waiting = {"reason": status.waiting.reason.value, "since": format_time(status.waiting.since_s), "names": names}
    body: Json = {"observedGeneration": status.generation, "volumes": volumes, "conditions": conditions}
    shared = list(status.shared) or None
    return body | {"deletionPolicy": status.policy or None, "sharedClaimUIDs": shared, "waitingFor": waiting}


def words(waiting: Waiting) -> str:
    """A sentence: what is waited for, since when."""
    if waiting.reason is Wait.DONE:
        return "everything that had to go is gone"
    if waiting.reason is Wait.NOTHING and waiting.names:
        return f"what stays has to be parted from it, then the finalizer goes: {', '.join(waiting.names)}"
    if waiting.reason is Wait.NOTHING:
        return "everything that had to go is gone; the finalizer goes next"
    return f"since {format_time(waiting.since_s)}: {_WAITS[waiting.reason]}: {', '.join(waiting.names)}"


def _protected(findings: Findings) -> _Told:
    """True of a volume only when it was seen to outlive its claim, or when its claim is waited for."""
    if findings.unkept:
        told = [f"{name} ({why})" for name, why in sorted(findings.unkept.items())]
        return PROTECTED, "False", "VolumesNotKept", f"not safe yet: {listed(told, NAMES_TOLD)}"
    if not findings.recorded:
        return PROTECTED, "Unknown", "NothingToProtect", "no claim is its own"
    own = {claim.uid for claim in findings.found.own}
    bereft = sum(1 for one in findings.recorded if one.claim_uid not in own)
    unbound = sum(1 for one in findings.recorded if not one.volume)
    claims = count(len(findings.recorded) - bereft, "claim")
    more = f", {unbound} of them not bound yet" if unbound else ""
    more += f", {count(bereft, 'volume')} whose claim is gone" if bereft else ""
    fate = _FATE[findings.policy]
    return PROTECTED, "True", findings.policy.value, f"{claims}{more}: on deletion its volumes {fate}"


def _faults(instance: Instance, findings: Findings) -> list[_Told]:
    told: list[_Told] = []
    if instance.facts.fault:
        reason = "InvalidSelector" if instance.facts.fault == instance.facts.volumes.fault else "InvalidSpec"
        told.append((INVALID, "True", reason, instance.facts.fault))
    shared, co_owned = findings.found.shared, findings.found.co_owned
    parts = []
    if shared:
        names = listed(sorted(claim.name for claim in shared), NAMES_TOLD)
        parts.append(f"another instance says that they are its own, so they are left alone: {names}")
    if co_owned:
        names = listed(sorted(claim.name for claim in co_owned), NAMES_TOLD)
        parts.append(f"something else owns them, too, so they are left alone: {names}")
    if parts:
        told.append((SHARED, "True", "ClaimOfTwoInstances" if shared else "ClaimOfTwoOwners", "; ".join(parts)))
    parts = []
    if findings.mounted:
        names = listed(findings.mounted, NAMES_TOLD)
        parts.append(f"its workloads use claims that neither spec.volumes nor an owner makes its own: {names}")
    if later := findings.found.later:
        names = listed(sorted(claim.name for claim in later), NAMES_TOLD)
        parts.append(f"not known before the second of the deletion, so they are left alone: {names}")
    if parts:
        told.append((NOT_OWNED, "True", "OnlyMounted" if findings.mounted else "MadeLater", "; ".join(parts)))
    return told


def _conditions(instance: Instance, told: Sequence[_Told], now_s: float) -> tuple[Condition, ...]:
    """*told*, and what fails as it was said last: that changes after the steps were tried."""
    generation = instance.facts.generation
    found = [
        Condition(kind, status, reason, message, _since_s(instance, kind, status, now_s), generation)
        for kind, status, reason, message in told
    ]
    failing = instance.status.condition(FAILING)
    return tuple(found) if failing is None else (*found, failing)


def _since_s(instance: Instance, kind: str, status: Truth, now_s: float) -> float:
    before = instance.status.condition(kind)
    return before.since_s if before is not None and before.status == status else float(int(now_s))
