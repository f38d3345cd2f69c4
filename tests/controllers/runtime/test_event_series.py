"""Which occurrences become Events, and which only count; how they are written: test_events."""

from __future__ import annotations

from typing import Any

import attrs
import pytest

from controllers.runtime.event_series import (
    BURST,
    KEPT,
    NOTE_LIMIT_BYTES,
    REFILL_S,
    SERIES_ENDS_AFTER_S,
    SERIES_WRITE_S,
    Count,
    Creation,
    EventSeries,
    Kept,
    Occurrence,
    Reference,
    Write,
)
from webhook.objects.dns_names import is_dns_subdomain

WEB = Reference("Deployment", "web", "shop", "apps/v1", "u1")
HAPPENED = Occurrence(WEB, "SidecarMissing", "Announce", "3 pods lack it", True, 1.8e9)


@pytest.fixture
def series() -> EventSeries:
    return EventSeries("gatehouse.dev/gatehouse", "replica-a")


def created(write: Write | Kept) -> dict[str, Any]:
    assert isinstance(write, Creation)
    return write.body


def counted(writes: Any) -> list[int]:
    return [write.patch["series"]["count"] for write in writes if isinstance(write, Count)]


def test_the_first_occurrence_is_an_event_with_all_that_is_known(series: EventSeries) -> None:
    write = series.admit(HAPPENED, 0.0)

    assert isinstance(write, Creation)
    assert write.path == "/apis/events.k8s.io/v1/namespaces/shop/events"
    body = created(write)
    assert body["regarding"] == {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "namespace": "shop", "uid": "u1"}
    assert (body["reason"], body["action"], body["note"], body["type"]) == (
        "SidecarMissing",
        "Announce",
        "3 pods lack it",
        "Warning",
    )
    assert (body["reportingController"], body["reportingInstance"]) == ("gatehouse.dev/gatehouse", "replica-a")
    assert body["eventTime"] == "2027-01-15T08:00:00.000000Z"


def test_the_second_is_written_at_once_and_later_ones_wait(series: EventSeries) -> None:
    name = created(series.admit(HAPPENED, 0.0))["metadata"]["name"]

    second = series.admit(attrs.evolve(HAPPENED, note="4 pods lack it", wall_s=1.8e9 + 1), 1.0)

    assert isinstance(second, Count)
    assert second.path.endswith(f"/events/{name}")
    assert second.patch == {"series": {"count": 2, "lastObservedTime": "2027-01-15T08:00:01.000000Z"}}
    assert [series.admit(HAPPENED, 2.0), series.admit(HAPPENED, 3.0)] == [Kept.COUNTED, Kept.COUNTED]


@pytest.mark.parametrize(
    "other",
    [
        {"regarding": attrs.evolve(WEB, uid="u2")},
        {"reason": "Other"},
        {"action": "Other"},
        {"warning": False},
        {"topic": "other"},
    ],
)
def test_what_differs_is_an_event_of_its_own(other: dict[str, Any], series: EventSeries) -> None:
    series.admit(HAPPENED, 0.0)

    assert isinstance(series.admit(attrs.evolve(HAPPENED, **other), 1.0), Creation)


@pytest.mark.parametrize(("after_s", "is_new"), [(SERIES_ENDS_AFTER_S - 1, False), (SERIES_ENDS_AFTER_S, True)])
def test_a_series_ends_when_nothing_alike_has_happened_for_a_while(after_s: float, is_new: bool, series: EventSeries) -> None:
    series.admit(HAPPENED, 0.0)

    assert isinstance(series.admit(HAPPENED, after_s), Creation) is is_new


def test_counts_are_written_now_and_then_and_at_the_end(series: EventSeries) -> None:
    for second in (0.0, 1.0, 2.0, 3.0):
        series.admit(HAPPENED, second)

    assert counted(series.due(SERIES_WRITE_S)) == []  # the second occurrence was written a second later than the first
    assert counted(series.due(1.0 + SERIES_WRITE_S)) == [4]
    assert counted(series.due(2.0 + SERIES_WRITE_S)) == []

    series.admit(HAPPENED, 310.0)
    assert counted(series.due(310.0 + SERIES_ENDS_AFTER_S)) == [5]
    assert isinstance(series.admit(HAPPENED, 311.0 + SERIES_ENDS_AFTER_S), Creation)


def test_all_counts_can_be_asked_for(series: EventSeries) -> None:
    for second in (0.0, 1.0, 2.0):
        series.admit(HAPPENED, second)

    assert counted(series.due(2.0, all_of_them=True)) == [3]
    assert counted(series.due(2.0, all_of_them=True)) == []


def test_an_event_that_is_not_there_any_more_is_made_anew(series: EventSeries) -> None:
    series.admit(HAPPENED, 0.0)

    series.forget(HAPPENED)
    series.forget(HAPPENED)

    assert isinstance(series.admit(HAPPENED, 1.0), Creation)


def test_new_events_about_one_object_are_capped_and_refilled(series: EventSeries) -> None:
    topics = [attrs.evolve(HAPPENED, topic=str(number)) for number in range(BURST + 2)]

    admitted = [series.admit(one, 0.0) for one in topics]
    other = series.admit(attrs.evolve(HAPPENED, regarding=attrs.evolve(WEB, name="db")), 0.0)
    later = [series.admit(one, REFILL_S) for one in topics[-2:]]

    assert admitted[BURST:] == [Kept.CAPPED, Kept.CAPPED]
    assert all(isinstance(one, Creation) for one in (*admitted[:BURST], other, later[0]))
    assert later[1] is Kept.CAPPED


def test_no_two_events_have_one_name_though_the_clock_stands_still(series: EventSeries) -> None:
    names = [
        created(series.admit(attrs.evolve(HAPPENED, topic=str(number)), 0.0))["metadata"]["name"] for number in range(BURST)
    ]

    assert len(set(names)) == BURST


@pytest.mark.parametrize("name", ["web", "a" * 253, "a" * 229 + "." + "b" * 20, "a" * 228 + "-." + "b" * 20])
def test_the_name_of_an_event_is_one_whatever_its_object_is_called(name: str, series: EventSeries) -> None:
    body = created(series.admit(attrs.evolve(HAPPENED, regarding=attrs.evolve(WEB, name=name)), 0.0))

    assert is_dns_subdomain(body["metadata"]["name"])


def test_of_a_cluster_scoped_object_only_what_is_known_is_said(series: EventSeries) -> None:
    write = series.admit(attrs.evolve(HAPPENED, regarding=Reference("Node", "edge-1"), warning=False), 0.0)

    assert isinstance(write, Creation)
    assert write.path.endswith("/namespaces/default/events")
    assert write.body["metadata"]["namespace"] == "default"
    assert write.body["regarding"] == {"apiVersion": "v1", "kind": "Node", "name": "edge-1"}
    assert write.body["type"] == "Normal"


@pytest.mark.parametrize(
    ("note", "expected"),
    [
        ("", ""),
        ("a" * NOTE_LIMIT_BYTES, "a" * NOTE_LIMIT_BYTES),
        ("a" * (NOTE_LIMIT_BYTES + 1), "a" * (NOTE_LIMIT_BYTES - 3) + "…"),
        ("ä" * NOTE_LIMIT_BYTES, "ä" * 510 + "…"),
        ("half \ud800 pair", "half ? pair"),
    ],
)
def test_a_note_fits_in_an_event_whatever_it_holds(note: str, expected: str, series: EventSeries) -> None:
    found = created(series.admit(attrs.evolve(HAPPENED, note=note), 0.0))["note"]

    assert found == expected
    assert len(found.encode()) <= NOTE_LIMIT_BYTES


def test_the_name_of_a_replica_is_cut_to_what_an_event_may_have() -> None:
    assert len(created(EventSeries("gatehouse.dev/gatehouse", "r" * 200).admit(HAPPENED, 0.0))["reportingInstance"]) == 128


def test_a_series_that_is_given_up_for_want_of_room_is_counted_only_while_it_goes_on(series: EventSeries) -> None:
    for number in range(KEPT + 1):
        series.admit(attrs.evolve(HAPPENED, regarding=attrs.evolve(WEB, name=f"w{number}")), 0.0)
    given_up = series.forgotten
    series.admit(attrs.evolve(HAPPENED, regarding=attrs.evolve(WEB, name="late")), SERIES_ENDS_AFTER_S)

    assert (given_up, series.forgotten) == (1, 1)
