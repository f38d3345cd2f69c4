"""No claim belongs to two DatabaseInstances; who deletes one is told which volumes go.

Reads:   spec.volumes, the namespace's claims and StatefulSets, the other instances' spec.volumes; on DELETE also status.volumes
Ignores: updates that leave spec.volumes as it was, so that finalizers and deletions are never in the way of each other, and
         on others what two instances shared before, so that each can be mended by itself
Answers: Deny 422 naming every claim and the other instance; on DELETE warnings, never a refusal: which volumes go, or that
         nothing does while the selector cannot be read
Errors:  Unavailable (503) while the caches have not synced: a refusal must not depend on how long we have been running
The claims of a StatefulSet, also those that it has yet to make, belong to the instance that owns the set.
Two instances created at the same moment may both pass: the controller then leaves what they share alone, and says so.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import ClassVar, Final

import attrs

from webhook.admission.draft import Draft
from webhook.admission.review import UNPROCESSABLE, AdmissionRequest, Denial, Operations
from webhook.admission.service import Context, Verdict
from webhook.cluster import Databases
from webhook.errors import Unavailable
from webhook.names import Reason
from webhook.objects import meta
from webhook.objects.databases import (
    KIND,
    ClaimFacts,
    DeletionPolicy,
    Say,
    VolumesSpec,
    is_wholly_owned,
    says,
    says_is_its_own,
)
from webhook.objects.faults import listed
from webhook.objects.meta import Json

TOLD: Final = 10  # warnings are cut at 4096 characters in all
_UNREADABLE: Final = "nothing is deleted while the spec cannot be read"
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
        volumes = _read(spec)
        if volumes.fault:
            return _refused(Reason.SPEC_INVALID, f"{_words(draft.object)}: {volumes.fault}")
        if not self.databases.synced():
            raise Unavailable("the DatabaseInstances and claims of the cluster are not known yet")
        uid = meta.text(meta.metadata(draft.object), "uid", "metadata")
        before = set() if old is None else set(self._taken(_read(_spec(old)), uid, request))
        taken = [one for one in self._taken(volumes, uid, request) if one not in before]
        if not taken:
            return Verdict(Reason.NOTHING_TO_DO)
        told = listed([f'claim "{claim}" belongs to {KIND} "{other}"' for claim, other in taken], TOLD)
        return _refused(Reason.CLAIM_TAKEN, f"{_words(draft.object)}: {told}; a claim has one instance only")

    def _taken(self, volumes: VolumesSpec, uid: str, request: AdmissionRequest) -> list[tuple[str, str]]:
        """Each claim that *volumes* shares with another instance, and that one's name; in the order of these."""
        sets, claims = self.databases.makers_in(request.namespace), self.databases.claims_in(request.namespace)
        mine = Say.of(volumes, uid, sets)
        others = self._others(request.namespace, request.name)
        return [(claim, name) for name, other in others for claim in sorted(set(_shared(mine, other, claims)))]

    def _others(self, namespace: str, name: str, *, living: bool = False) -> list[tuple[str, Say]]:
        """Name and say of the instances of *namespace* but *name*, by name; *living*: without those that are being deleted."""
        found = [one for one in self.databases.instances_in(namespace) if one.name != name]
        kept = [one for one in found if not (living and one.deleting_s is not None)]
        kept.sort(key=lambda one: one.name)
        return [(one.name, say) for one, say in says(kept, self.databases.makers_in(namespace))]

    def _deleted(self, obj: Json) -> Verdict:
        if meta.is_deleting(obj):
            return Verdict(Reason.NOTHING_TO_DO)
        spec, subject = _spec(obj), _words(obj)
        if fault := _read(spec).fault:  # then the controller deletes nothing, whatever the policy says
            return Verdict(Reason.SPEC_INVALID, fault, warnings=(f"{subject}: {_UNREADABLE}: {fault}",))
        said = meta.text(spec, "deletionPolicy", "spec")
        policy = DeletionPolicy(said) if said in set(DeletionPolicy) else self.default
        names = sorted(self._own(obj, spec))
        reason = Reason.VOLUMES_WILL_STAY if policy is DeletionPolicy.RETAIN else Reason.VOLUMES_WILL_GO
        if not names:
            return Verdict(Reason.NOTHING_TO_DO)
        warnings = [f'{subject}: claim "{name}" {_FATE[policy]}' for name in names[:TOLD]]
        if len(names) > TOLD:
            warnings.append(f"{subject}: and {len(names) - TOLD} more claims")
        return Verdict(reason, f"{len(names)} claims, policy {policy}", warnings=tuple(warnings))

    def _own(self, obj: Json, spec: Json) -> set[str]:
        """The names of the claims that follow the instance's policy, by its status and by what can be seen of them.

        What another instance has a say about, too, is left alone as long as that one lives.
        """
        recorded = meta.objects(meta.mapping(obj, "status", ""), "volumes", "status")
        names = {meta.text(one, "claimName", "status.volumes") for one in recorded} - {""}
        metadata, volumes = meta.metadata(obj), _read(spec)
        uid, namespace, name = (meta.text(metadata, key, "metadata") for key in ("uid", "namespace", "name"))
        sets = [one for one in self.databases.makers_in(namespace) if is_wholly_owned(one.owners, (uid,))]
        mine, claims = Say.of(volumes, uid, sets), self.databases.claims_in(namespace)
        names |= {one.name for one in claims if says_is_its_own(volumes, uid, one) or mine.made(one)}
        others = [say for _, say in self._others(namespace, name, living=True)]
        return names - {one.name for one in claims if one.name in names and any(other.about(one) for other in others)}


def _shared(mine: Say, other: Say, claims: Sequence[ClaimFacts]) -> Iterator[str]:
    """The names of the claims about which both have a say, or will have one; some twice."""
    named, there = mine.volumes.names, {claim.name for claim in claims}
    yield from named & other.volumes.names
    # Those that do not exist yet: ordinals that a set has not come to.
    yield from (name for name in named - there if other.would_make(name))
    yield from (name for name in other.volumes.names - there if mine.would_make(name))
    yield from (claim.name for claim in claims if mine.about(claim) and other.about(claim))


def _read(spec: Json) -> VolumesSpec:
    volumes = _volumes(spec)
    meta.sequence(volumes, "claimNames", "spec.volumes")  # raises on other types
    return VolumesSpec.of(volumes)


def _spec(obj: Json) -> Json:
    return meta.mapping(obj, "spec", "")


def _volumes(spec: Json) -> Json:
    return meta.mapping(spec, "volumes", "spec")


def _words(obj: Json) -> str:
    return f'{KIND} "{meta.display_name(obj)}"'


def _refused(reason: Reason, message: str) -> Verdict:
    return Verdict(reason, message, Denial(UNPROCESSABLE, reason.value, message))
