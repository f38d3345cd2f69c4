"""spec.resources has to cover the containers, as the API server's validation asks."""

from __future__ import annotations

from typing import Any

import pytest

from webhook.objects import limit_ranges
from webhook.objects.meta import Json
from webhook.objects.pod_totals import overdrafts


def container(name: str, requests: Json | None = None, limits: Json | None = None, **fields: Any) -> Json:
    return {"name": name, "resources": {"requests": requests or {}, "limits": limits or {}}, **fields}


def paths(spec: Json) -> list[tuple[str, str]]:
    return [(found.path, found.container) for found in overdrafts({"spec": spec})]


REQUESTS, LIMITS = "spec.resources.requests", "spec.resources.limits"


@pytest.mark.parametrize(
    ("resources", "short"),
    [
        (None, []),
        ({}, []),
        ({"requests": {"cpu": "300m"}}, []),
        ({"requests": {"cpu": "299m"}}, [(f"{REQUESTS}.cpu", "")]),
        ({"requests": {"cpu": "1"}, "limits": {"cpu": "400m"}}, [(f"{LIMITS}.cpu", "b")]),
        ({"requests": {"cpu": "1"}, "limits": {"cpu": "500m"}}, []),
        ({"requests": {"cpu": "100m"}, "limits": {"cpu": "400m"}}, [(f"{REQUESTS}.cpu", ""), (f"{LIMITS}.cpu", "b")]),
    ],
)
def test_totals_are_held_against_all_requests_and_each_limit(resources: Json | None, short: list[tuple[str, str]]) -> None:
    containers = [container("a", {"cpu": "100m"}), container("b", {"cpu": "200m"}, {"cpu": "500m"})]

    assert paths({"containers": containers, "resources": resources}) == short


def test_a_limit_of_the_pod_bounds_the_requests_that_it_does_not_state() -> None:
    containers = [container("a", {"cpu": "1"}), container("b", {"cpu": "2"})]

    assert paths({"containers": containers, "resources": {"limits": {"cpu": "2"}}}) == [(f"{LIMITS}.cpu", "")]
    assert paths({"containers": containers, "resources": {"limits": {"cpu": "3"}}}) == []


def test_a_limit_without_a_request_is_one() -> None:
    assert paths({"containers": [container("a", None, {"cpu": "2"})], "resources": {"requests": {"cpu": "1"}}}) == [
        (f"{REQUESTS}.cpu", "")
    ]


def test_a_native_sidecar_counts_and_an_init_container_does_at_its_peak() -> None:
    native = container("native", {"cpu": "100m"}, restartPolicy="Always")
    setup = container("setup", {"cpu": "400m"})
    spec = {"initContainers": [native, setup], "containers": [container("app", {"cpu": "100m"})]}

    assert paths({**spec, "resources": {"requests": {"cpu": "500m"}}}) == []
    assert paths({**spec, "resources": {"requests": {"cpu": "499m"}}}) == [(f"{REQUESTS}.cpu", "")]


def test_the_limit_of_an_init_container_may_exceed_the_pods() -> None:
    setup = container("setup", {"cpu": "100m"}, {"cpu": "2"})

    assert (
        paths({"initContainers": [setup], "containers": [], "resources": {"limits": {"cpu": "1"}, "requests": {"cpu": "1"}}})
        == []
    )


def test_limits_of_huge_pages_are_added_up() -> None:
    pages = {"hugepages-2Mi": "2Mi"}
    spec = {"containers": [container("a", pages, pages), container("b", pages, pages)]}

    assert paths({**spec, "resources": {"requests": {"hugepages-2Mi": "2Mi"}, "limits": {"hugepages-2Mi": "2Mi"}}}) == [
        (f"{REQUESTS}.hugepages-2Mi", ""),
        (f"{LIMITS}.hugepages-2Mi", ""),
    ]


def test_what_a_limit_range_fills_in_counts() -> None:
    item = {"type": "Container", "defaultRequest": {"cpu": "300m"}}
    ranges = [limit_ranges.from_object({"metadata": {"name": "r"}, "spec": {"limits": [item]}})]
    spec = {"containers": [container("a"), container("b")], "resources": {"requests": {"cpu": "500m"}}}

    (found,) = overdrafts({"spec": spec}, ranges)

    assert found.message == "spec.resources.requests.cpu is 500m, the containers together ask for 600m"
