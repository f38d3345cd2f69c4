"""What the controller tells of its instances: a log line and an Event for each change of the status that somebody waits for.

Told when the status was written, so that a new leader does not say again what its predecessor has said.
Threads: any; nothing blocks.
"""

from __future__ import annotations

from controllers.database_instance.status import FAILING, INVALID, NOT_OWNED, ORPHANED, SHARED, TIMED_OUT, UNSNAPSHOTTED, words
from controllers.database_instance.values import Instance, Status, Wait
from controllers.runtime.events import Announcer, Reference
from webhook.logs import get_log
from webhook.names import Reason
from webhook.objects.databases import API_VERSION, KIND, DeletionPolicy

log = get_log("database-instance")

_TOLD = {
    SHARED: Reason.CLAIMS_SHARED,
    INVALID: Reason.SPEC_INVALID,
    TIMED_OUT: Reason.DELETION_TIMED_OUT,
    UNSNAPSHOTTED: Reason.SNAPSHOT_SKIPPED,
    NOT_OWNED: Reason.CLAIMS_NOT_OWNED,
    FAILING: Reason.RECONCILIATION_FAILED,
}
_PROBLEMS = frozenset({Wait.INVALID_SPEC, Wait.PODS, Wait.SNAPSHOT_UNAVAILABLE, Wait.FAILING})


class News:
    """The voice of the controller."""

    def __init__(self, announcer: Announcer) -> None:
        self._announcer = announcer

    def status_changed(self, instance: Instance, status: Status) -> None:
        """*status* was written in place of the one that *instance* had."""
        before, waiting = instance.status, status.waiting
        for condition in status.conditions:
            reason = _TOLD.get(condition.type)
            if reason is not None and before.condition(condition.type) is None:
                log.warning(
                    "something is wrong with an instance",
                    instance=instance.facts.key,
                    reason=reason.value,
                    why=condition.message,
                )
                self._tell(instance, reason, "Reconcile", condition.message, warning=True)
        if waiting is None or (before.waiting is not None and before.waiting.reason is waiting.reason):
            return
        if waiting.reason not in (Wait.NOTHING, Wait.DONE):
            note = words(waiting)
            log.info("deletion waits", instance=instance.facts.key, reason=waiting.reason.value, why=note)
            self._tell(instance, Reason.DELETION_WAITS, "Delete", note, warning=waiting.reason in _PROBLEMS)

    def let_go(self, instance: Instance, status: Status, policy: DeletionPolicy) -> None:
        """Our finalizer was dropped. status: as it was written last."""
        kept = _kept(status, policy)
        log.info("instance let go", instance=instance.facts.key, uid=instance.facts.uid, policy=policy.value, kept=kept)
        note = f"done under policy {policy}: the finalizer was dropped" + (f"; {kept}" if kept else "")
        self._tell(instance, Reason.INSTANCE_LET_GO if kept else Reason.VOLUMES_GONE, "Delete", note)

    def _tell(self, instance: Instance, reason: Reason, action: str, note: str, *, warning: bool = False) -> None:
        facts = instance.facts
        about = Reference(KIND, facts.name, facts.namespace, API_VERSION, facts.uid)
        self._announcer.record(about, reason=reason.value, action=action, note=note, warning=warning)


def _kept(status: Status, policy: DeletionPolicy) -> str:
    """What did not go with the instance; "" = everything of it went."""
    if policy is DeletionPolicy.RETAIN:
        return "volumes were kept"
    if (skipped := status.condition(UNSNAPSHOTTED)) is not None:
        return f"volumes were kept: {skipped.message}"
    return "dependents were kept" if status.condition(ORPHANED) is not None else ""
