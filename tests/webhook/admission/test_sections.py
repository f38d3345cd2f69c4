"""Settings of others are read by the types of their class, with a fault for each value that does not fit."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from webhook.admission.sections import NoSettings, Unreadable, check, read
from webhook.objects.faults import Faults


class Colour(StrEnum):
    RED = "Red"
    BLUE = "Blue"


@attrs.frozen
class Inner:
    size: int = attrs.field(default=1, validator=attrs.validators.ge(1))


@attrs.frozen
class Settings:
    name: str
    dry_run: bool = False
    ratio: float = 1.0
    grace_s: float = 30.0
    longest_s: float | None = None
    colour: Colour = Colour.RED
    names: tuple[str, ...] = ()
    inner: Inner = Inner()
    more: tuple[Inner, ...] = ()
    labels: Mapping[str, str] = attrs.field(factory=dict)

    def __attrs_post_init__(self) -> None:
        if self.longest_s is not None and self.longest_s < self.grace_s:
            raise ValueError("longest must not be below grace")


def faults(kind: type, value: Any) -> list[tuple[str, str]]:
    with pytest.raises(Faults) as caught:
        read(kind, value)
    return [(".".join(map(str, path)), message) for path, message in caught.value.faults]


def test_every_type_is_read_under_its_camel_case_key() -> None:
    found = read(
        Settings,
        {
            "name": "a",
            "dryRun": True,
            "ratio": 2,
            "grace": "1m",
            "longest": "2m",
            "colour": "Blue",
            "names": ["x", "y"],
            "inner": {"size": 3},
            "more": [{"size": 4}, {}],
            "labels": {"k": "v"},
        },
    )

    assert found == Settings("a", True, 2.0, 60.0, 120.0, Colour.BLUE, ("x", "y"), Inner(3), (Inner(4), Inner()), {"k": "v"})


def test_what_is_absent_or_null_has_its_default() -> None:
    assert read(Settings, {"name": "a", "names": None, "inner": None}) == Settings("a")
    assert read(NoSettings, None) == NoSettings()


@pytest.mark.parametrize(
    ("value", "path", "told"),
    [
        ({}, "name", "must be given"),
        ({"name": 3}, "name", 'must be a string, not 3 (write "3")'),
        ({"name": "a", "dryRun": "yes"}, "dryRun", 'must be true or false, not "yes"'),
        ({"name": "a", "dry_run": True}, "dry_run", "unknown key: did you mean dryRun?"),
        ({"name": "a", "ratio": True}, "ratio", "must be a number, not true"),
        ({"name": "a", "grace": "5"}, "grace", "unit"),
        ({"name": "a", "longest": 5}, "longest", 'must be a duration such as "15s" or "1m30s", not 5'),
        ({"name": "a", "colour": "Green"}, "colour", 'must be one of Red, Blue, not "Green"'),
        ({"name": "a", "names": "x"}, "names", "must be a list, not a string"),
        ({"name": "a", "names": ["x", 1]}, "names.1", 'must be a string, not 1 (write "1")'),
        ({"name": "a", "inner": {"size": 0}}, "inner.size", "'size' must be >= 1: 0"),
        ({"name": "a", "inner": {"size": 1e23}}, "inner.size", "must be a whole number of at most 64 bits, not 1e+23"),
        ({"name": "a", "inner": {"size": 1.5}}, "inner.size", "must be a whole number, not 1.5"),
        ({"name": "a", "more": [{}, {"sizes": 1}]}, "more.1.sizes", "unknown key: did you mean size?"),
        ({"name": "a", "labels": {"k": 1}}, "labels.k", 'must be a string, not 1 (write "1")'),
        ({"name": "a", "longest": "1s"}, "", "longest must not be below grace"),
        ([], "", "must be an object, not a list"),
    ],
)
def test_a_value_that_does_not_fit_is_a_fault_at_its_place(value: Any, path: str, told: str) -> None:
    ((where, message),) = faults(Settings, value)

    assert where == path
    assert told in message


def test_all_faults_are_told_at_once() -> None:
    assert [where for where, _ in faults(Settings, {"nam": "a", "ratio": "x", "inner": {"size": "y"}})] == [
        *("nam", "name", "ratio", "inner.size"),
    ]


@attrs.frozen
class Bytes:
    content: bytes = b""


@attrs.frozen
class Nothing:
    when: Any = None


@attrs.frozen
class Unknown:
    what: Elsewhere = None  # type: ignore[name-defined]  # noqa: F821


@pytest.mark.parametrize(
    ("kind", "told"),
    [
        (dict, "dict: settings are an attrs class"),
        (Bytes, "Bytes.content: bytes cannot be configured"),
        (Nothing, "Nothing.when: Any cannot be configured"),
        (Unknown, "Unknown: the types of its fields cannot be found"),
    ],
)
def test_a_class_that_no_configuration_can_fill_is_its_authors_fault(kind: type, told: str) -> None:
    with pytest.raises(Unreadable) as caught:
        check(kind)

    assert told in str(caught.value)


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.sampled_from(["name", "grace", "inner", "names", "colour", "labels", "more", "x"]), anything))
def test_anything_is_read_or_refused_and_nothing_else_happens(value: dict[str, Any]) -> None:
    try:
        found: Settings | None = read(Settings, value)
    except Faults as error:
        found = None
        faults = error.faults
    assert isinstance(found, Settings) if found is not None else faults
