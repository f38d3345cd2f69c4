"""Keep a pod Ready when the node controller, and nobody else, says that it is not, while the node's peers vouch for it.

Reads:   status and metadata.deletionTimestamp of both objects, spec.nodeName
Ignores: writes by kubelets (group system:nodes), failed probes (they lower ContainersReady), deletions
Answers: puts the old Ready condition back; never refuses
Source:  kubernetes/pkg/controller/util/node MarkPodsNotReady: only Ready changes, milliseconds after the node's Ready became
         Unknown, so that the node cache is usually too old to know. The request's own difference tells who is writing; when the
         cache still says Ready True, one live read tells whether the node is silent (Unknown) or unwell (False).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import attrs

from webhook.admission.draft import Draft
from webhook.admission.review import AdmissionRequest
from webhook.admission.service import Context, Verdict
from webhook.cluster import NodeFacts, Nodes, Status
from webhook.names import CONTAINERS_READY, NODES_GROUP, READY, Reason
from webhook.objects import conditions, meta
from webhook.objects.votes import VotePolicy, guard, vouched


@attrs.frozen
class KeepPodReady:
    """The rule pod-status."""

    policy: VotePolicy
    nodes: Nodes
    name: ClassVar[str] = "pod-status"

    def __call__(self, request: AdmissionRequest, draft: Draft, context: Context) -> Verdict:
        old, new = request.old_object, draft.object
        if old is None or NODES_GROUP in context.user.groups or not is_node_controller_flip(old, new):
            return Verdict(Reason.NOT_A_NODE_CONTROLLER_FLIP)
        if meta.is_deleting(new):
            return Verdict(Reason.POD_TERMINATING)
        name = meta.text(meta.mapping(new, "spec", ""), "nodeName", "spec")
        node = self._node(name, context)
        verdict = guard(node, self.policy, context.now_s)
        if not verdict.active:
            return Verdict(verdict.reason)
        before, after = conditions.of(old), conditions.of(new)
        position, previous = conditions.index(after, READY), conditions.index(before, READY)
        assert position is not None and previous is not None  # is_node_controller_flip has seen both
        draft.replace(("status", "conditions", position), before[previous])
        return Verdict(
            Reason.POD_KEPT_READY,
            f"pod {request.namespace}/{request.name} stays Ready: node {name} is silent and its peers say that it is healthy",
        )

    def _node(self, name: str, context: Context) -> NodeFacts | None:
        """The node as the cache has it, or as the API server has it where the cache contradicts the request."""
        node = self.nodes.get(name) if name else None
        if node is None or node.ready is Status.UNKNOWN or not vouched(node, self.policy):
            return node
        return self.nodes.confirm(name, context.deadline) or node


def is_node_controller_flip(old: Mapping[str, Any], new: Mapping[str, Any]) -> bool:
    """Whether *new* differs from *old* only in Ready, which fell from True to False while ContainersReady stays True."""
    before, after = conditions.of(old), conditions.of(new)
    if (
        conditions.status(before, READY) is not Status.TRUE
        or conditions.status(after, READY) is not Status.FALSE
        or conditions.status(after, CONTAINERS_READY) is not Status.TRUE
    ):
        return False
    return _without_ready(before) == _without_ready(after) and _rest(old) == _rest(new)


def _without_ready(items: list[meta.Json]) -> list[meta.Json]:
    return [condition for condition in items if condition.get("type") != READY]


def _rest(pod: Mapping[str, Any]) -> Mapping[str, Any]:
    status = meta.mapping(pod, "status", "")
    # Since 1.33 each status write also says which generation it has seen.
    return {key: value for key, value in status.items() if key not in ("conditions", "observedGeneration")}
