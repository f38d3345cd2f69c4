"""What Kubernetes does to a site that goes silent when Gatehouse is not there: all that the other tests prevent.

Without this run, a partition that the controllers never noticed would pass every other test.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.apiserver.nodes import Heartbeats
from tests.apiserver.partition import Record, Site, last, reached, silence
from tests.cluster import Api

SITE = Site("stock", 1)


@pytest.fixture(scope="module")
def record(admin: Api, heartbeats: Heartbeats) -> Iterator[Record]:
    """The site after it went silent, with nobody to stand up for it."""
    with silence(admin, heartbeats, SITE) as record:
        yield record


def test_every_silent_node_is_tainted_whatever_its_peers_say(record: Record) -> None:
    reached(lambda: last(record.tainted()) == set(SITE.nodes), "a NoExecute taint on every node")


def test_every_pod_there_is_marked_not_ready(record: Record) -> None:
    reached(lambda: last(record.ready_pods()) == set(), "no pod Ready")


def test_no_address_stays_ready(record: Record) -> None:
    reached(lambda: last(record.in_slices()) == set(), "no ready address in EndpointSlices")
    reached(lambda: last(record.in_endpoints()) == set(), "no ready address in Endpoints")


def test_every_pod_there_is_evicted(record: Record) -> None:
    reached(lambda: last(record.evicted()) == SITE.pods(*SITE.nodes), "a deletionTimestamp on every pod")
