"""An API server that fails or is gone: a real process asks it seldom, and goes on admitting from its caches.

The first quarter of a minute, in which the tries are closest together; a virtual minute is in runtime/test_reflector.py, a real
one in tests/apiserver.
"""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from tests.controllers.followers import OUTAGES, Outage, outages
from tests.server.figures import Figures

SECONDS = 15.0
REQUESTS_BELOW = 10  # of each reflector


@pytest.fixture(scope="module")
def outcome(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Outage]:
    return outages(tmp_path_factory.mktemp("outage"), SECONDS)


@pytest.mark.parametrize("kind", OUTAGES)
def test_a_reflector_tries_seldom(outcome: Mapping[str, Outage], kind: str, figures: Figures) -> None:
    requests = outcome[kind].requests

    assert all(0 < count < REQUESTS_BELOW for count in requests.values()), requests
    figures.add(f"API server {kind} for {SECONDS:g} s: requests of a reflector", str(max(requests.values())), "< 10", True)


def test_what_a_process_counts_is_what_the_api_server_sees(outcome: Mapping[str, Outage]) -> None:
    failing = outcome["answers 500"]

    assert failing.seen == sum(failing.requests.values())


@pytest.mark.parametrize("kind", OUTAGES)
def test_every_review_is_decided_from_the_caches(outcome: Mapping[str, Outage], kind: str) -> None:
    assert outcome[kind].reviews >= SECONDS / 4  # several a second on a machine with nothing else to do
    assert outcome[kind].admitted == outcome[kind].reviews
