"""Pods that ask for a fixed address get one that nobody else has: reserved first, then written for Calico.

Reads:   labels allocatable-ips, gatehouse.dev/ip-pool, annotation allocatable-ips, the controlling owner, marks of an earlier
         call; AddressPools, AddressReservations, the network's own pools
Writes:  label allocated-ip, annotations cni.projectcalico.org/ipAddrs and gatehouse.dev/reservation-key, all in one patch; or
         the scheduling gate gatehouse.dev/pod-ip while no address is free and the pool says so
Ignores: pods that do not ask, mirror pods, our own, the system's namespaces; on the host network with a warning (no CNI there)
Answers: Deny 422 for a list that cannot be read, for a pool that is not there, and beside ipAddrsNoIpam, which Calico refuses
         together with ipAddrs; Deny 403 for addresses that the network or the namespace may not use, and when none is free
Errors:  Unavailable (503) until pools and reservations are known, and when the API server cannot be asked in time;
         Misconfigured (500) when it refuses what we ask
Marks that the pod brings are believed only as far as the allocation confirms them: manifests are copied, backups restored.
Source:  projectcalico/calico cni-plugin/pkg/k8s (ipAddrs); one reservation exists for each address, as the API server sees to
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar, Final

import attrs

from webhook.addresses import keys
from webhook.addresses.address import Address, AddressError
from webhook.addresses.bearer import Bearer
from webhook.addresses.effects import Allocated, Exhausted
from webhook.addresses.exhaustion import exhaustion_message
from webhook.addresses.facts import Asked, OnExhausted, PoolFacts
from webhook.addresses.marks import BESIDE_PAST_IPAM, Marks, written
from webhook.addresses.owners import owner_of
from webhook.addresses.policy import AddressPolicy
from webhook.addresses.ranges import AddressSet
from webhook.addresses.wish import Wish, wish_of
from webhook.admission.draft import Draft
from webhook.admission.pool_rights import barred
from webhook.admission.review import FORBIDDEN, UNPROCESSABLE, AdmissionRequest, Denial, Operations
from webhook.admission.service import Context, Verdict
from webhook.cluster import Cluster
from webhook.errors import Unavailable
from webhook.names import (
    ALLOCATABLE_IPS,
    ALLOCATED_IP,
    APP_LABEL,
    CALICO_ADDRESSES,
    IP_GATE,
    IP_POOL,
    RESERVATION_KEY,
    Reason,
)
from webhook.objects import meta, pods
from webhook.objects.meta import Json
from webhook.sidecars.wish import obstacle

_APP_LABELS: Final = (APP_LABEL, "app", "k8s-app")
_LABEL_LENGTH: Final = 63  # a longer value is refused after us
_LEFT_ALONE: Final = (Reason.SYSTEM_NAMESPACE, Reason.OWN_OBJECT, Reason.MIRROR_POD)


class _Refused(Exception):
    """Inside this module: the pod gets no address."""

    def __init__(self, reason: Reason, code: int, message: str) -> None:
        super().__init__(message)
        self.reason, self.code, self.message = reason, code, message


@attrs.frozen
class _Terms:
    """From where a pod may be given an address, and what happens if there is none."""

    addresses: AddressSet
    on_exhausted: OnExhausted


@attrs.frozen
class GiveAddresses:
    """The rule pod-ip. Any thread."""

    policy: AddressPolicy
    cluster: Cluster
    name: ClassVar[str] = "pod-ip"

    def __call__(self, request: AdmissionRequest, draft: Draft, context: Context) -> Verdict:
        """See `webhook.admission.service.Rule`. Raises Unavailable (503): another replica, or a later call, may know more."""
        pod = draft.object
        labels = meta.labels_of(pod)
        if request.operation is not Operations.CREATE or not (IP_POOL in labels or ALLOCATABLE_IPS in labels):
            return Verdict(Reason.NOT_APPLICABLE)
        subject = f"pod {request.namespace}/{meta.display_name(pod)}"
        reason = obstacle(pod, request.namespace)
        if reason in _LEFT_ALONE:
            return Verdict(reason)
        if pods.uses_host_network(pod):  # whatever else may be an obstacle to containers of ours: Windows is none here
            warning = f"{subject}: on the host network it has the address of its node: it gets no fixed one"
            return Verdict(Reason.HOST_NETWORK, "no CNI gives it an address", warnings=(warning,))
        try:
            return self._give(request, draft, context, subject)
        except _Refused as why:
            message = f"{subject}: {why.message}"
            return Verdict(why.reason, message, Denial(why.code, why.reason.value, message))

    def _give(self, request: AdmissionRequest, draft: Draft, context: Context, subject: str) -> Verdict:
        pod = draft.object
        bearer = Bearer.of(pod, request.namespace, is_new=True)  # what pod-ip-check cannot read costs no address
        wish = _wish(pod)
        if bearer.texts.past_ipam:
            raise _Refused(Reason.ADDRESSES_INVALID, UNPROCESSABLE, BESIDE_PAST_IPAM)
        if not self.cluster.addresses.synced():
            raise Unavailable("the pools and reservations of addresses are not known yet")
        terms = self._terms(wish, request.namespace, context)
        asked = _asked(request, pod, wish, terms)
        brought = bearer.marks
        if context.dry_run and self._was_foreseen(brought, asked, context):
            return Verdict(Reason.ALREADY_ALLOCATED)
        outcome = self.cluster.addresses.allocate(asked, brought, context.deadline, dry_run=context.dry_run)
        warnings = list(_ignored(wish))
        if isinstance(outcome, Exhausted):
            verdict = _waits(draft, brought, asked, outcome)
        else:
            warnings += _replaced(brought, outcome)
            verdict = _writes(draft, outcome, wish)
        return attrs.evolve(verdict, warnings=tuple(f"{subject}: {one}" for one in warnings))

    def _was_foreseen(self, brought: Marks, asked: Asked, context: Context) -> bool:
        """Whether an earlier call of the same dry run may have written *brought*: no reservation tells, since none is made."""
        addresses = brought.addresses
        if not brought.key or not brought.label_fits or tuple(one.version for one in addresses) != asked.addresses.versions:
            return False
        known = self.cluster.addresses
        return all(one in asked.addresses and known.reservation(one, context.deadline) is None for one in addresses)

    def _terms(self, wish: Wish, namespace: str, context: Context) -> _Terms:
        if not wish.pool:
            self._check_list(wish, namespace, context)
            return _Terms(wish.addresses, self.policy.on_exhausted)
        pool = self.cluster.addresses.pool(wish.pool)
        if pool is None and self.cluster.addresses.pool_exists(wish.pool, context.deadline):
            # Applied together with its pods: asked again after a second, the cache has it.
            raise Unavailable(f'AddressPool "{wish.pool}" is new, and not known yet')
        if pool is None:
            message = f'AddressPool "{wish.pool}" does not exist: the label {IP_POOL} asks for it'
            raise _Refused(Reason.ADDRESS_POOL_MISSING, UNPROCESSABLE, message)
        if pool.fault:
            message = f'AddressPool "{pool.name}" gives no address: {pool.fault}'
            raise _Refused(Reason.ADDRESSES_INVALID, UNPROCESSABLE, message)
        return _Terms(self._left(pool, namespace, context), pool.on_exhausted)

    def _check_list(self, wish: Wish, namespace: str, context: Context) -> None:
        """Refuses a list of which not every address may be used: who wrote it can mend it."""
        faults = [one.told(namespace) for one in barred(wish.addresses, namespace, self.cluster, context.deadline)]
        faults += filter(None, [self.cluster.addresses.network().refusal(wish.addresses)])
        if faults:
            raise _Refused(Reason.ADDRESS_OUT_OF_RANGE, FORBIDDEN, f"{wish.source}: {'; '.join(faults)}")

    def _left(self, pool: PoolFacts, namespace: str, context: Context) -> AddressSet:
        """The addresses of *pool* that may be given: what another pool or the network keeps back is no fault of the pod."""
        network = self.cluster.addresses.network()
        kept_back = barred(pool.addresses, namespace, self.cluster, context.deadline)
        for one in kept_back:
            if one.pool.name == pool.name:
                message = f'AddressPool "{pool.name}" is not for namespace "{namespace}": it selects {pool.namespaces}'
                raise _Refused(Reason.ADDRESS_OUT_OF_RANGE, FORBIDDEN, message)
        outside = network.outside(pool.addresses)
        if not outside and not kept_back:
            return pool.addresses  # the very set, which is known to whoever keeps what is free of it
        left = pool.addresses.minus(outside)
        for one in kept_back:
            left = left.minus(one.addresses)
        for version in pool.addresses.versions:
            if version not in left.versions:  # of both families, or of none
                lost = pool.addresses.only(version)
                why = network.refusal(lost) or "; ".join(one.told(namespace) for one in kept_back)
                message = f'AddressPool "{pool.name}" has no IPv{version} address to give: {why}'
                raise _Refused(Reason.ADDRESS_OUT_OF_RANGE, FORBIDDEN, message)
        return left


def _wish(pod: Json) -> Wish:
    try:
        wish = wish_of(pod)
    except AddressError as error:
        raise _Refused(Reason.ADDRESSES_INVALID, UNPROCESSABLE, str(error)) from error
    assert wish is not None, "one of the labels is there"
    return wish


def _asked(request: AdmissionRequest, pod: Json, wish: Wish, terms: _Terms) -> Asked:
    metadata, labels = meta.metadata(pod), meta.labels_of(pod)
    name = meta.text(metadata, "name", "metadata")
    owner = owner_of(pod)
    for what, text, most in (("kind", owner.kind, 63), ("name", owner.name, 253), ("uid", owner.uid, 128)):
        if len(text) > most:
            message = f"the {what} of its owner has {len(text)} characters: a reservation takes at most {most}"
            raise _Refused(Reason.ADDRESSES_INVALID, UNPROCESSABLE, message)
    return Asked(
        namespace=request.namespace,
        key=keys.key_of(request.namespace, owner.uid, name) if name else keys.key_of_request(request.uid),
        request_uid=request.uid,
        app=next((labels[key] for key in _APP_LABELS if 0 < len(labels.get(key, "")) <= _LABEL_LENGTH), ""),
        owner=owner,
        ordinal=keys.ordinal_of(owner, name),
        pod_name=name,
        pool=wish.pool,
        addresses=terms.addresses,
        on_exhausted=terms.on_exhausted,
    )


def _writes(draft: Draft, outcome: Allocated, wish: Wish) -> Verdict:
    """Write what was given, and take off the gate that a copied pod may bear."""
    labels, annotations = written(outcome.key, outcome.addresses)
    for place, values in (("labels", labels), ("annotations", annotations)):
        there = meta.texts(meta.metadata(draft.object), place, "metadata")
        for key, value in values.items():
            if there.get(key) != value:
                draft.set(("metadata", place, key), value)
    _take_off_gate(draft)
    message = f"{_texts(outcome.addresses)} of {wish.source}"
    if not draft.operations:
        return Verdict(Reason.ALREADY_ALLOCATED, message)
    return Verdict(Reason.ADDRESS_KEPT if outcome.reused else Reason.ADDRESS_ALLOCATED, message)


def _waits(draft: Draft, brought: Marks, asked: Asked, outcome: Exhausted) -> Verdict:
    """Put the pod behind the gate, without what it may have copied; or refuse it."""
    spec = pods.spec(draft.object)
    message = exhaustion_message(outcome, asked)
    if asked.on_exhausted is not OnExhausted.GATE:
        raise _Refused(Reason.ADDRESSES_EXHAUSTED, FORBIDDEN, message)
    if meta.text(spec, "nodeName", "spec"):
        raise _Refused(Reason.ADDRESSES_EXHAUSTED, FORBIDDEN, f"{message}; it cannot wait, since spec.nodeName is set")
    for place, key in (("labels", ALLOCATED_IP), ("annotations", CALICO_ADDRESSES), ("annotations", RESERVATION_KEY)):
        if key in meta.mapping(meta.metadata(draft.object), place, "metadata"):
            draft.remove(("metadata", place, key))
    if not brought.gated:
        draft.append(("spec", "schedulingGates"), {"name": IP_GATE}, own=True)
    return Verdict(Reason.ADDRESS_AWAITED, message)


def _take_off_gate(draft: Draft) -> None:
    gates = meta.objects(pods.spec(draft.object), "schedulingGates", "spec")
    ours = [index for index, gate in enumerate(gates) if gate.get("name") == IP_GATE]
    for index in reversed(ours):
        draft.remove(("spec", "schedulingGates", index))


def _ignored(wish: Wish) -> Iterator[str]:
    if wish.list_ignored:
        yield f"the label {IP_POOL} counts, its list of addresses ({ALLOCATABLE_IPS}) is not read"


def _replaced(brought: Marks, outcome: Allocated) -> Iterator[str]:
    if not brought.are_written or (brought.key, brought.addresses) == (outcome.key, outcome.addresses):
        return
    gets = _texts(outcome.addresses)
    if brought.addresses == outcome.addresses:  # a dump that was applied again: a pod with a name has another key
        yield f"it came with the key of an earlier pod or of none (restored from a backup), and has {gets} under one of its own"
    elif brought.key == outcome.key and brought.addresses:
        had = _texts(brought.addresses)
        yield f"it came with the address {had}, which it had before and nobody kept for it, and gets {gets}"
    else:
        what = f"the address {_texts(brought.addresses)}" if brought.addresses else "marks of an address"
        yield f"it came with {what} of another or an earlier pod (copied, or restored from a backup), and gets {gets}"


def _texts(addresses: tuple[Address, ...]) -> str:
    return " and ".join(one.text for one in addresses)
