"""No claim belongs to two DatabaseInstances; who deletes one is told which volumes go.

Reads:   spec.volumes, the namespace's claims, the other instances' spec.volumes; on DELETE also status.volumes
Ignores: updates that leave spec.volumes as it was, so that finalizers and deletions are never in the way of each other
Answers: Deny 422 naming every claim and the other instance; on DELETE warnings, never a refusal
Errors:  Unavailable (503) while the caches have not synced: a refusal must not depend on how long we have been running
Two instances created at the same moment may both pass: the controller then leaves what they share alone, and says so.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import ClassVar, Final

import attrs

from webhook.admission.draft import Draft
from webhook.admission.review import AdmissionRequest, Denial, Operations
from webhook.admission.service import Context, Verdict
from webhook.cluster import Databases
from webhook.errors import Unavailable
from webhook.names import Reason
from webhook.objects import meta
from webhook.objects.databases import KIND, ClaimFacts, DeletionPolicy, InstanceFacts, VolumesSpec, says_is_its_own
from webhook.objects.meta import Json
from webhook.objects.selectors import SelectorError

UNPROCESSABLE: Final = 422
TOLD: Final = 10  # warnings are cut at 4096 characters in all
_FATE: Final = {
    DeletionPolicy.DELETE: "is deleted with its volume",
    DeletionPolicy.RETAIN: "stays, and so does its volume",
    DeletionPolicy.SNAPSHOT: "is snapshotted, then deleted with its volume",
}


@attrs.frozen
class GuardClaims:
    """The rule database-instance."""

    default: DeletionPolicy
    databases: Databases
    name: ClassVar[str] = "database-instance"

    def __call__(self, request: AdmissionRequest, draft: Draft, context: Context) -> Verdict:
        """See `webhook.admission.service.Rule`."""
        if request.operation is Operations.DELETE:
            return self._deleted(request.old_object) if request.old_object is not None else Verdict(Reason.NOTHING_TO_DO)
        spec, old = _spec(draft.object), request.old_object
        if old is not None and _volumes(_spec(old)) == _volumes(spec):
            return Verdict(Reason.NOTHING_TO_DO)
        try:
            volumes = _read(spec)
        except SelectorError as error:
            return _refused(Reason.SPEC_INVALID, f"{_words(draft.object)}: spec.volumes.selector: {error}")
        if not self.databases.synced():
            raise Unavailable("the DatabaseInstances and claims of the cluster are not known yet")
        metadata = meta.metadata(draft.object)
        uid = meta.text(metadata, "uid", "metadata")
        others = [one for one in self.databases.instances_in(request.namespace) if one.name != request.name]
        taken = list(dict.fromkeys(_taken(volumes, uid, others, self.databases.claims_in(request.namespace))))
        if not taken:
            return Verdict(Reason.NOTHING_TO_DO)
        told = ", ".join(f'claim "{claim}" belongs to {KIND} "{other}"' for claim, other in taken[:TOLD])
        more = f" and {len(taken) - TOLD} more" if len(taken) > TOLD else ""
        return _refused(Reason.CLAIM_TAKEN, f"{_words(draft.object)}: {told}{more}; a claim has one instance only")

    def _deleted(self, obj: Json) -> Verdict:
        spec = _spec(obj)
        said = meta.text(spec, "deletionPolicy", "spec")
        policy = DeletionPolicy(said) if said in set(DeletionPolicy) else self.default
        names = sorted(self._own(obj, spec))
        reason = Reason.VOLUMES_WILL_STAY if policy is DeletionPolicy.RETAIN else Reason.VOLUMES_WILL_GO
        if not names or meta.is_deleting(obj):
            return Verdict(Reason.NOTHING_TO_DO)
        subject = _words(obj)
        warnings = [f'{subject}: claim "{name}" {_FATE[policy]}' for name in names[:TOLD]]
        if len(names) > TOLD:
            warnings.append(f"{subject}: and {len(names) - TOLD} more claims")
        return Verdict(reason, f"{len(names)} claims, policy {policy}", warnings=tuple(warnings))

    def _own(self, obj: Json, spec: Json) -> set[str]:
        """The names of the claims that are the instance's, by its status and by what can be seen of them."""
        recorded = meta.objects(meta.mapping(obj, "status", ""), "volumes", "status")
        names = {meta.text(one, "claimName", "status.volumes") for one in recorded} - {""}
        try:
            volumes = _read(spec)
        except SelectorError:
            return names
        metadata = meta.metadata(obj)
        uid, namespace = (meta.text(metadata, key, "metadata") for key in ("uid", "namespace"))
        return names | {one.name for one in self.databases.claims_in(namespace) if says_is_its_own(volumes, uid, one)}


def _taken(
    volumes: VolumesSpec, uid: str, others: Sequence[InstanceFacts], claims: Sequence[ClaimFacts]
) -> Iterator[tuple[str, str]]:
    """Each claim that another instance says is its own, and which one."""
    wanted = [claim for claim in claims if says_is_its_own(volumes, uid, claim)]
    for other in sorted(others, key=lambda one: one.name):
        for name in sorted(volumes.names & other.volumes.names):  # also those that do not exist yet
            yield name, other.name
        for claim in sorted(wanted, key=lambda one: one.name):
            if says_is_its_own(other.volumes, other.uid, claim) or claim.instance_uid == other.uid:
                yield claim.name, other.name


def _read(spec: Json) -> VolumesSpec:
    volumes = _volumes(spec)
    names = meta.sequence(volumes, "claimNames", "spec.volumes")
    return VolumesSpec.of(volumes | {"claimNames": [name for name in names if isinstance(name, str)]})


def _spec(obj: Json) -> Json:
    return meta.mapping(obj, "spec", "")


def _volumes(spec: Json) -> Json:
    return meta.mapping(spec, "volumes", "spec")


def _words(obj: Json) -> str:
    return f'{KIND} "{meta.display_name(obj)}"'


def _refused(reason: Reason, message: str) -> Verdict:
    return Verdict(reason, message, Denial(UNPROCESSABLE, reason.value, message))
