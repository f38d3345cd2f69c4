"""Writes that lose a race, meet a server in trouble, or have no lease any more."""

from __future__ import annotations

import json
from typing import Any

import pytest

from controllers.runtime.rest import RestClient
from controllers.testing import FakeApi
from controllers.testing.answers import cut, status
from tests.controllers.edge_health.builders import EVICTING, TWIN, node, pod
from tests.controllers.edge_health.scene import Scene

WEB_1 = "/namespaces/shop/pods/web-1"

# -- lost races


def test_a_taint_write_that_lost_a_race_reads_and_tries_again(scene: Scene) -> None:
    scene.put(node("edge-1", EVICTING))
    scene.client.before_patches = [lambda: scene.put(node("edge-1", TWIN, EVICTING))]

    scene.run()

    assert scene.calls() == ["GET /nodes/edge-1", "PATCH /nodes/edge-1", "GET /nodes/edge-1", "PATCH /nodes/edge-1"]
    assert scene.node()["spec"]["taints"] == [TWIN]


def test_a_guard_that_ends_during_the_write_leaves_the_taint(scene: Scene) -> None:
    scene.put(node("edge-1", EVICTING))
    scene.client.before_patches = [lambda: scene.put(node("edge-1", EVICTING, vote="false"))]

    scene.run()

    assert scene.node()["spec"]["taints"] == [EVICTING]


def test_a_probe_that_fails_during_the_write_wins(scene: Scene) -> None:
    scene.put(node(), pod())
    scene.client.before_patches = [lambda: scene.put(pod(containers_ready="False"))]

    scene.run()

    assert scene.ready() == {"web-1": "False"}
    assert scene.calls()[1:] == [f"GET {WEB_1}", f"PATCH {WEB_1}/status", f"GET {WEB_1}"]


@pytest.mark.parametrize(("code", "word"), [(409, "Conflict"), (422, "Invalid")])
def test_refused_writes_are_tried_three_times_and_then_after_a_backoff(scene: Scene, code: int, word: str) -> None:
    scene.put(node(), pod())
    scene.api.next("patch", *[status(code, word)] * 3)

    scene.run()
    tried = len(scene.patches())
    scene.clock.advance(0.1)
    scene.run()

    assert tried == 3
    assert scene.ready() == {"web-1": "True"}


def test_one_pod_that_cannot_be_written_does_not_keep_the_others_waiting(scene: Scene) -> None:
    scene.put(node(), pod("web-1"), pod("web-2"))
    scene.api.next("patch", status(403, "Forbidden"))

    scene.run()

    assert scene.ready() == {"web-1": "False", "web-2": "True"}


@pytest.mark.parametrize("answer", [cut, status(429, "TooManyRequests", retry_after_s=7)], ids=["unreachable", "busy"])
def test_a_server_in_trouble_is_left_in_peace_until_the_backoff(scene: Scene, answer: Any) -> None:
    scene.put(node(), pod("web-1"), pod("web-2"))
    scene.api.next("patch", answer)

    scene.run()

    assert scene.patches() == [f"{WEB_1}/status"]


def test_what_a_busy_server_asks_for_is_waited_for(scene: Scene) -> None:
    scene.put(node(), pod())
    scene.api.next("patch", status(429, "TooManyRequests", retry_after_s=7))
    scene.run()

    scene.clock.advance(6.9)
    early = scene.run_blindly()
    scene.clock.advance(0.2)
    scene.run_blindly()

    assert early == 0
    assert scene.ready() == {"web-1": "True"}


def test_a_node_that_fails_for_long_is_still_looked_at_well_within_the_toleration(scene: Scene) -> None:
    scene.put(node("edge-1", EVICTING))
    scene.api.always("get", status(500))
    scene.run()
    for _ in range(30):
        scene.clock.advance(30.0)
        scene.run_blindly()

    scene.api.behave()
    scene.clock.advance(20.0)
    scene.run_blindly()

    assert scene.node()["spec"]["taints"] == []


def test_a_write_that_a_webhook_undid_is_told_and_tried_again(scene: Scene) -> None:
    scene.put(node(vote="false"), pod(ready="True"))
    scene.api.next("patch", lambda exchange: exchange.respond(200, json.dumps(scene.pod()).encode()))

    scene.run()
    first = scene.ready()
    scene.clock.advance(0.1)
    scene.run()

    assert (first, scene.ready()) == ({"web-1": "True"}, {"web-1": "False"})
    assert scene.metrics()["gatehouse_edge_writes_overruled_total"] == 1


# -- the lease


@pytest.mark.parametrize("requests", range(8))
def test_once_the_lease_is_lost_nothing_more_is_asked_or_written(scene: Scene, requests: int) -> None:
    scene.put(node("edge-1", EVICTING), pod("web-1"), pod("web-2"))
    scene.lease.requests = requests

    scene.run()

    # One question for leave comes before anything else, then one before each request.
    assert len(scene.calls()) == max(0, min(6, requests - 1))


@pytest.mark.parametrize("requests", range(8))
def test_the_next_leader_ends_what_a_lost_lease_cut_short(api: FakeApi, client: RestClient, requests: int) -> None:
    former = Scene(api, client)
    former.put(node("edge-1", EVICTING), pod("web-1"), pod("web-2", ready="True"), pod("web-3"))
    former.lease.requests = requests
    former.run()

    Scene(api, client).run()

    assert former.node()["spec"]["taints"] == []
    assert set(former.ready().values()) == {"True"}
