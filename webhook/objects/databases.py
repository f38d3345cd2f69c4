"""What a DatabaseInstance says of its volumes, and which PersistentVolumeClaims that makes its own. Pure.

A claim belongs to an instance that names it, selects it, or (with `owned`, the default) owns it: by an owner reference beside
which there is no other (`is_wholly_owned`), by the label `gatehouse.dev/instance-uid`, or because a StatefulSet of the instance
makes it. What bears another instance's uid is that one's.
Source: example.com/v1 DatabaseInstance (manifests/base), core/v1 PersistentVolumeClaim; names of claims that StatefulSets make:
kubernetes/pkg/controller/statefulset getPersistentVolumeClaimName (`<template>-<set>-<ordinal>`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Any, Final, Protocol

import attrs

from webhook.objects.faults import Faults
from webhook.objects.selectors import Selector

GROUP: Final = "example.com"
API_VERSION: Final = "example.com/v1"
KIND: Final = "DatabaseInstance"
_MOST_ORDINAL: Final = 2**31 - 1  # kubernetes/pkg/controller/statefulset getParentNameAndOrdinal reads 32 bits
PLURAL: Final = "databaseinstances"
FINALIZER: Final = "databaseinstance.example.com/finalizer"
UID_LABEL: Final = "gatehouse.dev/instance-uid"  # of a claim: the instance that owns it, whatever its owner references say


class DeletionPolicy(StrEnum):
    """What becomes of the volumes when the instance is deleted."""

    DELETE = "Delete"
    RETAIN = "Retain"
    SNAPSHOT = "Snapshot"


@attrs.frozen
class VolumesSpec:
    """spec.volumes."""

    names: frozenset[str] = frozenset()
    selector: Selector | None = None  # None matches nothing
    owned: bool = True
    fault: str = ""  # what is wrong with the selector, with its path; the rest counts nevertheless

    @classmethod
    def of(cls, value: Mapping[str, Any] | None) -> VolumesSpec:
        """What *value* says; other types than the schema's are read as absent.

        A selector that cannot be read matches nothing and is the `fault`. It takes nothing else with it: the claims that are
        named beside it stay the instance's own, and protected.
        """
        said = value or {}
        names = said.get("claimNames")
        selector, fault = _selector(said.get("selector"))
        return cls(
            frozenset(name for name in names if isinstance(name, str)) if isinstance(names, list | tuple) else frozenset(),
            selector,
            said.get("owned", True) is not False,
            fault,
        )


def _selector(value: object) -> tuple[Selector | None, str]:
    """spec.volumes.selector, and what is wrong with it."""
    if value is None:
        return None, ""
    try:
        found = Selector.from_object(value)
    except Faults as error:
        return None, f"spec.volumes.selector: {error}"
    if not found.requirements:
        return None, "spec.volumes.selector: must not be empty: it would select every claim of the namespace"
    return found, ""


@attrs.frozen
class Owner:
    """An owner reference. Which one controls the object makes no difference (`is_wholly_owned`)."""

    uid: str
    kind: str
    name: str


def is_wholly_owned(owners: Sequence[Owner], uids: Collection[str]) -> bool:
    """Whether all of *owners*, one at least, are among *uids*: only then is what they own these objects' own to delete.

    An owner reference says "not before I am gone": the garbage collector keeps an object while one of its owners lives,
    whichever of them controls it. What somebody else owns as well is nobody's own, so that the end of one owner is no reason
    to delete it.
    """
    return bool(owners) and all(owner.uid and owner.uid in uids for owner in owners)


@attrs.frozen
class ClaimFacts:
    """A PersistentVolumeClaim."""

    namespace: str
    name: str
    uid: str
    labels: Mapping[str, str]
    owners: tuple[Owner, ...]
    volume: str  # spec.volumeName, "" while unbound
    deleting_s: float | None = None  # metadata.deletionTimestamp, seconds since the epoch
    finalizers: tuple[str, ...] = ()
    created_s: float = 0.0

    @property
    def instance_uid(self) -> str:
        """Whose it is by its label; "" when it bears none."""
        return self.labels.get(UID_LABEL, "")

    def is_owned_by(self, uid: str) -> bool:
        """Whether the object *uid* owns it, and nobody else does (`is_wholly_owned`)."""
        return is_wholly_owned(self.owners, (uid,))


@attrs.frozen
class InstanceFacts:
    """A DatabaseInstance."""

    namespace: str
    name: str
    uid: str
    volumes: VolumesSpec
    policy: DeletionPolicy | None  # None = the installation's default
    generation: int = 0
    finalizers: tuple[str, ...] = ()
    created_s: float = 0.0
    deleting_s: float | None = None
    timeout_s: float | None = None  # spec.deletionTimeout
    snapshot_class: str = ""
    fault: str = ""  # what is wrong with the spec, "" when nothing is

    @property
    def key(self) -> str:
        """As "namespace/name"."""
        return f"{self.namespace}/{self.name}"


def says_is_its_own(volumes: VolumesSpec, uid: str, claim: ClaimFacts) -> bool:
    """Whether an instance *uid* with *volumes* says itself, without any workload, that *claim* is its own."""
    if claim.name in volumes.names:
        return True
    if claim.instance_uid and claim.instance_uid != uid:
        return False
    if volumes.selector is not None and volumes.selector.matches(claim.labels):
        return True
    return volumes.owned and bool(uid) and (claim.instance_uid == uid or claim.is_owned_by(uid))


class ClaimMaker(Protocol):
    """A StatefulSet, as far as claims go."""

    @property
    def name(self) -> str: ...

    @property
    def uid(self) -> str: ...

    @property
    def owners(self) -> tuple[Owner, ...]: ...

    @property
    def templates(self) -> tuple[str, ...]:
        """The names of its volumeClaimTemplates."""


def makes(maker: ClaimMaker, claim: str) -> bool:
    """Whether a claim of the name *claim* is, or would be, one that the StatefulSet *maker* makes."""
    for template in maker.templates:
        ordinal = claim.removeprefix(f"{template}-{maker.name}-")
        if ordinal != claim and _is_ordinal(ordinal):
            return True
    return False


def _is_ordinal(text: str) -> bool:
    """Whether a StatefulSet counts like that: no leading zeros, and no dates, which would be too many."""
    if not text.isascii() or not text.isdecimal() or len(text) > len(str(_MOST_ORDINAL)):
        return False
    return str(int(text)) == text and int(text) <= _MOST_ORDINAL


@attrs.frozen
class Say:
    """What one instance has a say about, as far as that can be seen without its status: no other one may take it.

    It has one of what is its own, of what bears its uid, and also of what it owns together with others, which is nobody's own.
    """

    volumes: VolumesSpec
    uid: str  # "" = not created yet: it owns nothing
    makers: tuple[ClaimMaker, ...]  # the StatefulSets that it owns, alone or not; none unless it takes what it owns
    _maker_uids: frozenset[str]

    @classmethod
    def of(cls, volumes: VolumesSpec, uid: str, sets: Iterable[ClaimMaker]) -> Say:
        """That of an instance *uid* with *volumes*. sets: those of its namespace, owned or not. O(sets)."""
        takes = volumes.owned and bool(uid)
        makers = tuple(one for one in sets if any(owner.uid == uid for owner in one.owners)) if takes else ()
        return cls(volumes, uid, makers, frozenset(one.uid for one in makers if one.uid))

    def about(self, claim: ClaimFacts) -> bool:
        """Whether the instance has a say about *claim*."""
        bears = bool(self.uid) and claim.instance_uid == self.uid
        return bears or says_is_its_own(self.volumes, self.uid, claim) or self.owns(claim)

    def owns(self, claim: ClaimFacts) -> bool:
        """Whether it takes what it owns, and *claim* bears its uid, or it or one of its sets owns it, alone or not."""
        if not self.volumes.owned or not self.uid or claim.instance_uid not in ("", self.uid):
            return False
        return claim.instance_uid == self.uid or any(owner.uid == self.uid for owner in claim.owners) or self.made(claim)

    def made(self, claim: ClaimFacts) -> bool:
        """Whether one of its sets made *claim*; never one that bears another instance's uid."""
        if claim.instance_uid not in ("", self.uid):
            return False
        return any(owner.uid in self._maker_uids for owner in claim.owners) or self.would_make(claim.name)

    def would_make(self, name: str) -> bool:
        """Whether one of its sets makes, or would make, a claim of that name."""
        return any(makes(one, name) for one in self.makers)


def says(instances: Iterable[InstanceFacts], sets: Iterable[ClaimMaker]) -> list[tuple[InstanceFacts, Say]]:
    """Each of *instances* with its say; they and *sets* are those of one namespace. O(instances + sets)."""
    by_owner: dict[str, list[ClaimMaker]] = {}
    for one in sets:
        for uid in {owner.uid for owner in one.owners}:
            by_owner.setdefault(uid, []).append(one)
    return [(one, Say.of(one.volumes, one.uid, by_owner.get(one.uid, ()))) for one in instances]
