"""What the controller tells of its nodes: a log line and an Event each.

A guard begins with a Warning: a silent node that looks as if nothing had happened is a fault that nobody would notice
(openyurt#1222). Events are about Nodes, one for all pods of a pass.
Threads: any; nothing blocks.
"""

from __future__ import annotations

from controllers.edge_health.plan import Cause
from controllers.runtime.events import Announcer, Reference
from webhook.clock import Clock
from webhook.cluster import NodeFacts
from webhook.logs import Throttle, get_log
from webhook.names import NO_EXECUTE, UNREACHABLE_TAINT, Reason
from webhook.objects.votes import Guard

log = get_log("edge-health")

LINES = 3  # of one kind about one node in Throttle.PERIOD_S

_WHY = {
    Reason.NODE_NOT_SILENT: "the node is not silent any more",
    Reason.NODE_NOT_SELECTED: "votes.nodeSelector does not select the node any more",
    Reason.VOTE_UNHEALTHY: "its peers say that it is unhealthy",
    Reason.VOTE_MISSING: "its peers do not say any more that it is healthy",
    Reason.VOTE_EXPIRED: "the word of its peers is too old",
}
_CAUSES = {
    Cause.GUARDED: "the node is silent, and its peers say that it is healthy",
    Cause.FORGOTTEN: "the node is Ready again, and its kubelet did not say so of them",
}


class News:
    """The voice of the controller. A node that has the same news again and again is a line now and then, with a count."""

    def __init__(self, announcer: Announcer, clock: Clock) -> None:
        self._announcer = announcer
        self._clock = clock
        self._throttle = Throttle(LINES)

    def guard_begun(self, node: NodeFacts) -> None:
        """*node* is silent, and from now on its pods stay."""
        self._log("guard begun", node)
        note = "the node is silent, its peers say that it is healthy: its pods stay Ready"
        self._tell(node, Reason.GUARD_BEGUN, "Guard", note, warning=True)

    def guard_ended(self, node: NodeFacts, guard: Guard) -> None:
        """*node* is not guarded any more, as *guard* says why."""
        self._log("guard ended", node, reason=guard.reason.value)
        note = f"the node is not guarded any more: {_WHY[guard.reason]}"
        self._tell(node, Reason.GUARD_ENDED, "EndGuard", note, warning=guard.reason is not Reason.NODE_NOT_SILENT)

    def taint_removed(self, node: NodeFacts) -> None:
        """A stored taint was taken off *node*."""
        self._log("taint removed", node)
        note = f"{UNREACHABLE_TAINT}:{NO_EXECUTE} taken off: the node is silent, but not to be given up"
        self._tell(node, Reason.TAINT_REMOVED, "RemoveTaint", note)

    def pods_restored(self, node: NodeFacts, count: int, cause: Cause) -> None:
        """*count* pods of *node* were made Ready again."""
        self._log("pods restored", node, pods=count, cause=cause.value)
        self._tell(node, Reason.PODS_RESTORED, "RestorePods", f"{_pods(count)} Ready again: {_CAUSES[cause]}")

    def pods_let_go(self, node: NodeFacts, count: int, guard: Guard) -> None:
        """*count* pods of *node* were marked not Ready, for *guard*'s reason."""
        self._log("pods let go", node, pods=count, reason=guard.reason.value)
        note = f"{_pods(count)} not Ready any more: the node is silent, and {_WHY[guard.reason]}"
        self._tell(node, Reason.PODS_LET_GO, "LetPodsGo", note, warning=True)

    def damped(self, node: NodeFacts, what: str, seconds: float) -> None:
        """Somebody undoes *what* was done on *node* each time; the next time is not before *seconds*."""
        admitted, held_back = self._throttle.admits(f"damped {node.name}", self._clock.monotonic_s())
        if admitted:
            log.warning("somebody undoes what we do", node=node.name, what=what, wait_s=seconds, alike_before=held_back)

    def not_taken(self, node: NodeFacts, what: str, error: Exception) -> None:
        """*what* was to be done on *node*, and failed."""
        self._log("step not taken", node, step=what, error=error)

    def _log(self, message: str, node: NodeFacts, **facts: object) -> None:
        admitted, held_back = self._throttle.admits(f"{message} {node.name}", self._clock.monotonic_s())
        if admitted:
            log.info(message, node=node.name, **facts, **({"alike_before": held_back} if held_back else {}))

    def _tell(self, node: NodeFacts, reason: Reason, action: str, note: str, *, warning: bool = False) -> None:
        regarding = Reference("Node", node.name, uid=node.uid)
        self._announcer.record(regarding, reason=reason.value, action=action, note=note, warning=warning)


def _pods(count: int) -> str:
    return "1 pod is" if count == 1 else f"{count} pods are"
