"""What owners are told, once, and what that costs the API server."""

from __future__ import annotations

import pytest

from controllers.coverage.plan import GRACE_S, TELL_AGAIN_AFTER_S, TELL_MORE_AFTER_S
from controllers.runtime.rest import RestClient
from controllers.testing import FakeApi
from controllers.testing.answers import status
from tests.controllers.coverage.builders import WALL_S, Json, at, namespace, pod, replica_set, web
from tests.controllers.coverage.scene import Scene

REPLICA_SET = "GET /apis/apps/v1/namespaces/shop/replicasets/web-5d7f"
EVENTS = "GET /apis/events.k8s.io/v1/namespaces/shop/events"


def test_twenty_bare_pods_of_a_deployment_are_one_report(scene: Scene) -> None:
    scene.put(namespace(), replica_set(), *web(20))

    assert scene.run() == 1
    (said,) = scene.heard.said
    assert (said.about, said.uid, said.api_version) == ("Deployment/web", "uid-web", "apps/v1")
    assert said.note == (
        '20 pods run without sidecar "envoy", for example web-01: created while no webhook answered, before it was asked for,'
        " or it does not fit (gatehouse explain pod tells); kubectl rollout restart deployment/web replaces them"
    )
    assert scene.series("gatehouse_coverage_reports_total") == {"": 1.0}


def test_a_report_costs_one_read_of_the_owner_and_one_of_its_events(scene: Scene) -> None:
    scene.put(namespace(), replica_set(), *web(3))

    scene.run()

    assert scene.calls() == [REPLICA_SET, EVENTS]
    assert scene.api.asked("list")[0].params["fieldSelector"] == "regarding.uid=uid-web,reason=SidecarMissing"


def test_a_pod_that_nobody_controls_is_told_of_itself(scene: Scene) -> None:
    scene.put(namespace(), pod("alone", owner=""))

    scene.run()

    (said,) = scene.heard.said
    assert (said.about, said.api_version) == ("Pod/alone", "v1")
    assert said.note.endswith("replace it")


def test_an_owner_that_nobody_makes_is_told_itself(scene: Scene) -> None:
    scene.put(namespace(), pod(owner="StatefulSet/db"))

    scene.run()

    assert scene.heard.about() == ["StatefulSet/db"]
    assert scene.calls() == [EVENTS]


def test_a_job_that_a_cron_job_made_is_told_on_the_cron_job(scene: Scene) -> None:
    job = replica_set("nightly-1", of="CronJob/nightly") | {"apiVersion": "batch/v1", "kind": "Job"}
    scene.put(namespace(), job, pod(owner="Job/nightly-1"))

    scene.run()

    assert scene.heard.about() == ["CronJob/nightly"]


@pytest.mark.parametrize(
    "above",
    [
        replica_set(of=""),
        replica_set(uid="uid-of-another-of-that-name"),
        None,
    ],
)
def test_a_replica_set_without_a_known_workload_is_told_itself(scene: Scene, above: Json | None) -> None:
    scene.put(namespace(), *web(1), *([] if above is None else [above]))

    scene.run()

    (said,) = scene.heard.said
    assert (said.about, said.uid, said.api_version) == ("ReplicaSet/web-5d7f", "uid-web-5d7f", "apps/v1")


def test_an_owner_that_does_not_control_is_not_told(scene: Scene) -> None:
    above = replica_set()
    other = {"apiVersion": "example.com/v1", "kind": "Plan", "name": "b", "uid": "uid-b", "controller": False}
    above["metadata"]["ownerReferences"].insert(0, other)
    scene.put(namespace(), above, *web(1))

    scene.run()

    assert scene.heard.about() == ["Deployment/web"]


def test_of_an_owner_without_a_uid_no_events_are_read(scene: Scene) -> None:
    found = pod(owner="StatefulSet/db")
    del found["metadata"]["ownerReferences"][0]["uid"]
    scene.put(namespace(), found)

    scene.run()

    assert (scene.calls(), scene.heard.about()) == ([], ["StatefulSet/db"])


def test_a_server_that_is_busy_is_asked_again(scene: Scene) -> None:
    scene.put(namespace(), replica_set(), *web(1))
    scene.api.next("get", status(503))

    scene.run()
    before = scene.heard.about()
    scene.later(1.0)

    assert (before, scene.heard.about()) == ([], ["Deployment/web"])


def test_a_server_that_stays_busy_does_not_keep_the_report(scene: Scene) -> None:
    scene.put(namespace(), replica_set(), *web(1))
    scene.api.always("any", status(503))

    for _ in range(5):
        scene.later(1.0)

    assert scene.heard.about() == ["ReplicaSet/web-5d7f"]


def test_a_report_needs_no_right_to_read(scene: Scene) -> None:
    scene.put(namespace(), replica_set(), *web(1))
    scene.api.always("any", status(403, "Forbidden"))

    scene.run()

    assert scene.heard.about() == ["ReplicaSet/web-5d7f"]


def test_nothing_new_costs_no_call_and_no_report(scene: Scene) -> None:
    scene.put(namespace(), replica_set(), *web(3))
    scene.run()
    asked = len(scene.calls())

    scene.put(pod("web-01", labels={"touched": "yes"}), namespace(annotations={"example.com/note": "x"}))
    scene.later(60.0)

    assert len(scene.calls()) == asked
    assert len(scene.heard.said) == 1


def test_pods_that_lack_nothing_cost_no_call(scene: Scene) -> None:
    scene.put(namespace(), pod("a", injected={"envoy": "r1"}), pod("b", inject=None), pod("c", injected={"envoy": "r0"}))

    scene.run()

    assert (scene.calls(), scene.heard.said) == ([], [])


def test_more_bare_pods_are_told_after_a_series(scene: Scene) -> None:
    scene.put(namespace(), replica_set(), *web(3))
    scene.run()

    scene.put(*web(2, first=4))
    scene.later(GRACE_S)
    soon = len(scene.heard.said)
    scene.later(TELL_MORE_AFTER_S)

    assert soon == 1
    assert [said.note[:6] for said in scene.heard.said] == ["3 pods", "5 pods"]


def test_fewer_bare_pods_are_no_news(scene: Scene) -> None:
    scene.put(namespace(), replica_set(), *web(3))
    scene.run()

    scene.drop("web-01")
    scene.later(TELL_MORE_AFTER_S)

    assert len(scene.heard.said) == 1
    assert scene.counted() == {"bare": 2}


def test_what_lasts_is_told_hourly(scene: Scene) -> None:
    scene.put(namespace(), replica_set(), *web(3))
    scene.run()

    asked = len(scene.calls())

    scene.later(TELL_AGAIN_AFTER_S - 1.0)
    before = len(scene.heard.said)
    scene.later(1.0)

    assert (before, len(scene.heard.said)) == (1, 2)
    assert len(scene.calls()) == asked


def test_a_young_pod_is_told_when_its_grace_is_over_without_any_event(scene: Scene) -> None:
    scene.put(namespace(), replica_set(), *web(1, age_s=0.0))
    scene.run()
    before = list(scene.heard.said)

    scene.clock.advance(GRACE_S)
    scene.controller.run_ready()

    assert before == []
    assert scene.heard.about() == ["Deployment/web"]


def test_who_leads_again_does_not_repeat_itself(scene: Scene) -> None:
    scene.put(namespace(), replica_set(), *web(3))
    scene.run()

    scene.lead_again()
    scene.clock.advance(60.0)
    scene.lead_again()

    assert len(scene.heard.said) == 1
    assert scene.counted() == {"bare": 3}


def event(age_s: float, **fields: object) -> Json:
    return {
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": {"namespace": "shop", "name": f"web.{age_s}"},
        "eventTime": at(WALL_S - age_s),
        "reason": "SidecarMissing",
        "note": '3 pods run without sidecar "envoy"',
        "regarding": {"kind": "Deployment", "name": "web", "uid": "uid-web"},
    } | fields


def test_a_new_leader_does_not_repeat_what_the_last_one_told(scene: Scene) -> None:
    scene.put(namespace(), replica_set(), *web(3), event(30.0))

    scene.run()
    scene.later(TELL_MORE_AFTER_S)

    assert scene.heard.said == []


def test_a_new_leader_tells_of_pods_that_the_last_one_did_not_see(scene: Scene) -> None:
    scene.put(namespace(), replica_set(), *web(3), *web(1, first=4, age_s=20.0), event(30.0))

    scene.run()
    scene.later(TELL_MORE_AFTER_S)

    assert [said.note[:6] for said in scene.heard.said] == ["4 pods"]


@pytest.mark.parametrize("other", [event(30.0, regarding={"uid": "uid-other"}), event(30.0, reason="Killing"), event(4000.0)])
def test_other_and_old_events_keep_nobody_from_telling(scene: Scene, other: Json) -> None:
    scene.put(namespace(), replica_set(), *web(3), other)

    scene.run()

    assert scene.heard.about() == ["Deployment/web"]


def test_the_report_is_an_event_on_the_owner(api: FakeApi, client: RestClient) -> None:
    scene = Scene(api, client, writes_events=True)
    scene.put(namespace(), replica_set(), *web(20))

    scene.run()
    scene.recorder.work()

    (written,) = api.objects.all("Event").values()
    assert written["regarding"] == {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "name": "web",
        "namespace": "shop",
        "uid": "uid-web",
    }
    assert (written["type"], written["reason"], written["note"][:7]) == ("Warning", "SidecarMissing", "20 pods")


def test_an_event_that_is_refused_stops_nothing(api: FakeApi, client: RestClient) -> None:
    scene = Scene(api, client, writes_events=True)
    scene.put(namespace(), replica_set(), *web(3))
    api.always("create", status(403, "Forbidden"))

    scene.run()
    scene.recorder.work()

    assert scene.counted() == {"bare": 3}
    assert scene.series("gatehouse_events_total") == {"refused": 1.0}
