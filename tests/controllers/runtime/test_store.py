"""The indexed store: true differences, consistent indexes."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from controllers.runtime.errors import StoreError
from controllers.runtime.resource import Item
from controllers.runtime.store import Addition, Deletion, Store, Update

Words = tuple[str, ...]


def store(*items: Item[Words]) -> Store[Words]:
    made: Store[Words] = Store({"word": lambda words: words})
    made.replace(items, "1")
    return made


def item(key: str, *words: str, uid: str = "u", version: str = "1") -> Item[Words]:
    return Item(key, uid, version, words)


def indexed(of: Store[Words], word: str) -> set[Words]:
    return set(of.by_index("word", word))


def test_an_unknown_key_is_added_and_a_known_one_updated() -> None:
    cache = store()

    assert cache.put(item("a")) == [Addition(item("a"))]
    assert cache.put(item("a", version="2")) == [Update(item("a"), item("a", version="2"))]


def test_the_same_version_again_changes_nothing() -> None:
    cache = store(item("a"))

    assert cache.put(item("a")) == []


def test_items_without_versions_differ_by_their_facts() -> None:
    cache = store(item("a", "x", version=""))

    assert cache.put(item("a", "x", version="")) == []
    assert cache.put(item("a", "y", version="")) == [Update(item("a", "x", version=""), item("a", "y", version=""))]


def test_another_uid_is_a_missed_deletion_and_an_addition() -> None:
    cache = store(item("a"))

    changes = cache.put(item("a", uid="v", version="9"))

    assert changes == [Deletion(item("a"), final=False), Addition(item("a", uid="v", version="9"))]


def test_a_deletion_carries_the_last_state() -> None:
    cache = store(item("a"))

    assert cache.remove(item("a", "bye", version="2")) == [Deletion(item("a", "bye", version="2"))]
    assert cache.get("a") is None


def test_deleting_what_is_not_there_changes_nothing() -> None:
    assert store().remove(item("a")) == []


def test_replace_reports_only_true_differences() -> None:
    cache = store(item("gone"), item("same"), item("new-version"), item("new-uid"))

    changes = cache.replace(
        [item("same"), item("new-version", version="2"), item("new-uid", uid="v", version="2"), item("fresh")], "7"
    )

    assert changes == [
        Deletion(item("gone"), final=False),
        Update(item("new-version"), item("new-version", version="2")),
        Deletion(item("new-uid"), final=False),
        Addition(item("new-uid", uid="v", version="2")),
        Addition(item("fresh")),
    ]
    assert cache.version == "7"


def test_the_first_list_is_marked() -> None:
    assert store().replace([item("a")], "1", initial=True) == [Addition(item("a"), initial=True)]


def test_an_object_that_could_not_be_decoded_keeps_its_last_state() -> None:
    cache = store(item("a", "x"))

    assert cache.replace([], "2", keep=["a", "unknown"]) == []
    assert cache.get("a") == ("x",)
    assert indexed(cache, "x") == {("x",)}


def test_an_item_is_found_under_each_of_its_values() -> None:
    cache = store(item("a", "x", "y"), item("b", "y"))

    assert indexed(cache, "x") == {("x", "y")}
    assert indexed(cache, "y") == {("x", "y"), ("y",)}
    assert indexed(cache, "z") == set()


def test_indexes_follow_updates_and_deletions() -> None:
    cache = store(item("a", "x"))

    cache.put(item("a", "y", version="2"))
    assert (indexed(cache, "x"), indexed(cache, "y")) == (set(), {("y",)})

    cache.remove(item("a", "y", version="3"))
    assert indexed(cache, "y") == set()


def test_indexes_follow_a_replacement() -> None:
    cache = store(item("a", "x"), item("b", "x"))

    cache.replace([item("b", "y", version="2")], "2")

    assert (indexed(cache, "x"), indexed(cache, "y")) == (set(), {("y",)})


def test_a_failing_index_function_leaves_the_store_as_it_was() -> None:
    def fragile(words: Words) -> Iterable[str]:
        return [words[0]]

    cache: Store[Words] = Store({"first": fragile})
    cache.put(item("a", "x"))

    with pytest.raises(StoreError, match=r"index first of b: IndexError"):
        cache.put(item("b"))
    with pytest.raises(StoreError):
        cache.replace([item("b")], "2")

    assert [one.key for one in cache.items()] == ["a"]
    assert cache.by_index("first", "x") == [("x",)]


def test_a_bookmark_moves_the_version_only() -> None:
    cache = store(item("a"))

    cache.advance("99")

    assert (cache.version, len(cache)) == ("99", 1)
