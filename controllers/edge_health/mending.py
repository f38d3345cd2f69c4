"""How a step is written: the live object in, the RFC 6902 patch that takes the step out; empty when nothing is left to do.

Each patch first tests uid and resourceVersion (422 when somebody wrote in between), and changes one thing: taints by their
position, the Ready condition as MarkPodsNotReady does: status and lastTransitionTime, reason and message stay.
Pure. Raises UndecodableObject on a field of a type that its API forbids.
Source: RFC 6902; kubernetes/pkg/util/node MarkPodsNotReady; kubernetes/pkg/kubelet/status GeneratePodReadyCondition.
"""

from __future__ import annotations

from datetime import UTC, datetime

from controllers.edge_health.plan import LetPodGo, RestorePod, is_published, was_marked
from controllers.runtime.projection import pod_facts_from_object
from webhook.cluster import Status
from webhook.names import READY
from webhook.objects import conditions, meta, nodes
from webhook.objects.meta import Json


def taint_operations(node: Json) -> list[Json]:
    """Takes every unreachable:NoExecute off *node*."""
    evicting = [index for index, taint in enumerate(nodes.taints(node)) if nodes.is_unreachable_no_execute(taint)]
    if not evicting:
        return []
    # Removals from the end: each shifts the ones after it (RFC 6902 section 4.2).
    return _unchanged(node) + [{"op": "remove", "path": f"/spec/taints/{index}"} for index in reversed(evicting)]


def ready_operations(pod: Json, step: RestorePod | LetPodGo, now_s: float) -> list[Json]:
    """Takes *step* on *pod*, if it still is the same one and the step still fits. now_s: seconds since the epoch."""
    position = conditions.index(conditions.of(pod), READY)
    if position is None or not _fits(pod, step):
        return []
    changed = conditions.of(pod)[position] | {
        "status": wanted_status(step).value,
        "lastTransitionTime": datetime.fromtimestamp(int(now_s), UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
    }
    return [*_unchanged(pod), {"op": "replace", "path": f"/status/conditions/{position}", "value": changed}]


def wanted_status(step: RestorePod | LetPodGo) -> Status:
    """What Ready is after *step*."""
    return Status.TRUE if isinstance(step, RestorePod) else Status.FALSE


def has_status(pod: Json, status: Status) -> bool:
    """Whether *pod*'s Ready is *status*: our own webhook, or another, may have overruled a write."""
    return conditions.status(conditions.of(pod), READY) is status


def _fits(pod: Json, step: RestorePod | LetPodGo) -> bool:
    facts = pod_facts_from_object(pod)
    if facts.uid != step.uid:
        return False  # another pod of the same name
    if isinstance(step, LetPodGo):
        return is_published(facts)
    return was_marked(facts)


def _unchanged(obj: Json) -> list[Json]:
    metadata = meta.metadata(obj)
    return [{"op": "test", "path": f"/metadata/{field}", "value": metadata.get(field)} for field in ("uid", "resourceVersion")]
