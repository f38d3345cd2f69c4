"""The catalog: what a new version of a ConfigMap replaces, keeps and takes away, and which entry a pod finds."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from webhook.sidecars.entries.catalog import Catalog, EntryFault, Reading, State
from webhook.sidecars.entries.entry import Entry

HOME = "gatehouse"

Shown = tuple[str | None, tuple[str, ...]]  # the revision in force, the messages of the faults


def entry(name: str, revision: str = "1", namespace: str = "shop", config_map: str = "tools") -> Entry:
    return Entry(name, namespace, config_map, name, revision)


def fault(name: str, message: str = "is broken", line: int = 1, path: str = "") -> EntryFault:
    return EntryFault(name, name, line, 1, path, message)


def reading(*found: Entry | EntryFault, source: str = "shop/tools") -> Reading:
    namespace, _, name = source.partition("/")
    entries = tuple(one for one in found if isinstance(one, Entry))
    return Reading(namespace, name, "uid", "1", entries, tuple(one for one in found if isinstance(one, EntryFault)))


def catalog(*readings: Reading) -> Catalog:
    made = Catalog()
    for one in readings:
        made = made.absorb(one)
    return made


def shown(state: State | None) -> Shown | None:
    if state is None:
        return None
    return state.entry.revision if state.entry else None, tuple(one.message for one in state.faults)


# -- absorb


@pytest.mark.parametrize(
    ("versions", "expected"),
    [
        ([reading()], {}),
        ([reading(entry("a"))], {"a": ("1", ())}),
        ([reading(entry("a")), reading(entry("a", "2"))], {"a": ("2", ())}),
        ([reading(entry("a")), reading(fault("a"))], {"a": ("1", ("is broken",))}),
        ([reading(entry("a")), reading(fault("a")), reading(fault("a", "still is"))], {"a": ("1", ("still is",))}),
        ([reading(entry("a")), reading(fault("a")), reading(entry("a", "3"))], {"a": ("3", ())}),
        ([reading(fault("a"))], {"a": (None, ("is broken",))}),
        ([reading(fault("a", "one"), fault("a", "two"))], {"a": (None, ("one", "two"))}),
        ([reading(fault("a")), reading(entry("a", "2"))], {"a": ("2", ())}),
        ([reading(entry("a"), entry("b")), reading(fault("a"), entry("b", "2"))], {"a": ("1", ("is broken",)), "b": ("2", ())}),
        ([reading(entry("a"), entry("b")), reading(entry("b"))], {"b": ("1", ())}),
        ([reading(entry("a")), reading(), reading(fault("a"))], {"a": (None, ("is broken",))}),
        ([reading(entry("a"), fault("a", "a second key"))], {"a": ("1", ("a second key",))}),
        ([reading(entry("a")), reading(entry("a", "2"), fault("a", "a second key"))], {"a": ("2", ("a second key",))}),
    ],
)
def test_good_entries_replace_broken_ones_keep_what_was_good_and_others_go(
    versions: Sequence[Reading], expected: dict[str, Shown]
) -> None:
    states = catalog(*versions).sources["shop/tools"]

    assert {name: shown(state) for name, state in states.items()} == expected
    assert all(state.name == name for name, state in states.items())


def test_a_version_touches_no_other_config_map() -> None:
    before = catalog(reading(entry("a")), reading(entry("b", config_map="more"), source="shop/more"))

    after = before.absorb(reading(fault("b"), source="shop/tools"))

    assert after.sources["shop/more"] == before.sources["shop/more"]
    assert shown(after.sources["shop/tools"]["b"]) == (None, ("is broken",))


def test_a_catalog_never_changes() -> None:
    before = catalog(reading(entry("a")))

    before.absorb(reading(entry("a", "2"), entry("b")))
    before.forget("shop/tools")

    assert shown(before.find("a", "shop", HOME)) == ("1", ())
    assert before.names("shop", HOME) == ["a"]


# -- find


EVERYWHERE = catalog(
    reading(entry("a", "shop-tools"), entry("b", "shop-tools"), source="shop/tools"),
    reading(entry("a", "shop-more"), fault("c"), source="shop/more"),
    reading(entry("b", "home"), entry("c", "home"), entry("d", "home"), source=f"{HOME}/sidecars"),
    reading(entry("e", "other"), source="other/tools"),
)


@pytest.mark.parametrize(
    ("name", "namespace", "expected"),
    [
        ("a", "shop", ("shop-more", ())),  # the ConfigMap first in the alphabet
        ("b", "shop", ("shop-tools", ())),  # the pod's namespace first
        ("c", "shop", (None, ("is broken",))),  # also where it is broken there
        ("d", "shop", ("home", ())),
        ("e", "shop", None),
        ("a", "other", None),
        ("b", "other", ("home", ())),
        ("e", "other", ("other", ())),
        ("b", HOME, ("home", ())),
        ("a", HOME, None),
        ("", "shop", None),
    ],
)
def test_an_entry_is_looked_for_in_the_pods_namespace_and_then_at_home(
    name: str, namespace: str, expected: Shown | None
) -> None:
    assert shown(EVERYWHERE.find(name, namespace, HOME)) == expected


@pytest.mark.parametrize(
    ("namespace", "names"),
    [("shop", ["a", "b", "d"]), ("other", ["b", "c", "d", "e"]), (HOME, ["b", "c", "d"]), ("new", ["b", "c", "d"])],
)
def test_pods_may_ask_for_what_their_namespace_and_home_have_in_force(namespace: str, names: list[str]) -> None:
    assert EVERYWHERE.names(namespace, HOME) == names


def test_of_two_config_maps_of_a_namespace_the_second_in_the_alphabet_is_shadowed() -> None:
    assert EVERYWHERE.shadowed_by("shop/tools", "a") == "shop/more"
    assert [EVERYWHERE.shadowed_by("shop/more", "a"), EVERYWHERE.shadowed_by("shop/tools", "b")] == [None, None]


# -- forget


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("shop/more", {"a": ("shop-tools", ()), "b": ("shop-tools", ()), "c": ("home", ())}),
        ("shop/tools", {"a": ("shop-more", ()), "b": ("home", ()), "c": (None, ("is broken",))}),
        ("shop/none", {"a": ("shop-more", ()), "b": ("shop-tools", ()), "c": (None, ("is broken",))}),
    ],
)
def test_what_a_forgotten_config_map_hid_comes_out_again(source: str, found: dict[str, Shown]) -> None:
    left = EVERYWHERE.forget(source)

    assert source not in left.sources
    assert {name: shown(left.find(name, "shop", HOME)) for name in found} == found


# -- faults


@pytest.mark.parametrize(
    ("one", "told"),
    [
        (fault("a", "is empty"), "line 1: is empty"),
        (fault("a", "is required", 3, "containers[0].image"), "line 3, containers[0].image: is required"),
    ],
)
def test_a_fault_is_told_with_its_place(one: EntryFault, told: str) -> None:
    assert one.told() == told
