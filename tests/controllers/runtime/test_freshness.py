from __future__ import annotations

import pytest

from controllers.runtime.freshness import PATIENCE_S, POLL_S, OwnWrites, has_reached
from controllers.testing import FakeClock
from webhook.telemetry import Telemetry


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def cache() -> dict[str, str]:
    return {"nodes": "100", "pods": "100"}


@pytest.fixture
def writes(cache: dict[str, str], clock: FakeClock, telemetry: Telemetry) -> OwnWrites:
    return OwnWrites({"nodes": lambda: cache["nodes"], "pods": lambda: cache["pods"]}, clock, telemetry)


@pytest.mark.parametrize(
    ("seen", "written", "reached"),
    [
        ("100", "99", True),
        ("100", "100", True),
        ("99", "100", False),
        ("9", "10", False),
        ("18446744073709551616", "18446744073709551615", True),
        ("", "1", False),
        ("abc", "abd", True),
    ],
)
def test_versions_compare_as_numbers(seen: str, written: str, reached: bool) -> None:
    assert has_reached(seen, written) is reached


def test_a_key_without_a_write_does_not_wait(writes: OwnWrites) -> None:
    assert writes.wait_s("a") == 0


def test_a_key_waits_until_every_cache_has_seen_its_writes(writes: OwnWrites, cache: dict[str, str]) -> None:
    writes.note("a", "nodes", "101")
    writes.note("a", "pods", "105")
    both = writes.wait_s("a")
    cache["pods"] = "105"
    one = writes.wait_s("a")
    cache["nodes"] = "102"

    assert (both, one) == (POLL_S, POLL_S)
    assert writes.wait_s("a") == 0
    assert writes.wait_s("b") == 0


def test_of_several_writes_the_last_one_counts(writes: OwnWrites, cache: dict[str, str]) -> None:
    writes.note("a", "pods", "101")
    writes.note("a", "pods", "103")
    cache["pods"] = "102"

    assert writes.wait_s("a") == POLL_S


def test_a_write_that_changed_nothing_is_already_seen(writes: OwnWrites) -> None:
    writes.note("a", "pods", "100")
    writes.note("b", "pods", "")

    assert writes.wait_s("a") == 0
    assert writes.wait_s("b") == 0


def test_a_cache_that_never_gets_there_holds_a_key_for_a_bounded_time(
    writes: OwnWrites, clock: FakeClock, telemetry: Telemetry
) -> None:
    writes.note("a", "pods", "200")
    clock.advance(PATIENCE_S - 1)
    held = writes.wait_s("a")
    clock.advance(1)

    assert held == POLL_S
    assert writes.wait_s("a") == 0
    assert writes.wait_s("a") == 0
    assert b'gatehouse_own_writes_unseen_total{resource="pods"} 1.0' in telemetry.expose()


def test_a_resource_without_a_cache_is_a_mistake(writes: OwnWrites) -> None:
    with pytest.raises(KeyError):
        writes.note("a", "secrets", "1")
