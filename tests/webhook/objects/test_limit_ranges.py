from __future__ import annotations

import random
from typing import Any

import pytest

from webhook.errors import MalformedObject
from webhook.objects import limit_ranges, resources
from webhook.objects.limit_ranges import Bound, LimitItem, LimitRange, clamped, from_object, violations, with_defaults
from webhook.objects.meta import Json
from webhook.objects.quantity import parse
from webhook.objects.resources import Part


def container(requests: Json | None = None, limits: Json | None = None, name: str = "app", **more: Any) -> Json:
    return {"name": name, "resources": {"requests": requests, "limits": limits}, **more}


def pod(*apps: Json, **spec: Any) -> Json:
    return {"spec": {"containers": list(apps), **spec}}


def limit_range(name: str = "small", type: str = "Container", **item: Any) -> LimitRange:
    return from_object({"metadata": {"name": name, "namespace": "shop"}, "spec": {"limits": [{"type": type, **item}]}})


def found(one: Json, *ranges: LimitRange) -> list[tuple[str, str, str | None]]:
    return [(each.field, each.kind.value, each.value.text if each.value else None) for each in violations(one, ranges)]


# -- reading -------------------------------------------------------------------------------------------------------


def test_a_limit_range_is_completed_as_the_api_server_does() -> None:
    one = limit_range(max={"cpu": "2"}, min={"memory": "64Mi"}, default={"memory": "128Mi"})

    assert one == LimitRange(
        "shop",
        "small",
        (
            LimitItem(
                type="Container",
                min={"memory": parse("64Mi")},
                max={"cpu": parse("2")},
                default={"cpu": parse("2"), "memory": parse("128Mi")},
                default_request={"cpu": parse("2"), "memory": parse("128Mi")},
            ),
        ),
    )


def test_a_minimum_is_the_last_resort_for_the_default_request() -> None:
    assert limit_range(min={"cpu": "1"}).items[0].default_request == {"cpu": parse("1")}
    assert limit_range(min={"cpu": "1"}, max={"cpu": "2"}).items[0].default_request == {"cpu": parse("2")}


def test_only_items_of_containers_have_defaults() -> None:
    assert limit_range(type="Pod", max={"cpu": "2"}).items[0].default == {}


@pytest.mark.parametrize("obj", [{}, {"metadata": None, "spec": None}, {"spec": {"limits": None}}, {"spec": {"limits": []}}])
def test_absent_and_null_are_an_empty_limit_range(obj: Json) -> None:
    assert from_object(obj) == LimitRange("", "", ())


@pytest.mark.parametrize(
    ("item", "field"),
    [
        ({"max": {"cpu": "1K"}}, r"spec\.limits\[0\]\.max\.cpu: "),
        ({"min": []}, r"spec\.limits\[0\]\.min: expected an object"),
        ({"maxLimitRequestRatio": {"cpu": True}}, r"spec\.limits\[0\]\.maxLimitRequestRatio\.cpu: "),
        ({"type": 1}, r"spec\.limits\[0\]\.type: expected a string"),
    ],
)
def test_a_wrong_field_is_named(item: Json, field: str) -> None:
    with pytest.raises(ValueError, match=field):
        from_object({"spec": {"limits": [{"type": "Container", **item}]}})


# -- defaults ------------------------------------------------------------------------------------------------------


def defaults(one: Json, *ranges: LimitRange) -> list[tuple[str, str]]:
    """What the containers of *one* have in the end, and had not when each limit was its request as well: field, amount."""
    before, after = resources.read(one).with_api_defaults(), with_defaults(resources.read(one), ranges)
    return [
        (now.field(part, resource), amount.text)
        for was, now in zip(before.containers, after.containers, strict=True)
        for part in Part
        for resource, amount in now.of(part).items()
        if resource not in was.of(part)
    ]


def test_only_what_a_container_leaves_out_is_set() -> None:
    one = pod(container({"cpu": "1"}, {"cpu": "1", "memory": "1Gi"}), container(name="bare"))

    assert defaults(one, limit_range(default={"cpu": "2"}, defaultRequest={"cpu": "100m", "memory": "64Mi"})) == [
        ("spec.containers[1].resources.requests.cpu", "100m"),
        ("spec.containers[1].resources.requests.memory", "64Mi"),
        ("spec.containers[1].resources.limits.cpu", "2"),
    ]


def test_a_limit_without_a_request_is_the_request_before_any_default() -> None:
    assert defaults(pod(container(None, {"memory": "16Mi"})), limit_range(defaultRequest={"memory": "32Mi"})) == []


def test_init_containers_have_defaults_as_well() -> None:
    one = pod(initContainers=[container(), container(restartPolicy="Always")], ephemeralContainers=[{"name": "e"}])

    assert [field for field, _ in defaults(one, limit_range(default={"cpu": "2"}, defaultRequest={"cpu": "1"}))] == [
        "spec.initContainers[0].resources.requests.cpu",
        "spec.initContainers[0].resources.limits.cpu",
        "spec.initContainers[1].resources.requests.cpu",
        "spec.initContainers[1].resources.limits.cpu",
    ]


def test_of_two_limit_ranges_the_first_sets_the_default() -> None:
    ranges = (limit_range("a", default={"cpu": "1"}), limit_range("b", default={"cpu": "2", "memory": "1Gi"}))

    assert defaults(pod(container()), *ranges) == [
        ("spec.containers[0].resources.requests.cpu", "1"),
        ("spec.containers[0].resources.requests.memory", "1Gi"),
        ("spec.containers[0].resources.limits.cpu", "1"),
        ("spec.containers[0].resources.limits.memory", "1Gi"),
    ]


# -- bounds --------------------------------------------------------------------------------------------------------

APP = "spec.containers[0].resources"


@pytest.mark.parametrize(
    ("requests", "limits", "item", "expected"),
    [
        ({"cpu": "1"}, {"cpu": "2"}, {"max": {"cpu": "2"}}, []),
        ({"cpu": "1"}, {"cpu": "3"}, {"max": {"cpu": "2"}}, [(f"{APP}.limits.cpu", "max", "3")]),
        ({"cpu": "3"}, {"cpu": "2"}, {"max": {"cpu": "2"}}, [(f"{APP}.requests.cpu", "max", "3")]),
        ({"cpu": "100m"}, {"cpu": "2"}, {"min": {"cpu": "0.1"}}, []),
        ({"cpu": "99m"}, {"cpu": "2"}, {"min": {"cpu": "0.1"}}, [(f"{APP}.requests.cpu", "min", "99m")]),
        ({"cpu": "1"}, {"cpu": "50m"}, {"min": {"cpu": "0.1"}}, [(f"{APP}.limits.cpu", "min", "50m")]),
        ({"memory": "1.5Gi"}, {"memory": "1.5Gi"}, {"max": {"memory": "1536Mi"}}, []),
        ({"memory": "1Gi"}, {"memory": "1.1Gi"}, {"max": {"memory": "1Gi"}}, [(f"{APP}.limits.memory", "max", "1.1Gi")]),
        ({"cpu": "1"}, {"cpu": "4"}, {"maxLimitRequestRatio": {"cpu": "4"}}, []),
        ({"cpu": "1"}, {"cpu": "5"}, {"maxLimitRequestRatio": {"cpu": "4"}}, [(APP, "ratio", "5")]),
        ({"cpu": "300m"}, {"cpu": "1"}, {"maxLimitRequestRatio": {"cpu": "3"}}, [(APP, "ratio", "3.33333")]),
        ({"cpu": "0"}, {"cpu": "1"}, {"maxLimitRequestRatio": {"cpu": "3"}}, [(APP, "ratio", None)]),
        ({"cpu": "1"}, None, {"maxLimitRequestRatio": {"cpu": "3"}}, [(APP, "ratio", None)]),
        (
            {"cpu": "3"}, {"cpu": "9"}, {"max": {"cpu": "2"}, "maxLimitRequestRatio": {"cpu": "2"}},
            [(f"{APP}.limits.cpu", "max", "9"), (APP, "ratio", "3")],
        ),
    ],
)  # fmt: skip
def test_a_container_is_held_to_every_bound(requests: Json, limits: Json | None, item: Json, expected: list[Any]) -> None:
    assert found(pod(container(requests, limits)), limit_range(**item)) == expected


def test_what_a_bound_requires_may_not_be_absent() -> None:
    bare = LimitItem("Container", min={"cpu": parse("1")}, max={"memory": parse("1Gi")})  # without the API server's defaults

    assert [(each.field, each.value) for each in violations(pod(container()), [LimitRange("shop", "bare", (bare,))])] == [
        (f"{APP}.requests.cpu", None),
        (f"{APP}.limits.memory", None),
    ]


def test_defaults_are_set_before_anything_is_held_against_a_bound() -> None:
    assert found(pod(container()), limit_range(max={"cpu": "2"}, min={"cpu": "1"}, default={"cpu": "2"})) == []
    assert found(pod(container()), limit_range(max={"cpu": "2"}, default={"cpu": "3"})) == [(f"{APP}.limits.cpu", "max", "3")]


def test_init_containers_and_native_sidecars_are_held_to_the_bounds_of_containers() -> None:
    large = container({"cpu": "3"}, {"cpu": "3"})
    one = pod(initContainers=[large, {**large, "restartPolicy": "Always"}])

    assert [field for field, *_ in found(one, limit_range(max={"cpu": "2"}))] == [
        "spec.initContainers[0].resources.limits.cpu",
        "spec.initContainers[1].resources.limits.cpu",
    ]


def test_the_pod_as_a_whole_is_held_to_the_bounds_of_pods() -> None:
    two = container({"cpu": "2"}, {"cpu": "2"})
    small = limit_range(type="Pod", max={"cpu": "3"})

    assert found(pod(two), small) == []
    assert found(pod(two, two), small) == [("spec", "max", "4")]
    assert found(pod(two, initContainers=[two, two]), small) == []
    assert found(pod(two, initContainers=[{**two, "restartPolicy": "Always"}]), small) == [("spec", "max", "4")]
    assert found(pod(two, two, resources={"limits": {"cpu": "3"}, "requests": {"cpu": "3"}}), small) == []
    assert found(pod(two, overhead={"cpu": "2"}), small) == []


def test_limits_of_the_pod_as_a_whole_may_come_from_one_container() -> None:
    one = pod(container({"cpu": "1"}, {"cpu": "2"}), container({"cpu": "1"}))

    assert found(one, limit_range(type="Pod", max={"cpu": "2"})) == []


def test_claims_and_other_kinds_are_not_the_pods_business() -> None:
    assert found(pod(container()), limit_range(type="PersistentVolumeClaim", min={"storage": "1Gi"})) == []
    assert violations({}, ()) == ()


@pytest.mark.parametrize(
    ("one", "item", "said"),
    [
        (
            pod(container({"memory": "1Gi"}, {"memory": "9Gi"})),
            {"max": {"memory": "8Gi"}},
            'container "app" has a memory limit of 9Gi, more than 8Gi (LimitRange "small")',
        ),
        (
            pod(container({"cpu": "10m"})),
            {"type": "Pod", "min": {"cpu": "100m"}},
            'the pod as a whole has a cpu request of 10m, less than 100m (LimitRange "small")',
        ),
        (
            pod(container({"cpu": "1"}, {"cpu": "8"})),
            {"maxLimitRequestRatio": {"cpu": "4"}},
            'container "app" has a cpu limit to request ratio of 8, more than 4 (LimitRange "small")',
        ),
        (
            pod(container()),
            {"type": "Pod", "max": {"cpu": "4"}},
            'the pod as a whole has no cpu limit, and needs one of at most 4 (LimitRange "small")',
        ),
    ],
)
def test_a_violation_is_told_in_one_sentence(one: Json, item: Json, said: str) -> None:
    assert [each.message for each in violations(one, [limit_range(**item)])] == [said]


def test_a_malformed_pod_is_named_with_its_field() -> None:
    with pytest.raises(MalformedObject, match=r"spec\.containers\[0\]\.resources\.limits\.cpu"):
        violations(pod(container(None, {"cpu": "1K"})), [limit_range(max={"cpu": "2"})])


# -- repair --------------------------------------------------------------------------------------------------------


def of(requests: Json | None = None, limits: Json | None = None, **more: Any) -> Json:
    parts = {"requests": requests, "limits": limits}
    return {key: amounts for key, amounts in parts.items() if amounts is not None} | more


CPU1, CPU2, CPU3, CPU4 = ({"cpu": str(cores)} for cores in (1, 2, 3, 4))
GPU2, GPU4 = {"x.io/gpu": "2"}, {"x.io/gpu": 4}
MEMORY16, MEMORY32, MEMORY64 = ({"memory": f"{size}Mi"} for size in (16, 32, 64))
RATIO3 = {"maxLimitRequestRatio": {"cpu": "3"}}

REPAIRS: dict[str, tuple[Json, Json, Json]] = {  # the container's, the range's, the result
    "nothing to keep": ({}, {}, {}),
    "it fits": (of(CPU1, CPU2), {"max": CPU2}, of(CPU1, CPU2)),
    "the limit is too large": (of(None, CPU4), {"max": CPU2}, of(CPU2, CPU2)),
    "both are too large": (of(CPU3, CPU4), {"max": CPU2}, of(CPU2, CPU2)),
    "both are too small": (of(CPU1, CPU2), {"min": CPU3}, of(CPU3, CPU3)),
    "defaults put it right": ({}, {"max": CPU2, "min": CPU1}, {}),
    "defaults are wrong": ({}, {"max": CPU2, "default": CPU3}, of(CPU2, CPU2)),
    "a default limit below the request": (of(MEMORY64), {"default": MEMORY32}, of(MEMORY64, MEMORY64)),
    "a default request above the limit": (of(None, MEMORY16), {"defaultRequest": MEMORY32}, of(None, MEMORY16)),
    "the ratio is too large": (of({"cpu": "100m"}, CPU1), RATIO3, of({"cpu": "334m"}, CPU1)),
    "a ratio of bytes": (
        of(MEMORY16, MEMORY64), {"maxLimitRequestRatio": {"memory": "3"}}, of({"memory": "22369622"}, MEMORY64)
    ),
    "a ratio wants a limit": (of(CPU1), RATIO3, of(CPU1, CPU1)),
    "a ratio wants a request above 0": (of({"cpu": "0"}, CPU1), RATIO3, of({"cpu": "334m"}, CPU1)),
    "no amount is made up for a ratio": ({}, RATIO3, {}),
    "what cannot be overcommitted": (of(GPU4, GPU4), {"max": GPU2}, of(GPU2, GPU2)),
    "other fields stay": (of(claims=[{"name": "c"}]), {"max": CPU1, "default": CPU2}, of(CPU1, CPU1, claims=[{"name": "c"}])),
    "null is absent": ({"requests": None, "limits": None}, {"max": CPU1, "default": CPU2}, of(CPU1, CPU1)),
}  # fmt: skip


@pytest.mark.parametrize("name", REPAIRS)
def test_a_containers_resources_are_brought_into_range(name: str) -> None:
    written, item, repaired = REPAIRS[name]
    before = repr(written)

    assert clamped(written, [limit_range(**item)]) == repaired
    assert repr(written) == before


def test_what_fits_is_the_very_same_value() -> None:
    written = {"limits": {"cpu": "1000m"}}

    assert clamped(written, [limit_range(max={"cpu": "1"})]) is written
    assert clamped(written, ()) is written


def test_whatever_the_container_and_the_ranges_the_result_is_admitted_if_that_is_possible() -> None:
    chance = random.Random(5)
    for _ in range(1500):
        ranges = [any_range(chance, name) for name in "ab"[: chance.randint(1, 2)]]
        written = {"requests": any_amounts(chance), "limits": any_amounts(chance)}

        result = clamped(written, ranges)

        one = pod({"name": "app", "resources": result})
        app = limit_ranges.with_defaults(resources.read(one), ranges).apps[0]
        stated = {name for amounts in (app.requests, app.limits) for name, amount in amounts.items() if amount}
        # A ratio alone gives no amount to start from.
        left = [each for each in violations(one, ranges) if each.kind is not Bound.RATIO or each.resource in stated]
        assert not left, (written, ranges, result, left)
        assert all(app.requests[name] <= limit for name, limit in app.limits.items()), (written, ranges, result)
        assert clamped(result, ranges) is result


def any_amounts(chance: random.Random) -> Json:
    cpu, memory = ["0", "10m", "100m", "333m", "1", "1.5", "3", "7"], ["1Mi", "64Mi", "100M", "1Gi", "1.1Gi", "5Gi"]
    chosen = {"cpu": chance.choice(cpu), "memory": chance.choice(memory)}
    return {name: chosen[name] for name in chance.sample(list(chosen), chance.randint(0, 2))}


def any_range(chance: random.Random, name: str) -> LimitRange:
    """Bounds that do not exclude each other, also not those of another range."""
    item: Json = {}
    for key, amounts in (
        ("min", {"cpu": "100m", "memory": "64Mi"}),
        ("max", {"cpu": "2", "memory": "2Gi"}),
        ("maxLimitRequestRatio", {"cpu": chance.choice(["1", "1.5", "3", "7"]), "memory": chance.choice(["1", "2", "3"])}),
        ("default", any_amounts(chance)),
        ("defaultRequest", any_amounts(chance)),
    ):
        if chance.random() < 0.6:
            item[key] = {one: amounts[one] for one in chance.sample(list(amounts), chance.randint(0, len(amounts)))}
    return limit_range(name, **item)


def test_of_bounds_that_exclude_each_other_the_maximum_is_kept() -> None:
    ranges = [limit_range("a", max={"cpu": "1"}), limit_range("b", min={"cpu": "2"})]

    result = clamped({"limits": {"cpu": "4"}}, ranges)

    assert result == {"limits": {"cpu": "1"}, "requests": {"cpu": "1"}}
    assert {each.kind for each in violations(pod({"name": "app", "resources": result}), ranges)} == {Bound.MIN}
