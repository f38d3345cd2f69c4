from __future__ import annotations

from typing import Any

import pytest

from webhook.errors import MalformedObject
from webhook.objects import limit_ranges
from webhook.objects.meta import Json
from webhook.objects.quantity import parse
from webhook.objects.resource_quotas import ResourceQuota, ScopeRequirement, from_object, matches, missing, shortages, usage


def container(requests: Json | None = None, limits: Json | None = None, name: str = "app", **more: Any) -> Json:
    return {"name": name, "resources": {"requests": requests, "limits": limits}, **more}


def pod(*apps: Json, **spec: Any) -> Json:
    return {"spec": {"containers": list(apps), **spec}}


def quota(hard: Json, used: Json | None = None, name: str = "team", **spec: Any) -> ResourceQuota:
    return from_object(
        {
            "metadata": {"name": name, "namespace": "shop"},
            "spec": {"hard": hard, **spec},
            "status": {"hard": hard, "used": used},
        }
    )


# -- reading -------------------------------------------------------------------------------------------------------


def test_what_counts_is_the_status() -> None:
    one = from_object(
        {
            "metadata": {"name": "team", "namespace": "shop"},
            "spec": {"hard": {"pods": 9}, "scopes": ["NotTerminating"]},
            "status": {"hard": {"pods": 5}, "used": {"pods": "4"}},
        }
    )

    assert one == ResourceQuota(
        "shop", "team", {"pods": parse("5")}, {"pods": parse("4")}, (ScopeRequirement("NotTerminating", "Exists"),)
    )


def test_without_a_status_the_spec_counts() -> None:
    assert from_object({"spec": {"hard": {"pods": "9"}}, "status": {}}) == ResourceQuota("", "", {"pods": parse("9")}, {})


def test_scope_selectors_are_read() -> None:
    expressions = [
        {"scopeName": "PriorityClass", "operator": "In", "values": ["high"]},
        {"scopeName": "Terminating", "operator": "Exists"},
    ]

    assert quota({}, scopeSelector={"matchExpressions": expressions}).scopes == (
        ScopeRequirement("PriorityClass", "In", ("high",)),
        ScopeRequirement("Terminating", "Exists"),
    )


@pytest.mark.parametrize(
    "obj",
    [{}, {"metadata": None, "spec": None, "status": None}, {"spec": {"hard": None, "scopes": None, "scopeSelector": None}}],
)
def test_absent_and_null_are_an_empty_quota(obj: Json) -> None:
    assert from_object(obj) == ResourceQuota("", "", {}, {})


@pytest.mark.parametrize(
    ("obj", "field"),
    [
        ({"spec": {"hard": {"cpu": "1K"}}}, r"spec\.hard\.cpu: "),
        ({"status": {"used": {"requests.nvidia.com/gpu": []}}}, r"status\.used\[requests\.nvidia\.com/gpu\]: "),
        ({"spec": {"scopes": [1]}}, r"spec\.scopes: expected a list of strings"),
        ({"spec": {"scopeSelector": []}}, r"spec\.scopeSelector: expected an object"),
        (
            {"spec": {"scopeSelector": {"matchExpressions": [{"values": "a"}]}}},
            r"spec\.scopeSelector\.matchExpressions\[0\]\.values",
        ),
    ],
)
def test_a_wrong_field_is_named(obj: Json, field: str) -> None:
    with pytest.raises(ValueError, match=field):
        from_object(obj)


# -- usage ---------------------------------------------------------------------------------------------------------


def used(one: Json) -> dict[str, str]:
    return {resource: str(amount) for resource, amount in usage(one).items()}


def test_a_pod_uses_itself_and_what_it_asks_for() -> None:
    amounts = {"cpu": "1", "memory": "1Gi", "ephemeral-storage": "2Gi"}

    assert used(pod(container(amounts, {"cpu": "2", "memory": "1Gi", "ephemeral-storage": "3Gi"}))) == {
        "pods": "1",
        "count/pods": "1",
        "cpu": "1",
        "requests.cpu": "1",
        "limits.cpu": "2",
        "memory": "1Gi",
        "requests.memory": "1Gi",
        "limits.memory": "1Gi",
        "ephemeral-storage": "2Gi",
        "requests.ephemeral-storage": "2Gi",
        "limits.ephemeral-storage": "3Gi",
    }


def test_huge_pages_and_extended_resources_count_by_their_requests() -> None:
    amounts = {
        "hugepages-2Mi": "4Mi",
        "nvidia.com/gpu": "2",
        "deviceclass.resource.kubernetes.io/x": "1",
        "kubernetes.io/odd": "1",
    }

    assert used(pod(container(amounts, amounts))) == {
        "pods": "1",
        "count/pods": "1",
        "hugepages-2Mi": "4Mi",
        "requests.hugepages-2Mi": "4Mi",
        "requests.nvidia.com/gpu": "2",
        "requests.deviceclass.resource.kubernetes.io/x": "1",
    }


def test_the_effective_pod_counts_with_its_overhead() -> None:
    one = pod(
        container({"cpu": "1"}),
        initContainers=[container({"cpu": "1"}, restartPolicy="Always"), container({"cpu": "3"})],
        overhead={"cpu": "250m"},
    )

    assert used(one)["requests.cpu"] == "4250m"


@pytest.mark.parametrize("phase", ["Failed", "Succeeded"])
def test_a_finished_pod_is_only_an_object(phase: str) -> None:
    assert used({**pod(container({"cpu": "1"})), "status": {"phase": phase}}) == {"count/pods": "1"}


def test_a_malformed_pod_is_named_with_its_field() -> None:
    with pytest.raises(MalformedObject, match=r"spec\.containers\[0\]\.resources\.requests\.cpu"):
        usage(pod(container({"cpu": "1K"})))


# -- scopes --------------------------------------------------------------------------------------------------------

BEST_EFFORT = pod(container())
BURSTABLE = pod(container({"cpu": "1"}), container())
ELSEWHERE = {"namespaces": ["other"]}
REQUIRED, PREFERRED = "requiredDuringSchedulingIgnoredDuringExecution", "preferredDuringSchedulingIgnoredDuringExecution"


@pytest.mark.parametrize(
    ("scope", "one", "expected"),
    [
        ("Terminating", pod(activeDeadlineSeconds=0), True),
        ("Terminating", pod(activeDeadlineSeconds=60), True),
        ("Terminating", pod(), False),
        ("NotTerminating", pod(activeDeadlineSeconds=60), False),
        ("NotTerminating", pod(activeDeadlineSeconds=None), True),
        ("BestEffort", BEST_EFFORT, True),
        ("BestEffort", BURSTABLE, False),
        ("BestEffort", pod(container({"cpu": "0", "ephemeral-storage": "1Gi"})), True),
        ("BestEffort", pod(container(), resources={"limits": {"memory": "1Gi"}}), False),
        ("BestEffort", pod(container({"cpu": "1"}), resources={"requests": {"hugepages-2Mi": "2Mi"}}), True),
        ("BestEffort", pod(container(), initContainers=[container(None, {"memory": "1Gi"})]), False),
        ("BestEffort", {**BEST_EFFORT, "status": {"qosClass": "Burstable"}}, False),
        ("NotBestEffort", BEST_EFFORT, False),
        ("NotBestEffort", BURSTABLE, True),
        ("PriorityClass", pod(priorityClassName="high"), True),
        ("PriorityClass", pod(), False),
        ("CrossNamespacePodAffinity", pod(), False),
        ("CrossNamespacePodAffinity", pod(affinity={"podAffinity": {REQUIRED: [{}]}}), False),
        ("CrossNamespacePodAffinity", pod(affinity={"podAffinity": {REQUIRED: [ELSEWHERE]}}), True),
        ("CrossNamespacePodAffinity", pod(affinity={"podAntiAffinity": {REQUIRED: [{"namespaceSelector": {}}]}}), True),
        ("CrossNamespacePodAffinity", pod(affinity={"podAntiAffinity": {PREFERRED: [{"podAffinityTerm": ELSEWHERE}]}}), True),
        ("VolumeAttributesClass", pod(), False),
    ],
)  # fmt: skip
def test_a_quota_counts_only_pods_in_its_scope(scope: str, one: Json, expected: bool) -> None:
    assert matches(quota({"pods": 1}, scopes=[scope]), one) is expected


@pytest.mark.parametrize(
    ("operator", "values", "name", "expected"),
    [
        ("In", ["high"], "high", True),
        ("In", ["high"], "low", False),
        ("In", ["high"], "", False),
        ("NotIn", ["high"], "high", False),
        ("NotIn", ["high"], "low", True),
        ("NotIn", ["high"], "", True),
        ("Exists", None, "low", True),
        ("Exists", None, "", False),
        ("DoesNotExist", None, "low", False),
        ("DoesNotExist", None, "", True),
        ("Unheard", None, "low", False),
    ],
)
def test_a_quota_counts_only_pods_of_its_priority_classes(operator: str, values: Any, name: str, expected: bool) -> None:
    selector = {"matchExpressions": [{"scopeName": "PriorityClass", "operator": operator, "values": values}]}

    assert matches(quota({"pods": 1}, scopeSelector=selector), pod(priorityClassName=name)) is expected


def test_a_pod_has_to_be_in_every_scope() -> None:
    both = quota({"pods": 1}, scopes=["BestEffort", "Terminating"])

    assert not matches(both, BEST_EFFORT)
    assert matches(both, pod(container(), activeDeadlineSeconds=1))


@pytest.mark.parametrize(
    ("resource", "expected"),
    [
        ("pods", True), ("count/pods", True), ("cpu", True), ("limits.memory", True), ("requests.ephemeral-storage", True),
        ("hugepages-1Gi", True), ("requests.hugepages-1Gi", True), ("requests.nvidia.com/gpu", True),
        ("requests.deviceclass.resource.kubernetes.io/x", True), ("requests.storage", False), ("services", False),
        ("count/secrets", False), ("nvidia.com/gpu", False), ("limits.nvidia.com/gpu", False),
    ],
)  # fmt: skip
def test_a_quota_is_about_pods_if_it_counts_something_that_pods_have(resource: str, expected: bool) -> None:
    assert matches(quota({resource: 1}), BEST_EFFORT) is expected


# -- what is left --------------------------------------------------------------------------------------------------


def test_a_shortage_has_all_the_figures() -> None:
    team = quota({"limits.memory": "8Gi", "pods": 10}, {"limits.memory": "7.5Gi", "pods": 3})

    (short,) = shortages(pod(container({"memory": "1Gi"}, {"memory": "1Gi"})), [team])

    assert (short.quota, short.resource) == ("team", "limits.memory")
    assert short.message == 'ResourceQuota "team" has 512Mi of limits.memory left, 1Gi is wanted (7.5Gi of 8Gi used)'


def test_what_exactly_fits_is_no_shortage() -> None:
    team = quota({"requests.cpu": "2", "pods": "1"}, {"requests.cpu": "1500m", "pods": 0})

    assert shortages(pod(container({"cpu": "0.5"})), [team]) == ()


def test_every_quota_and_resource_that_is_short_is_told() -> None:
    quotas = [quota({"pods": 1, "cpu": "1"}, {"pods": 1, "cpu": "1"}, "a"), quota({"requests.cpu": "1"}, {}, "b")]

    assert [(one.quota, one.resource) for one in shortages(pod(container({"cpu": "2"})), quotas)] == [
        ("a", "pods"),
        ("a", "cpu"),
        ("b", "requests.cpu"),
    ]


def test_a_quota_used_beyond_its_limit_refuses_only_who_wants_more_of_it() -> None:
    over = quota({"requests.cpu": "1", "requests.memory": "1Gi"}, {"requests.cpu": "2", "requests.memory": "0"})

    assert shortages(pod(container({"memory": "1Gi", "cpu": "0"})), [over]) == ()
    assert [one.message for one in shortages(pod(container({"cpu": "1m"})), [over])] == [
        'ResourceQuota "team" has 0 of requests.cpu left, 1m is wanted (2 of 1 used)'
    ]


def test_a_quota_of_another_scope_is_no_shortage() -> None:
    assert shortages(BURSTABLE, [quota({"cpu": "0"}, scopes=["BestEffort"])]) == ()


def test_defaults_count() -> None:
    defaults = limit_ranges.from_object({"spec": {"limits": [{"type": "Container", "default": {"cpu": "2"}}]}})
    small = [quota({"limits.cpu": "1", "requests.cpu": "1"})]

    assert shortages(BEST_EFFORT, small) == ()
    assert [one.resource for one in shortages(BEST_EFFORT, small, [defaults])] == ["limits.cpu", "requests.cpu"]
    assert [one.resource for one in shortages(pod(container(None, {"cpu": "2"})), small)] == ["limits.cpu", "requests.cpu"]


def test_what_a_quota_counts_every_container_has_to_state() -> None:
    one = pod(
        container({"cpu": "1"}, name="a"),
        container({"cpu": "1"}, {"cpu": "2"}, name="b"),
        initContainers=[container(None, {"cpu": "1"}, name="c"), container(name="d", restartPolicy="Always")],
    )

    found = missing(one, [quota({"limits.cpu": "9", "requests.cpu": 9, "pods": 9, "limits.ephemeral-storage": "1Gi"})])

    assert [(each.quota, each.resource, each.containers) for each in found] == [
        ("team", "limits.cpu", ("a", "d")),
        ("team", "requests.cpu", ("d",)),
    ]
    assert [each.message for each in found] == [
        'ResourceQuota "team" requires limits.cpu of every container, "a", "d" state none',
        'ResourceQuota "team" requires requests.cpu of every container, "d" states none',
    ]


def test_zero_is_stated() -> None:
    assert missing(pod(container({"cpu": "0"})), [quota({"cpu": "9"})]) == ()


def test_nothing_has_to_be_stated_where_the_pod_as_a_whole_states_something() -> None:
    assert missing(pod(container(), resources={"limits": {"cpu": "1"}}), [quota({"memory": "9Gi"})]) == ()
    assert missing(pod(container(), resources={"limits": {"ephemeral-storage": "1"}}), [quota({"memory": "9Gi"})]) != ()


def test_what_defaults_state_is_stated() -> None:
    defaults = limit_ranges.from_object({"spec": {"limits": [{"type": "Container", "default": {"cpu": "2"}}]}})

    assert missing(BEST_EFFORT, [quota({"limits.cpu": "9"})]) != ()
    assert missing(BEST_EFFORT, [quota({"limits.cpu": "9"})], [defaults]) == ()


def test_a_quota_of_another_scope_requires_nothing() -> None:
    assert missing(BEST_EFFORT, [quota({"limits.cpu": "9"}, scopes=["NotBestEffort"])]) == ()
