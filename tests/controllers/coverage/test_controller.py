"""When owners come up, how their pods are counted, and that nothing happens without the lease."""

from __future__ import annotations

import pytest

from controllers.coverage.tally import OTHERS, SHOWN_NAMESPACES, describe
from tests.controllers.coverage.builders import Json, catalog, entry, namespace, pod, replica_set, web
from tests.controllers.coverage.scene import Scene

REPLICA_SET = "GET /apis/apps/v1/namespaces/shop/replicasets/web-5d7f"
EVENTS = "GET /apis/events.k8s.io/v1/namespaces/shop/events"

# -- leadership


def test_without_the_lease_nothing_is_asked_counted_or_told(scene: Scene) -> None:
    scene.put(namespace(), replica_set(), *web(3))
    scene.lease.requests = 0

    scene.run()

    assert (scene.calls(), scene.heard.said, scene.counted()) == ([], [], {})


@pytest.mark.parametrize("requests", [1, 2])
def test_a_lease_that_is_lost_in_a_pass_ends_it(scene: Scene, requests: int) -> None:
    scene.put(namespace(), replica_set(), *web(3))
    scene.lease.requests = requests

    scene.run()

    assert len(scene.calls()) == requests - 1
    assert scene.heard.said == []


# -- what makes an owner come up


def test_a_namespace_that_takes_part_later_makes_its_pods_bare(scene: Scene) -> None:
    scene.put(namespace(labels={}), namespace("other", labels={}), replica_set(), *web(2), pod("x", namespace="other"))
    scene.run()
    before = scene.counted()

    scene.put(namespace())

    assert scene.run() == 1
    assert (before, scene.counted()) == ({}, {"bare": 2})


def test_an_entry_that_appears_makes_pods_bare(scene: Scene) -> None:
    scene.entries.set(catalog())
    scene.put(namespace(), replica_set(), *web(2))
    scene.run()
    before = (scene.counted(), list(scene.heard.said))

    scene.entries.set(catalog(entry()))
    scene.run()

    assert before == ({"entry_missing": 2}, [])
    assert (scene.counted(), scene.heard.about()) == ({"bare": 2}, ["Deployment/web"])


def test_an_entry_that_is_edited_makes_pods_drift(scene: Scene) -> None:
    scene.put(namespace(), pod(injected={"envoy": "r1"}))
    scene.run()

    scene.entries.set(catalog(entry(revision="r2")))
    scene.run()

    assert (scene.counted(), scene.heard.said) == ({"drifted": 1}, [])


def test_a_tenants_entry_brings_up_its_own_namespace_only(scene: Scene) -> None:
    scene.put(namespace(), namespace("other"), replica_set(), *web(2), pod("x", namespace="other"))
    scene.run()

    scene.entries.set(catalog(entry(), entry("logs", namespace="other")))

    assert scene.run() == 1


def test_a_pod_that_changes_hands_is_counted_once(scene: Scene) -> None:
    scene.put(namespace(), pod(owner="", injected={"envoy": "r1"}))
    scene.run()

    scene.put(pod(injected={"envoy": "r1"}))

    assert scene.run() == 2
    assert scene.counted() == {"covered": 1}


def test_a_status_annotation_that_changes_is_seen(scene: Scene) -> None:
    scene.put(namespace(), pod(injected={"envoy": "r0"}))
    scene.run()

    scene.put(pod(injected={"envoy": "r1"}))
    scene.run()

    assert scene.counted() == {"covered": 1}


def test_a_pod_of_the_same_name_under_another_owner_is_counted_once(scene: Scene) -> None:
    scene.put(namespace(), pod(owner="StatefulSet/old", injected={"envoy": "r1"}), pod("b", owner="StatefulSet/old"))
    scene.run()

    scene.drop("web-1")
    scene.put(pod(owner="StatefulSet/new", injected={"envoy": "r1"}), pod("b", owner="StatefulSet/old", phase="Failed"))
    scene.run()

    assert scene.counted() == {"covered": 1}


def test_what_changes_while_another_leads_is_counted_afterwards(scene: Scene) -> None:
    scene.put(namespace(), pod(owner="StatefulSet/old", injected={"envoy": "r1"}), pod("b", owner="StatefulSet/old"))
    scene.run()

    scene.stand_by()
    scene.put(pod(owner="StatefulSet/new", injected={"envoy": "r1"}))
    scene.sync()
    scene.run()

    assert scene.counted() == {"covered": 1, "bare": 1}


# -- counts


def test_who_stands_by_shows_no_counts(scene: Scene) -> None:
    scene.put(namespace(), replica_set(), *web(3))
    scene.run()

    scene.stand_by()

    assert scene.series("gatehouse_coverage_pods") == {}
    assert scene.series("gatehouse_coverage_bare_pods") == {}
    assert scene.tally.status() == {"counting": False}


def test_the_status_page_names_owners_most_pods_first(scene: Scene) -> None:
    scene.put(namespace(), replica_set(), *web(2), pod("alone", owner=""), pod("old", owner="", injected={"envoy": "r0"}))

    scene.run()

    assert list(describe(scene.tally.status())) == [
        "sidecar coverage: 3 bare, 1 drifted",
        "  shop/ReplicaSet/web-5d7f: 2 bare (envoy), e.g. web-01",
        "  shop/Pod/alone: 1 bare (envoy), e.g. alone",
        "  shop/Pod/old: 1 drifted (envoy)",
    ]


@pytest.mark.parametrize(
    ("section", "line"),
    [
        ({"counting": False}, "sidecar coverage: counted by the leader"),
        ({"error": "KeyError"}, "sidecar coverage: unknown, KeyError"),
        ({"counting": True, "pods": {"bare": 0}}, "sidecar coverage: no pod asks for a sidecar"),
    ],
)
def test_a_status_page_without_counts_says_why(section: Json, line: str) -> None:
    assert list(describe(section)) == [line]


def test_namespaces_beyond_the_cap_are_counted_together(scene: Scene) -> None:
    names = [f"ns-{number:03}" for number in range(SHOWN_NAMESPACES + 5)]
    scene.put(*(one for name in names for one in (namespace(name), pod(namespace=name, owner="StatefulSet/db"))))
    scene.run()
    series = scene.series("gatehouse_coverage_bare_pods")

    for name in names[: SHOWN_NAMESPACES - 1]:
        scene.drop("web-1", name)
    scene.put(*(pod("web-2", namespace=name, owner="StatefulSet/db") for name in names[SHOWN_NAMESPACES:]))
    scene.run()

    assert (len(series), series[OTHERS]) == (SHOWN_NAMESPACES + 1, 5.0)
    assert sum(scene.series("gatehouse_coverage_bare_pods").values()) == 11.0
    assert OTHERS not in scene.series("gatehouse_coverage_bare_pods")
