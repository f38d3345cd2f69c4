"""What the status of an instance says. Transition times change with a condition's status only (API conventions).

Pure.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Final

from controllers.database_instance.belonging import Belongings
from controllers.database_instance.values import Condition, Instance, Recorded, Status, Wait, Waiting
from webhook.objects.databases import DeletionPolicy

PROTECTED: Final = "Protected"
SHARED: Final = "ClaimsShared"
INVALID: Final = "SpecInvalid"
DELETING: Final = "Deleting"
TIMED_OUT: Final = "DeletionTimedOut"
UNSNAPSHOTTED: Final = "SnapshotSkipped"
NAMES_TOLD: Final = 10

_FATE = {
    DeletionPolicy.DELETE: "are deleted",
    DeletionPolicy.RETAIN: "are kept",
    DeletionPolicy.SNAPSHOT: "are snapshotted, then deleted",
}
_WAITS = {
    Wait.INVALID_SPEC: "nothing is deleted while the spec cannot be read",
    Wait.GARBAGE_COLLECTOR: "the garbage collector orphans the dependents first",
    Wait.WORKLOADS: "its workloads and their pods go first",
    Wait.PODS: "pods that are not its own use its claims",
    Wait.SNAPSHOT_UNAVAILABLE: "no snapshot can be taken",
    Wait.SNAPSHOTS: "its volumes are being snapshotted",
    Wait.CLAIMS: "its claims are being deleted",
    Wait.VOLUMES: "its volumes are being deleted",
}


def living_status(
    instance: Instance, found: Belongings, recorded: tuple[Recorded, ...], policy: DeletionPolicy, now_s: float
) -> Status:
    """Of an instance that is not being deleted."""
    told = [_protected(recorded, policy), *_faults(instance, found)]
    return Status(instance.facts.generation, recorded, None, _conditions(instance, told, now_s))


def ending_status(
    instance: Instance,
    found: Belongings,
    recorded: tuple[Recorded, ...],
    policy: DeletionPolicy,
    waiting: Waiting,
    note: str,
    overdue: bool,
    now_s: float,
) -> Status:
    """Of an instance that is being deleted."""
    told = [_protected(recorded, policy), *_faults(instance, found)]
    if note:
        told.append((UNSNAPSHOTTED, "VolumesKept", note))
    told.append((DELETING, waiting.reason.value, words(waiting)))
    if overdue:
        told.append((TIMED_OUT, waiting.reason.value, f"longer than spec.deletionTimeout; {words(waiting)}"))
    return Status(instance.facts.generation, recorded, waiting, _conditions(instance, told, now_s))


def words(waiting: Waiting) -> str:
    """A sentence: what is waited for, since when."""
    if waiting.reason is Wait.NOTHING:
        return "everything that had to go is gone"
    since = datetime.fromtimestamp(waiting.since_s, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return f"since {since}: {_WAITS[waiting.reason]}: {', '.join(waiting.names)}"


def _protected(recorded: Sequence[Recorded], policy: DeletionPolicy) -> tuple[str, str, str]:
    return PROTECTED, policy.value, f"{_count(len(recorded), 'claim')}: on deletion its volumes {_FATE[policy]}"


def _faults(instance: Instance, found: Belongings) -> list[tuple[str, str, str]]:
    told = []
    if instance.facts.fault:
        told.append((INVALID, "InvalidSelector", instance.facts.fault))
    if found.shared:
        names = ", ".join(sorted(claim.name for claim in found.shared)[:NAMES_TOLD])
        told.append(
            (SHARED, "ClaimOfTwoInstances", f"another instance says that they are its own, so they are left alone: {names}")
        )
    return told


def _conditions(instance: Instance, told: Sequence[tuple[str, str, str]], now_s: float) -> tuple[Condition, ...]:
    found = []
    for kind, reason, message in told:
        before = instance.status.condition(kind)
        since_s = before.since_s if before is not None and before.status else float(int(now_s))
        found.append(Condition(kind, True, reason, message, since_s, instance.facts.generation))
    return tuple(found)


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
