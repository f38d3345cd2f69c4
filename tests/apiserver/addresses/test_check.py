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
    with_key = refusal(api, namespace, pod("silent-", {}, marks(given)))
    without = refusal(api, namespace, pod("silent-", {}, {CALICO: marks(given)[CALICO]}))

    assert KEY in with_key
    assert address(given) in without


def test_an_address_of_a_pool_is_refused_to_a_pod_that_takes_it_by_itself(api: Api, namespace: str) -> None:
    said = refusal(api, namespace, pod("taker-", {}, {CALICO: '["10.103.0.99"]'}))

    assert "10.103.0.99" in said
    assert POOL in said


def test_an_address_written_by_hand_is_refused_with_the_label_that_asks_for_it(api: Api, namespace: str) -> None:
    said = refusal(api, namespace, pod("foreign-", {}, {CALICO: '["10.99.0.1"]'}))
    made = create(api, namespace, pod("foreign-", objects.from_list("10.99.0.1")))

    assert "allocatable-ips: 10.99.0.1" in said
    assert objects.addresses(made) == ["10.99.0.1"]


def test_an_address_is_not_written_by_hand_later_either(api: Api, namespace: str) -> None:
    made = create(api, namespace, pod("later-", {}))

    assert "allocatable-ips: 10.99.0.2" in edit(api, made, {"annotations": {CALICO: '["10.99.0.2"]'}})
    assert edit(api, made, {"annotations": {"note": "x"}}) == ""


@pytest.mark.parametrize(
    ("labels", "annotations", "gates", "word"),
    [
        ({}, {KEY: "k"}, [], KEY),
        ({ALLOCATED: "none"}, {}, [], ALLOCATED),
        ({}, {}, [{"name": "gatehouse.dev/pod-ip"}], "gatehouse.dev/pod-ip"),
    ],
)
def test_what_is_ours_is_refused_to_a_pod_that_does_not_ask(
    api: Api, namespace: str, labels: dict[str, str], annotations: dict[str, str], gates: list[Json], word: str
) -> None:
    assert word in refusal(api, namespace, pod("silent-", labels, annotations, schedulingGates=gates))


def test_a_pod_that_is_being_deleted_keeps_what_says_which_address_it_has(api: Api, namespace: str) -> None:
    body = pod("leaving", from_pool(POOL))
    body["metadata"]["finalizers"] = ["example.com/held"]
    made = create(api, namespace, body)
    objects.delete(api, made)

    said = edit(api, made, {"annotations": {CALICO: None, KEY: None}, "labels": {ALLOCATED: None}})
    released = edit(api, made, {"finalizers": None})
    api.patch(f"{pods_path(namespace)}/leaving", {"metadata": {"finalizers": None}})

    assert "stays as it is while it is being deleted" in said
    assert released == ""


@pytest.mark.parametrize("path", ["pods/{}/binding", "bindings"])
def test_a_scheduler_gives_no_address(api: Api, namespace: str, given: Json, path: str) -> None:
    name = create(api, namespace, pod("bound-", {}))["metadata"]["name"]
    where = f"/api/v1/namespaces/{namespace}/{path.format(name)}"
    body = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": name}}
    body["target"] = {"apiVersion": "v1", "kind": "Node", "name": "rack-1"}
    brings = {"metadata": {"name": name, "annotations": {CALICO: given["metadata"]["annotations"][CALICO]}}}

    with pytest.raises(ApiError, match="addresses are given when a pod is created"):
        api.create(where, body | brings)
    api.create(where, body)


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
