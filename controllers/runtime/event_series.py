"""Which of the things that happen become Event objects, and which only raise the count of one.

The first occurrence creates an Event; alike ones (same object, reason, action, type) within SERIES_ENDS_AFTER_S of each other
make it a series: its second occurrence is written at once, later counts every SERIES_WRITE_S and when the series has ended.
New Events about one object are capped: BURST, then one per REFILL_S.
Pure, memory only, bounded; one thread.
Source: client-go tools/events (series) and tools/record (spam filter: burst 25, one per five minutes); events.k8s.io/v1.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from enum import StrEnum

import attrs

from controllers.runtime.leases import micro_time
from controllers.runtime.resource import Json

COLLECTION = "/apis/events.k8s.io/v1/namespaces/{namespace}/events"
SERIES_ENDS_AFTER_S = 360.0
SERIES_WRITE_S = 300.0
BURST = 25
REFILL_S = 300.0
KEPT = 16384  # series and buckets, a few kinds of news for each of 5,000 nodes; the ones unused for longest are forgotten
NOTE_LIMIT_BYTES = 1024
_NAME_LIMIT = 230  # leaves room for the suffix in the 253 characters of a name
_NO_END = ".-"  # what no part of a name may end with


@attrs.frozen
class Reference:
    """The object that an Event is about."""

    kind: str
    name: str
    namespace: str = ""  # "" of a cluster-scoped object, whose Events live in "default"
    api_version: str = "v1"
    uid: str = ""


@attrs.frozen
class Occurrence:
    """Something that happened to an object."""

    regarding: Reference
    reason: str  # CamelCase, why: the same word as in metrics and logs
    action: str  # CamelCase, what was done
    note: str  # a sentence
    warning: bool
    wall_s: float
    topic: str = ""  # what a series is about, beside all of the above but the note


@attrs.frozen
class Creation:
    """An Event to create in the collection at *path*."""

    path: str
    body: Json
    occurrence: Occurrence


@attrs.frozen
class Count:
    """A merge patch of the Event at *path*: it is a series by now."""

    path: str
    patch: Json
    occurrence: Occurrence


Write = Creation | Count


class Kept(StrEnum):
    """What became of an occurrence that is not written now."""

    COUNTED = "counted"  # with its series
    CAPPED = "capped"


_Kind = tuple[Reference, str, str, bool, str]


@attrs.define(eq=False)
class _Series:
    path: str  # of the Event
    last: Occurrence
    seen_s: float
    written_s: float
    count: int = 1
    written: int = 1


@attrs.define(eq=False)
class _Bucket:
    level: float
    filled_s: float


class EventSeries:
    """The memory of one reporter. Seconds are monotonic, but for those in occurrences."""

    def __init__(self, controller: str, instance: str) -> None:
        """controller: a qualified name ("gatehouse.dev/gatehouse"). instance: which replica."""
        self._controller = controller
        self._instance = instance[:128]
        self._series: OrderedDict[_Kind, _Series] = OrderedDict()
        self._buckets: OrderedDict[Reference, _Bucket] = OrderedDict()
        self._number = 0
        self.forgotten = 0  # series given up for want of room while they went on: what they count begins anew

    def admit(self, occurrence: Occurrence, now_s: float) -> Write | Kept:
        """What to write for *occurrence* now, or what became of it without a write."""
        kind = _kind(occurrence)
        series = self._series.get(kind)
        if series is not None and now_s - series.seen_s < SERIES_ENDS_AFTER_S:
            series.count += 1
            series.seen_s, series.last = now_s, occurrence
            self._series.move_to_end(kind)
            return self._write(series, now_s) if series.count == 2 else Kept.COUNTED
        if not self._spend(occurrence.regarding, now_s):
            return Kept.CAPPED
        creation = self._creation(occurrence)
        path = f"{creation.path}/{creation.body['metadata']['name']}"
        self._series[kind] = _Series(path, occurrence, now_s, now_s)
        self._series.move_to_end(kind)
        if len(self._series) > KEPT:
            _, oldest = self._series.popitem(last=False)
            self.forgotten += now_s - oldest.seen_s < SERIES_ENDS_AFTER_S
        return creation

    def due(self, now_s: float, *, all_of_them: bool = False) -> Iterator[Write]:
        """The counts that have to be written by now; with *all_of_them* also the younger ones."""
        for kind, series in list(self._series.items()):
            ended = now_s - series.seen_s >= SERIES_ENDS_AFTER_S
            late = now_s - series.written_s >= SERIES_WRITE_S
            if ended:
                del self._series[kind]
            if series.count > series.written and (ended or late or all_of_them):
                yield self._write(series, now_s)

    def forget(self, occurrence: Occurrence) -> None:
        """The Event of *occurrence* is not there: the next one alike creates another."""
        self._series.pop(_kind(occurrence), None)

    def _write(self, series: _Series, now_s: float) -> Count:
        series.written, series.written_s = series.count, now_s
        seen = {"count": series.count, "lastObservedTime": micro_time(series.last.wall_s)}
        return Count(series.path, {"series": seen}, series.last)

    def _spend(self, regarding: Reference, now_s: float) -> bool:
        bucket = self._buckets.setdefault(regarding, _Bucket(BURST, now_s))
        self._buckets.move_to_end(regarding)
        if len(self._buckets) > KEPT:
            self._buckets.popitem(last=False)
        bucket.level = min(BURST, bucket.level + (now_s - bucket.filled_s) / REFILL_S)
        bucket.filled_s = now_s
        if bucket.level < 1:
            return False
        bucket.level -= 1
        return True

    def _creation(self, occurrence: Occurrence) -> Creation:
        regarding = occurrence.regarding
        namespace = regarding.namespace or "default"
        self._number += 1
        # As client-go: the object's name and nanoseconds; the number tells apart what one clock tick brings.
        name = f"{regarding.name[:_NAME_LIMIT].rstrip(_NO_END)}.{int(occurrence.wall_s * 1e9) + self._number:x}"
        about = {"apiVersion": regarding.api_version, "kind": regarding.kind, "name": regarding.name}
        about |= {key: value for key, value in (("namespace", regarding.namespace), ("uid", regarding.uid)) if value}
        body: Json = {
            "apiVersion": "events.k8s.io/v1",
            "kind": "Event",
            "metadata": {"namespace": namespace, "name": name},
            "eventTime": micro_time(occurrence.wall_s),
            "reportingController": self._controller,
            "reportingInstance": self._instance,
            "regarding": about,
            "reason": occurrence.reason,
            "action": occurrence.action,
            "note": _cut(occurrence.note),
            "type": "Warning" if occurrence.warning else "Normal",
        }
        return Creation(COLLECTION.format(namespace=namespace), body, occurrence)


def _kind(occurrence: Occurrence) -> _Kind:
    # Not the note: it holds figures, and each would begin an Event of its own.
    return occurrence.regarding, occurrence.reason, occurrence.action, occurrence.warning, occurrence.topic


def _cut(note: str) -> str:
    encoded = note.encode("utf-8", "replace")
    if len(encoded) <= NOTE_LIMIT_BYTES:
        return encoded.decode("utf-8")
    return encoded[: NOTE_LIMIT_BYTES - 3].decode("utf-8", "ignore") + "…"
