"""Stores that follow, and what handlers hear."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from controllers.runtime.errors import InformerStopped
from controllers.runtime.informer import Informer
from controllers.runtime.rest import RestClient
from controllers.runtime.store import Addition, Change, Deletion, Update
from controllers.runtime.watch import WatchPolicy
from controllers.testing import FakeApi, FakeClock
from controllers.testing.answers import status
from tests.controllers.runtime.builders import PODS, informer, node, pod
from webhook.clock import Deadline, SystemClock
from webhook.cluster import NodeFacts, Status
from webhook.telemetry import Telemetry

Follow = Callable[..., Informer[Any]]


class Heard:
    """A handler that keeps what it hears, as words."""

    def __init__(self) -> None:
        self.words: list[str] = []

    def __call__(self, change: Change[Any]) -> None:
        match change:
            case Addition(item, initial):
                self.words.append(f"add {item.key}" + (" initially" if initial else ""))
            case Update(_, item):
                self.words.append(f"update {item.key}")
            case Deletion(item, final):
                self.words.append(f"delete {item.key}" + ("" if final else " unseen"))


@pytest.fixture
def follow(client: RestClient) -> Iterator[Follow]:
    made: list[Informer[Any]] = []

    def make(*resource: Any, **options: Any) -> Informer[Any]:
        made.append(informer(client, None, *resource, **options))
        return made[-1]

    yield make

    for one in made:
        one.reflector.hang_up()


def until(one: Informer[Any], condition: Callable[[], bool]) -> None:
    """Step the reflector until *condition* holds."""
    for _ in range(100):
        if condition():
            return
        one.reflector.advance()
    raise AssertionError("never")


# -- the store


def test_the_store_holds_facts_of_the_listed_objects(api: FakeApi, follow: Follow) -> None:
    api.objects.put(node("a", ready="Unknown"))
    nodes: Informer[NodeFacts] = follow()

    until(nodes, nodes.has_synced)

    facts = nodes.store.get("a")
    assert facts is not None
    assert (facts.name, facts.uid, facts.ready, facts.kubelet_version) == ("a", "uid-1", Status.UNKNOWN, "v1.37.2")


def test_pods_are_found_by_their_node(api: FakeApi, follow: Follow) -> None:
    api.objects.put(pod("a", on="edge-1"))
    api.objects.put(pod("b", on="edge-1"))
    api.objects.put(pod("c", on=""))
    pods = follow(PODS)

    until(pods, pods.has_synced)

    assert sorted(one.name for one in pods.store.by_index("node", "edge-1")) == ["a", "b"]
    assert pods.store.by_index("node", "") == []


def test_the_version_of_the_store_follows_events_and_bookmarks(api: FakeApi, follow: Follow) -> None:
    nodes = follow()
    until(nodes, nodes.has_synced)
    api.objects.put(node("a"))
    until(nodes, lambda: nodes.store.version == str(api.objects.version))

    api.objects.put(pod())
    api.objects.bookmark()

    until(nodes, lambda: nodes.store.version == str(api.objects.version))


def test_the_store_is_never_empty_during_a_relist(api: FakeApi, follow: Follow) -> None:
    api.objects.put(node("a"))
    nodes = follow()
    until(nodes, nodes.has_synced)
    api.objects.compact()
    api.always("list", status(500))
    api.next("watch", status(410))

    for _ in range(10):
        nodes.reflector.advance()

    assert nodes.store.get("a") is not None


def test_an_object_that_becomes_undecodable_keeps_its_last_facts(api: FakeApi, follow: Follow) -> None:
    api.objects.put(node("a", ready="Unknown"))
    nodes = follow()
    until(nodes, nodes.has_synced)
    api.objects.put({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "a"}, "spec": {"taints": 3}})
    api.objects.compact()
    api.next("watch", status(410))

    until(nodes, lambda: api.count("list") == 2 and api.count("watch") == 2)

    facts = nodes.store.get("a")
    assert facts is not None
    assert facts.ready is Status.UNKNOWN


# -- handlers


def test_handlers_hear_the_first_list_before_the_informer_is_synced(api: FakeApi, follow: Follow) -> None:
    api.objects.put(node("a"))
    nodes = follow()
    synced: list[bool] = []
    nodes.add_handler(lambda _: synced.append(nodes.has_synced()))

    until(nodes, nodes.has_synced)

    assert synced == [False]


def test_handlers_hear_a_consistent_history(api: FakeApi, follow: Follow) -> None:
    heard = Heard()
    api.objects.put(node("a"))
    nodes = follow()
    nodes.add_handler(heard)
    until(nodes, nodes.has_synced)

    api.objects.put(node("a", ready="Unknown"))
    api.objects.put(node("b"))
    api.objects.drop("Node", "a")
    until(nodes, lambda: len(heard.words) == 4)

    assert heard.words == ["add a initially", "update a", "add b", "delete a"]


def test_the_store_has_the_change_before_its_handler(api: FakeApi, follow: Follow) -> None:
    nodes = follow()
    found: list[bool] = []
    nodes.add_handler(lambda change: found.append(nodes.store.item(change.item.key) is not None))
    until(nodes, nodes.has_synced)

    api.objects.put(node("a"))
    api.objects.drop("Node", "a")
    until(nodes, lambda: len(found) == 2)

    assert found == [True, False]


def test_after_a_disruption_only_true_differences_are_heard(api: FakeApi, follow: Follow) -> None:
    heard = Heard()
    for name in ("gone", "same", "changed", "recreated"):
        api.objects.put(node(name))
    nodes = follow()
    nodes.add_handler(heard)
    until(nodes, nodes.has_synced)
    heard.words.clear()

    api.next("watch", status(410))
    api.objects.drop("Node", "gone")
    api.objects.put(node("changed", ready="False"))
    api.objects.drop("Node", "recreated")
    api.objects.put(node("recreated"))
    api.objects.put(node("new"))
    until(nodes, lambda: api.count("list") == 2 and api.count("watch") == 2)

    assert heard.words == [
        "delete gone unseen",
        "update changed",
        "add new",
        "delete recreated unseen",
        "add recreated",
    ]


def test_a_handler_that_raises_is_counted_and_hears_the_next(api: FakeApi, follow: Follow, telemetry: Telemetry) -> None:
    heard = Heard()

    def fragile(change: Change[Any]) -> None:
        heard(change)
        raise ZeroDivisionError

    api.objects.put(node("a"))
    api.objects.put(node("b"))
    nodes = follow(telemetry=telemetry)
    nodes.add_handler(fragile)

    until(nodes, nodes.has_synced)

    assert heard.words == ["add a initially", "add b initially"]
    assert b'gatehouse_informer_handler_failures_total{resource="nodes"} 2.0' in telemetry.expose()


def test_a_late_handler_hears_what_is_there_first(api: FakeApi, follow: Follow) -> None:
    heard = Heard()
    api.objects.put(node("a"))
    nodes = follow()
    until(nodes, nodes.has_synced)

    nodes.add_handler(heard)
    api.objects.put(node("b"))
    until(nodes, lambda: len(heard.words) == 2)

    assert heard.words == ["add a initially", "add b"]


def test_a_removed_handler_hears_nothing_more(api: FakeApi, follow: Follow) -> None:
    heard, still = Heard(), Heard()
    nodes = follow()
    registration = nodes.add_handler(heard)
    nodes.add_handler(still)
    until(nodes, nodes.has_synced)

    assert nodes.remove_handler(registration)
    api.objects.put(node("a"))
    until(nodes, lambda: len(still.words) == 1)

    assert heard.words == []


def test_removing_twice_or_from_another_informer_is_harmless(follow: Follow) -> None:
    nodes, others = follow(), follow()
    registration = nodes.add_handler(Heard())

    assert not others.remove_handler(registration)
    assert nodes.remove_handler(registration)
    assert not nodes.remove_handler(registration)


def test_a_handler_may_remove_itself_and_others(api: FakeApi, follow: Follow) -> None:
    heard = Heard()
    api.objects.put(node("a"))
    api.objects.put(node("b"))
    nodes = follow()

    def first(change: Change[Any]) -> None:
        heard(change)
        nodes.remove_handler(mine)
        nodes.remove_handler(victim)

    mine = nodes.add_handler(first)
    victim = nodes.add_handler(heard)

    until(nodes, nodes.has_synced)

    assert heard.words == ["add a initially"]


def test_a_stopped_informer_refuses_handlers(follow: Follow) -> None:
    nodes = follow()
    nodes.signal_stop()

    with pytest.raises(InformerStopped, match="nodes"):
        nodes.add_handler(Heard())


# -- life


def test_an_informer_starts_syncs_and_stops(api: FakeApi, client: RestClient) -> None:
    api.objects.put(node("a"))
    clock = SystemClock()
    nodes = informer(client, clock, policy=WatchPolicy())

    nodes.start()

    assert nodes.synced_event.wait(5.0)
    assert nodes.stop(Deadline.after(5.0, clock))
    assert nodes.stop(Deadline.after(5.0, clock))
    assert len(nodes.store) == 1


def test_starting_and_stopping_five_times_leaves_nothing(api: FakeApi, client: RestClient) -> None:
    clock = SystemClock()
    for _ in range(5):
        nodes = informer(client, clock, policy=WatchPolicy())
        nodes.start()
        assert nodes.synced_event.wait(5.0)
        assert nodes.stop(Deadline.after(5.0, clock))


def test_an_informer_that_cannot_stop_in_time_says_so(api: FakeApi, client: RestClient) -> None:
    clock, release, busy = SystemClock(), threading.Event(), threading.Event()
    api.objects.put(node("a"))
    nodes = informer(client, clock)

    def block(_: Change[Any]) -> None:
        busy.set()
        release.wait(5.0)

    nodes.add_handler(block)
    nodes.start()
    assert busy.wait(5.0)

    assert not nodes.stop(Deadline.after(0.05, clock))

    release.set()
    assert nodes.stop(Deadline.after(5.0, clock))


def test_metrics_say_what_is_cached_and_how_long_the_server_was_silent(
    api: FakeApi, client: RestClient, telemetry: Telemetry
) -> None:
    clock = FakeClock(auto_advance=True)
    api.objects.put(node("a"))
    nodes = informer(client, clock, telemetry=telemetry)
    until(nodes, nodes.has_synced)

    clock.advance(12.0)
    exposed = telemetry.expose().decode()

    assert 'gatehouse_cache_objects{resource="nodes"} 1.0' in exposed
    assert 'gatehouse_reflector_last_event_age_seconds{resource="nodes"} 12.0' in exposed
    assert 'gatehouse_reflector_lists_total{reason="start",resource="nodes"} 1.0' in exposed
    assert 'gatehouse_reflector_watches_total{reason="listed",resource="nodes"} 1.0' in exposed
