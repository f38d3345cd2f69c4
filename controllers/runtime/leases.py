"""A Lease object and the record in it: who leads, since when, for how long.

Pure. What we do not know of a Lease (labels, annotations, other fields) is written back as it was.
Source: coordination.k8s.io/v1; apimachinery MicroTime, which parses exactly six digits of a second and wants a zone.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, cast

import attrs

from controllers.runtime.errors import UndecodableAnswer
from controllers.runtime.resource import Json

API_VERSION = "coordination.k8s.io/v1"
COLLECTION = "/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases"
MOST_TRANSITIONS = _MOST_NUMBER = 2**31 - 1  # an int32: the API server refuses a Lease with more
RELEASED_DURATION_S = 1  # with an empty holder: the former one has ended its work

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@attrs.frozen
class Record:
    """The spec of a Lease. Times stay in the text in which they were written."""

    holder: str = ""
    duration_s: int = 0
    acquired: str = ""
    renewed: str = ""
    transitions: int = 0

    @property
    def is_released(self) -> bool:
        """Whether its holder gave it up after its work had ended, as we and client-go write it.

        The equal times tell it from a record whose holder somebody else cleared.
        """
        return not self.holder and self.duration_s == RELEASED_DURATION_S and self.acquired == self.renewed


def micro_time(wall_s: float) -> str:
    """The point in time as a MicroTime: 2026-11-29T10:00:00.000000Z."""
    # In whole microseconds: a float of today has room for them, but its fraction alone would not round to six digits.
    return (_EPOCH + timedelta(microseconds=round(wall_s * 1e6))).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def record_of(lease: Json) -> Record:
    """The record in *lease*; what is missing or null is empty."""
    spec = lease.get("spec")
    if not isinstance(spec, dict):
        return Record()
    return Record(
        holder=_text(spec.get("holderIdentity")),
        duration_s=_number(spec.get("leaseDurationSeconds")),
        acquired=_text(spec.get("acquireTime")),
        renewed=_text(spec.get("renewTime")),
        transitions=_number(spec.get("leaseTransitions")),
    )


def lease_in(answer: Any) -> Json:
    """*answer*, if it is a Lease that can be read, kept and written back. Raises UndecodableAnswer."""
    metadata = answer.get("metadata") if isinstance(answer, dict) else None
    if not isinstance(metadata, dict) or not _text(metadata.get("resourceVersion")):
        raise UndecodableAnswer("not a Lease: no resource version")
    if not isinstance(metadata.get("labels"), dict | None) or not isinstance(answer.get("spec"), dict | None):
        raise UndecodableAnswer("not a Lease: labels or spec are no object")
    return cast(Json, answer)


def with_record(lease: Json, record: Record, labels: Mapping[str, str]) -> Json:
    """A copy of *lease* with *record*; *labels* are added, others kept."""
    new = copy.deepcopy(lease)
    spec = new.get("spec")
    new["spec"] = {**(spec if isinstance(spec, dict) else {}), **_spec(record)}
    if labels:
        metadata = new.setdefault("metadata", {})
        metadata["labels"] = {**(metadata.get("labels") or {}), **labels}
    return new


def new_lease(namespace: str, name: str, record: Record, labels: Mapping[str, str]) -> Json:
    """A Lease to create."""
    empty: Json = {"apiVersion": API_VERSION, "kind": "Lease", "metadata": {"namespace": namespace, "name": name}}
    return with_record(empty, record, labels)


def _spec(record: Record) -> Json:
    return {
        "holderIdentity": record.holder,
        "leaseDurationSeconds": record.duration_s,
        "acquireTime": record.acquired or None,
        "renewTime": record.renewed or None,
        "leaseTransitions": record.transitions,
    }


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _number(value: Any) -> int:
    return max(0, min(value, _MOST_NUMBER)) if isinstance(value, int) else 0
