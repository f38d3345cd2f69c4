"""The catalog of entries, as two caches of ConfigMaps change it."""

from __future__ import annotations

import threading

import pytest

from controllers.runtime.projection_cluster import ConfigMapFacts
from controllers.runtime.rest import RestClient
from controllers.sidecars import copies
from controllers.sidecars.catalog import NO_ROOM
from tests.controllers.sidecars.scene import FAULTY, NEWER, SOUND, WORSE, Scene, config_map
from webhook.names import ARTICLE_CONFIG_MAP
from webhook.sidecars.entries.catalog import Reading


@pytest.fixture
def scene(client: RestClient) -> Scene:
    return Scene(client)


def test_an_entry_is_in_force_when_its_config_map_is_seen(scene: Scene) -> None:
    scene.put(config_map(proxy=SOUND))

    assert scene.image() == "proxy:1"
    assert scene.counts() == {"good": 1, "stale": 0, "broken": 0}


def test_an_edit_replaces_it(scene: Scene) -> None:
    scene.put(config_map(proxy=SOUND))
    scene.put(config_map(proxy=NEWER, version=2))

    assert scene.image() == "proxy:2"


def test_a_broken_edit_keeps_the_last_good_version_in_force(scene: Scene) -> None:
    scene.put(config_map(proxy=SOUND, logs=SOUND))
    scene.put(config_map(proxy=FAULTY, logs=NEWER, version=2))

    assert (scene.image(), scene.faults()) == ("proxy:1", 1)
    assert (scene.image("logs"), scene.faults("logs")) == ("proxy:2", 0)
    assert scene.counts() == {"good": 1, "stale": 1, "broken": 0}


def test_an_entry_that_was_never_good_is_broken(scene: Scene) -> None:
    scene.put(config_map(proxy=FAULTY))

    assert (scene.image(), scene.faults()) == (None, 1)
    assert scene.counts() == {"good": 0, "stale": 0, "broken": 1}


def test_a_mended_entry_is_in_force_again(scene: Scene) -> None:
    scene.put(config_map(proxy=SOUND))
    scene.put(config_map(proxy=FAULTY, version=2))
    scene.put(config_map(proxy=NEWER, version=3))

    assert (scene.image(), scene.faults()) == ("proxy:2", 0)
    assert scene.counts() == {"good": 1, "stale": 0, "broken": 0}


def test_a_key_that_is_taken_out_takes_its_entry_along(scene: Scene) -> None:
    scene.put(config_map(proxy=SOUND, logs=SOUND))
    scene.put(config_map(proxy=SOUND, version=2))

    assert (scene.image(), scene.image("logs")) == ("proxy:1", None)


def test_a_deleted_config_map_is_forgotten(scene: Scene) -> None:
    scene.put(config_map(proxy=SOUND))
    scene.drop(config_map(proxy=SOUND, version=2))

    assert scene.sidecars.catalog().sources == {}
    assert scene.counts() == {"good": 0, "stale": 0, "broken": 0}


def test_another_config_map_of_the_same_name_inherits_nothing(scene: Scene) -> None:
    scene.put(config_map(proxy=SOUND))
    scene.put(config_map(proxy=FAULTY, version=2, uid="u2"))

    assert scene.image() is None


@pytest.mark.parametrize("order", [("labelled", "named"), ("named", "labelled")])
def test_a_config_map_in_both_caches_is_one_source(scene: Scene, order: tuple[str, ...]) -> None:
    both = config_map(ARTICLE_CONFIG_MAP, config=SOUND, logs=SOUND)
    for cache in order:
        scene.put(both, getattr(scene, cache))

    assert set(scene.sidecars.catalog().sources) == {both.key}
    assert scene.counts()["good"] == 2


def test_the_newest_version_that_any_cache_holds_counts(scene: Scene) -> None:
    scene.put(config_map(ARTICLE_CONFIG_MAP, config=NEWER, version=10), scene.labelled)
    scene.put(config_map(ARTICLE_CONFIG_MAP, config=SOUND, version=9), scene.named)

    assert scene.image(ARTICLE_CONFIG_MAP) == "proxy:2"


@pytest.mark.parametrize("label_first", [True, False])
def test_without_its_label_only_the_articles_key_is_left(scene: Scene, label_first: bool) -> None:
    before = config_map(ARTICLE_CONFIG_MAP, config=SOUND, logs=SOUND)
    after = config_map(ARTICLE_CONFIG_MAP, labelled=False, version=2, config=SOUND, logs=SOUND)
    scene.put(before, scene.labelled)
    scene.put(before, scene.named)

    steps = [lambda: scene.drop(before, scene.labelled), lambda: scene.put(after, scene.named)]
    for step in steps if label_first else reversed(steps):
        step()

    assert set(scene.sidecars.catalog().sources[before.key]) == {ARTICLE_CONFIG_MAP}


def test_a_config_map_is_gone_when_the_last_cache_has_lost_it(scene: Scene) -> None:
    both = config_map(ARTICLE_CONFIG_MAP, config=SOUND)
    scene.put(both, scene.labelled)
    scene.put(both, scene.named)

    scene.drop(both, scene.labelled)
    kept = scene.image(ARTICLE_CONFIG_MAP)
    scene.drop(both, scene.named)

    assert (kept, scene.image(ARTICLE_CONFIG_MAP)) == ("proxy:1", None)


def test_the_catalog_is_the_same_value_until_an_entry_changes(scene: Scene) -> None:
    scene.put(config_map(proxy=SOUND))
    before = scene.sidecars.catalog()
    scene.put(config_map(proxy=SOUND, version=2))

    assert scene.sidecars.catalog() is before


def test_who_wants_to_hear_of_changes_hears_of_them_until_he_leaves(scene: Scene) -> None:
    heard: list[str | None] = []
    leave = scene.sidecars.subscribe(lambda: heard.append(scene.image()))

    scene.put(config_map(proxy=SOUND))
    scene.put(config_map(proxy=SOUND, version=2))  # changes no entry
    leave()
    scene.put(config_map(proxy=NEWER, version=3))

    assert heard == ["proxy:1"]


def test_other_faults_replace_the_faults(scene: Scene) -> None:
    scene.put(config_map(proxy=FAULTY))
    scene.put(config_map(proxy=WORSE, version=2))

    faults = scene.sidecars.catalog().sources["shop/mesh"]["proxy"].faults
    assert {fault.path for fault in faults}.isdisjoint({"containers[0].image"})


def test_a_config_map_without_entries_is_no_source(scene: Scene) -> None:
    scene.put(config_map())

    assert scene.sidecars.catalog().sources == {}


# -- what one namespace may have

LARGE = "containers: [{name: proxy, image: proxy:1, args: [" + "x" * 200_000 + "]}]"


def large(name: str, *, space: str = "shop", version: int = 1, **data: str) -> ConfigMapFacts:
    """A ConfigMap that takes a little less than a fifth of what a namespace may have."""
    return config_map(name, space=space, version=version, **{f"{name}-{number}": LARGE for number in range(4)}, **data)


def test_what_a_namespace_has_no_room_for_is_not_read_and_touches_nobody_else(scene: Scene) -> None:
    for name in ("a", "b", "c", "d", "e", "f"):
        scene.put(large(name))
    scene.put(config_map("small", proxy=SOUND))
    scene.put(large("f", space="other"))

    assert [scene.image(f"{name}-0") for name in "abcdef"] == ["proxy:1"] * 5 + [None]
    assert scene.sidecars.catalog().sources["shop/f"]["f-0"].faults[0].message == NO_ROOM
    assert (scene.image(), scene.image("f-0", "other")) == ("proxy:1", "proxy:1")


def test_what_was_left_out_is_read_when_there_is_room(scene: Scene) -> None:
    for name in ("a", "b", "c", "d", "e", "f"):
        scene.put(large(name))
    scene.drop(large("b", version=2))

    assert (scene.image("b-0"), scene.image("f-0"), scene.faults("f-0")) == (None, "proxy:1", 0)


def test_last_good_versions_take_room_too(scene: Scene) -> None:
    broken = {f"a-{number}": "containers: [" for number in range(4)}
    for name in ("a", "b", "c", "d", "e"):
        scene.put(large(name))
    scene.put(config_map("a", version=2, **broken))
    scene.put(large("f"))

    assert (scene.image("a-0"), scene.image("f-0")) == ("proxy:1", None)


def test_an_edit_that_has_no_room_keeps_the_last_good_version_in_force(scene: Scene) -> None:
    for name in ("a", "b", "c", "d", "e"):
        scene.put(large(name))
    scene.put(large("e", version=2, more=LARGE, evenmore=LARGE))

    assert (scene.image("e-0"), scene.faults("e-0"), scene.image("more")) == ("proxy:1", 1, None)


def test_a_namespace_that_gave_everything_back_leaves_no_account(scene: Scene) -> None:
    for name in ("a", "b", "c", "d", "e", "f"):
        scene.put(large(name))
    for name in ("a", "b", "c", "d", "e", "f"):
        scene.drop(large(name, version=2))

    assert scene.sidecars.catalog().sources == {}
    assert scene.sidecars._accounts._by_namespace == {}


def test_a_request_never_waits_for_a_text_that_is_being_read(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    scene.put(config_map(proxy=SOUND))
    scene.put(config_map(proxy=NEWER, version=2))
    answers: list[str | None] = []
    read = copies.read

    def ask_meanwhile(facts: ConfigMapFacts) -> Reading:
        asking = threading.Thread(target=lambda: answers.append(scene.image()))
        asking.start()
        asking.join(5.0)
        return read(facts)

    monkeypatch.setattr(copies, "read", ask_meanwhile)
    scene.put(config_map(proxy="containers: [{name: proxy, image: proxy:3}]", version=3))

    assert (answers, scene.image()) == (["proxy:2"], "proxy:3")
