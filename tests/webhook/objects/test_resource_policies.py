"""Bounds for containers and for the effective pod; what is absent is decided, and old offenders get no worse."""

from __future__ import annotations

from typing import Any

import pytest

from webhook.errors import MalformedObject
from webhook.objects import limit_ranges
from webhook.objects.enforcement import Mode
from webhook.objects.limit_ranges import Bound
from webhook.objects.meta import Json
from webhook.objects.quantity import parse
from webhook.objects.resource_policies import Absent, Bounds, ResourcePolicy, Span, breaches, hints, worsened
from webhook.objects.resources import read

APP = "spec.containers[0].resources"


def container(requests: Json | None = None, limits: Json | None = None, name: str = "app", **more: Any) -> Json:
    return {"name": name, "resources": {"requests": requests, "limits": limits}, **more}


def pod(*apps: Json, **spec: Any) -> Json:
    return {"spec": {"containers": list(apps), **spec}}


def span(low: str = "", high: str = "") -> Span:
    return Span(parse(low) if low else None, parse(high) if high else None)


def bounds(requests: tuple[str, str] = ("", ""), limits: tuple[str, str] = ("", ""), ratio: str = "") -> Bounds:
    return Bounds(span(*requests), span(*limits), parse(ratio) if ratio else None)


def policy(absent: Absent = Absent.COUNTS, pod: Bounds | None = None, **container: Bounds) -> ResourcePolicy:
    return ResourcePolicy("small", absent=absent, container=container, pod={"cpu": pod} if pod else {})


def found(one: Json, by: ResourcePolicy) -> list[tuple[str, str, str | None]]:
    return [(breach.field, breach.kind.value, breach.value.text if breach.value else None) for breach in breaches(one, by)]


# What people ask for first: a CPU request above 1 and a memory request above 1Gi are refused.
FIRST = policy(cpu=bounds(requests=("", "1")), memory=bounds(requests=("", "1Gi")))


@pytest.mark.parametrize(
    ("one", "field"),
    [
        (pod(container({"cpu": "1001m"})), "spec.containers[0].resources.requests.cpu"),
        (pod(container(), container({"memory": "1025Mi"}, name="b")), "spec.containers[1].resources.requests.memory"),
        (pod(initContainers=[container({"cpu": 2})]), "spec.initContainers[0].resources.requests.cpu"),
        (pod(initContainers=[container({"cpu": 2}, restartPolicy="Always")]), "spec.initContainers[0].resources.requests.cpu"),
        (pod(container(None, {"cpu": "2"})), "spec.containers[0].resources.requests.cpu"),  # the limit is the request, too
    ],
)
def test_a_container_is_judged_wherever_it_stands(one: Json, field: str) -> None:
    assert [breach.field for breach in breaches(one, FIRST)] == [field]


@pytest.mark.parametrize("one", [pod(), pod(container()), pod(container({"cpu": "1", "memory": "1024Mi"})), {}, {"spec": None}])
def test_what_is_within_its_bounds_passes(one: Json) -> None:
    assert breaches(one, FIRST) == ()


def test_every_breach_is_told_at_once() -> None:
    by = policy(cpu=bounds(requests=("100m", "1"), limits=("", "2"), ratio="4"), memory=bounds(limits=("64Mi", "1Gi")))
    one = pod(
        container({"cpu": "50m"}, {"cpu": "3", "memory": "2Gi"}), container({"cpu": "2"}, {"cpu": "2", "memory": "1Mi"}, "b")
    )

    assert [breach.message for breach in breaches(one, by)] == [
        'container "app": cpu request 50m is below the minimum of 100m',
        'container "app": cpu limit 3 exceeds the maximum of 2',
        'container "app": cpu limit to request ratio 60 exceeds the maximum of 4',
        'container "app": memory limit 2Gi exceeds the maximum of 1Gi',
        'container "b": cpu request 2 exceeds the maximum of 1',
        'container "b": memory limit 1Mi is below the minimum of 64Mi',
    ]


# -- what is absent ------------------------------------------------------------------------------------------------

NOTHING, NO_LIMIT, NO_REQUEST = container(), container({"cpu": "1"}), container(None, None)


@pytest.mark.parametrize(
    ("one", "of", "counts", "passes", "refused"),
    [
        (NOTHING, bounds(requests=("1", "")), [("requests.cpu", "min")], [], [("requests.cpu", "min")]),
        (NOTHING, bounds(requests=("0", "")), [], [], [("requests.cpu", "min")]),
        (NOTHING, bounds(requests=("", "1")), [], [], [("requests.cpu", "max")]),
        (NO_LIMIT, bounds(limits=("", "1")), [("limits.cpu", "max")], [], [("limits.cpu", "max")]),
        (NO_LIMIT, bounds(limits=("1", "")), [], [], [("limits.cpu", "min")]),
        (NO_LIMIT, bounds(ratio="2"), [("", "ratio")], [], [("", "ratio")]),
        (NOTHING, bounds(ratio="2"), [("", "ratio")], [], [("", "ratio")]),
    ],
)
def test_what_an_absent_amount_means_is_a_choice(one: Json, of: Bounds, counts: Any, passes: Any, refused: Any) -> None:
    for absent, expected in ((Absent.COUNTS, counts), (Absent.PASSES, passes), (Absent.REFUSED, refused)):
        told = [(field, kind) for field, kind, value in found(pod(one), policy(absent, cpu=of)) if value is None]
        assert told == [(f"{APP}.{field}".rstrip("."), kind) for field, kind in expected], absent


def test_a_breach_by_absence_says_what_is_missing() -> None:
    by = policy(Absent.REFUSED, cpu=bounds(requests=("100m", ""), limits=("", "2"), ratio="4"))

    assert [breach.message for breach in breaches(pod(container()), by)] == [
        'container "app": no cpu request, against the minimum of 100m',
        'container "app": no cpu limit, against the maximum of 2',
        'container "app": no cpu limit to request ratio, against the maximum of 4',
    ]


def test_zero_is_not_absent_but_any_limit_is_too_many_times_a_request_of_zero() -> None:
    by = policy(cpu=bounds(ratio="4"))

    assert found(pod(container({"cpu": "0"}, {"cpu": "0"})), by) == []
    assert found(pod(container({"cpu": "0"}, {"cpu": "1"})), by) == [(APP, "ratio", None)]


def test_defaults_of_the_namespace_are_not_absent() -> None:
    ranges = [limit_ranges.from_object({"spec": {"limits": [{"type": "Container", "default": {"cpu": "1"}}]}})]

    assert breaches(pod(container()), policy(cpu=bounds(limits=("", "2"))), ranges) == ()


# -- the effective pod ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("one", "expected"),
    [
        (pod(container({"cpu": "1"}, {"cpu": "2"})), []),
        (pod(container({"cpu": "1"}, {"cpu": "2"}), container({"cpu": "1"}, {"cpu": "1"})), [("spec", "max", "3")]),
        (pod(container({"cpu": "1"}, {"cpu": "1"}), initContainers=[container({"cpu": "1"}, {"cpu": "2"})]), []),
        (
            pod(container({"cpu": "1"}, {"cpu": "1"}), initContainers=[container(None, {"cpu": "2"}, restartPolicy="Always")]),
            [("spec", "max", "3")],
        ),
        (pod(container({"cpu": "1"}, {"cpu": "2"}), overhead={"cpu": "250m"}), [("spec", "max", "2250m")]),
        (pod(container(), resources={"limits": {"cpu": "3"}}), [("spec", "max", "3")]),
        (pod(container({"cpu": "1"}), resources={"limits": {"cpu": "2"}}), []),
        (pod(container({"cpu": "1"}, {"cpu": "1"}), container()), [("spec", "max", None)]),  # one takes what it likes
        (pod(container({"cpu": "1"}, {"cpu": "3"}), container()), [("spec", "max", "3")]),
    ],
)
def test_the_pod_is_judged_as_a_whole(one: Json, expected: list[Any]) -> None:
    assert found(one, policy(pod=bounds(limits=("", "2")))) == expected


def test_a_breach_of_the_whole_pod_says_so() -> None:
    (breach,) = breaches(pod(container({"cpu": "2"}), container({"cpu": "2"})), policy(pod=bounds(requests=("", "3"))))

    assert breach.message == "the pod as a whole: cpu request 4 exceeds the maximum of 3"


def test_what_is_limited_adds_up_even_where_absence_passes() -> None:
    by = policy(Absent.PASSES, pod=bounds(limits=("", "2")))

    assert found(pod(container(None, {"cpu": "1"}), container()), by) == []
    assert found(pod(container(None, {"cpu": "3"}), container()), by) == [("spec", "max", "3")]


def test_a_policy_that_is_off_looks_at_nothing() -> None:
    off = ResourcePolicy("off", mode=Mode.OFF, container={"cpu": bounds(requests=("", "1"))})

    assert breaches(pod(container({"cpu": "1K"})), off) == ()
    with pytest.raises(MalformedObject, match=r"spec\.containers\[0\]\.resources\.requests\.cpu"):
        breaches(pod(container({"cpu": "1K"})), FIRST)


# -- resizing ------------------------------------------------------------------------------------------------------

BOTH = policy(cpu=bounds(requests=("500m", ""), limits=("", "2"), ratio="2"), pod=bounds(limits=("", "4")))


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        pytest.param([("1", "4")], [("1", "4")], [], id="nothing changes"),
        pytest.param([("1", "4")], [("1", "3")], [], id="towards the bound"),
        pytest.param([("1", "1")], [("1", "3")], [Bound.MAX, Bound.RATIO], id="beyond the bound"),
        pytest.param([("2", "3")], [("2", "4")], [Bound.MAX], id="further beyond"),
        pytest.param([("1", "3"), ("1", "1")], [("1", "3"), ("1", "2")], [Bound.MAX], id="another container, and so the whole"),
        pytest.param([("1", "3"), ("1", "1")], [("1", "3"), ("500m", "500m")], [], id="another container"),
        pytest.param([("400m", "500m")], [("300m", "500m")], [Bound.MIN], id="further below"),
        pytest.param([("1", "3")], [("1", None)], [Bound.MAX, Bound.RATIO, Bound.MAX], id="a limit goes"),
        pytest.param([("1", None)], [("1", "3")], [], id="a limit comes, still too large"),
    ],
)
def test_a_resize_is_asked_about_what_it_makes_worse(before: list[Any], after: list[Any], expected: list[Bound]) -> None:
    def sized(sizes: list[tuple[str, str | None]]) -> Json:
        return pod(
            *(
                container({"cpu": request}, {"cpu": limit} if limit else None, f"c{index}")
                for index, (request, limit) in enumerate(sizes)
            )
        )

    assert [breach.kind for breach in worsened(breaches(sized(after), BOTH), breaches(sized(before), BOTH))] == expected


# -- likely typos --------------------------------------------------------------------------------------------------


def test_likely_typos_are_told_once_each() -> None:
    one = pod(
        container({"memory": "400m"}, {"memory": "400m", "cpu": "500"}),
        initContainers=[container({"memory": "1.5"}, name="init")],
        resources={"limits": {"memory": "100"}},
    )

    assert hints(read(one)) == (
        (f"{APP}.limits.memory", 'container "app": memory 400m means 0.4 bytes: 400Mi or 400M was probably meant'),
        (f"{APP}.limits.cpu", 'container "app": cpu 500 means 500 cores: 500m was probably meant'),
        (
            "spec.initContainers[0].resources.requests.memory",
            'container "init": memory 1.5 means 1.5 bytes: a larger unit was probably meant',
        ),
        ("spec.resources.limits.memory", "the pod as a whole: memory 100 means 100 bytes: 100Mi was probably meant"),
    )
    assert hints(read(pod(container({"memory": "1Gi", "cpu": "1"})))) == ()


@pytest.mark.parametrize(
    ("resources", "apps", "fields"),
    [
        ({"requests": {"cpu": "9"}}, [container()], ["spec.resources.requests.cpu"]),
        ({"requests": {"cpu": "9"}}, [container({"cpu": "1"}), container(name="b")], ["spec.resources.requests.cpu"]),
        ({"requests": {"cpu": "2"}}, [container({"cpu": "1"}), container({"cpu": "1"}, name="b")], []),
        ({"requests": {"cpu": "1"}}, [container()], []),
        ({"limits": {"cpu": "3"}, "requests": {"cpu": "1"}}, [container()], ["spec.resources.limits.cpu"]),
        (
            {"limits": {"cpu": "4"}, "requests": {"cpu": "1"}},
            [container({"cpu": "1m"}, {"cpu": "2"}), container({"cpu": "1m"}, {"cpu": "2"}, "b")],
            [],
        ),
    ],
)
def test_a_container_may_not_get_more_than_its_maximum_from_what_the_pod_states(
    resources: Json, apps: list[Json], fields: list[str]
) -> None:
    by = policy(Absent.PASSES, cpu=bounds(requests=("", "1"), limits=("", "2")))

    assert [breach.field for breach in breaches(pod(*apps, resources=resources), by)] == fields


def test_a_bound_for_the_pod_speaks_for_what_the_pod_states() -> None:
    by = policy(Absent.PASSES, bounds(requests=("", "16")), cpu=bounds(requests=("", "1")))

    assert breaches(pod(container(), resources={"requests": {"cpu": "9"}}), by) == ()


def test_what_the_pod_states_is_told_with_the_bound_of_a_container() -> None:
    (breach,) = breaches(pod(container(), resources={"requests": {"cpu": "9"}}), FIRST)

    assert breach.message == (
        "the pod as a whole: cpu request 9 exceeds the maximum of 1 for a container, and one may take what the others leave"
    )
