"""ConfigMaps that say the same are read once; nobody can tell by what comes out."""

from __future__ import annotations

import attrs

from controllers.runtime.projection_cluster import ConfigMapFacts
from controllers.sidecars.copies import KEPT, KEPT_SIZE, Copies, as_of, key_of, read
from tests.controllers.sidecars.scene import FAULTY, NEWER, SOUND, config_map
from webhook.names import ARTICLE_CONFIG_MAP
from webhook.sidecars.entries.catalog import Reading


def read_once(copies: Copies, facts: ConfigMapFacts) -> Reading:
    """As the owner of the catalog reads."""
    key = key_of(facts)
    reading = copies.get(key) or read(facts)
    copies.keep(key, reading)
    return as_of(facts, reading)


def test_copies_give_what_each_of_them_gives_by_itself() -> None:
    copies = Copies()
    variants = [
        config_map(proxy=SOUND, logs=FAULTY),
        config_map(proxy=SOUND, logs=FAULTY, space="other", uid="u2", version=7),
        config_map(proxy=NEWER, logs=FAULTY),
        config_map(proxy=SOUND, logs=FAULTY, labelled=False),
        config_map("other", proxy=SOUND, logs=FAULTY),
        config_map(ARTICLE_CONFIG_MAP, config=SOUND),
        config_map(ARTICLE_CONFIG_MAP, config=SOUND, labelled=False),
    ]

    for facts in variants * 2:
        assert read_once(copies, facts) == read(facts)


def test_copies_share_what_they_say() -> None:
    copies = Copies()
    (first,), (second,) = (read_once(copies, config_map(proxy=SOUND, space=space)).entries for space in ("a", "b"))

    assert first.containers is second.containers
    assert attrs.evolve(first, namespace="b") == second


def test_only_so_many_texts_are_remembered() -> None:
    copies = Copies()
    for number in range(KEPT + 10):
        read_once(copies, config_map(proxy=f"{SOUND}  # {number}"))

    assert len(copies._known) == KEPT


def test_only_so_much_of_large_texts_is_remembered() -> None:
    copies = Copies()
    for number in range(25):
        read_once(copies, config_map(proxy=f"{SOUND}  # {number}", rest="#" + "x" * 2**20))

    assert sum(reading.size for reading in copies._known.values()) == copies._size <= KEPT_SIZE
