"""Faults that last for a minute or more, all at the same time, so that a run waits once.

One process follows the real API server until the network forgets its connections: no packet arrives any more and no reset tells
of it. Two others follow scripted API servers, of which one answers 500 for a minute and the other refuses connections.
Almost all of it is waiting: it goes on in a thread of its own while other tests run that leave this cluster's API server alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import attrs

from tests.apiserver import blackhole, nodes
from tests.apiserver.asking import Asking
from tests.apiserver.gatehouse import Gatehouse
from tests.apiserver.waiting import wait_for
from tests.cluster import Api, Cluster
from tests.cluster.components import APISERVER_PORT
from tests.controllers.followers import Outage, outages

MINUTE_S = 60.0
CONVERGES_TARGET_S, CONVERGES_WITHIN_S = 90.0, 150.0
SETTLES_WITHIN_S = 20.0
HELD = ("deaf-turns-ill", "deaf-turns-well", "deaf-leaves", "deaf-stays", "deaf-comes")


@attrs.frozen
class HalfOpen:
    """What became of the caches behind dead connections."""

    dead: int  # connections
    before: set[str]  # guarded
    within_s: float  # until all that had happened meanwhile was known
    timed_out: float  # watches given up for their silence
    lists: float  # more of them than before


@attrs.frozen
class Minute:
    """What came of all of it."""

    half_open: HalfOpen
    outages: Mapping[str, Outage]


def pass_by(cluster: Cluster, folder: Path) -> Minute:
    """The minute. *folder*: for the files of its processes."""
    scripted, real = folder / "minute", folder / "half-open"
    scripted.mkdir()
    real.mkdir()
    with ThreadPoolExecutor(1, "test/outages") as pool:
        minute = pool.submit(outages, scripted, MINUTE_S)
        with cluster.api() as admin, Gatehouse(cluster, real) as gatehouse, Asking(cluster, gatehouse) as asking:
            half_open = _half_open(cluster, admin, gatehouse, asking)
        return Minute(half_open, minute.result())


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
