"""Pods that wait behind our scheduling gate get an address when one is free, the oldest first.

What a pod may have is decided by the rule that admission has, of the pod as it is now: the reservation is made first, then one
patch guarded by the pod's version brings label and annotations and takes the gate off. A pod that went meanwhile gives
the address back. Pods that ask for the same are not tried once one of them has found nothing free; one that gets nothing for a
reason of its own keeps nobody waiting.
Threads: one worker at a time has the key; `GateLine` may be asked and told by any thread.
Errors:  ApiError, UndecodableObject, LeaseLost, when the others have had their turn.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any, Final
from uuid import uuid4

import attrs
import msgspec

from controllers.pod_ip.known import Known, carrier_of
from controllers.pod_ip.live import Live
from controllers.pod_ip.news import News
from controllers.pod_ip.paths import pod_path
from controllers.pod_ip.writes import Api, Writes
from controllers.runtime.errors import ApiError, Conflict, Invalid, NotFound, UndecodableObject, Unreachable
from controllers.runtime.reconcile import Context, Done, Outcome, RequeueAfter
from controllers.runtime.resource import Json
from controllers.runtime.store import Change, Deletion
from webhook.addresses.marks import Carrier, Marks, marks_of
from webhook.admission.draft import Draft
from webhook.admission.review import VERSIONS, AdmissionRequest, GroupVersionResource, Operations, User
from webhook.admission.service import Context as RuleContext
from webhook.admission.service import Rule, Verdict
from webhook.clock import Clock, Deadline
from webhook.cluster import PodFacts
from webhook.errors import MalformedObject, Misconfigured, Unavailable
from webhook.names import ALLOCATABLE_IPS, APP_LABEL, IP_POOL, PROJECT, Reason
from webhook.objects import meta, pods
from webhook.telemetry import Telemetry

A_PASS: Final = 20  # pods that get their address before other keys have their turn
SOON_S: Final = 0.1
VAIN_S: Final = 0.5  # after a pass that served nobody: others' addresses may come free hundreds of times a second
LOOK_EVERY_S: Final = 30.0  # while anybody waits: what is free may change without a word to us (Calico's own leaks)
RULE_S: Final = 5.0  # of one allocation
_WHO: Final = User(f"system:{PROJECT}", ())

_Asking = tuple[str, str, str, str]  # namespace, pool, list in the label, list in the annotation

# Who else asks for the same would hear the same. Any other refusal is the pod's own, and says nothing of the others.
_OF_SUPPLY: Final = (
    Reason.ADDRESS_AWAITED,
    Reason.ADDRESSES_EXHAUSTED,
    Reason.ADDRESS_OUT_OF_RANGE,
    Reason.ADDRESS_POOL_MISSING,
)
_NEVER: Final = "it waits in vain, delete it or remove the scheduling gate"
_LEFT_ALONE: Final[Mapping[str, str]] = {
    Reason.NOT_APPLICABLE: f"it asks for none any more: {_NEVER}",
    Reason.HOST_NETWORK: f"on the host network it has the address of its node, and gets no other: {_NEVER}",
    Reason.SYSTEM_NAMESPACE: f"pods of the system's namespaces get none: {_NEVER}",
    Reason.OWN_OBJECT: f"pods with the label {APP_LABEL}: {PROJECT} get none: {_NEVER}",
    Reason.MIRROR_POD: f"what a kubelet shows of a static pod gets none: {_NEVER}",
}


@attrs.frozen
class _Attempt:
    """One try to give a pod an address."""

    pod: Carrier
    # Of the request that the rule sees, another for each try: what an earlier one reserved must be claimed anew, with a write,
    # or it may expire under our hands.
    uid: str
    version: str  # of the pod as it was read
    draft: Draft


class GateLine:
    """The pods that wait, by their keys in the cache."""

    def __init__(self) -> None:
        self._lock = threading.Lock()  # guards _keys
        self._keys: set[str] = set()

    def heard(self, change: Change[PodFacts]) -> bool:
        """Take *change* in: whether anybody waits in it."""
        pod = change.item.facts
        waits = not isinstance(change, Deletion) and pod.fixed is not None and pod.fixed.gated and not pod.deleting
        with self._lock:
            if waits:
                self._keys.add(change.item.key)
            else:
                self._keys.discard(change.item.key)
        return waits

    def waiting(self) -> list[str]:
        """Those who wait, in no order."""
        with self._lock:
            return list(self._keys)

    def __len__(self) -> int:
        return len(self._keys)

    def clear(self) -> None:
        """Forget all of them."""
        with self._lock:
            self._keys.clear()


class Gates:
    """The passes over the pods that wait."""

    def __init__(
        self,
        api: Api,
        line: GateLine,
        rule: Rule,
        known: Known,
        live: Live,
        writes: Writes,
        news: News,
        telemetry: Telemetry,
        clock: Clock,
    ) -> None:
        """rule: admission's `pod-ip`, bound to what this process knows."""
        self._api = api
        self._line = line
        self._rule = rule
        self._known = known
        self._live = live
        self._writes = writes
        self._news = news
        self._clock = clock
        self._rests_until_s = float("-inf")
        self._asking: dict[str, _Asking] = {}  # uid of a pod that waits -> what it asked for when it was read last
        self._refused: set[str] = set()  # uids of pods that get nothing for a reason of their own: they come last
        self._lifted = telemetry.counter("gatehouse_address_gates_lifted", "Pods that waited for an address and got one.")
        waiting = telemetry.gauge("gatehouse_address_gates_waiting", "Pods that wait for an address, as the leader knows.")
        waiting.set_function(lambda: len(line))

    def lift(self, context: Context, /) -> Outcome:
        """Give what is free to those who wait for longest."""
        wait_s = self._rests_until_s - self._clock.monotonic_s()
        if wait_s > 0:
            return RequeueAfter(max(wait_s, SOON_S))
        waiting = self._waiting()
        self._asking = {pod.uid: self._asking[pod.uid] for pod in waiting if pod.uid in self._asking}
        self._refused &= {pod.uid for pod in waiting}
        in_vain: set[_Asking] = set()
        failures: list[ApiError | UndecodableObject] = []
        served = 0
        for pod in waiting:
            if self._asking.get(pod.uid) in in_vain:
                continue
            if served == A_PASS:
                return RequeueAfter(SOON_S)
            try:
                if self._serve(pod, in_vain, context):
                    served += 1
            except MalformedObject as error:
                self._refused.add(pod.uid)
                self._news.waits(pod, str(error))
            except Unreachable:
                raise
            except (ApiError, UndecodableObject) as error:
                failures.append(error)
        if not served:
            self._rests_until_s = self._clock.monotonic_s() + VAIN_S
        if failures:
            raise failures[0]
        return RequeueAfter(LOOK_EVERY_S) if waiting else Done()

    def forget(self) -> None:
        """This replica does not lead any more."""
        self._line.clear()
        self._asking.clear()
        self._refused.clear()

    # -- inside

    def _waiting(self) -> list[Carrier]:
        found = [pod for key in self._line.waiting() if (pod := self._known.pods.get(key)) is not None]
        carriers = [carrier_of(pod) for pod in found if pod.fixed is not None and pod.fixed.gated and not pod.deleting]
        return sorted(carriers, key=lambda pod: (pod.uid in self._refused, pod.created_s, pod.namespace, pod.name))

    def _serve(self, pod: Carrier, in_vain: set[_Asking], context: Context) -> bool:
        """Whether *pod* waits no more. Notes in *in_vain* what it asked for when nothing of it is free."""
        found = self._live.pod(pod.namespace, pod.name, context)
        if found is None or not _waits(found, pod.uid):
            return False
        asking = self._asking[pod.uid] = _asking(found)
        if asking in in_vain:
            return False
        attempt = _Attempt(pod, str(uuid4()), meta.text(meta.metadata(found), "resourceVersion", "metadata"), Draft(found))
        try:
            verdict = self._ask(attempt, context)
        except (Unavailable, Misconfigured) as error:
            self._news.waits(pod, str(error))
            in_vain.add(asking)
            return False
        if verdict.denial is not None or verdict.reason is Reason.ADDRESS_AWAITED or not attempt.draft.operations:
            self._news.waits(pod, _LEFT_ALONE.get(verdict.reason, verdict.message))
            if verdict.reason in _OF_SUPPLY:
                in_vain.add(asking)
                self._refused.discard(pod.uid)
            else:
                self._refused.add(pod.uid)
            return False
        if not self._patch(attempt, context):
            return False
        self._lifted.inc()
        self._news.ungated(pod, verdict.message)
        return True

    def _ask(self, attempt: _Attempt, context: Context) -> Verdict:
        timeout_s, pod = context.request_timeout_s(), attempt.pod
        request = AdmissionRequest(
            VERSIONS[0],
            attempt.uid,
            GroupVersionResource("", "v1", "pods"),
            "",
            pod.name,
            pod.namespace,
            Operations.CREATE,
            _WHO,
            attempt.draft.object,
            None,
            False,
        )
        deadline = Deadline.after(min(RULE_S, timeout_s), self._clock)
        return self._rule(request, attempt.draft, RuleContext(self._rule.name, deadline, self._clock.wall_s(), _WHO, False))

    def _patch(self, attempt: _Attempt, context: Context) -> bool:
        """Whether the pod has been patched; a pod that is gone has given back what it was to get."""
        pod, version = attempt.pod, attempt.version
        # No two objects ever have the same version, so that a pod of the same name is not meant either.
        guard: Json = {"op": "test", "path": "/metadata/resourceVersion", "value": version}
        edits = msgspec.json.decode(msgspec.json.encode(attempt.draft.operations), type=list[dict[str, Any]])
        path = pod_path(pod.namespace, pod.name)
        try:
            self._api.patch_json(path, [guard, *edits], timeout_s=context.request_timeout_s())
        except (NotFound, Conflict, Invalid) as error:
            # A failed `test` is Invalid: somebody wrote in between, or it is another pod. What is reserved is found by its key.
            now = self._live.pod(pod.namespace, pod.name, context)
            if now is None or meta.text(meta.metadata(now), "uid", "metadata") != pod.uid:
                self._give_back(attempt, context)
                return False
            if meta.text(meta.metadata(now), "resourceVersion", "metadata") == version:
                raise error  # nobody did: it is refused
            return False
        return True

    def _give_back(self, attempt: _Attempt, context: Context) -> None:
        given = marks_of(meta.metadata(attempt.draft.object), pods.spec(attempt.draft.object)) or Marks()
        for address in given.addresses:
            reservation = self._live.reservation(address, context)
            # What was there before may be somebody's: an ordinal's, or that of a pod with the same name. It waits, or expires.
            if reservation is not None and attempt.uid == reservation.request_uid and not reservation.claim:
                self._writes.release(reservation, context)
                self._news.given_back(address, attempt.pod)


def _waits(pod: Json, uid: str) -> bool:
    """Whether it is the same pod and still waits."""
    metadata = meta.metadata(pod)
    marks = marks_of(metadata, pods.spec(pod))
    same = meta.text(metadata, "uid", "metadata") == uid and not metadata.get("deletionTimestamp")
    return same and marks is not None and marks.gated


def _asking(pod: Json) -> _Asking:
    labels, annotations = meta.labels_of(pod), meta.annotations_of(pod)
    namespace = meta.text(meta.metadata(pod), "namespace", "metadata")
    return namespace, labels.get(IP_POOL, ""), labels.get(ALLOCATABLE_IPS, ""), annotations.get(ALLOCATABLE_IPS, "")
