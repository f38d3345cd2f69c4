"""Which bare pods go, and how; never without being asked to."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from controllers.coverage.evictions import (
    BACK_WITHIN_S,
    PAUSE_S,
    Evict,
    Evicted,
    InVain,
    Limits,
    Wait,
    choose,
    may_ever_go,
)
from controllers.coverage.evictor import BUDGET_RETRY_S, REFUSED_RETRY_S
from controllers.coverage.plan import TELL_AGAIN_AFTER_S, survey
from controllers.runtime.projection import pod_facts_from_object
from controllers.runtime.projection_cluster import namespace_facts_from_object
from controllers.runtime.rest import RestClient
from controllers.testing import FakeApi
from controllers.testing.answers import status
from tests.controllers.coverage.builders import POLICY, WALL_S, Json, at, catalog, entry, namespace, pod, replica_set
from tests.controllers.coverage.scene import Scene

COVERED = {"envoy": "r1"}


@pytest.fixture
def evicting(api: FakeApi, client: RestClient) -> Scene:
    scene = Scene(api, client, evictions=Limits())
    scene.put(namespace(), replica_set())
    return scene


# -- the choice


def chosen(*pods: Json, last: Evicted | None = None) -> str:
    """The choice as a word and a name, or a number of seconds."""
    facts = [pod_facts_from_object(one | {"metadata": one["metadata"] | {"uid": one["metadata"]["name"]}}) for one in pods]
    found = survey(facts, namespace_facts_from_object(namespace()), catalog(entry()), POLICY, WALL_S)
    match choose(facts, found, last, 1000.0):
        case Evict(one):
            return f"evict {one.name}"
        case InVain(one):
            return f"in vain {one.name}"
        case Wait(seconds):
            return "wait" if seconds is None else f"wait {seconds:g}"


def before(seconds: float, *uids: str, live: int = 2) -> Evicted:
    return Evicted(1000.0 - seconds, frozenset(uids), live, frozenset({("envoy", "r1")}))


GOING = at(WALL_S)


@pytest.mark.parametrize(
    ("pods", "last", "expected"),
    [
        ([pod("a"), pod("b")], None, "evict a"),
        ([pod("a"), pod("b", ready=False)], None, "evict b"),
        ([pod("a"), pod("b", injected=COVERED)], None, "evict a"),
        ([pod("a", injected=COVERED)], None, "wait"),
        ([pod("a"), pod("b", injected=COVERED, ready=False)], None, "wait"),
        ([pod("a", ready=False), pod("b", ready=False)], None, "wait"),
        ([pod("a"), pod("b", deletionTimestamp=GOING)], None, "wait"),
        ([pod("a"), pod("b", phase="Failed", ready=False)], None, "evict a"),
        ([pod("a", owner="Job/nightly")], None, "wait"),
        ([pod("a", owner="")], None, "wait"),
        ([pod("b"), pod("c", injected=COVERED)], before(PAUSE_S - 10, "a", "b"), "wait 10"),
        ([pod("b"), pod("c", injected=COVERED)], before(PAUSE_S, "a", "b"), "evict b"),
        ([pod("b")], before(PAUSE_S, "a", "b"), f"wait {BACK_WITHIN_S - PAUSE_S:g}"),
        ([pod("b")], before(BACK_WITHIN_S, "a", "b"), "evict b"),
        ([pod("b"), pod("c")], before(PAUSE_S, "a", "b"), "in vain c"),
        ([pod("b"), pod("c")], before(30 * 86400.0, "a", "b"), "in vain c"),
    ],
)
def test_one_pod_goes_when_all_others_are_well(pods: list[Json], last: Evicted | None, expected: str) -> None:
    assert chosen(*pods, last=last) == expected


@pytest.mark.parametrize(
    ("one", "may"),
    [
        (pod(), True),
        (pod(owner="StatefulSet/db"), True),
        (pod(owner="Job/nightly"), False),
        (pod(owner=""), False),
        (pod(namespace="kube-system"), False),
        (pod(namespace="kube-public"), False),
    ],
)
def test_only_pods_that_somebody_makes_again_may_ever_go(one: Json, may: bool) -> None:
    assert may_ever_go(pod_facts_from_object(one)) is may


# -- the doing


def test_nothing_is_ever_evicted_without_being_asked_to(scene: Scene) -> None:
    scene.put(namespace(), replica_set(), pod("a"), pod("b"))

    for _ in range(5):
        scene.later(TELL_AGAIN_AFTER_S)

    assert scene.evictions() == []
    assert scene.left() == ["a", "b"]


def test_an_eviction_goes_through_the_subresource_for_this_very_pod(evicting: Scene) -> None:
    evicting.put(pod("a"))
    uid = evicting.api.objects.all("Pod")["shop/a"]["metadata"]["uid"]

    evicting.run()

    (sent,) = evicting.api.asked("create")
    assert sent.path == "/api/v1/namespaces/shop/pods/a/eviction"
    assert json.loads(sent.body) == {
        "apiVersion": "policy/v1",
        "kind": "Eviction",
        "metadata": {"namespace": "shop", "name": "a"},
        "deleteOptions": {"preconditions": {"uid": uid}},
    }
    assert evicting.left() == []


def test_an_eviction_is_told_on_the_workload(evicting: Scene) -> None:
    evicting.put(pod("a"))

    evicting.run()

    assert evicting.heard.about("PodEvicted") == ["Deployment/web"]
    assert evicting.series("gatehouse_coverage_evictions_total") == {"evicted": 1.0}


def replace(scene: Scene, *, injected: bool) -> Callable[[str], None]:
    def make(name: str) -> None:
        age_s = WALL_S - scene.clock.wall_s()
        scene.put(pod(name, injected=COVERED if injected else None, age_s=age_s))

    return make


def test_an_owners_pods_go_one_after_the_other(evicting: Scene) -> None:
    make = replace(evicting, injected=True)
    evicting.put(pod("a"), pod("b"), pod("c"))
    evicting.run()
    at_once = evicting.evictions()

    make("d")
    evicting.later(PAUSE_S)
    make("e")
    evicting.later(PAUSE_S)
    make("f")
    evicting.later(PAUSE_S)

    assert at_once == ["a"]
    assert evicting.evictions() == ["a", "b", "c"]
    assert evicting.counted() == {"covered": 3}


def test_a_replacement_that_is_bare_again_ends_it(evicting: Scene) -> None:
    make = replace(evicting, injected=False)
    evicting.put(pod("a"), pod("b"))
    evicting.run()
    make("c")

    for _ in range(10):
        evicting.later(PAUSE_S)

    assert evicting.evictions() == ["a"]
    assert evicting.heard.about("EvictionInVain") == ["Deployment/web"]


@pytest.mark.parametrize("changed", [False, True])
def test_of_an_entry_that_never_comes_in_one_pod_is_evicted_until_the_entry_changes(evicting: Scene, changed: bool) -> None:
    make = replace(evicting, injected=False)
    evicting.put(pod("a"), pod("b"))
    evicting.run()

    made = 0
    for quarter in range(24 * 4):
        if changed and quarter == 50:
            evicting.entries.set(catalog(entry(revision="r2")))
            evicting.run()
        if (number := len(evicting.evictions())) > made:
            make(f"c-{number}")
            made = number
        evicting.later(900.0)

    assert len(evicting.evictions()) == (2 if changed else 1)
    assert evicting.heard.about("EvictionInVain") == ["Deployment/web"] * len(evicting.evictions())


def test_a_pod_whose_entry_was_left_out_on_purpose_stays(evicting: Scene) -> None:
    one = pod("a")
    record = {"entry": "envoy", "revision": "r1", "leftOut": "PlaceholderUnresolved"}
    one["metadata"]["annotations"]["gatehouse.dev/injected"] = json.dumps([record])
    evicting.put(one)

    evicting.run()
    counted = evicting.counted()
    evicting.entries.set(catalog(entry(revision="r2")))
    evicting.later(60.0)

    assert counted == {"left_out": 1}
    assert evicting.evictions() == ["a"]


def test_a_disruption_budget_that_says_no_is_asked_again(evicting: Scene) -> None:
    evicting.put(pod("a"))
    evicting.api.next("create", status(429, "TooManyRequests"))

    evicting.run()
    evicting.later(BUDGET_RETRY_S - 1.0)
    before_that = evicting.left()
    evicting.later(1.0)

    assert (before_that, evicting.left()) == (["a"], [])
    assert evicting.series("gatehouse_coverage_evictions_total") == {"held": 1.0, "evicted": 1.0}


def test_a_budget_is_asked_when_it_says(evicting: Scene) -> None:
    evicting.put(pod("a"))
    evicting.api.next("create", status(429, "TooManyRequests", retry_after_s=12))

    evicting.run()
    evicting.later(11.0)
    before_that = evicting.left()
    evicting.later(1.0)

    assert (before_that, evicting.left()) == (["a"], [])


def test_evictions_that_are_forbidden_are_tried_rarely_and_stop_no_report(evicting: Scene) -> None:
    evicting.put(pod("a"))
    evicting.api.always("create", status(403, "Forbidden"))

    evicting.run()
    evicting.later(60.0)
    soon = evicting.evictions()
    evicting.later(REFUSED_RETRY_S)

    assert (soon, evicting.evictions()) == (["a"], ["a", "a"])
    assert evicting.heard.about() == ["Deployment/web"]
    assert evicting.heard.about("PodEvicted") == []


@pytest.mark.parametrize("code", [404, 409])
def test_a_pod_that_is_gone_by_then_is_nobodys_fault(evicting: Scene, code: int) -> None:
    evicting.put(pod("a"))
    evicting.api.next("create", status(code, "Conflict" if code == 409 else "NotFound"))

    evicting.run()

    assert evicting.series("gatehouse_coverage_evictions_total") == {}
    assert evicting.heard.about("PodEvicted") == []


def test_a_server_that_fails_is_asked_again(evicting: Scene) -> None:
    evicting.put(pod("a"))
    evicting.api.next("create", status(500))

    evicting.run()
    evicting.later(60.0)

    assert evicting.left() == []


def test_evictions_of_many_owners_keep_to_a_rate(api: FakeApi, client: RestClient) -> None:
    scene = Scene(api, client, evictions=Limits(per_minute=10.0, at_once=100))
    scene.put(namespace(), *(pod(f"db-{number}", owner=f"StatefulSet/db-{number}") for number in range(20)))

    scene.run()
    at_once = len(scene.evictions())
    for _ in range(60):
        scene.later(1.0)

    assert at_once == 1
    assert 9 <= len(scene.evictions()) <= 11


def test_few_are_on_their_way_out_at_once(api: FakeApi, client: RestClient) -> None:
    scene = Scene(api, client, evictions=Limits(per_minute=6000.0, at_once=2))
    names = [f"db-{number}" for number in range(4)]
    scene.put(namespace(), *(pod(name, owner=f"StatefulSet/{name}", finalizers=["x/y"]) for name in names))

    for _ in range(30):
        scene.later(1.0)
    leaving = scene.evictions()
    scene.drop(leaving[0])
    for _ in range(30):
        scene.later(1.0)

    assert (len(leaving), len(scene.evictions())) == (2, 3)


def test_an_eviction_needs_the_lease(evicting: Scene) -> None:
    evicting.put(pod("a"))
    evicting.lease.requests = 3  # the pass, the owner, its Events

    evicting.run()

    assert evicting.evictions() == []
