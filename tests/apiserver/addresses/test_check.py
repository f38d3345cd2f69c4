"""Marks that nobody was given: forged, copied, edited. The API server asks pod-ip-check about each."""

from __future__ import annotations

import pytest

from tests.apiserver.addresses import objects
from tests.apiserver.addresses.objects import ALLOCATED, CALICO, KEY, address, create, from_pool, pod, refusal
from tests.apiserver.addresses.stage import Stage
from tests.apiserver.workloads import pods_path
from tests.cluster import Api, ApiError, Json

POOL, OTHER = "checked", "not-for-them"


@pytest.fixture(scope="module", autouse=True)
def _pools(api: Api) -> None:
    objects.make_pool(api, POOL, "10.103.0.0/24")
    objects.make_pool(api, OTHER, "10.103.1.0/24", namespaceSelector={"matchLabels": {"may": "use-it"}})


@pytest.fixture(scope="module")
def given(api: Api, namespace: str) -> Json:
    """A pod with an address."""
    return create(api, namespace, pod("given-", from_pool(POOL)))


def marks(of: Json) -> dict[str, str]:
    return {name: of["metadata"]["annotations"][name] for name in (CALICO, KEY)}


def edit(api: Api, of: Json, metadata: Json) -> str:
    """What is said against a change of metadata; "" when it is taken."""
    try:
        api.patch(f"{pods_path(of['metadata']['namespace'])}/{of['metadata']['name']}?dryRun=All", {"metadata": metadata})
    except ApiError as refused:
        return str(refused)
    return ""


@pytest.mark.parametrize("name", ["copy-", "copy"])
def test_a_copied_manifest_gets_an_address_of_its_own(api: Api, namespace: str, given: Json, name: str) -> None:
    labels = from_pool(POOL) | {ALLOCATED: address(given)}

    made, warnings = api.told("POST", pods_path(namespace), pod(name, labels, marks(given)))

    assert address(made) != address(given)
    assert objects.key(made) != objects.key(given)
    assert any(address(given) in warning for warning in warnings)


def test_a_copy_that_does_not_ask_is_refused(api: Api, namespace: str, given: Json) -> None:
    said = refusal(api, namespace, pod("silent-", {}, marks(given)))

    assert address(given) in said


def test_an_address_of_a_pool_is_refused_to_a_pod_that_takes_it_by_itself(api: Api, namespace: str) -> None:
    said = refusal(api, namespace, pod("taker-", {}, {CALICO: '["10.103.0.99"]'}))

    assert "10.103.0.99" in said
    assert POOL in said


def test_an_address_that_is_nobodys_business_of_ours_passes(api: Api, namespace: str) -> None:
    made = create(api, namespace, pod("foreign-", {}, {CALICO: '["10.99.0.1"]'}))

    assert objects.addresses(made) == ["10.99.0.1"]


def test_a_pool_of_other_namespaces_is_refused_by_name(api: Api, namespace: str) -> None:
    by_name = refusal(api, namespace, pod("stranger-", from_pool(OTHER)))
    by_list = refusal(api, namespace, pod("stranger-", objects.from_list("10.103.1.5")))

    assert OTHER in by_name
    assert OTHER in by_list


@pytest.mark.parametrize(
    "metadata",
    [
        {"annotations": {CALICO: '["10.103.0.99"]'}},
        {"annotations": {CALICO: None}},
        {"annotations": {KEY: "another"}},
        {"annotations": {KEY: None}},
        {"labels": {ALLOCATED: "10.103.0.99"}},
        {"labels": {ALLOCATED: None}},
    ],
)
def test_marks_of_a_living_pod_stay_as_they_are(api: Api, given: Json, metadata: Json) -> None:
    assert "denied the request" in edit(api, given, metadata)


def test_other_changes_of_it_pass(api: Api, given: Json) -> None:
    assert edit(api, given, {"annotations": {"note": "x"}, "labels": {"note": "x"}}) == ""


def test_marks_of_a_finished_pod_may_go(api: Api, namespace: str) -> None:
    made = create(api, namespace, pod("finished-", from_pool(POOL)))
    objects.set_status(api, made, phase="Succeeded")

    assert edit(api, made, {"annotations": {CALICO: None, KEY: None}, "labels": {ALLOCATED: None}}) == ""


def test_nobody_was_left_with_an_address_that_is_anothers(api: Api, stage: Stage, namespace: str, given: Json) -> None:
    held = [one for made in objects.pods(api, namespace) for one in objects.addresses(made)]

    assert len(held) == len(set(held))
    assert "Traceback" not in stage.log()
