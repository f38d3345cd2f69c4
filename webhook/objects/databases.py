"""What a DatabaseInstance says of its volumes, and which PersistentVolumeClaims that makes its own. Pure.

A claim belongs to an instance that names it, selects it, or (with `owned`, the default) owns it: by an owner reference to the
instance, by the label `gatehouse.dev/instance-uid`, or through a StatefulSet. What bears another instance's uid is that one's.
Source: example.com/v1 DatabaseInstance (manifests/base), core/v1 PersistentVolumeClaim.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Final

import attrs

from webhook.objects.selectors import Selector, SelectorError

GROUP: Final = "example.com"
API_VERSION: Final = "example.com/v1"
KIND: Final = "DatabaseInstance"
PLURAL: Final = "databaseinstances"
FINALIZER: Final = "databaseinstance.example.com/finalizer"
UID_LABEL: Final = "gatehouse.dev/instance-uid"  # on a claim: the instance that owns it, whatever its owner references say


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

    @classmethod
    def of(cls, value: Mapping[str, Any] | None) -> VolumesSpec:
        """What *value* says. Raises SelectorError; other types are the schema's to check."""
        said = value or {}
        selector = said.get("selector")
        found = None if selector is None else Selector.from_object(selector)
        if found is not None and not found.requirements:
            raise SelectorError(((), "must not be empty: it would select every claim of the namespace"))
        return cls(frozenset(said.get("claimNames") or ()), found, said.get("owned", True) is not False)


@attrs.frozen
class Owner:
    """An owner reference."""

    uid: str
    kind: str
    name: str
    controller: bool


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
        """Whether an owner reference names the object *uid*."""
        return any(owner.uid == uid for owner in self.owners)


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
