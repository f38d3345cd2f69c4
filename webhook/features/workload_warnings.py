"""Who applies a workload is told what will happen to its pods: their own warnings reach only the controller that creates them.

Reads:   the pod template, with its sidecars, what the metadata of workload and template say of sidecars and fixed addresses,
         replicas and maxSurge
Ignores: workloads that a controller owns or writes, updates that change none of that, pods that nobody asks anything of
Answers: warnings; never refuses, never patches
Source:  kubernetes.io/blog/2020/09/03/warnings: warnings go to whoever sent the request
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import ClassVar, Final, Protocol

from webhook.addresses import forecast as addresses
from webhook.admission.draft import Draft
from webhook.admission.review import AdmissionRequest, Operations, User
from webhook.admission.service import Context, Verdict
from webhook.cluster import Cluster
from webhook.defaults.completing import Completion
from webhook.names import Reason
from webhook.objects import meta
from webhook.objects.enforcement import Complaint, Mode
from webhook.objects.limit_ranges import LimitRange
from webhook.objects.meta import Json
from webhook.objects.workloads import Workload, workload_of
from webhook.sidecars.decision import Decision, decide
from webhook.sidecars.findings import Finding
from webhook.sidecars.misplaced import misplaced, spoken
from webhook.sidecars.selection import FALSE, Policy
from webhook.sidecars.wish import wish_of

# Service accounts of the controller manager, and the user that it is without them (--use-service-account-credentials=false).
_ACCOUNTS: Final = "system:serviceaccount:kube-system:"
_CONTROLLER: Final = "-controller"
_CONTROLLER_MANAGER: Final = "system:kube-controller-manager"


class Judge(Protocol):
    """A rule that pods are held to when they are created."""

    def complaints(self, pod: Json, namespace: str, ranges: Sequence[LimitRange]) -> Sequence[Complaint]:
        """What it has against *pod*, with the limit ranges that have not been applied yet."""


class WarnOfWorkloads:
    """The rule. Any thread."""

    name: ClassVar[str] = "workload-warnings"

    def __init__(
        self,
        policy: Policy,
        cluster: Cluster,
        completion: Completion | None = None,
        judges: Sequence[Judge] = (),
        gives_addresses: bool = False,
        refuses_by_hand: bool = False,
    ) -> None:
        """completion: what follows the sidecars. judges: who looks at the result. gives_addresses: whether pods may ask.

        refuses_by_hand: whether those that do not ask may not name an address.
        """
        self._policy = policy
        self._cluster = cluster
        self._completion = completion
        self._judges = judges
        self._gives_addresses = gives_addresses
        self._refuses_by_hand = refuses_by_hand

    def __call__(self, request: AdmissionRequest, draft: Draft, context: Context) -> Verdict:
        """See `webhook.admission.service.Rule`."""
        obj = draft.object
        workload = workload_of(obj)
        if workload is None or not workload.template or request.operation not in (Operations.CREATE, Operations.UPDATE):
            return Verdict(Reason.NOT_APPLICABLE)
        if _is_controller(context.user) or _has_owner(obj):
            return Verdict(Reason.NOT_APPLICABLE, "no person reads the warning")
        if request.old_object is not None and not self._is_news(workload, request.old_object, obj):
            return Verdict(Reason.NOTHING_TO_DO)
        pod = Draft(workload.pod(obj))
        decision = decide(pod, request.namespace, self._cluster, self._policy, context.now_s, context.deadline, confirm=False)
        found = dict.fromkeys((*misplaced(workload, obj), *_forecast(pod.object, decision), *self._addresses(workload, obj)))
        if decision.refusal is None and self._judges:
            if self._completion is not None:
                self._completion.complete(pod, request.namespace, context.now_s, context.deadline)
            found |= dict.fromkeys(self._bounds(workload, pod.object, request.namespace))
        if not found:
            return Verdict(Reason.NOTHING_TO_DO)
        subject = f"{workload.kind} {meta.display_name(obj)}"
        warnings = tuple(f"{subject}: {finding.message}" for finding in found)
        return Verdict(next(iter(found)).reason, f"{len(warnings)} warnings", warnings=warnings)

    def _is_news(self, workload: Workload, old: Json, new: Json) -> bool:
        """Whether an update changes anything that is warned of."""
        if workload.template_of(old) != workload.template_of(new) or spoken(old) != spoken(new):
            return True
        return self._gives_addresses and addresses.spoken(workload, old) != addresses.spoken(workload, new)

    def _addresses(self, workload: Workload, obj: Json) -> Iterator[Finding]:
        """What will be said of the addresses that its pods ask for."""
        if self._gives_addresses:
            known = self._cluster.addresses
            find_pool = known.pool if known.synced() else None
            pod = workload.pod(obj)
            for one in addresses.forecast(workload, obj, pod, find_pool, refuses_by_hand=self._refuses_by_hand):
                yield Finding(one.reason, one.message, one.field)

    def _bounds(self, workload: Workload, pod: Json, namespace: str) -> Iterator[Finding]:
        """What the rules about created pods will say of these."""
        ranges = self._cluster.limit_ranges.of(namespace)
        for judge in self._judges:
            for one in judge.complaints(pod, namespace, ranges):
                lead = "its pods will be refused: " if one.mode is Mode.DENY else ""
                yield Finding(one.reason, lead + one.told(workload.field(one.field)), one.field)


def _is_controller(user: User) -> bool:
    own = user.name.startswith(_ACCOUNTS) and user.name.endswith(_CONTROLLER)
    return own or user.name == _CONTROLLER_MANAGER


def _has_owner(obj: Json) -> bool:
    owners = meta.objects(meta.metadata(obj), "ownerReferences", "metadata")
    return any(owner.get("controller") is True for owner in owners)


def _forecast(pod: Json, decision: Decision) -> Iterator[Finding]:
    """What will become of the pods, where somebody asked for something."""
    if decision.refusal is not None:
        yield Finding(decision.refusal.reason, f"its pods will be refused: {decision.refusal.message}", decision.refusal.field)
    yield from (finding for finding in decision.findings if finding != decision.refusal)
    selection = decision.selection
    told = any(selection.message == finding.message for finding in decision.findings)
    if decision.refusal is None and not selection.entries and _asks(pod, decision) and not told:
        yield Finding(selection.reason, f"its pods get no sidecar: {selection.message}")


def _asks(pod: Json, decision: Decision) -> bool:
    """Whether anybody wants a sidecar for it: its namespace, or the template where that has no say."""
    if decision.selection.asked.names:
        return True
    if decision.selection.reason is Reason.OPTED_OUT:
        return False
    wish = wish_of(meta.annotations_of(pod), meta.labels_of(pod))
    said = (wish.annotation, wish.annotated_entries, wish.label, wish.labelled_entries)
    return any(value is not None and value.strip().lower() != FALSE for value in said)
