"""Conditions are found by their type, and say only what the API knows."""

from __future__ import annotations

from typing import Any

import pytest

from webhook.cluster import Status
from webhook.errors import MalformedObject
from webhook.objects import conditions
from webhook.objects.meta import Json

SINCE = "2026-01-01T00:00:00Z"
SINCE_S = 1767225600.0
READY: Json = {"type": "Ready", "status": "True", "lastTransitionTime": SINCE}
DISK: Json = {"type": "DiskPressure", "status": "False"}


@pytest.mark.parametrize("obj", [{}, {"status": None}, {"status": {}}, {"status": {"conditions": None}}])
def test_an_object_may_have_none(obj: Json) -> None:
    assert conditions.of(obj) == []


@pytest.mark.parametrize(
    ("status", "message"),
    [
        ([], "status: expected an object, found a list"),
        ({"conditions": {}}, "status.conditions: expected a list, found an object"),
        ({"conditions": [READY, None]}, r"status.conditions\[1\]: expected an object, found null"),
    ],
)
def test_conditions_of_the_wrong_type_are_named(status: Any, message: str) -> None:
    with pytest.raises(MalformedObject, match=message):
        conditions.of({"status": status})


def test_a_condition_is_found_by_its_type_and_the_first_of_two_counts() -> None:
    found = [DISK, READY, {**READY, "status": "False"}]

    assert (conditions.index(found, "Ready"), conditions.index(found, "Other")) == (1, None)
    assert conditions.status(found, "Ready") is Status.TRUE


@pytest.mark.parametrize(
    ("value", "status"),
    [
        ("True", Status.TRUE),
        ("False", Status.FALSE),
        ("Unknown", Status.UNKNOWN),
        *((value, None) for value in ("true", "", "Maybe", None, True, 1, ["True"], {})),
    ],
)
def test_a_status_that_the_api_does_not_know_is_none(value: Any, status: Status | None) -> None:
    assert conditions.status([{"type": "Ready", "status": value}], "Ready") is status


@pytest.mark.parametrize(
    ("value", "since_s"),
    [(SINCE, SINCE_S), *((value, None) for value in ("", "yesterday", "2026-01-01", None, SINCE_S, [SINCE]))],
)
def test_when_it_changed_is_unknown_unless_it_is_a_time(value: Any, since_s: float | None) -> None:
    assert conditions.since_s([{"type": "Ready", "lastTransitionTime": value}], "Ready") == since_s


def test_what_is_not_there_has_no_status_and_no_time() -> None:
    assert (conditions.status([DISK], "Ready"), conditions.since_s([DISK], "Ready")) == (None, None)
    assert (conditions.status([{}], "Ready"), conditions.since_s([{"type": "Ready"}], "Ready")) == (None, None)
