"""The controller against a scripted API server: which calls it makes, and which it does not."""

from __future__ import annotations

import pytest

from controllers.edge_health.plan import KUBELET_SPEAKS_WITHIN_S, PEERS_SPEAK_WITHIN_S, Duties
from controllers.runtime.rest import RestClient
from controllers.testing import FakeApi
from tests.controllers.edge_health.builders import EVICTING, OTHER, TWIN, WALL_S, Json, at, condition, node, pod
from tests.controllers.edge_health.scene import Scene, sent
from webhook.objects.selectors import Selector
from webhook.objects.votes import VotePolicy

WEB_1 = "/namespaces/shop/pods/web-1"
WEB_2 = "/namespaces/shop/pods/web-2"

# -- exact calls


def test_a_missed_guard_is_mended_taint_first_with_one_request_for_each_write_and_one_read_of_the_node(scene: Scene) -> None:
    scene.put(node("edge-1", TWIN, EVICTING, OTHER), pod("web-1"), pod("web-2"))

    scene.run()

    assert scene.calls() == [
        "PATCH /nodes/edge-1",
        "GET /nodes/edge-1",
        f"PATCH {WEB_1}/status",
        f"PATCH {WEB_2}/status",
    ]
    assert scene.node()["spec"]["taints"] == [TWIN, OTHER]
    assert scene.ready() == {"web-1": "True", "web-2": "True"}


def test_a_taint_is_removed_under_the_version_that_the_cache_has(scene: Scene) -> None:
    scene.put(node("edge-1", EVICTING))
    seen = scene.node()["metadata"]

    scene.run()

    assert sent(scene.api) == [
        {"op": "test", "path": "/metadata/uid", "value": seen["uid"]},
        {"op": "test", "path": "/metadata/resourceVersion", "value": seen["resourceVersion"]},
        {"op": "remove", "path": "/spec/taints/0"},
    ]


def test_of_a_pod_one_condition_is_sent_under_the_version_that_the_cache_has(scene: Scene) -> None:
    scene.put(node(), pod())
    seen = scene.pod()

    scene.run()

    assert sent(scene.api) == {
        "metadata": {"uid": seen["metadata"]["uid"], "resourceVersion": seen["metadata"]["resourceVersion"]},
        "status": {"conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": at(WALL_S)}]},
    }
    assert condition(scene.pod()) == condition(seen) | {"status": "True", "lastTransitionTime": at(WALL_S)}


def test_nodes_that_need_nothing_cost_no_call(scene: Scene) -> None:
    scene.put(
        node("guarded"),
        node("well", ready="True"),
        node("unwell", EVICTING, ready="False"),
        pod("web-1", on="guarded", ready="True"),
        pod("web-2", on="well", ready="True"),
        pod("web-3", on="unwell"),
    )

    assert scene.run() == 3
    assert scene.calls() == []


def test_after_its_own_writes_nothing_is_left_to_do(scene: Scene) -> None:
    scene.put(node("edge-1", EVICTING), pod("web-1"), pod("web-2", ready="True"))
    scene.run()
    asked = len(scene.calls())

    scene.clock.advance(1.0)
    scene.run()

    assert len(scene.calls()) == asked


# -- the guard ends


def test_a_vote_that_turns_unhealthy_lets_pods_go_in_the_same_pass(scene: Scene) -> None:
    scene.put(node(), pod("web-1", ready="True"), pod("web-2", ready="True"))
    scene.run()

    scene.put(node(vote="false"))
    scene.run()

    assert scene.ready() == {"web-1": "False", "web-2": "False"}
    assert scene.patches() == [f"{WEB_1}/status", f"{WEB_2}/status"]


def test_a_vote_that_expires_is_noticed_without_any_event(api: FakeApi, client: RestClient) -> None:
    scene = Scene(api, client, VotePolicy(time_annotation="example.com/voted-at", max_age_s=60.0))
    scene.put(node(annotations={"example.com/voted-at": at(WALL_S - 20.0)}), pod(ready="True"))
    scene.run()

    scene.clock.advance(40.2)
    scene.run_blindly()
    before = scene.ready()
    scene.clock.advance(PEERS_SPEAK_WITHIN_S)
    scene.run_blindly()

    assert (before, scene.ready()) == ({"web-1": "True"}, {"web-1": "False"})


def test_votes_that_are_repeated_after_an_outage_let_nobody_go(api: FakeApi, client: RestClient) -> None:
    scene = Scene(api, client, VotePolicy(time_annotation="example.com/voted-at", max_age_s=60.0))
    scene.put(node(annotations={"example.com/voted-at": at(WALL_S - 600.0)}), pod(ready="True"))
    scene.run()

    scene.clock.advance(10.0)
    scene.put(node(annotations={"example.com/voted-at": at(WALL_S + 10.0)}))
    scene.run()
    scene.clock.advance(PEERS_SPEAK_WITHIN_S)
    scene.run()

    assert scene.ready() == {"web-1": "True"}
    assert scene.patches() == []


def test_a_vote_that_is_taken_back_lets_pods_go_once_its_peers_had_time(scene: Scene) -> None:
    scene.put(node(), pod(ready="True"))
    scene.run()

    scene.put(node(vote=None))
    scene.run()
    scene.clock.advance(PEERS_SPEAK_WITHIN_S)
    scene.run_blindly()

    assert scene.ready() == {"web-1": "False"}


def test_outside_the_selector_nothing_is_written(api: FakeApi, client: RestClient) -> None:
    scene = Scene(api, client, VotePolicy(node_selector=Selector.parse("edge")))
    scene.put(node("cloud-1", EVICTING, vote="false"), pod(on="cloud-1", ready="True"), pod("web-2", on="cloud-1"))

    scene.run()

    assert scene.calls() == []


def test_duties_that_are_off_are_not_done(api: FakeApi, client: RestClient) -> None:
    scene = Scene(api, client, duties=Duties(taints=False, pods=False))
    scene.put(node("edge-1", EVICTING), pod())

    scene.run()

    assert scene.calls() == []


# -- the node returns


def test_pods_that_their_kubelet_forgot_become_ready_a_minute_after_the_node(scene: Scene) -> None:
    scene.put(node(ready="True", ready_for_s=5.0), pod("web-1"), pod("web-2", gate="True", reason="ReadinessGatesNotReady"))
    scene.run()
    early = scene.calls()

    scene.clock.advance(KUBELET_SPEAKS_WITHIN_S)
    scene.run_blindly()

    assert early == []
    assert scene.ready() == {"web-1": "True", "web-2": "False"}
    assert scene.metrics()['gatehouse_edge_pods_restored_total{cause="forgotten"}'] == 1


# -- caches that are behind


def test_a_vote_that_the_cache_has_not_seen_counts(scene: Scene) -> None:
    scene.put(node(), pod("web-1"), pod("web-2", ready="True"))
    scene.sync()
    scene.put(node(vote="false"))

    scene.run_blindly()

    assert scene.ready() == {"web-1": "False", "web-2": "False"}
    assert scene.patches() == [f"{WEB_2}/status"]


def test_a_node_that_came_back_a_moment_ago_keeps_its_pods_as_they_are(scene: Scene) -> None:
    scene.put(node(vote="false"), pod(ready="True"))
    scene.sync()
    scene.put(node(ready="True", vote="false", ready_for_s=0.0))

    scene.run_blindly()

    assert scene.calls() == ["GET /nodes/edge-1"]


def test_a_node_that_is_gone_is_no_failure(scene: Scene) -> None:
    scene.put(node("edge-1", EVICTING))
    scene.sync()
    scene.api.objects.drop("Node", "edge-1")

    scene.run_blindly()

    assert scene.calls() == ["PATCH /nodes/edge-1"]
    scene.run()
    assert scene.metrics().get('gatehouse_edge_guard_age_seconds{node="edge-1"}') is None


def test_a_node_that_goes_during_the_write_is_no_failure(scene: Scene) -> None:
    scene.put(node("edge-1", EVICTING), pod())
    scene.client.before_patches = [lambda: scene.api.objects.drop("Node", "edge-1")]

    scene.run()

    assert scene.calls() == ["PATCH /nodes/edge-1", "GET /nodes/edge-1"]


def test_a_pod_that_is_gone_is_no_failure_and_the_next_one_is_mended(scene: Scene) -> None:
    scene.put(node(), pod("web-1"), pod("web-2"))
    scene.sync()
    scene.api.objects.drop("Pod", "shop/web-1")

    scene.run_blindly()

    assert scene.ready() == {"web-2": "True"}


def test_another_pod_of_the_same_name_is_not_touched(scene: Scene) -> None:
    scene.put(node(vote="false"), pod(ready="True"))
    scene.sync()
    scene.api.objects.drop("Pod", "shop/web-1")
    scene.put(pod(ready="True"))

    scene.run_blindly()

    assert scene.ready() == {"web-1": "True"}


def test_a_pod_that_the_cache_has_in_an_older_version_is_read_and_decided_again(scene: Scene) -> None:
    scene.put(node(), pod())
    scene.sync()
    scene.put(pod(labels={"version": "2"}))

    scene.run_blindly()

    assert scene.calls()[1:] == [f"PATCH {WEB_1}/status", f"GET {WEB_1}", f"PATCH {WEB_1}/status"]
    assert scene.ready() == {"web-1": "True"}


def test_a_node_that_comes_back_during_a_long_pass_keeps_the_rest_of_its_pods(scene: Scene) -> None:
    scene.put(node(vote="false"), pod("web-1", ready="True"), pod("web-2", ready="True"))
    scene.client.before_patches = [lambda: (scene.put(node(ready="True", vote="false", ready_for_s=0.0)), scene.sync())]

    scene.run()

    assert scene.ready() == {"web-1": "False", "web-2": "True"}


VOTED_AT = "example.com/voted-at"


def test_a_vote_that_is_renewed_during_a_pass_keeps_the_rest_of_the_pods(api: FakeApi, client: RestClient) -> None:
    scene = Scene(api, client, VotePolicy(time_annotation=VOTED_AT, max_age_s=60.0))
    scene.put(node(annotations={VOTED_AT: at(WALL_S - 600.0)}), pod("web-1", ready="True"), pod("web-2", ready="True"))
    scene.run()
    renewed = node(annotations={VOTED_AT: at(WALL_S + PEERS_SPEAK_WITHIN_S)})
    scene.client.before_patches = [lambda: (scene.put(renewed), scene.sync())]

    scene.clock.advance(PEERS_SPEAK_WITHIN_S)
    scene.run_blindly()

    assert scene.patches()[0] == f"{WEB_1}/status"
    assert scene.ready()["web-2"] == "True"


def test_a_vote_that_expires_during_a_pass_leaves_the_rest_of_the_pods(api: FakeApi, client: RestClient) -> None:
    scene = Scene(api, client, VotePolicy(time_annotation=VOTED_AT, max_age_s=60.0))
    scene.put(node(annotations={VOTED_AT: at(WALL_S - 59.0)}), pod("web-1"), pod("web-2"))
    scene.client.before_patches = [lambda: scene.clock.advance(2.0)]

    scene.run()

    assert scene.ready() == {"web-1": "True", "web-2": "False"}


# -- keys


@pytest.mark.parametrize(
    ("on", "changed", "passes"),
    [
        (node(ready="True"), pod(ready="True"), 0),  # a rollout on a healthy node
        (node(ready="True"), pod(), 1),
        (node(ready="True"), pod(containers_ready="False"), 0),
        (node(ready="False"), pod(), 0),
        (node(), pod(), 1),
        (node(), pod(ready="True"), 1),
        (node(), pod(containers_ready="False"), 0),
        (node(), pod(phase="Succeeded"), 0),
        (node("edge-2"), pod(), 0),
    ],
    ids=range(9),
)
def test_only_pods_that_a_plan_could_mind_make_a_key(scene: Scene, on: Json, changed: Json, passes: int) -> None:
    scene.put(on)
    scene.run()

    scene.put(changed)

    assert scene.run() == passes


def test_a_heartbeat_makes_no_key(scene: Scene) -> None:
    scene.put(node(ready="True"))
    scene.run()

    scene.put(node(ready="True") | {"status": node(ready="True")["status"] | {"images": []}})

    assert scene.run() == 0
