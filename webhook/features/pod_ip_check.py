"""A pod, its key and its reservations belong together: nobody writes a fixed address by hand, copies one, or drops it.

Reads:   label allocated-ip, annotations cni.projectcalico.org/ipAddrs, …/ipAddrsNoIpam and gatehouse.dev/reservation-key, the
         opt-in labels, our scheduling gate; AddressReservations (cache, then live before anything is refused), AddressPools
Ignores: pods that neither ask nor bear an address, updates that touch none of this, finished pods, our own in our namespace,
         kubelets' mirror pods, the system's namespaces
Answers: Deny 403, and 422 where an annotation cannot be read; never patches
         asks for an address      each one that it bears is reserved for this pod; one that bears none waits behind our gate
         does not ask             it bears no address, which nobody would reserve for it (unless `byHand: Allow`: then none of a
                                  pool, and none that is reserved for somebody else); nor our key, label or scheduling gate
         update                   from nothing to what is reserved for the pod, and never back; a pod that is being deleted
                                  keeps what it has, since it uses its address until it is gone
         binding                  schedulers give no address: what a Binding bears is written onto its pod, past every update
Errors:  Unavailable (503) until pools and reservations are known, and when the API server cannot be asked in time
A dry run of a create reserves nothing, so that no reservation is looked for.
Source:  kubernetes pkg/registry/core/pod/strategy.go: labels and annotations stay editable, also through pods/status;
         pkg/registry/core/pod/storage (assignPod): annotations and labels of a Binding become the pod's
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import attrs

from webhook.addresses.address import Address, quoted
from webhook.addresses.bearer import NO_TEXTS, Bearer, misfit, stranger
from webhook.addresses.facts import ReservationFacts
from webhook.addresses.marks import BESIDE_PAST_IPAM
from webhook.addresses.policy import ByHand
from webhook.addresses.ranges import AddressSet
from webhook.admission.draft import Draft
from webhook.admission.pool_rights import barred, namespace_facts
from webhook.admission.review import FORBIDDEN, UNPROCESSABLE, AdmissionRequest, Denial, Operations
from webhook.admission.service import Context, Verdict
from webhook.cluster import Cluster, NamespaceFacts
from webhook.errors import Unavailable
from webhook.names import (
    ALLOCATABLE_IPS,
    ALLOCATED_IP,
    APP_LABEL,
    CALICO_ADDRESSES,
    CALICO_ADDRESSES_WITHOUT_IPAM,
    DISABLED,
    IP_GATE,
    IP_POOL,
    MUTATE_LABEL,
    NODES_GROUP,
    PROJECT,
    RESERVATION_KEY,
    Reason,
)
from webhook.objects import meta, pods
from webhook.objects.meta import Json
from webhook.sidecars.wish import SYSTEM_NAMESPACES

_SUBRESOURCES = ("", "status")
_BINDINGS = (("pods", "binding"), ("bindings", ""))  # the second is the older way to say the same
_ANNOTATIONS = (CALICO_ADDRESSES, CALICO_ADDRESSES_WITHOUT_IPAM, RESERVATION_KEY)
_WAITS_FOR_EVER = (
    "it waits for an address, and would wait for ever without the label that asks for it: "
    f"take the scheduling gate {IP_GATE} off with it"
)
_KEPT_TO_THE_END = (
    "what says which address it has stays as it is while it is being deleted, since it uses its address until it is gone"
)
_ADVICE = f"remove {CALICO_ADDRESSES}, {ALLOCATED_IP} and {RESERVATION_KEY} (they may come from a backup or a copied manifest)"


@attrs.frozen
class CheckAddresses:
    """The rule pod-ip-check. Any thread."""

    home: str  # the namespace that we run in
    cluster: Cluster
    by_hand: ByHand = ByHand.REFUSE
    name: ClassVar[str] = "pod-ip-check"

    def __call__(self, request: AdmissionRequest, draft: Draft, context: Context) -> Verdict:
        """See `webhook.admission.service.Rule`. Raises Unavailable (503) when nobody can say who has an address."""
        if (request.resource.resource, request.subresource) in _BINDINGS:
            return _bound(draft.object, request.namespace)
        if request.subresource not in _SUBRESOURCES:
            return Verdict(Reason.NOT_APPLICABLE)
        pod = draft.object
        spared = self._spares(pod, request.namespace, context)
        if spared is not None:
            return Verdict(spared)
        if request.operation is Operations.CREATE:
            verdict = self._created(Bearer.of(pod, request.namespace, is_new=True), context)
        elif request.operation is Operations.UPDATE:
            before = Bearer.of(request.old_object or {}, request.namespace, is_new=False)
            verdict = self._updated(before, Bearer.of(pod, request.namespace, is_new=False), context)
        else:
            return Verdict(Reason.NOT_APPLICABLE)
        subject = f"pod {request.namespace}/{meta.display_name(pod)}"
        told = f"{subject}: {verdict.message}" if verdict.denial is not None else verdict.message
        denial = attrs.evolve(verdict.denial, message=told) if verdict.denial is not None else None
        warnings = tuple(f"{subject}: {one}" for one in verdict.warnings)
        return attrs.evolve(verdict, message=told, denial=denial, warnings=warnings)

    def _spares(self, pod: Json, namespace: str, context: Context) -> Reason | None:
        if namespace in SYSTEM_NAMESPACES:
            return Reason.SYSTEM_NAMESPACE
        if namespace == self.home and meta.labels_of(pod).get(APP_LABEL) == PROJECT:
            return Reason.OWN_OBJECT
        # Anybody may write the annotation of a mirror pod; only a kubelet's is one (NodeRestriction).
        return Reason.MIRROR_POD if pods.is_mirror(pod) and NODES_GROUP in context.user.groups else None

    # -- creation

    def _created(self, bearer: Bearer, context: Context) -> Verdict:
        if not bearer.asks:
            return self._unasked(bearer, context)
        why = self._kept_away(bearer, context)
        if not bearer.addresses and not bearer.marks.gated:
            why = why or "pod-ip was not asked; apply its registration (`gatehouse manifests`)"
            return _refused(Reason.ADDRESS_NOT_RESERVED, f"it asks for a fixed address and was given none: {why}")
        if why and not bearer.addresses:
            message = f"the scheduling gate {IP_GATE} was not put there for it: {why}; remove the gate and the label that asks"
            return _refused(Reason.ADDRESS_NOT_RESERVED, message)
        if why:
            # What it bears is copied, also where nobody could find out yet.
            return _refused(Reason.ADDRESS_NOT_RESERVED, f"its address was not given to it: {why}; {_ADVICE}")
        fault = _shape_fault(bearer)
        if fault is not None:
            return fault
        if not bearer.addresses:
            return Verdict(Reason.ADDRESS_AWAITED)
        return self._asked(bearer, context, is_given=True, is_dry=context.dry_run)

    def _kept_away(self, bearer: Bearer, context: Context) -> str:
        """What keeps such pods from pod-ip, "" when nothing does."""
        if bearer.is_labelled_ours:
            return f"no webhook of Gatehouse changes pods with the label {APP_LABEL}: {PROJECT}"
        if self._is_switched_off(bearer.namespace, context):
            return f"its namespace has the label {MUTATE_LABEL}: {DISABLED}, which keeps pods as they are"
        return ""

    def _is_switched_off(self, namespace: str, context: Context) -> bool:
        """Whether the pods of *namespace* are kept as they are. Raises Unavailable when nobody knows the namespace."""
        if not _keeps_pods_as_they_are(namespace_facts(namespace, self.cluster, context.deadline)):
            return False
        live = self.cluster.namespaces.confirm(namespace, context.deadline)
        return live is None or _keeps_pods_as_they_are(live)

    # -- change

    def _updated(self, before: Bearer, after: Bearer, context: Context) -> Verdict:
        if before.is_finished:
            return Verdict(Reason.NOTHING_TO_DO)
        if before.asks and not after.asks and after.marks.gated:
            return _refused(Reason.ADDRESS_CHANGED, _WAITS_FOR_EVER)
        if before.texts == after.texts and before.marks.gated == after.marks.gated:
            return _asks_too_late(before, after)
        if before.is_deleting and before.texts != after.texts:
            return _refused(Reason.ADDRESS_CHANGED, _KEPT_TO_THE_END)
        if before.marks.gated and not after.marks.gated and after.asks and not after.addresses:
            message = f"the scheduling gate {IP_GATE} is lifted when an address is free: without it the pod gets any"
            return _refused(Reason.ADDRESS_CHANGED, message)
        lost = before.texts.lost_in(after.texts)
        if lost and (before.is_ours or after.asks or self._is_bound(before, context)):
            message = f"{' and '.join(lost)} of a pod that runs cannot be changed: they say which address it has"
            return _refused(Reason.ADDRESS_CHANGED, message)
        if not after.asks and not after.marks.key:
            return self._unasked(after, context, before)
        return _shape_fault(after) or self._asked(after, context, is_given=not before.addresses)

    def _is_bound(self, bearer: Bearer, context: Context) -> bool:
        """Whether an address of a pod that never asked was given to it nevertheless: when it came into a pool."""
        found = (self.cluster.addresses.reservation(address, context.deadline) for address in bearer.addresses)
        return any(one is not None and bool(one.bound_uid) and one.bound_uid == bearer.uid for one in found)

    # -- both

    def _asked(self, bearer: Bearer, context: Context, *, is_given: bool, is_dry: bool = False) -> Verdict:
        """Whether each address is reserved for this pod, and its namespace may use it where it *is_given* now."""
        self._await()
        if is_given:
            addresses = AddressSet.of_addresses(bearer.addresses)
            may_not = barred(addresses, bearer.namespace, self.cluster, context.deadline)
            if may_not:
                return _refused(Reason.ADDRESS_OUT_OF_RANGE, "; ".join(one.told(bearer.namespace) for one in may_not))
        for address in () if is_dry else bearer.addresses:
            why = self._misfit(address, bearer, context)
            if why:
                return _refused(Reason.ADDRESS_NOT_RESERVED, f"{address.text} is not its own: {why}; {_ADVICE}")
        return Verdict(Reason.ADDRESS_IN_ORDER)

    def _misfit(self, address: Address, bearer: Bearer, context: Context) -> str:
        found = self.cluster.addresses.reservation(address, context.deadline)
        if found is not None and misfit(found, bearer):
            found = self.cluster.addresses.confirmed(address, context.deadline)
        return misfit(found, bearer)

    def _unasked(self, bearer: Bearer, context: Context, before: Bearer | None = None) -> Verdict:
        """Whether a pod that does not ask stays away from what is given to others. *before*: as it was; None of a new one."""
        was = NO_TEXTS if before is None else before.texts
        if before is None and bearer.marks.gated:
            message = (
                f"it bears the scheduling gate {IP_GATE} and asks for no fixed address: nobody would lift it; remove the gate"
            )
            return _refused(Reason.ADDRESS_NOT_RESERVED, message)
        ours = was.ours_gained_in(bearer.texts)
        if ours:
            message = f"it bears {' and '.join(ours)}, and {_why_none(bearer)}"
            return _refused(Reason.ADDRESS_NOT_RESERVED, f"{message}; {_ADVICE}")
        if self.by_hand is ByHand.REFUSE and not bearer.on_host_network and was.addresses_gained_in(bearer.texts):
            fault = self._by_hand(bearer)
            if fault is not None:
                return fault
        addresses = bearer.borne
        if not addresses:
            return Verdict(Reason.NOTHING_TO_DO)
        self._await()
        for address in addresses:
            why = self._stranger(address, bearer, context)
            if why:
                return _refused(Reason.ADDRESS_NOT_RESERVED, f"{why}; {_ADVICE}")
        return Verdict(Reason.ADDRESS_IN_ORDER)

    def _by_hand(self, bearer: Bearer) -> Verdict | None:
        """Refuses what nobody reserves: a pod that asks for the same address at the same moment would get it, too."""
        if not bearer.borne:
            return None  # nothing that can be read: nobody gives it anything
        for address in bearer.borne:
            why = self._in_a_pool(address)
            if why:
                return _refused(Reason.ADDRESS_NOT_RESERVED, f"{why}; {_ADVICE}")
        wish = f"{ALLOCATABLE_IPS}: {'_'.join(one.name for one in bearer.borne)}"
        message = f"it bears {_texts(bearer.borne)}, written by hand and reserved for nobody: ask for it with the label {wish}"
        return _refused(Reason.ADDRESS_NOT_RESERVED, f"{message}; {_ADVICE}")

    def _stranger(self, address: Address, bearer: Bearer, context: Context) -> str:
        found = self._reservation_against(address, bearer, context)
        if found is not None:
            return stranger(found, bearer)
        return self._in_a_pool(address)

    def _in_a_pool(self, address: Address) -> str:
        pool = next((one.name for one in self.cluster.addresses.pools() if address in one.addresses), None)
        if pool is None:
            return ""
        return f'{address.text} is of AddressPool "{pool}", whose addresses are given out: ask with the label {IP_POOL}: {pool}'

    def _reservation_against(self, address: Address, bearer: Bearer, context: Context) -> ReservationFacts | None:
        found = self.cluster.addresses.reservation(address, context.deadline)
        if found is not None and stranger(found, bearer):
            return self.cluster.addresses.confirmed(address, context.deadline)
        return found

    def _await(self) -> None:
        if not self.cluster.addresses.synced():
            raise Unavailable("the pools and reservations of addresses are not known yet")


def _keeps_pods_as_they_are(namespace: NamespaceFacts) -> bool:
    return namespace.labels.get(MUTATE_LABEL) == DISABLED


def _shape_fault(bearer: Bearer) -> Verdict | None:
    """What is wrong with the marks by themselves."""
    if bearer.marks.fault:
        return _refused(Reason.ADDRESSES_INVALID, bearer.marks.fault, UNPROCESSABLE)
    if bearer.texts.past_ipam:
        return _refused(Reason.ADDRESSES_INVALID, BESIDE_PAST_IPAM, UNPROCESSABLE)
    if bearer.marks.key and not bearer.addresses:
        return _refused(Reason.ADDRESS_NOT_RESERVED, f"it has a {RESERVATION_KEY} and no address; {_ADVICE}")
    if not bearer.marks.label_fits:
        message = (
            f"the label {ALLOCATED_IP} is {quoted(bearer.marks.label)}, and {CALICO_ADDRESSES} says {_texts(bearer.addresses)}"
        )
        return _refused(Reason.ADDRESS_NOT_RESERVED, f"{message}; {_ADVICE}")
    return None


def _bound(binding: Json, namespace: str) -> Verdict:
    """Whether a Binding leaves addresses alone."""
    labels, annotations = meta.labels_of(binding), meta.annotations_of(binding)
    found = [f"label {ALLOCATED_IP}"] if ALLOCATED_IP in labels else []
    found += [f"annotation {key}" for key in _ANNOTATIONS if key in annotations]
    if not found:
        return Verdict(Reason.NOTHING_TO_DO)
    subject = f"binding of pod {namespace}/{meta.display_name(binding)}"
    message = f"{subject}: it bears {' and '.join(found)}: addresses are given when a pod is created, not when it is scheduled"
    return _refused(Reason.ADDRESS_CHANGED, message)


def _why_none(bearer: Bearer) -> str:
    if bearer.on_host_network:
        return "is on the host network, where nobody gets a fixed address"
    return "asks for no fixed address: only pods that ask get these"


def _asks_too_late(before: Bearer, after: Bearer) -> Verdict:
    if after.asks and not before.asks and not after.addresses:
        warning = (
            "a pod gets a fixed address when it is created: the label does nothing now (write it in the workload's template)"
        )
        return Verdict(Reason.ASKED_TOO_LATE, warnings=(warning,))
    return Verdict(Reason.NOTHING_TO_DO)


def _texts(addresses: Sequence[Address]) -> str:
    return " and ".join(one.text for one in addresses) or "nothing"


def _refused(reason: Reason, message: str, code: int = FORBIDDEN) -> Verdict:
    return Verdict(reason, message, Denial(code, reason.value, message))
