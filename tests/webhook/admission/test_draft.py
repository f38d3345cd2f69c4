"""The draft: whatever is edited, the operations applied by jsonpatch to what was sent give the same object."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from webhook.admission.draft import Draft, Path, pointer
from webhook.admission.verify import apply

KEYS = st.sampled_from(["a", "b", "~", "/", "a/b~0", "", "é", "-", "0", "labels"])
SCALARS = st.none() | st.booleans() | st.integers() | st.text(max_size=4) | st.floats(allow_nan=False, allow_infinity=False)
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3), max_leaves=8
)
OBJECTS = st.dictionaries(KEYS, VALUES, max_size=4)
PATHS = st.lists(KEYS | st.integers(0, 3), min_size=1, max_size=4).map(tuple)
EDITS = st.lists(st.tuples(st.sampled_from(["set", "replace", "insert", "append", "remove"]), PATHS, VALUES), max_size=8)


def edit(draft: Draft, verb: str, path: Path, value: Any) -> None:
    if verb == "remove":
        draft.remove(path)
    else:
        getattr(draft, verb)(path, value)


@settings(max_examples=400)
@given(OBJECTS, EDITS)
def test_any_edits_give_operations_that_lead_to_the_same_object(
    obj: dict[str, Any], edits: list[tuple[str, Path, Any]]
) -> None:
    draft = Draft(copy.deepcopy(obj))

    for verb, path, value in edits:
        try:
            edit(draft, verb, path, value)
        except (LookupError, TypeError):
            continue

    assert apply(copy.deepcopy(obj), draft.operations) == draft.object


@pytest.mark.parametrize(
    ("verb", "path"),
    [
        ("set", ("name", "x")),
        ("set", ("items", 0)),
        ("replace", ("missing",)),
        ("replace", ("items", 7)),
        ("replace", ("items", "0")),
        ("insert", ("items", 4)),
        ("insert", ("name", 0)),
        ("append", ("name",)),
        ("remove", ("missing",)),
        ("remove", ("items", -1)),
        ("remove", ()),
    ],
)
def test_an_edit_that_cannot_be_done_changes_nothing(verb: str, path: Path) -> None:
    obj = {"name": "web", "items": [1, 2]}
    draft = Draft(copy.deepcopy(obj))

    with pytest.raises((LookupError, TypeError)):
        edit(draft, verb, path, "value")

    assert draft.object == obj
    assert draft.operations == []


def test_parents_come_first_and_a_later_edit_inside_is_not_applied_twice() -> None:
    draft = Draft({"spec": None})

    draft.append(("spec", "volumes"), {"name": "a"})
    draft.set(("spec", "volumes", 0, "emptyDir"), {})

    assert [(operation.op, operation.path) for operation in draft.operations] == [
        ("replace", "/spec"),
        ("add", "/spec/volumes"),
        ("add", "/spec/volumes/-"),
        ("add", "/spec/volumes/0/emptyDir"),
    ]
    assert apply({"spec": None}, draft.operations) == {"spec": {"volumes": [{"name": "a", "emptyDir": {}}]}}


def test_a_shared_value_cannot_be_edited_through_the_object() -> None:
    container = {"name": "sidecar", "env": []}
    draft = Draft({"containers": []})

    draft.append(("containers",), container)
    draft.append(("containers", 0, "env"), {"name": "A"})

    assert container == {"name": "sidecar", "env": []}


def test_integers_of_any_size_survive() -> None:
    draft = Draft({"n": 123456789012345678901234567890})

    draft.set(("m",), draft.object["n"])

    assert apply({"n": 1}, draft.operations)["m"] == 123456789012345678901234567890


def test_pointers_are_escaped() -> None:
    assert pointer(("metadata", "annotations", "a/b~c", 0)) == "/metadata/annotations/a~1b~0c/0"
