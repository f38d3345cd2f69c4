"""Keep the addresses of silent nodes published, while the nodes' peers vouch for them.

Reads:   Endpoints subsets[].notReadyAddresses, EndpointSlice endpoints[].conditions, both of object and oldObject; the node and
         the pod of each address from the caches
Ignores: addresses without a node, terminating ones, pods that were never ready or failed their probe
Answers: all of them at once, in one patch; never refuses. O(addresses)
Source:  SuperEdge edge-health-admission; superedge#475 (pods that were not ready before); kubernetes pkg/controller/endpoint
         and k8s.io/endpointslice (both write ready from the pod's Ready condition, on CREATE too)

An address counts as ready before the partition when its pod bears the node controller's signature (Ready False although
ContainersReady is True and the readiness gates are met), when its pod is Ready in the cache, or when oldObject lists it as
ready. A pod whose containers are not ready failed its probe before the node went silent, and stays where it is.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import compress
from operator import not_
from typing import ClassVar

import attrs

from webhook.admission.draft import Draft
from webhook.admission.review import AdmissionRequest
from webhook.admission.service import Context, Verdict
from webhook.cluster import NodeFacts, Nodes, PodFacts, Pods, Status
from webhook.names import Reason
from webhook.objects import meta
from webhook.objects.endpoints import Address, ready_in_endpoints, ready_in_slice, slice_address, subset_address
from webhook.objects.meta import Json
from webhook.objects.votes import Guard, VotePolicy, guard, vouched

# Live reads of one request together; a Service on many nodes that all went silent at once must not use up the deadline.
CONFIRM_BUDGET_S = 0.9


@attrs.frozen
class KeepAddressesReady:
    """The rule endpoint."""

    policy: VotePolicy
    nodes: Nodes
    pods: Pods
    name: ClassVar[str] = "endpoint"

    def __call__(self, request: AdmissionRequest, draft: Draft, context: Context) -> Verdict:
        if request.resource.resource == "endpointslices":
            judge = _Judge(self.policy, self.nodes, self.pods, context, lambda: ready_in_slice(_old(request)))
            kept = _keep_in_slice(draft, judge)
        else:
            judge = _Judge(self.policy, self.nodes, self.pods, context, lambda: ready_in_endpoints(_old(request)))
            kept = _keep_in_endpoints(draft, judge)
        if kept:
            return Verdict(
                Reason.ADDRESSES_KEPT_READY, f"{kept} addresses of silent nodes that their peers vouch for stay ready"
            )
        return Verdict(judge.why_not)


def _old(request: AdmissionRequest) -> Json:
    return request.old_object or {}


def _keep_in_endpoints(draft: Draft, judge: _Judge) -> int:
    """Move what is to be kept from notReadyAddresses to addresses, subset by subset; how many moved."""
    kept = 0
    for index, subset in enumerate(meta.objects(draft.object, "subsets", "")):
        path = f"subsets[{index}]"
        unready = meta.objects(subset, "notReadyAddresses", path)
        where = f"{path}.notReadyAddresses[]"
        keep = [judge.keeps(subset_address(item, where)) for item in unready]
        if not any(keep):
            continue
        moved, left = list(compress(unready, keep)), list(compress(unready, map(not_, keep)))
        ready = meta.objects(subset, "addresses", path)
        draft.set(("subsets", index, "addresses"), [*ready, *moved], own=True)
        if left:
            draft.set(("subsets", index, "notReadyAddresses"), left, own=True)
        else:
            draft.remove(("subsets", index, "notReadyAddresses"))
        kept += len(moved)
    return kept


def _keep_in_slice(draft: Draft, judge: _Judge) -> int:
    """Set ready, and serving where it is given, of what is to be kept; how many were set."""
    kept = 0
    for index, endpoint in enumerate(meta.objects(draft.object, "endpoints", "")):
        path = f"endpoints[{index}]"
        conditions = meta.mapping(endpoint, "conditions", path)
        where = f"{path}.conditions"
        ready = meta.boolean(conditions, "ready", where)
        serving = meta.boolean(conditions, "serving", where)
        terminating = meta.boolean(conditions, "terminating", where)
        # An absent `ready` counts as true, an absent `serving` follows ready (discovery/v1 EndpointConditions).
        if terminating or (ready is not False and serving is not False):
            continue
        if not judge.keeps(slice_address(endpoint, path)):
            continue
        serves = {} if serving is None else {"serving": True}
        draft.replace(("endpoints", index, "conditions"), {**conditions, "ready": True, **serves}, own=True)
        kept += 1
    return kept


# Its peers vouch for a node that the cache says is well: that contradicts the request, and is settled by a live read as soon
# as an address depends on it.
_UNCONFIRMED = Guard(True, Reason.GUARDED)


@attrs.define
class _Judge:
    """Decides about the addresses of one request, each node once."""

    policy: VotePolicy
    nodes: Nodes
    pods: Pods
    context: Context
    read_old: Callable[[], frozenset[Address]]  # what oldObject lists as ready; read only when a pod does not tell
    why_not: Reason = Reason.NOTHING_TO_DO  # of the last address that was left alone
    _guards: dict[str, Guard] = attrs.field(factory=dict)
    _confirmed_s: float = 0.0
    _old: frozenset[Address] | None = None

    def keeps(self, address: Address) -> bool:
        """Whether *address* stays ready."""
        known = self._guards.get(address.node) or self._ask_cache(address.node)
        reason = self._was_ready(address) if known.active else known.reason
        if reason is Reason.GUARDED and known is _UNCONFIRMED:
            known = self._guards[address.node] = guard(self._current(address.node), self.policy, self.context.now_s)
            reason = known.reason
        if reason is Reason.GUARDED:
            return True
        self.why_not = reason
        return False

    def _ask_cache(self, name: str) -> Guard:
        """What the cache says of a node, once. The node comes before the pod: most addresses that are not ready stand on
        nodes that are well and that nobody vouches for.
        """
        node = self.nodes.get(name) if name else None
        known = guard(node, self.policy, self.context.now_s)
        if known.reason is Reason.NODE_NOT_SILENT and vouched(node, self.policy):
            known = _UNCONFIRMED
        self._guards[name] = known
        return known

    def _current(self, name: str) -> NodeFacts | None:
        """The node as the API server has it; as the cache has it when there is no answer in time."""
        node = self.nodes.get(name)
        clock = self.context.deadline.clock
        left_s = min(CONFIRM_BUDGET_S - self._confirmed_s, self.context.deadline.remaining_s())
        if left_s <= 0:
            return node
        start_s = clock.monotonic_s()
        current = self.nodes.confirm(name, attrs.evolve(self.context.deadline, at_s=start_s + left_s))
        self._confirmed_s += clock.monotonic_s() - start_s
        return current or node

    def _was_ready(self, address: Address) -> Reason:
        """GUARDED when the address was ready before its node went silent, else why it is left alone."""
        pod = self.pods.get(address.pod) if address.pod else None
        if pod is not None:
            if address.uid and address.uid != pod.uid:
                return Reason.POD_UNKNOWN  # another pod of the same name: the address's own is gone
            told = _pod_was_ready(pod)
            if told is not None:
                return told
        if self._old is None:
            self._old = self.read_old()
        if address in self._old:
            return Reason.GUARDED
        return Reason.POD_NEVER_READY if pod is not None else Reason.POD_UNKNOWN


def _pod_was_ready(pod: PodFacts) -> Reason | None:
    """What the pod itself tells: GUARDED when it was ready, else why not; None when it does not tell."""
    if pod.deleting:
        return Reason.POD_TERMINATING
    if pod.phase in ("Succeeded", "Failed"):
        return Reason.POD_FINISHED
    if pod.is_marked or (pod.ready is Status.TRUE and pod.containers_ready is not Status.FALSE):
        return Reason.GUARDED
    if pod.containers_ready is Status.TRUE:
        return Reason.POD_NEVER_READY  # a kubelet's own word, such as ReadinessGatesNotReady
    return Reason.POD_PROBE_FAILED if pod.containers_ready is not None else None
