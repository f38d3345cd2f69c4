"""Checked access to raw objects."""

from __future__ import annotations

import pytest

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
        ("yesterday", None),
        ("", None),
    ],
)
def test_times_are_rfc_3339_with_a_zone(text: str, seconds: float | None) -> None:
    assert meta.parse_time_s(text) == seconds
