"""Who goes first: priorities of keys in a queue and in a controller."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from controllers.runtime.controller import Controller, informer_source
from controllers.runtime.freshness import OwnWrites
from controllers.runtime.limiters import ExponentialPerKey
from controllers.runtime.reconcile import Context, Done, Key, Outcome, RequeueAfter
from controllers.runtime.rest import RestClient
from controllers.runtime.workqueue import FIRST_LIST, LIVE, WorkQueue
from controllers.testing import FakeClock
from tests.controllers.runtime import builders
from webhook.telemetry import Telemetry

URGENT = 100


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def queue(clock: FakeClock, telemetry: Telemetry) -> WorkQueue[str]:
    return WorkQueue("edge", telemetry, clock, ExponentialPerKey())


def test_whether_something_more_urgent_waits_is_known(queue: WorkQueue[str], clock: FakeClock) -> None:
    queue.add("a", priority=LIVE)
    queue.add_after("b", 5.0, priority=URGENT)
    early = (queue.waits(LIVE), queue.waits(FIRST_LIST))

    clock.advance(5.0)

    assert early == (False, True)
    assert (queue.waits(LIVE), queue.waits(URGENT)) == (True, False)


def test_what_was_taken_does_not_wait_and_its_priority_is_remembered(queue: WorkQueue[str]) -> None:
    queue.add("a", priority=LIVE)
    queue.add("a", priority=URGENT)
    taken = queue.get_ready()

    assert taken == "a"
    assert not queue.waits(FIRST_LIST)
    assert queue.priority("a") == URGENT


def controller(
    reconcile: Callable[[Key, Context], Outcome], clock: FakeClock, telemetry: Telemetry, own_writes: OwnWrites | None = None
) -> Controller:
    made = Controller("edge", reconcile, [], telemetry, clock, builders.refuse_death, own_writes=own_writes)
    made.run_ready()
    return made


def test_a_key_that_lets_others_go_first_comes_again_with_the_priority_that_it_asked_for(
    clock: FakeClock, telemetry: Telemetry
) -> None:
    order: list[Key] = []

    def reconcile(key: Key, context: Context) -> Outcome:
        order.append(key)
        return RequeueAfter(1.0, URGENT) if order == ["a"] else Done()

    edge = controller(reconcile, clock, telemetry)
    edge.add("a")
    edge.run_ready()
    edge.add("b")
    clock.advance(1.0)
    edge.run_ready()

    assert order == ["a", "a", "b"]


def test_a_pass_can_see_that_something_more_urgent_waits(clock: FakeClock, telemetry: Telemetry) -> None:
    seen: list[tuple[Key, bool]] = []

    def reconcile(key: Key, context: Context) -> Outcome:
        if key == "a":
            edge.add("b", priority=URGENT)
        seen.append((key, context.waiting(LIVE)))
        return Done()

    edge = controller(reconcile, clock, telemetry)
    edge.add("a")
    edge.run_ready()

    assert seen == [("a", True), ("b", False)]


def test_a_key_that_waits_for_its_own_write_keeps_its_priority(clock: FakeClock, telemetry: Telemetry) -> None:
    order: list[Key] = []
    seen = ["1"]
    writes = OwnWrites({"pods": lambda: seen[0]}, clock, telemetry)

    def reconcile(key: Key, context: Context) -> Outcome:
        order.append(key)
        return Done()

    edge = controller(reconcile, clock, telemetry, own_writes=writes)
    writes.note("a", "pods", "2")
    edge.add("a", priority=URGENT)
    edge.run_ready()
    edge.add("b")
    seen[0] = "2"
    clock.advance(1.0)
    edge.run_ready()

    assert order == ["a", "b"]


def test_an_urgent_key_goes_before_news_also_when_it_merely_exists(
    client: RestClient, clock: FakeClock, telemetry: Telemetry
) -> None:
    nodes = builders.informer(client, clock, telemetry=telemetry)
    convert = nodes.resource.projection.convert
    nodes.replace([convert(builders.node(name, uid=name, resourceVersion="1")) for name in "abc"], "5", keep=())
    added: dict[Key, int] = {}
    source = informer_source(nodes, lambda change: [change.item.key], lambda key: URGENT if key == "b" else LIVE)

    source(lambda key, priority: added.update({key: priority}))()

    assert added == {"a": FIRST_LIST, "b": URGENT, "c": FIRST_LIST}
