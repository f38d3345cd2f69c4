from __future__ import annotations

import re

import pytest

from controllers.runtime.leases import Record, micro_time, new_lease, record_of, with_record

FULL = Record("a_1", 15, "2026-11-29T10:00:00.123456Z", "2026-11-29T10:00:02.000000Z", 3)


@pytest.mark.parametrize(
    ("wall_s", "text"),
    [
        (1_795_946_400.0, "2026-11-29T10:00:00.000000Z"),
        (1_795_946_400.5, "2026-11-29T10:00:00.500000Z"),
        (1_795_946_400.000001, "2026-11-29T10:00:00.000001Z"),
        (1_795_946_399.9999996, "2026-11-29T10:00:00.000000Z"),
    ],
)
def test_a_micro_time_has_exactly_six_digits_and_a_zone(wall_s: float, text: str) -> None:
    assert micro_time(wall_s) == text
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z", text)


@pytest.mark.parametrize("record", [FULL, Record(), Record("a_1", 15), Record("", 1, "", "2026-11-29T10:00:02.000000Z", 7)])
def test_a_record_comes_back_from_its_lease_as_it_went_in(record: Record) -> None:
    assert record_of(new_lease("kube-system", "gatehouse", record, {})) == record


@pytest.mark.parametrize("lease", [{}, {"spec": None}, {"spec": {}}, {"spec": {"holderIdentity": None, "renewTime": None}}])
def test_what_a_lease_lacks_is_empty(lease: dict[str, object]) -> None:
    assert record_of(lease) == Record()


def test_numbers_stay_within_what_an_api_server_stores() -> None:
    record = record_of({"spec": {"leaseDurationSeconds": -5, "leaseTransitions": 10**400}})

    assert (record.duration_s, record.transitions) == (0, 2**31 - 1)


def test_labels_are_added_and_everything_else_stays() -> None:
    lease = {
        "metadata": {"name": "gatehouse", "labels": {"team": "edge"}, "annotations": {"note": "x"}, "resourceVersion": "7"},
        "spec": {"holderIdentity": "b", "strategy": "OldestEmulationVersion"},
    }

    new = with_record(lease, FULL, {"app": "gatehouse"})

    assert new["metadata"]["labels"] == {"team": "edge", "app": "gatehouse"}
    assert new["metadata"]["annotations"] == {"note": "x"}
    assert new["metadata"]["resourceVersion"] == "7"
    assert new["spec"]["strategy"] == "OldestEmulationVersion"
    assert lease["spec"]["holderIdentity"] == "b"  # the argument is unchanged
