"""A whole site wants something at once, and all share 50 requests a second: who comes first, and when."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import attrs
import pytest

from controllers.runtime.errors import Forbidden, error_from_answer
from controllers.runtime.rate import RateLimit
from controllers.runtime.rest import JSON_PATCH, STRATEGIC_PATCH, RestClient
from controllers.testing import FakeApi
from controllers.testing.objects import Objects, Refusal
from tests.controllers.edge_health.builders import EVICTING, Json, node, pod
from tests.controllers.edge_health.scene import Interposed, Scene

PER_SECOND = 50.0
SEEN_AFTER_S = 0.1  # a write, by the caches


@attrs.frozen
class Request:
    """What was asked, and when."""

    at_s: float
    verb: str
    path: str


class Direct:
    """A client without HTTP in between: a thousand requests in a second."""

    def __init__(self, objects: Objects) -> None:
        self._objects = objects

    def get(self, path: str, params: Any = None, *, timeout_s: float | None = None) -> Json:
        return self._do(lambda: self._objects.get(self._objects.target(path)))

    def patch_json(self, path: str, operations: list[Json], *, timeout_s: float | None = None) -> Json:
        return self._do(lambda: self._objects.patch(self._objects.target(path), JSON_PATCH, operations))

    def patch_strategic(self, path: str, patch: Json, *, timeout_s: float | None = None) -> Json:
        return self._do(lambda: self._objects.patch(self._objects.target(path), STRATEGIC_PATCH, patch))

    def _do(self, deed: Callable[[], Json]) -> Json:
        try:
            return deed()
        except Refusal as refusal:
            raise error_from_answer("direct", refusal.code, json.dumps(refusal.status()).encode(), None) from refusal


class Limited(Interposed):
    """A client whose rate limit moves the clock, and what happens to the cluster before each request."""

    def __init__(self, scene: Scene, burst: int) -> None:
        super().__init__(Direct(scene.api.objects))
        self._scene = scene
        self._began_s = scene.clock.monotonic_s()
        self._rate = RateLimit(PER_SECOND, burst, scene.clock)
        self.requests: list[Request] = []
        self._synced_s = 0.0
        self.refused = ""  # what a PATCH may not have in its path
        self.at: dict[float, Callable[[], object]] = {}

    def get(self, path: str, params: Any = None, *, timeout_s: float | None = None) -> Json:
        self._wait("GET", path)
        return super().get(path, params, timeout_s=timeout_s)

    def patch_json(self, path: str, operations: list[Json], *, timeout_s: float | None = None) -> Json:
        self._wait("PATCH", path)
        return super().patch_json(path, operations, timeout_s=timeout_s)

    def patch_strategic(self, path: str, patch: Json, *, timeout_s: float | None = None) -> Json:
        self._wait("PATCH", path)
        return super().patch_strategic(path, patch, timeout_s=timeout_s)

    def times(self, verb: str, part: str) -> list[float]:
        """When requests of *verb* to paths with *part* were sent, seconds from the beginning."""
        return [one.at_s for one in self.requests if one.verb == verb and part in one.path]

    def _wait(self, verb: str, path: str) -> None:
        self._scene.clock.advance(self._rate.reserve(1e9) or 0.0)
        now_s = round(self._scene.clock.monotonic_s() - self._began_s, 3)
        for due_s in [due_s for due_s in self.at if due_s <= now_s]:
            self.at.pop(due_s)()
        if now_s >= self._synced_s + SEEN_AFTER_S:
            self._synced_s = now_s
            self._scene.sync()
        self.requests.append(Request(now_s, verb, path))
        if verb == "PATCH" and self.refused and self.refused in path:
            raise Forbidden("no", status=403)


@pytest.fixture
def limited(api: FakeApi, client: RestClient) -> tuple[Scene, Limited]:
    scene = Scene(api, client)
    made = Limited(scene, burst=1)
    scene.client.forward_to(made)
    return scene, made


def settle(scene: Scene, within_s: float = 120.0) -> None:
    """Work until nothing is left to do for a while."""
    until_s = scene.clock.monotonic_s() + within_s
    idle_s = 0.0
    while scene.clock.monotonic_s() < until_s and idle_s < 2.0:
        version = scene.api.objects.version
        scene.run()
        scene.clock.advance(0.1)
        idle_s = 0.0 if scene.api.objects.version > version else idle_s + 0.1


def test_the_taints_of_a_site_of_50_nodes_are_off_within_two_seconds_and_before_any_pod_is_written(
    limited: tuple[Scene, Limited],
) -> None:
    scene, client = limited
    for number in range(50):
        scene.put(node(f"edge-{number}", EVICTING))
        scene.put(*(pod(f"web-{number}-{which}", on=f"edge-{number}") for which in range(20)))

    settle(scene)

    taints, pods = client.times("PATCH", "/nodes/"), client.times("PATCH", "/pods/")
    print(
        f"50 nodes x 20 pods at {PER_SECOND:.0f}/s, no burst: last taint off after {max(taints):.1f} s, "
        f"pods Ready from {min(pods):.1f} to {max(pods):.1f} s, {len(client.requests)} requests"
    )
    assert len(taints) == 50
    assert max(taints) <= 2.0
    assert min(pods) > max(taints)
    assert set(scene.ready().values()) == {"True"}
    assert len(client.requests) <= 50 + 1000 + 2 * 50
    assert max(pods) <= 30.0


def test_a_taint_that_comes_while_pods_are_restored_is_off_after_one_more_request(limited: tuple[Scene, Limited]) -> None:
    scene, client = limited
    scene.put(node("edge-1"), *(pod(f"web-{which}") for which in range(50)))
    scene.put(node("edge-2", ready="True"))
    client.at[0.5] = lambda: (scene.put(node("edge-2", EVICTING, ready_for_s=0.0)), scene.sync())

    settle(scene)

    (off_s,) = client.times("PATCH", "/nodes/edge-2")
    assert off_s <= 0.6
    assert set(scene.ready().values()) == {"True"}


def test_pods_of_a_node_whose_vote_turns_are_let_go_while_hundreds_of_others_wait_to_be_restored(
    limited: tuple[Scene, Limited],
) -> None:
    scene, client = limited
    for number in range(20):
        scene.put(node(f"edge-{number}"))
        scene.put(*(pod(f"web-{number}-{which}", on=f"edge-{number}") for which in range(30)))
    scene.put(node("turned"), *(pod(f"turned-{which}", on="turned", ready="True") for which in range(40)))
    client.at[1.0] = lambda: (scene.put(node("turned", vote="false")), scene.sync())

    settle(scene)

    let_go = client.times("PATCH", "/pods/turned-")
    print(f"600 pods to be restored, 40 to be let go from 1.0 s on: done at {max(let_go):.1f} s")
    assert len(let_go) == 40
    assert max(let_go) <= 3.0


def test_taints_that_nobody_may_remove_do_not_hold_back_the_pods_of_any_node(limited: tuple[Scene, Limited]) -> None:
    scene, client = limited
    for number in range(10):
        scene.put(node(f"edge-{number}", EVICTING), pod(f"web-{number}", on=f"edge-{number}"))
    client.refused = "/nodes/"

    settle(scene, within_s=10.0)

    assert set(scene.ready().values()) == {"True"}


def test_a_node_with_few_pods_does_not_wait_for_one_with_hundreds(limited: tuple[Scene, Limited]) -> None:
    scene, client = limited
    scene.put(node("big"), *(pod(f"big-{which:03}", on="big") for which in range(300)))
    scene.put(node("small"), pod("small-1", on="small"))

    settle(scene)

    assert max(client.times("PATCH", "/pods/small-")) <= 1.0
