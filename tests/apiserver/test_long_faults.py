"""Faults that last for a minute or more, all at the same time, so that a run waits once.

One process follows the real API server until the network forgets its connections: no packet arrives any more and no reset tells
of it. Two others follow scripted API servers, of which one answers 500 for a minute and the other refuses connections.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor

import attrs
import pytest

from tests.apiserver import blackhole, nodes
from tests.apiserver.asking import Asking
from tests.apiserver.gatehouse import Gatehouse
from tests.apiserver.waiting import wait_for
from tests.cluster import Api, Cluster
from tests.cluster.components import APISERVER_PORT
from tests.controllers.followers import OUTAGES, Outage, outages
from tests.server.figures import Figures

MINUTE_S = 60.0
REQUESTS_BELOW = 20  # of each reflector in a minute
CONVERGES_WITHIN_S = 90.0
SETTLES_WITHIN_S = 20.0
# Bookmarks come once a minute: a cache that changes sooner than this after the fault was never cut off.
SURELY_DEAF_S = 5.0
HELD = ("deaf-turns-ill", "deaf-turns-well", "deaf-leaves", "deaf-stays", "deaf-comes")


@attrs.frozen
class HalfOpen:
    """What became of the caches behind dead connections."""

    dead: int  # connections
    before: set[str]  # guarded
    within_s: float  # until all that had happened meanwhile was known
    timed_out: float  # watches given up for their silence
    lists: float  # more of them than before


@pytest.fixture(scope="module")
def outcome(
    quiet_cluster: Cluster, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[HalfOpen, Mapping[str, Outage]]]:
    with ThreadPoolExecutor(1, "test/outages") as pool:
        minute = pool.submit(outages, tmp_path_factory.mktemp("minute"), MINUTE_S)
        with (
            quiet_cluster.api() as admin,
            Gatehouse(quiet_cluster, tmp_path_factory.mktemp("half-open")) as gatehouse,
            Asking(quiet_cluster, gatehouse) as asking,
        ):
            half_open = _half_open(quiet_cluster, admin, gatehouse, asking)
        yield half_open, minute.result()


def _half_open(cluster: Cluster, admin: Api, gatehouse: Gatehouse, asking: Asking) -> HalfOpen:
    for name in ("deaf-turns-ill", "deaf-turns-well", "deaf-leaves", "deaf-stays"):
        vote = "false" if name == "deaf-turns-well" else "true"
        nodes.create_node(admin, name, "half-open", vote, ready="Unknown")
    nodes.create_node(admin, "deaf-well", "half-open", "true")
    before = {"deaf-turns-ill", "deaf-leaves", "deaf-stays"}
    wait_for(lambda: asking.guarded(HELD) == before, SETTLES_WITHIN_S, "the nodes in the cache")
    assert asking.guarded(["deaf-well"]) == set()  # a live read, which leaves a connection that is idle
    lists = gatehouse.total("gatehouse_reflector_lists_total")
    dead = blackhole.connections(gatehouse.process.pid, APISERVER_PORT)
    with blackhole.swallowing(cluster.namespace, dead, APISERVER_PORT):
        nodes.set_vote(admin, "deaf-turns-ill", "false")
        nodes.set_vote(admin, "deaf-turns-well", "true")
        admin.delete(f"{nodes.NODES}/deaf-leaves")
        nodes.create_node(admin, "deaf-comes", "half-open", "true", ready="Unknown")
        expected = {"deaf-turns-well", "deaf-stays", "deaf-comes"}
        within_s = wait_for(lambda: asking.guarded(HELD) == expected, CONVERGES_WITHIN_S, "what has happened meanwhile")
        timed_out = gatehouse.total("gatehouse_reflector_watches_total", resource="nodes", reason="timedout")
    return HalfOpen(len(dead), before, within_s, timed_out, gatehouse.total("gatehouse_reflector_lists_total") - lists)


def test_dead_connections_are_noticed_and_the_caches_converge(
    outcome: tuple[HalfOpen, Mapping[str, Outage]], figures: Figures
) -> None:
    half_open, _ = outcome

    assert half_open.dead >= 3, "two watches and an idle connection"
    assert SURELY_DEAF_S < half_open.within_s <= CONVERGES_WITHIN_S
    assert half_open.timed_out == 1, "one silent watch, one new one: on a connection that is new too"
    assert half_open.lists == 0, "a watch goes on where the dead one was"
    figures.add("dead connections: known in the cache what happened meanwhile", f"{half_open.within_s:.0f} s", "< 90 s", True)


@pytest.mark.parametrize("kind", OUTAGES)
def test_a_minute_of_outage_costs_a_reflector_few_requests(
    outcome: tuple[HalfOpen, Mapping[str, Outage]], kind: str, figures: Figures
) -> None:
    requests = outcome[1][kind].requests

    assert all(0 < count < REQUESTS_BELOW for count in requests.values()), requests
    figures.add(f"API server {kind} for {MINUTE_S:g} s: requests of a reflector", str(max(requests.values())), "< 20", True)


@pytest.mark.parametrize("kind", OUTAGES)
def test_every_review_of_that_minute_is_decided_from_the_caches(
    outcome: tuple[HalfOpen, Mapping[str, Outage]], kind: str
) -> None:
    assert outcome[1][kind].reviews >= MINUTE_S
    assert outcome[1][kind].admitted == outcome[1][kind].reviews
