"""Checked access to raw objects."""

from __future__ import annotations

from datetime import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webhook.errors import MalformedObject
from webhook.objects import meta


def test_absent_and_null_read_the_same() -> None:
    for obj in ({}, {"x": None}):
        assert meta.mapping(obj, "x", "") == {}
        assert meta.sequence(obj, "x", "") == []
        assert meta.text(obj, "x", "") == ""
        assert meta.boolean(obj, "x", "") is None


def test_a_null_annotation_reads_as_empty() -> None:
    assert meta.annotations_of({"metadata": {"annotations": {"a": None, "b": "c"}}}) == {"a": "", "b": "c"}


@pytest.mark.parametrize(
    ("obj", "message"),
    [
        ({"metadata": []}, "metadata: expected an object, found a list"),
        ({"metadata": {"annotations": {"a": 1}}}, "metadata.annotations.a: expected a string, found a number"),
        ({"metadata": {"annotations": {"a": None, "b": True}}}, "metadata.annotations.b: expected a string, found a boolean"),
    ],
)
def test_a_wrong_type_is_named_with_its_path(obj: dict[str, object], message: str) -> None:
    with pytest.raises(MalformedObject, match=message):
        meta.annotations_of(obj)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("1970-01-01T00:01:00Z", 60.0),
        ("1970-01-01T00:01:00.500000Z", 60.5),
        ("1970-01-01T01:01:00+01:00", 60.0),
        ("1970-01-01T00:01:00", None),
        ("1970-01-01 00:01:00Z", None),
        ("19700101T000100Z", None),
        ("1970-W01-4T00:01:00Z", None),
        ("9999-12-31T23:59:59Z", 253402300799.0),
        ("9999-12-31T23:59:59-23:59", None),
        ("0001-01-01T00:00:00Z", -62135596800.0),
        ("0001-01-01T00:00:00+23:59", None),
        ("yesterday", None),
        ("", None),
    ],
)
def test_times_are_rfc_3339_with_a_zone(text: str, seconds: float | None) -> None:
    assert meta.parse_time_s(text) == seconds


@pytest.mark.parametrize(
    ("now_s", "text"),
    [
        (0.0, "1970-01-01T00:00:00Z"),
        (1795946400.999, "2026-11-29T10:00:00Z"),
        (-1.0, "1969-12-31T23:59:59Z"),
        (-62135596800.0, "0001-01-01T00:00:00Z"),
    ],
)
def test_a_time_is_written_in_utc_and_whole_seconds(now_s: float, text: str) -> None:
    assert meta.format_time(now_s) == text


@given(
    st.datetimes(timezones=st.timezones())
    | st.text(max_size=30)
    | st.from_regex(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[-+]\d\d:\d\d")
)
def test_every_time_that_is_read_can_be_written(value: datetime | str) -> None:
    seconds = meta.parse_time_s(value if isinstance(value, str) else value.isoformat())

    assert seconds is None or meta.parse_time_s(meta.format_time(seconds)) is not None
