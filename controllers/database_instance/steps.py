"""The steps of a plan are carried out in order; one that is refused ends what relies on it, and nothing else.

    what keeps volumes      is tried whatever else was refused
    what deletes, creates   not after a refusal of what keeps; a claim not after that of its volume
    the finalizer           is dropped when nothing was refused

Threads: any worker. Errors: those of a server that does not answer or is busy (Unreachable, Throttled), Cancelled, LeaseLost
end the pass at once. So does a refused write of the status, which the rest relies on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import attrs

from controllers.database_instance.values import (
    AddFinalizer,
    CreateSnapshot,
    DeleteClaim,
    DeletePod,
    DeleteWorkload,
    DetachClaim,
    DropFinalizer,
    MarkSnapshot,
    RetainContent,
    SetReclaim,
    Step,
    WriteStatus,
)
from controllers.database_instance.writes import Writes
from controllers.runtime.errors import (
    ApiError,
    Cancelled,
    Conflict,
    Invalid,
    RuntimeFault,
    Throttled,
    UndecodableObject,
    Unreachable,
)

PATIENCE = 2  # passes that may fail by what the next one often heals, before the status tells of it
MESSAGE_LIMIT = 300  # characters of an error in a status


@attrs.frozen
class Failure:
    """Something that was refused."""

    about: str  # "reclaim policy Retain of volume pv-data"
    error: RuntimeFault
    step: Step | None = None  # None = a read

    def is_told(self, failures: int) -> bool:
        """Whether the status tells of it after *failures* passes in a row.

        Somebody may have written in between, or the server been busy: then the next pass is likely to succeed.
        """
        error = self.error
        transient = isinstance(error, Conflict | Invalid) or (isinstance(error, ApiError) and error.retriable)
        return not transient or failures >= PATIENCE

    @property
    def words(self) -> tuple[str, str]:
        """A reason and a sentence."""
        reason = self.error.code if isinstance(self.error, ApiError) else type(self.error).__name__
        return reason, f"{self.about}: {self.error}"[:MESSAGE_LIMIT]


def carry_out(writes: Writes, steps: Iterable[Step], done: Callable[[Step], None]) -> list[Failure]:
    """Carry out *steps*; what was refused. done: is called after each that was not."""
    failures: list[Failure] = []
    for step in steps:
        if _relies_on(step, failures):
            continue
        try:
            writes.perform(step)
        except (ApiError, UndecodableObject) as error:
            if isinstance(error, Cancelled | Unreachable | Throttled) or isinstance(step, WriteStatus):
                raise
            failures.append(Failure(_about(step), error, step))
        else:
            done(step)
    return failures


def _relies_on(step: Step, failures: Sequence[Failure]) -> bool:
    """Whether *step* must not be carried out after *failures*."""
    if not failures or _keeps(step) or isinstance(step, WriteStatus):
        return False
    refused = [failure.step for failure in failures]
    if isinstance(step, AddFinalizer | DropFinalizer) or any(_keeps(one) for one in refused):
        return True
    volumes = {one.claim_uid for one in refused if isinstance(one, SetReclaim)}
    return isinstance(step, DeleteClaim) and step.uid in volumes


def _keeps(step: Step | None) -> bool:
    return isinstance(step, DetachClaim | MarkSnapshot | RetainContent) or (isinstance(step, SetReclaim) and step.keeps)


def _about(step: Step) -> str:
    match step:
        case SetReclaim(volume=volume, policy=policy):
            return f"reclaim policy {policy} of volume {volume}"
        case DetachClaim(name):
            return f"owner references of claim {name}"
        case DeleteWorkload(collection, name):
            return f"deletion of {collection.rpartition('/')[2]} {name}"
        case DeletePod(name):
            return f"deletion of pod {name}"
        case DeleteClaim(name):
            return f"deletion of claim {name}"
        case CreateSnapshot(claim=claim):
            return f"snapshot of claim {claim}"
        case MarkSnapshot(claim=claim):
            return f"label of the snapshot of claim {claim}, which was used since"
        case RetainContent(content):
            return f"deletion policy Retain of snapshot content {content}"
        case AddFinalizer() | DropFinalizer():
            return "our finalizer"
        case WriteStatus():
            return "status"
