"""What came of a minute of faults (`minute`), which passed while other tests ran."""

from __future__ import annotations

from concurrent.futures import Future

import pytest

from tests.apiserver.minute import CONVERGES_TARGET_S, CONVERGES_WITHIN_S, MINUTE_S, Minute
from tests.controllers.followers import OUTAGES
from tests.server.figures import Figures

REQUESTS_BELOW = 20  # of each reflector in a minute
# Bookmarks come once a minute: a cache that changes sooner than this after the fault was never cut off.
SURELY_DEAF_S = 5.0


@pytest.fixture(scope="module")
def outcome(faulty_minute: Future[Minute]) -> Minute:
    return faulty_minute.result()


def test_dead_connections_are_noticed_and_the_caches_converge(outcome: Minute, figures: Figures) -> None:
    half_open = outcome.half_open

    assert half_open.dead >= 3, "two watches and an idle connection"
    assert SURELY_DEAF_S < half_open.within_s <= CONVERGES_WITHIN_S
    assert half_open.timed_out == 1, "one silent watch, one new one: on a connection that is new too"
    assert half_open.lists == 0, "a watch goes on where the dead one was"
    figures.add(
        "dead connections: known in the cache what happened meanwhile",
        f"{half_open.within_s:.0f} s",
        f"< {CONVERGES_TARGET_S:.0f} s",
        half_open.within_s < CONVERGES_TARGET_S,
    )


@pytest.mark.parametrize("kind", OUTAGES)
def test_a_minute_of_outage_costs_a_reflector_few_requests(outcome: Minute, kind: str, figures: Figures) -> None:
    requests = outcome.outages[kind].requests

    assert all(0 < count < REQUESTS_BELOW for count in requests.values()), requests
    figures.add(f"API server {kind} for {MINUTE_S:g} s: requests of a reflector", str(max(requests.values())), "< 20", True)


@pytest.mark.parametrize("kind", OUTAGES)
def test_every_review_of_that_minute_is_decided_from_the_caches(outcome: Minute, kind: str) -> None:
    assert outcome.outages[kind].reviews >= MINUTE_S / 4  # several a second on a machine with nothing else to do
    assert outcome.outages[kind].admitted == outcome.outages[kind].reviews
