"""Writes that lose a race, meet a server in trouble, or have no lease any more."""

from __future__ import annotations

import json
from typing import Any

import pytest

from controllers.runtime.errors import (
    ApiError,
    Forbidden,
    Invalid,
    ServerError,
    Throttled,
    TimedOut,
    Unauthorized,
    UndecodableAnswer,
    UnexpectedStatus,
)
from controllers.runtime.rest import RestClient
from controllers.testing import FakeApi
from controllers.testing.answers import cut, status
from tests.controllers.edge_health.builders import EVICTING, TWIN, Json, node, pod
from tests.controllers.edge_health.scene import Scene

WEB_1 = "/namespaces/shop/pods/web-1"

# -- lost races


def test_a_taint_write_that_lost_a_race_reads_and_tries_again(scene: Scene) -> None:
    scene.put(node("edge-1", EVICTING))
    scene.client.before_patches = [lambda: scene.put(node("edge-1", TWIN, EVICTING))]

    scene.run()

    assert scene.calls() == ["PATCH /nodes/edge-1", "GET /nodes/edge-1", "PATCH /nodes/edge-1"]
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
    assert scene.calls()[1:] == [f"PATCH {WEB_1}/status", f"GET {WEB_1}"]


def test_a_write_that_loses_every_race_is_tried_three_times_and_then_after_a_backoff(scene: Scene) -> None:
    scene.put(node(), pod())
    scene.client.before_patches = [lambda n=n: scene.put(pod(labels={"race": str(n)})) for n in range(3)]

    scene.run()
    tried = len(scene.patches())
    scene.clock.advance(0.1)
    scene.run()

    assert tried == 3
    assert scene.ready() == {"web-1": "True"}


@pytest.mark.parametrize(("code", "word"), [(409, "Conflict"), (422, "Invalid")])
@pytest.mark.parametrize("on", [(node("edge-1", EVICTING),), (node(), pod())], ids=["taint", "pod"])
def test_a_write_that_is_refused_though_nobody_wrote_waits_for_the_backoff(
    scene: Scene, on: tuple[Json, ...], code: int, word: str
) -> None:
    scene.put(*on)
    scene.api.next("patch", status(code, word))

    scene.run()
    tried = len(scene.patches())
    scene.clock.advance(0.1)
    scene.run()

    assert (tried, len(scene.patches())) == (1, 2)


def test_a_node_that_goes_after_its_taint_write_was_refused_is_no_failure(scene: Scene) -> None:
    scene.put(node("edge-1", EVICTING))
    scene.client.before_patches = [lambda: scene.api.objects.drop("Node", "edge-1")]
    scene.api.next("patch", status(422, "Invalid"))

    scene.run()
    scene.clock.advance(30.0)

    assert scene.run_blindly() == 0


# -- objects and servers in trouble


def test_one_pod_that_cannot_be_written_does_not_keep_the_others_waiting(scene: Scene) -> None:
    scene.put(node(), pod("web-1"), pod("web-2"))
    scene.api.next("patch", status(403, "Forbidden"))

    scene.run()

    assert scene.ready() == {"web-1": "False", "web-2": "True"}


def _raise(error: Exception) -> None:
    raise error


@pytest.mark.parametrize(
    "error",
    [
        TimedOut("no answer"),
        Throttled("busy", status=429, retry_after_s=7.0),
        UndecodableAnswer("a page"),
        UnexpectedStatus("odd", status=405),
        Unauthorized("who?", status=401),
        ServerError("a webhook is down", status=500),
        Forbidden("no", status=403),
        Invalid("refused", status=422),
    ],
    ids=lambda error: error.code,
)
def test_whatever_one_pods_write_fails_of_the_others_are_mended_in_the_same_pass(scene: Scene, error: ApiError) -> None:
    scene.put(node(), pod("web-1"), pod("web-2"))
    scene.client.before_patches = [lambda: _raise(error)]

    scene.run()

    assert scene.ready() == {"web-1": "False", "web-2": "True"}


def test_a_taint_whose_removal_hangs_does_not_keep_the_pods_waiting(scene: Scene) -> None:
    scene.put(node("edge-1", EVICTING), pod())
    scene.client.before_patches = [lambda: _raise(TimedOut("no answer"))]

    scene.run()

    assert scene.ready() == {"web-1": "True"}


def test_a_server_that_cannot_be_reached_is_left_in_peace_until_the_backoff(scene: Scene) -> None:
    scene.put(node(), pod("web-1"), pod("web-2"))
    scene.api.next("patch", cut)

    scene.run()

    assert scene.patches() == [f"{WEB_1}/status"]


@pytest.mark.parametrize(
    "answer", [status(403, "Forbidden"), status(429, "TooManyRequests", retry_after_s=7)], ids=["forbidden", "busy"]
)
def test_after_three_failures_in_a_row_the_server_is_left_in_peace_until_the_backoff(scene: Scene, answer: Any) -> None:
    scene.put(node(), *(pod(f"web-{number}") for number in range(5)))
    scene.api.always("patch", answer)

    scene.run()

    assert len(scene.patches()) == 3


def test_pods_that_are_refused_do_not_end_the_pass_however_many_they_are(scene: Scene) -> None:
    scene.put(node(), *(pod(f"web-{number}") for number in range(5)))
    scene.api.next("patch", *[status(422, "Invalid")] * 4)

    scene.run()

    assert scene.ready()["web-4"] == "True"


def test_pods_that_failed_come_last_in_the_next_pass_and_a_taint_stays_first(scene: Scene) -> None:
    scene.put(node("edge-1", EVICTING), pod("web-1"), pod("web-2"), pod("web-3"))
    scene.api.next("patch", *[status(403, "Forbidden")] * 3)
    scene.run()
    before = len(scene.patches())

    scene.clock.advance(1.0)
    scene.run()

    order = [path.split("/")[-1] if "pods" not in path else path.split("/")[-2] for path in scene.patches()[before:]]
    assert order == ["edge-1", "web-3", "web-1", "web-2"]


def test_pods_that_fail_for_ever_starve_nobody(scene: Scene) -> None:
    scene.put(node(), *(pod(f"web-{number}") for number in range(8)))

    for _ in range(3):
        scene.api.next("patch", *[status(403, "Forbidden")] * 3)
        scene.run()
        scene.clock.advance(1.0)
        scene.api.behave()
    tried = {path.split("/")[-2] for path in scene.patches()}

    assert len(tried) == 8


def test_after_a_pass_without_failures_the_order_is_the_plans_again(scene: Scene) -> None:
    scene.put(node(), pod("web-1"), pod("web-2"))
    scene.api.next("patch", status(403, "Forbidden"))
    scene.run()
    scene.clock.advance(1.0)
    scene.run()
    before = len(scene.patches())

    scene.clock.advance(1.0)
    scene.put(node(vote="false"))
    scene.run()

    assert scene.patches()[before:] == [f"{WEB_1}/status", "/namespaces/shop/pods/web-2/status"]


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
    assert len(scene.calls()) == max(0, min(4, requests - 1))


@pytest.mark.parametrize("requests", range(8))
def test_the_next_leader_ends_what_a_lost_lease_cut_short(api: FakeApi, client: RestClient, requests: int) -> None:
    former = Scene(api, client)
    former.put(node("edge-1", EVICTING), pod("web-1"), pod("web-2", ready="True"), pod("web-3"))
    former.lease.requests = requests
    former.run()

    Scene(api, client).run()

    assert former.node()["spec"]["taints"] == []
    assert set(former.ready().values()) == {"True"}
