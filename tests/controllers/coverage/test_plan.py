"""What a pod lacks, and when its owner has to hear of it."""

from __future__ import annotations

from typing import Any

import pytest

from controllers.coverage.plan import (
    GRACE_S,
    SETTLE_S,
    TELL_AGAIN_AFTER_S,
    TELL_MORE_AFTER_S,
    Judged,
    NotAsked,
    State,
    Told,
    TooYoung,
    Verdict,
    judge,
    survey,
    tell_in_s,
    told_by,
)
from controllers.runtime.projection import pod_facts_from_object
from controllers.runtime.projection_cluster import namespace_facts_from_object
from tests.controllers.coverage.builders import POLICY, WALL_S, Json, at, catalog, entry, namespace, pod, skippable
from webhook.cluster import PodFacts
from webhook.names import Reason
from webhook.sidecars.entries.catalog import Catalog

ENVOY = catalog(entry())
BOTH = catalog(entry(), entry("logs"))


def judged(one: Json, entries: Catalog = ENVOY, place: Json | None = None) -> Verdict:
    facts = namespace_facts_from_object(place or namespace())
    return judge(pod_facts_from_object(one), facts, entries, POLICY, WALL_S)


@pytest.mark.parametrize(
    ("one", "entries", "state", "names"),
    [
        (pod(), ENVOY, State.BARE, ("envoy",)),
        (pod(injected={}), ENVOY, State.BARE, ("envoy",)),
        (pod(injected={"envoy": "r1"}), ENVOY, State.COVERED, ("envoy",)),
        (pod(injected={"envoy": ""}), ENVOY, State.COVERED, ("envoy",)),
        (pod(injected={"envoy": "r0"}), ENVOY, State.DRIFTED, ("envoy",)),
        (pod(injected={"envoy": "r0"}), catalog(), State.COVERED, ("envoy",)),
        (pod(), catalog(), State.ENTRY_MISSING, ("envoy",)),
        (pod(), catalog(broken=["envoy"]), State.ENTRY_BROKEN, ("envoy",)),
        (pod(), catalog(skippable()), State.LEFT_OUT, ("envoy",)),
        (pod(inject="envoy,logs", injected={"envoy": "r1"}), BOTH, State.BARE, ("logs",)),
        (pod(inject="envoy,logs", injected={"envoy": "r0"}), BOTH, State.BARE, ("logs",)),
        (pod(inject="envoy,logs", injected={"envoy": "r0"}), ENVOY, State.ENTRY_MISSING, ("logs",)),
        (pod(inject="envoy,logs", injected={"envoy": "r0", "logs": "r1"}), BOTH, State.DRIFTED, ("envoy",)),
        (pod(inject="envoy,gone"), ENVOY, State.BARE, ("envoy",)),
        (pod(), catalog(entry(namespace="shop")), State.BARE, ("envoy",)),
        (pod(), catalog(entry(namespace="elsewhere")), State.ENTRY_MISSING, ("envoy",)),
        (pod(phase="Pending", ready=False), ENVOY, State.BARE, ("envoy",)),
    ],
)
def test_a_pod_counts_as_its_gravest_entry(one: Json, entries: Catalog, state: State, names: tuple[str, ...]) -> None:
    assert judged(one, entries) == Judged(state, names)


def on_host(one: Json) -> Json:
    return one | {"spec": one["spec"] | {"hostNetwork": True}}


@pytest.mark.parametrize(
    ("one", "place", "reason"),
    [
        (pod(inject=None), namespace(), Reason.NOT_ASKED),
        (pod(inject="false"), namespace(), Reason.OPTED_OUT),
        (pod(phase="Succeeded"), namespace(), Reason.POD_FINISHED),
        (pod(phase="Failed"), namespace(), Reason.POD_FINISHED),
        (pod(deletionTimestamp=at(WALL_S)), namespace(), Reason.POD_TERMINATING),
        (pod(namespace="kube-system"), namespace("kube-system"), Reason.SYSTEM_NAMESPACE),
        (pod(annotations={"kubernetes.io/config.mirror": "x"}), namespace(), Reason.MIRROR_POD),
        (pod(labels={"app.kubernetes.io/name": "gatehouse"}), namespace(), Reason.OWN_OBJECT),
        (on_host(pod()), namespace(), Reason.HOST_NETWORK),
        (pod(), namespace(labels={}), Reason.NAMESPACE_NOT_ENABLED),
        (
            pod(),
            namespace(labels={"sidecar-injector": "enabled", "gatehouse.dev/mutate": "disabled"}),
            Reason.MUTATE_DISABLED,
        ),
    ],
)
def test_a_pod_that_need_not_carry_anything_is_not_bare(one: Json, place: Json, reason: Reason) -> None:
    assert judged(one, ENVOY, place) == NotAsked(reason)


def test_a_pod_of_a_namespace_that_is_being_deleted_is_not_bare() -> None:
    place = namespace()
    place["metadata"]["deletionTimestamp"] = at(WALL_S)

    assert judged(pod(), ENVOY, place) == NotAsked(Reason.POD_TERMINATING)


def test_a_pod_of_a_namespace_that_nobody_knows_is_not_bare() -> None:
    assert judge(pod_facts_from_object(pod()), None, ENVOY, POLICY, WALL_S) == NotAsked(Reason.NAMESPACE_UNKNOWN)


def test_an_entry_that_allows_the_nodes_network_is_missed_there() -> None:
    assert judged(on_host(pod()), catalog(entry(allow_host_network=True))) == Judged(State.BARE, ("envoy",))


@pytest.mark.parametrize("age_s", [0.0, 2.0, -3600.0])
def test_a_pod_that_has_just_been_created_is_looked_at_later(age_s: float) -> None:
    assert judged(pod(age_s=age_s)) == TooYoung(min(GRACE_S, GRACE_S - age_s))


def test_a_young_pod_that_lacks_nothing_counts_at_once() -> None:
    assert judged(pod(age_s=0.0, injected={"envoy": "r1"})) == Judged(State.COVERED, ("envoy",))


def test_pods_of_one_owner_that_differ_count_each_for_itself() -> None:
    mixed = facts(
        pod("a"),
        pod("b", inject=None),
        pod("c", injected={"envoy": "r1"}),
        pod("d", injected={"envoy": "r0"}),
        on_host(pod("e")),
        pod("f", inject="logs"),
        pod("g", labels={"app.kubernetes.io/name": "gatehouse"}),
        pod("h", age_s=0.0),
        pod("i", phase="Failed"),
        pod("j"),
    )

    found = survey(mixed, namespace_facts_from_object(namespace()), ENVOY, POLICY, WALL_S)

    assert found.counts == {State.BARE: 2, State.COVERED: 1, State.DRIFTED: 1, State.ENTRY_MISSING: 1}
    assert ([one.name for one in found.bare], found.missing, found.young_s) == (["a", "j"], ("envoy",), GRACE_S)
    assert found.names[State.ENTRY_MISSING] == ("logs",)


# -- reports


def facts(*pods: Json) -> list[PodFacts]:
    return [pod_facts_from_object(one | {"metadata": one["metadata"] | {"uid": one["metadata"]["name"]}}) for one in pods]


def in_s(*pods: Json, told: Told | None = None, later_s: float = 0.0, grace_s: float = GRACE_S) -> float | None:
    found = survey(facts(*pods), namespace_facts_from_object(namespace()), ENVOY, POLICY, WALL_S, grace_s)
    return tell_in_s(found, told, WALL_S, 1000.0 + later_s)


def told(*uids: str, names: tuple[str, ...] = ("envoy",)) -> Told:
    return Told(frozenset(uids), frozenset(names), 1000.0)


def test_an_owner_hears_at_once() -> None:
    assert in_s(pod("a"), pod("b")) == 0.0


def test_an_owner_without_bare_pods_hears_nothing() -> None:
    assert in_s(pod("a", injected={"envoy": "r0"}), pod("b", age_s=0.0)) is None


def test_the_pods_of_one_rollout_are_told_together() -> None:
    assert in_s(pod("a", age_s=6.0), pod("b", age_s=1.0)) == GRACE_S - 1.0


def test_a_rollout_without_an_end_does_not_put_the_report_off() -> None:
    assert in_s(pod("a", age_s=GRACE_S + SETTLE_S), pod("b", age_s=1.0)) == 0.0


def test_a_long_grace_lets_a_rollout_come_together_too() -> None:
    assert in_s(pod("a", age_s=60.0), pod("b", age_s=55.0), grace_s=60.0) == 5.0


@pytest.mark.parametrize(
    ("before", "later_s", "expected"),
    [
        (told("a", "b"), 0.0, TELL_AGAIN_AFTER_S),
        (told("a", "b", "c"), 0.0, TELL_AGAIN_AFTER_S),
        (told("a", "b"), TELL_AGAIN_AFTER_S - 10.0, 10.0),
        (told("a", "b"), TELL_AGAIN_AFTER_S, 0.0),
        (told("a"), 0.0, TELL_MORE_AFTER_S),
        (told("a"), TELL_MORE_AFTER_S, 0.0),
        (told("a", "b", names=()), TELL_MORE_AFTER_S, 0.0),
    ],
)
def test_what_is_known_is_told_again_hourly_and_more_after_a_series(before: Told, later_s: float, expected: float) -> None:
    assert in_s(pod("a"), pod("b"), told=before, later_s=later_s) == expected


def event(at_s: float, note: str = '1 pod runs without sidecar "envoy"', **fields: Any) -> Json:
    return {"eventTime": at(WALL_S + at_s), "note": note, **fields}


@pytest.mark.parametrize(
    ("events", "known", "age_s"),
    [
        ([event(-30.0)], {"old"}, 30.0),
        ([event(-30.0), event(-600.0, note="")], {"old"}, 30.0),
        ([event(-600.0, series={"count": 2, "lastObservedTime": at(WALL_S - 30.0)})], {"old"}, 30.0),
        ([event(-1.0)], {"old", "new"}, 1.0),
        ([event(+20.0)], {"old", "new"}, 0.0),
    ],
)
def test_what_another_leader_told_is_known(events: list[Json], known: set[str], age_s: float) -> None:
    found = survey(
        facts(pod("old", age_s=900.0), pod("new", age_s=20.0)), namespace_facts_from_object(namespace()), ENVOY, POLICY, WALL_S
    )

    assert told_by(events, found, WALL_S, 1000.0) == Told(frozenset(known), frozenset({"envoy"}), 1000.0 - age_s)


def test_another_entry_than_the_one_that_was_told_is_news() -> None:
    found = survey(facts(pod()), namespace_facts_from_object(namespace()), ENVOY, POLICY, WALL_S)

    known = told_by([event(-1.0, note='1 pod runs without sidecar "logs"')], found, WALL_S, 1000.0)

    assert known is not None
    assert known.names == frozenset()


def test_events_without_a_time_tell_nothing() -> None:
    found = survey(facts(pod()), namespace_facts_from_object(namespace()), ENVOY, POLICY, WALL_S)

    assert told_by([{"note": "x", "eventTime": None}], found, WALL_S, 1000.0) is None
