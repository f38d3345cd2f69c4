"""How a step is written: what is known of the object in, the patch that takes the step out; nothing when it does not fit.

Each patch is guarded by uid and resourceVersion (refused when somebody wrote since), so that it may be made of what the cache
has: what is not newer is not written. It changes one thing: taints by their position, the Ready condition as MarkPodsNotReady
does: status and lastTransitionTime, reason and message stay.
Pure.
Source: RFC 6902; strategic merge patch (conditions are merged by type); kubernetes/pkg/util/node MarkPodsNotReady;
kubernetes/pkg/kubelet/status GeneratePodReadyCondition.
"""

from __future__ import annotations

from controllers.edge_health.plan import LetPodGo, RestorePod, is_evicting, is_published, was_marked
from controllers.runtime.resource import Item, Json
from webhook.cluster import NodeFacts, PodFacts, Status
from webhook.names import READY
from webhook.objects import conditions
from webhook.objects.meta import format_time


def taint_operations(node: Item[NodeFacts]) -> list[Json]:
    """The RFC 6902 operations that take every unreachable:NoExecute off *node*; empty when it bears none.

    A failed `test` is answered with 422.
    """
    evicting = [index for index, taint in enumerate(node.facts.taints) if is_evicting(taint)]
    if not evicting:
        return []
    unchanged = [("uid", node.uid), ("resourceVersion", node.version)]
    tests: list[Json] = [{"op": "test", "path": f"/metadata/{field}", "value": value} for field, value in unchanged]
    # Removals from the end: each shifts the ones after it (RFC 6902 section 4.2).
    return tests + [{"op": "remove", "path": f"/spec/taints/{index}"} for index in reversed(evicting)]


def ready_patch(pod: Item[PodFacts], step: RestorePod | LetPodGo, now_s: float) -> Json | None:
    """The strategic merge patch of the status that takes *step* on *pod*; None when it does not fit (any more).

    now_s: seconds since the epoch. What has been written since is answered with 409.
    """
    if pod.uid != step.uid or not _fits(pod.facts, step):
        return None
    ready = {
        "type": READY,
        "status": wanted_status(step).value,
        "lastTransitionTime": format_time(now_s),
    }
    return {"metadata": {"uid": pod.uid, "resourceVersion": pod.version}, "status": {"conditions": [ready]}}


def wanted_status(step: RestorePod | LetPodGo) -> Status:
    """What Ready is after *step*."""
    return Status.TRUE if isinstance(step, RestorePod) else Status.FALSE


def has_status(pod: Json, status: Status) -> bool:
    """Whether *pod*'s Ready is *status*: our own webhook, or another, may have overruled a write."""
    return conditions.status(conditions.of(pod), READY) is status


def _fits(pod: PodFacts, step: RestorePod | LetPodGo) -> bool:
    return is_published(pod) if isinstance(step, LetPodGo) else was_marked(pod)
