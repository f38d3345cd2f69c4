"""Faults of the API server: what was good stays in force while it lasts, and the newest state counts once it is over."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from controllers.runtime.rest import RestClient
from controllers.sidecars.caches import SidecarCaches
from controllers.testing import FakeApi, FakeClock
from controllers.testing.answers import status
from tests.controllers.runtime.builders import config_map, limit_range, namespace, quota, refuse_death
from tests.controllers.sidecars.scene import FAULTY, NEWER, SOUND
from tests.server.figures import best_of
from webhook.clock import Clock, Deadline, SystemClock
from webhook.names import ARTICLE_CONFIG_MAP, SIDECARS_LABEL
from webhook.sidecars.entries.catalog import State
from webhook.telemetry import Telemetry

LABELS = {SIDECARS_LABEL: "true"}
WITHIN_S = 10.0


class Following:
    """The caches of injection, running."""

    def __init__(self, api: FakeApi, caches: SidecarCaches) -> None:
        self._api = api
        self.caches = caches

    def synced(self) -> bool:
        return all(informer.has_synced() for group in self.caches.by_cache().values() for informer in group)

    def state(self, entry: str = "proxy", space: str = "shop") -> State | None:
        return self.caches.catalog.catalog().find(entry, space, "home")

    def image(self, entry: str = "proxy", space: str = "shop") -> str | None:
        state = self.state(entry, space)
        return None if state is None or state.entry is None else str(state.entry.containers[0]["image"])

    def labels(self, name: str = "shop") -> dict[str, str] | None:
        facts = self.caches.namespaces.store.get(name)
        return None if facts is None else dict(facts.labels)

    def until(self, image: str | None, *, entry: str = "proxy", space: str = "shop") -> None:
        self._api.until(lambda: self.image(entry, space) == image, WITHIN_S)


@contextmanager
def follow(api: FakeApi, client: RestClient, clock: Clock) -> Iterator[Following]:
    caches = SidecarCaches(client, Telemetry(), clock, refuse_death)
    informers = [informer for group in caches.by_cache().values() for informer in group]
    for informer in informers:
        informer.start()
    following = Following(api, caches)
    try:
        api.until(following.synced, WITHIN_S)
        yield following
    finally:
        for informer in informers:
            informer.signal_stop()
        assert all(informer.stop(Deadline.after(5.0, SystemClock())) for informer in informers)


@pytest.fixture
def following(api: FakeApi, client: RestClient) -> Iterator[Following]:
    api.objects.put(namespace("shop", labels={"team": "a"}))
    api.objects.put(config_map("mesh", data={"proxy": SOUND}, labels=LABELS))
    api.objects.put(config_map("settings", data={"proxy": SOUND}))
    api.objects.put(limit_range())
    api.objects.put(quota())
    with follow(api, client, FakeClock(auto_advance=True)) as running:
        yield running


def edit(api: FakeApi, text: str, name: str = "mesh", key: str = "proxy", labels: dict[str, Any] = LABELS) -> None:
    api.objects.put(config_map(name, data={key: text}, labels=labels))


def test_every_cache_has_what_it_is_about(following: Following) -> None:
    caches = following.caches

    assert following.image() == "proxy:1"
    assert following.labels() == {"team": "a"}
    assert [len(one.store) for one in (*caches.config_maps, caches.limit_ranges, caches.quotas)] == [1, 0, 1, 1]


def test_config_maps_of_no_concern_are_never_listed(api: FakeApi, following: Following) -> None:
    asked = [one for one in api.requests if one.path.endswith("/configmaps")]

    assert asked
    assert all("labelSelector" in one.params or "fieldSelector" in one.params for one in asked)


def test_an_edit_is_in_force_in_less_than_a_second(api: FakeApi, client: RestClient) -> None:
    edit(api, SOUND)
    with follow(api, client, SystemClock()) as running:
        versions = iter(((NEWER, "proxy:2"), (SOUND, "proxy:1"), (NEWER, "proxy:2")))

        def edited_s() -> float:
            text, image = next(versions)
            began_s = time.monotonic()
            edit(api, text)
            running.until(image)
            return time.monotonic() - began_s

        assert best_of(edited_s, lambda seconds: seconds, 1.0) < 1.0


def test_a_config_map_that_gets_the_label_becomes_a_source_and_ends_with_it(api: FakeApi, following: Following) -> None:
    edit(api, NEWER, name="settings", key="logs")
    following.until("proxy:2", entry="logs")

    edit(api, NEWER, name="settings", key="logs", labels={})
    following.until(None, entry="logs")


def test_the_articles_config_map_needs_no_label(api: FakeApi, following: Following) -> None:
    edit(api, SOUND, ARTICLE_CONFIG_MAP, "config", {})
    following.until("proxy:1", entry=ARTICLE_CONFIG_MAP)

    api.objects.drop("ConfigMap", f"shop/{ARTICLE_CONFIG_MAP}")
    following.until(None, entry=ARTICLE_CONFIG_MAP)


@pytest.mark.parametrize("code", [403, 401, 500, 503])
def test_while_the_server_refuses_what_was_good_stays_in_force(api: FakeApi, following: Following, code: int) -> None:
    for verb in ("list", "watch"):
        api.always(verb, status(code))
    api.cut_watches()
    edit(api, NEWER)
    refused = api.count("watch") + api.count("list")
    api.until(lambda: api.count("watch") + api.count("list") > refused + 10)

    assert (following.image(), following.labels()) == ("proxy:1", {"team": "a"})

    api.objects.put(namespace("shop", labels={"team": "b"}))
    api.behave()
    following.until("proxy:2")
    api.until(lambda: following.labels() == {"team": "b"}, WITHIN_S)


def test_a_silent_server_changes_nothing_until_it_speaks_again(api: FakeApi, following: Following) -> None:
    api.pause()
    edit(api, NEWER)

    assert following.image() == "proxy:1"

    api.resume()
    following.until("proxy:2")


def test_history_that_is_gone_costs_nothing_that_was_good(api: FakeApi, following: Following) -> None:
    edit(api, FAULTY)
    api.until(lambda: (state := following.state()) is not None and bool(state.faults), WITHIN_S)
    api.always("watch", status(500))
    api.cut_watches()
    api.objects.drop("ConfigMap", "shop/settings")
    edit(api, SOUND, ARTICLE_CONFIG_MAP, "config", {})
    api.objects.compact()
    api.behave()

    following.until("proxy:1", entry=ARTICLE_CONFIG_MAP)
    assert following.image() == "proxy:1"  # the last good one, although its newest version has faults and was listed anew


def test_a_config_map_deleted_while_we_were_away_is_forgotten(api: FakeApi, following: Following) -> None:
    api.always("watch", status(500))
    api.cut_watches()
    api.objects.drop("ConfigMap", "shop/mesh")
    api.objects.compact()
    api.behave()

    following.until(None)
