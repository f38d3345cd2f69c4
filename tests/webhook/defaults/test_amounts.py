"""Containers get the requests and limits that they lack, and never such that the API server refuses the pod."""

from __future__ import annotations

import pytest

from tests.webhook.defaults.defaulting import amounts, call, container, default_set, limit_range, pod, rule
from webhook.names import Reason
from webhook.objects.meta import Json

SMALL = amounts({"cpu": "100m", "memory": "64Mi"}, {"memory": "128Mi"})


def test_a_container_without_amounts_gets_all_of_them_in_one_operation() -> None:
    done = call(rule(default_set(app=SMALL)), pod())

    assert done.patch == [
        {
            "op": "add",
            "path": "/spec/containers/0/resources",
            "value": {"requests": {"cpu": "100m", "memory": "64Mi"}, "limits": {"memory": "128Mi"}},
        }
    ]
    assert done.verdict.reason is Reason.DEFAULTED
    assert 'container "app" requests.cpu 100m' in done.verdict.message
    assert done.verdict.warnings == ()


def test_only_the_container_that_says_nothing_gets_defaults() -> None:
    explicit = container("a", {"cpu": "1", "memory": "1Gi"}, {"cpu": "1", "memory": "1Gi"})

    done = call(rule(default_set(app=SMALL)), pod(explicit, container("b")))

    assert done.resources(0) == explicit["resources"]
    assert done.resources(1) == {"requests": {"cpu": "100m", "memory": "64Mi"}, "limits": {"memory": "128Mi"}}


def test_only_keys_that_are_missing_are_added() -> None:
    done = call(rule(default_set(app=SMALL)), pod(container(requests={"cpu": "2"})))

    assert done.resources() == {"requests": {"cpu": "2", "memory": "64Mi"}, "limits": {"memory": "128Mi"}}


def test_a_default_request_never_exceeds_the_limit_of_its_author() -> None:
    done = call(rule(default_set(app=amounts({"memory": "32Mi"}))), pod(container(limits={"memory": "16Mi"})))

    assert done.patch == []  # the API server makes the limit the request


def test_a_default_limit_is_raised_to_the_request_of_its_author() -> None:
    done = call(rule(default_set(app=amounts(limits={"memory": "128Mi"}))), pod(container(requests={"memory": "1Gi"})))

    assert done.resources() == {"requests": {"memory": "1Gi"}, "limits": {"memory": "1Gi"}}


def test_amounts_are_compared_as_amounts_and_not_as_text() -> None:
    half = container(requests={"memory": "524288e3"})  # 524288000 bytes, which is 500Mi

    done = call(rule(default_set(app=amounts(limits={"memory": "500Mi"}))), pod(half))

    assert done.resources() == {"requests": {"memory": "524288e3"}, "limits": {"memory": "500Mi"}}


def test_an_amount_that_is_probably_mistyped_is_an_amount() -> None:
    done = call(rule(default_set(app=SMALL)), pod(container(requests={"memory": "400m"})))

    assert done.resources() == {"requests": {"memory": "400m", "cpu": "100m"}, "limits": {"memory": "128Mi"}}


def test_of_two_sets_the_first_to_set_a_key_wins() -> None:
    first = default_set("first", app=amounts({"cpu": "250m"}))
    second = default_set("second", app=SMALL)

    done = call(rule(first, second), pod())

    assert done.resources() == {"requests": {"cpu": "250m", "memory": "64Mi"}, "limits": {"memory": "128Mi"}}


def test_a_request_and_a_limit_of_two_sets_that_do_not_go_together_are_made_to() -> None:
    limit, request = default_set("a", app=amounts(limits={"cpu": "1"})), default_set("b", app=amounts({"cpu": "2"}))

    assert call(rule(limit, request), pod()).resources() == {"requests": {"cpu": "1"}, "limits": {"cpu": "1"}}


def test_containers_of_each_kind_and_of_a_name_have_their_own_defaults() -> None:
    each = default_set(app=amounts({"cpu": "1"}), init=amounts({"cpu": "2"}), containers={"proxy": amounts({"cpu": "50m"})})
    inits = [container("setup"), container("proxy", restartPolicy="Always")]

    done = call(rule(each), pod(container("app"), initContainers=inits))

    assert done.resources(0) == {"requests": {"cpu": "1"}}
    assert done.resources(0, "initContainers") == {"requests": {"cpu": "2"}}
    assert done.resources(1, "initContainers") == {"requests": {"cpu": "50m"}}


def test_ephemeral_containers_get_nothing() -> None:
    done = call(rule(default_set(app=SMALL)), pod(container(requests={"cpu": "1"}), ephemeralContainers=[container("debug")]))

    assert "resources" not in done.pod["spec"]["ephemeralContainers"][0]


@pytest.mark.parametrize("resources", [None, {}, {"requests": None, "limits": None}, {"requests": {}}])
def test_null_and_empty_resources_are_absent_ones(resources: Json | None) -> None:
    done = call(rule(default_set(app=amounts({"cpu": "1"}))), pod({"name": "app", "resources": resources}))

    found = done.resources()
    assert found is not None
    assert found["requests"] == {"cpu": "1"}


def test_a_null_amount_is_the_zero_that_the_api_server_reads() -> None:
    done = call(rule(default_set(app=amounts({"cpu": "1"}))), pod(container(requests={"cpu": None})))

    assert done.patch == []


def test_what_cannot_be_overcommitted_has_one_amount_for_both() -> None:
    gpu = amounts({"example.com/gpu": "1"})

    assert call(rule(default_set(app=gpu)), pod()).resources() == {
        "requests": {"example.com/gpu": "1"},
        "limits": {"example.com/gpu": "1"},
    }


def test_huge_pages_come_only_with_cpu_or_memory_beside_them() -> None:
    pages = amounts({"hugepages-2Mi": "4Mi"}, {"hugepages-2Mi": "4Mi"})

    alone = call(rule(default_set(app=pages)), pod())
    beside = call(rule(default_set("pages", app=pages), default_set("cpu", app=amounts({"cpu": "1"}))), pod())

    assert alone.patch == []
    assert alone.verdict.reason is Reason.DEFAULT_LEFT_OUT
    assert alone.verdict.warnings == (
        "pod shop/web-1: no default hugepages-2Mi, with which the pod would be refused: "
        'container "app": huge pages need cpu or memory beside them',
    )
    assert beside.resources() == {
        "requests": {"cpu": "1", "hugepages-2Mi": "4Mi"},
        "limits": {"hugepages-2Mi": "4Mi"},
    }


# -- the namespace ---------------------------------------------------------------------------------------------------


def test_what_limit_ranger_sets_goes_before_configured_defaults() -> None:
    ranges = [limit_range(defaultRequest={"cpu": "200m"}, default={"cpu": "400m"})]

    done = call(rule(default_set(app=amounts({"cpu": "1", "memory": "64Mi"})), ranges=ranges), pod())

    assert done.resources() == {"requests": {"memory": "64Mi"}}


def test_a_default_limit_keeps_to_the_ratio_of_a_limit_range() -> None:
    ranges = [limit_range(maxLimitRequestRatio={"memory": "2"})]

    done = call(rule(default_set(app=amounts({"memory": "64Mi"}, {"memory": "1Gi"})), ranges=ranges), pod())

    assert done.resources() == {"requests": {"memory": "512Mi"}, "limits": {"memory": "1Gi"}}


def test_a_default_that_would_take_the_pod_beyond_a_limit_range_is_left_out_and_told() -> None:
    ranges = [limit_range("Pod", max={"memory": "1Gi"})]
    own = container("a", {"memory": "512Mi"}, {"memory": "768Mi"})

    done = call(rule(default_set(app=amounts({"cpu": "1"}, {"memory": "512Mi"})), ranges=ranges), pod(own, container("b")))

    assert done.resources(1) == {"requests": {"cpu": "1"}}
    assert done.verdict.warnings == (
        "pod shop/web-1: no default memory, with which the pod would be refused: the pod as a whole has a memory limit of "
        '1280Mi, more than 1Gi (LimitRange "small")',
    )


# -- the pod as a whole ----------------------------------------------------------------------------------------------


def test_a_pod_that_states_its_own_amounts_gets_no_default_that_exceeds_them() -> None:
    whole = {"requests": {"cpu": "150m"}, "limits": {"cpu": "1"}}

    done = call(
        rule(default_set(app=amounts({"cpu": "100m"}, {"cpu": "2"}))), pod(container("a"), container("b"), resources=whole)
    )

    assert done.patch == []
    assert done.verdict.warnings == (
        "pod shop/web-1: no default cpu, with which the pod would be refused: spec.resources.requests.cpu is 150m, the "
        "containers together ask for 200m",
    )


def test_a_default_limit_is_lowered_to_that_of_the_pod() -> None:
    done = call(rule(default_set(app=amounts(limits={"cpu": "2"}))), pod(resources={"limits": {"cpu": "1"}}))

    assert done.resources() == {"limits": {"cpu": "1"}}


def test_a_default_request_never_makes_that_of_the_pod_exceed_its_limit() -> None:
    done = call(
        rule(default_set(app=amounts({"cpu": "600m"}))), pod(container("a"), container("b"), resources={"limits": {"cpu": "1"}})
    )

    assert done.patch == []
