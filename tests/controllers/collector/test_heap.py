"""What the garbage collector is spared while a process serves."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from controllers.collector.heap import SETTLED_AFTER_S, THRESHOLD, Heap
from controllers.testing.clock import FakeClock
from webhook.clock import Deadline


@pytest.fixture
def clock() -> Iterator[FakeClock]:
    before = gc.get_threshold()
    yield FakeClock()
    gc.unfreeze()
    gc.set_threshold(*before)


def test_what_is_there_is_set_aside_when_the_caches_have_synced(clock: FakeClock) -> None:
    synced: list[bool] = []
    heap = Heap(lambda: bool(synced), clock)
    heap.start()
    heap.look()
    before = gc.get_freeze_count()

    synced.append(True)
    heap.look()

    assert before == 0
    assert gc.get_freeze_count() > 1000


def test_a_cache_that_never_syncs_holds_nothing_up_for_ever(clock: FakeClock) -> None:
    heap = Heap(lambda: False, clock)
    heap.start()
    clock.advance(SETTLED_AFTER_S)

    heap.look()

    assert gc.get_freeze_count() > 1000


def test_what_comes_later_is_collected_as_ever(clock: FakeClock) -> None:
    heap = Heap(lambda: True, clock)
    heap.start()
    heap.look()
    aside = gc.get_freeze_count()

    heap.look()

    assert gc.get_freeze_count() <= aside


def test_a_stop_puts_everything_back(clock: FakeClock) -> None:
    before = gc.get_threshold()
    heap = Heap(lambda: True, clock)
    heap.start()
    heap.look()
    during = gc.get_threshold()

    heap.stop(Deadline.after(1.0, clock))

    assert during == THRESHOLD
    assert gc.get_threshold() == before
    assert gc.get_freeze_count() == 0
